//! The files of the catalog: those below the root that `.indexignore` does not exclude, in catalog
//! order.
//!
//! The root is treated like a directory on disk: links to files are files, the hidden entries of a
//! mounted `ConfigMap` are skipped, and unsupported entries are refused only if they are not
//! excluded.

use fbc_grammar::ignore::{
    ATOMIC_LINK, IGNORE_FILE, IGNORE_FILE_BYTES, IgnoreRules, below, compare_paths,
};

use super::error::shown;
use super::{CatalogFile, UnpackError, Unpacked, UnpackedEntry};

impl Unpacked {
    /// Returns the files of the catalog in catalog order; an empty list if every file is excluded.
    pub fn files(&self) -> Result<Vec<CatalogFile>, UnpackError> {
        let mut rules = IgnoreRules::new();
        let mut found = Vec::new();
        let mut hidden = None;
        for (path, entry) in &self.entries {
            let (folder, name) = split(path);
            if hidden.is_some_and(|hidden: &str| below(path, hidden).is_some()) {
                continue;
            }
            if name.starts_with("..") && self.is_atomic_mount(folder) {
                hidden = Some(path);
                continue;
            }
            if *entry == UnpackedEntry::Folder {
                continue;
            }
            if name == IGNORE_FILE {
                self.add_patterns(&mut rules, &self.file(path, entry)?)?;
            } else {
                found.push((path, entry));
            }
        }
        rules.remove_ignored(&mut found, |(path, _)| path)?;
        let mut bytes: u64 = 0;
        let counted = found.into_iter().map(|(path, entry)| {
            let file = self.file(path, entry)?;
            // A content counts once for each of its names, because it is read once for each.
            bytes = bytes.saturating_add(file.content.bytes);
            let is_allowed = bytes <= self.max_bytes;
            is_allowed
                .then_some(file)
                .ok_or_else(|| UnpackError::TooManyNames(shown(path.as_bytes()), self.max_bytes))
        });
        counted.collect()
    }

    /// Returns the file at a path, following a link.
    fn file(&self, path: &str, entry: &UnpackedEntry) -> Result<CatalogFile, UnpackError> {
        let (found, target) = match entry {
            // The root is no entry of its own.
            UnpackedEntry::Link(target) if target.is_empty() => {
                (Some(&UnpackedEntry::Folder), &**target)
            }
            UnpackedEntry::Link(target) => (self.entry(target), &**target),
            UnpackedEntry::File(_) | UnpackedEntry::Folder => (Some(entry), path),
        };
        let link = || shown(path.as_bytes());
        let target = || shown(target.as_bytes());
        match found {
            Some(UnpackedEntry::File(content)) => Ok(CatalogFile {
                path: path.to_owned(),
                content: *content,
            }),
            Some(UnpackedEntry::Folder) => Err(UnpackError::LinkToFolder {
                link: link(),
                target: target(),
            }),
            Some(UnpackedEntry::Link(_)) | None => Err(UnpackError::LinkBroken {
                link: link(),
                target: target(),
            }),
        }
    }

    /// Adds the patterns of an `.indexignore`.
    fn add_patterns(&self, rules: &mut IgnoreRules, file: &CatalogFile) -> Result<(), UnpackError> {
        if file.content.bytes > IGNORE_FILE_BYTES {
            return Err(UnpackError::IgnoreFileTooLarge(shown(file.path.as_bytes())));
        }
        let mut text = vec![0; usize::try_from(file.content.bytes).unwrap_or(usize::MAX)];
        self.read(file.content, 0, &mut text)?;
        Ok(rules.add(split(&file.path).0, &text)?)
    }

    /// Returns whether a folder is a mounted `ConfigMap`, in which the entries that begin with `..`
    /// hold the targets of the others.
    fn is_atomic_mount(&self, folder: &str) -> bool {
        let link = if folder.is_empty() {
            ATOMIC_LINK.to_owned()
        } else {
            format!("{folder}/{ATOMIC_LINK}")
        };
        matches!(self.entry(&link), Some(UnpackedEntry::Link(_)))
    }

    /// Finds the entry at a path.
    fn entry(&self, path: &str) -> Option<&UnpackedEntry> {
        let at = self
            .entries
            .binary_search_by(|(other, _)| compare_paths(other, path))
            .ok()?;
        Some(&self.entries[at].1)
    }
}

/// Splits a path into its folder and its name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
