//! Walks a directory tree and lists the files of the catalog, in catalog order.
//!
//! Links to files inside the root are followed; other links are errors. A mounted `ConfigMap` keeps
//! its files in a hidden folder next to links to them: hidden entries are skipped there, so that each
//! file is read once.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, FileType, Metadata};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fbc_grammar::ignore::{
    ATOMIC_LINK, IGNORE_FILE, IGNORE_FILE_BYTES, IgnoreRules, compare_paths,
};

use super::revision::DirectoryRevisionBuilder;
use super::{DirectoryError, ListedFile, Listing, beneath, io_error};

/// One walk over a tree.
struct DirectoryWalk {
    root: PathBuf,
    folder: OwnedFd,
    rules: IgnoreRules,
    revision: DirectoryRevisionBuilder,
    candidates: Vec<CandidateFile>,
    entries: usize,
    limit: usize,
}

/// An entry that is a file of the catalog unless an `.indexignore` excludes it.
struct CandidateFile {
    /// Path from the root.
    path: String,
    /// Errors are kept, because they count only if no `.indexignore` excludes the path.
    file: Result<ResolvedFile, DirectoryError>,
}

/// A regular file.
struct ResolvedFile {
    /// Path from the root, with all links resolved.
    real: PathBuf,
    metadata: Metadata,
}

/// Lists the files below a directory with at most this many entries. The list may be empty.
pub(super) fn list(path: &Path, limit: usize) -> Result<Listing, DirectoryError> {
    let root = path
        .canonicalize()
        .map_err(|source| io_error("open", path, source))?;
    let metadata = fs::metadata(&root).map_err(|source| io_error("open", &root, source))?;
    if !metadata.is_dir() {
        return Err(DirectoryError::NotADirectory(path.to_owned()));
    }
    let folder = fs::File::open(&root)
        .map_err(|source| io_error("open", &root, source))?
        .into();
    let mut walk = DirectoryWalk {
        root,
        folder,
        rules: IgnoreRules::default(),
        revision: DirectoryRevisionBuilder::default(),
        candidates: Vec::new(),
        entries: 0,
        limit,
    };
    walk.visit_tree()?;
    walk.finish()
}

/// Names the kind of an entry that is not a regular file.
pub(super) fn kind(file_type: FileType) -> &'static str {
    match file_type {
        kind if kind.is_dir() => "directory",
        kind if kind.is_fifo() => "pipe",
        kind if kind.is_socket() => "socket",
        kind if kind.is_block_device() || kind.is_char_device() => "device",
        _ => "special file",
    }
}

impl DirectoryWalk {
    fn visit_tree(&mut self) -> Result<(), DirectoryError> {
        let mut directories = vec![String::new()];
        while let Some(directory) = directories.pop() {
            let path = self.root.join(&directory);
            let metadata = fs::metadata(&path).map_err(|source| io_error("read", &path, source))?;
            self.revision.add_time(&metadata);
            let entries = self.read_entries(&path)?;
            let is_atomic_mount = entries
                .iter()
                .any(|entry| entry.file_name() == ATOMIC_LINK && is_link(entry));
            for entry in entries {
                let name = entry.file_name();
                let name = name
                    .to_str()
                    .ok_or_else(|| DirectoryError::NameNotUtf8(entry.path()))?;
                // Each file of a mounted ConfigMap is there a second time, as a link.
                if is_atomic_mount && name.starts_with("..") {
                    continue;
                }
                let path = if directory.is_empty() {
                    name.to_owned()
                } else {
                    format!("{directory}/{name}")
                };
                let file_type = entry
                    .file_type()
                    .map_err(|source| io_error("look at", &entry.path(), source))?;
                if file_type.is_dir() {
                    directories.push(path);
                } else {
                    self.visit_file(&directory, path, file_type)?;
                }
            }
        }
        Ok(())
    }

    fn read_entries(&mut self, path: &Path) -> Result<Vec<DirEntry>, DirectoryError> {
        let error = |source| io_error("read the directory", path, source);
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(error)? {
            self.entries += 1;
            if self.entries > self.limit {
                return Err(DirectoryError::TooManyEntries {
                    root: self.root.clone(),
                    limit: self.limit,
                });
            }
            entries.push(entry.map_err(error)?);
        }
        Ok(entries)
    }

    fn visit_file(
        &mut self,
        directory: &str,
        path: String,
        file_type: FileType,
    ) -> Result<(), DirectoryError> {
        let file = self.resolve(&path, file_type);
        if Path::new(&path).file_name() == Some(OsStr::new(IGNORE_FILE)) {
            let file = file?;
            self.revision.add_file(&path, &file.metadata);
            return self.add_patterns(directory, &path, &file);
        }
        self.candidates.push(CandidateFile { path, file });
        Ok(())
    }

    fn resolve(&self, path: &str, file_type: FileType) -> Result<ResolvedFile, DirectoryError> {
        let full = self.root.join(path);
        if file_type.is_symlink() {
            return self.resolve_link(&full);
        }
        if !file_type.is_file() {
            return Err(DirectoryError::NotAFile {
                path: full,
                kind: kind(file_type),
            });
        }
        let metadata =
            fs::symlink_metadata(&full).map_err(|source| io_error("look at", &full, source))?;
        Ok(ResolvedFile {
            real: PathBuf::from(path),
            metadata,
        })
    }

    fn resolve_link(&self, link: &Path) -> Result<ResolvedFile, DirectoryError> {
        let target =
            fs::read_link(link).map_err(|source| io_error("read the link", link, source))?;
        let link = link.to_owned();
        // All links on the way are resolved first. Otherwise `..` or a link in a parent could hide
        // that this one points outside of the root.
        let resolved = link
            .canonicalize()
            .and_then(|real| fs::metadata(&real).map(|metadata| (real, metadata)));
        let (real, metadata) = match resolved {
            Ok(resolved) => resolved,
            Err(source) => {
                return Err(DirectoryError::LinkBroken {
                    link,
                    target,
                    source,
                });
            }
        };
        let Ok(real) = real.strip_prefix(&self.root) else {
            return Err(DirectoryError::LinkEscapes { link, target });
        };
        if metadata.is_dir() {
            return Err(DirectoryError::LinkToDirectory { link, target });
        }
        if !metadata.is_file() {
            return Err(DirectoryError::NotAFile {
                path: link,
                kind: kind(metadata.file_type()),
            });
        }
        Ok(ResolvedFile {
            real: real.to_owned(),
            metadata,
        })
    }

    /// Adds the patterns of an `.indexignore`.
    fn add_patterns(
        &mut self,
        directory: &str,
        path: &str,
        file: &ResolvedFile,
    ) -> Result<(), DirectoryError> {
        let full = self.root.join(path);
        let mut text = Vec::new();
        beneath::open(&self.folder, &file.real)
            .and_then(|file| file.take(IGNORE_FILE_BYTES + 1).read_to_end(&mut text))
            .map_err(|source| io_error("read", &full, source))?;
        if text.len() as u64 > IGNORE_FILE_BYTES {
            return Err(DirectoryError::IgnoreFileTooLarge(full));
        }
        let added = self.rules.add(directory, &text);
        added.map_err(|source| DirectoryError::IgnoreFile { path: full, source })
    }

    fn finish(mut self) -> Result<Listing, DirectoryError> {
        let removed = self
            .rules
            .remove_ignored(&mut self.candidates, |candidate| &candidate.path);
        removed.map_err(|source| DirectoryError::IgnoreFile {
            path: self.root.clone(),
            source,
        })?;
        self.candidates
            .sort_by(|one, other| compare_paths(&one.path, &other.path));
        let mut files = Vec::with_capacity(self.candidates.len());
        for CandidateFile { path, file } in self.candidates {
            let ResolvedFile { real, metadata } = file?;
            self.revision.add_file(&path, &metadata);
            files.push(ListedFile {
                path,
                bytes: metadata.len(),
                real,
            });
        }
        let (revision, settled) = self.revision.finish(SystemTime::now());
        Ok(Listing {
            root: self.root,
            folder: self.folder,
            rules: Some(self.rules),
            files,
            revision,
            settled,
        })
    }
}

fn is_link(entry: &DirEntry) -> bool {
    entry
        .file_type()
        .is_ok_and(|file_type| file_type.is_symlink())
}
