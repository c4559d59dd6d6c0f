//! Walks a directory: which files it has, in catalog order, and what in it is refused.
//!
//! Links to files inside the root are followed, links to elsewhere are refused. A mounted
//! `ConfigMap` keeps its files in a hidden folder beside links to them: the hidden entries are
//! passed over, so that each file is read once.

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

use super::revision::RevisionBuilder;
use super::{DirectoryError, ListedFile, Listing, beneath, io_error};

/// One walk over a tree.
struct Walk {
    root: PathBuf,
    folder: OwnedFd,
    rules: IgnoreRules,
    revision: RevisionBuilder,
    found: Vec<Found>,
    entries: usize,
    limit: usize,
}

/// Something that may be a file of the catalog, by its path from the root.
struct Found {
    path: String,
    /// A refusal counts only where no `.indexignore` leaves the path out.
    file: Result<Resolved, DirectoryError>,
}

/// A regular file: where it really is, from the root, and what the file system says of it.
struct Resolved {
    real: PathBuf,
    metadata: Metadata,
}

/// Lists the files below a directory that has no more than so many entries. There may be none.
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
    let mut walk = Walk {
        root,
        folder,
        rules: IgnoreRules::default(),
        revision: RevisionBuilder::default(),
        found: Vec::new(),
        entries: 0,
        limit,
    };
    walk.tree()?;
    walk.finish()
}

/// What kind of thing a name stands for when it is not a regular file.
pub(super) fn kind(file_type: FileType) -> &'static str {
    match file_type {
        kind if kind.is_dir() => "directory",
        kind if kind.is_fifo() => "pipe",
        kind if kind.is_socket() => "socket",
        kind if kind.is_block_device() || kind.is_char_device() => "device",
        _ => "special file",
    }
}

impl Walk {
    fn tree(&mut self) -> Result<(), DirectoryError> {
        let mut directories = vec![String::new()];
        while let Some(directory) = directories.pop() {
            let path = self.root.join(&directory);
            let metadata = fs::metadata(&path).map_err(|source| io_error("read", &path, source))?;
            self.revision.time(&metadata);
            let entries = self.entries(&path)?;
            let is_atomic_mount = entries
                .iter()
                .any(|entry| entry.file_name() == ATOMIC_LINK && is_link(entry));
            for entry in entries {
                let name = entry.file_name();
                let name = name
                    .to_str()
                    .ok_or_else(|| DirectoryError::NameNotUtf8(entry.path()))?;
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
                    self.file(&directory, path, file_type)?;
                }
            }
        }
        Ok(())
    }

    fn entries(&mut self, path: &Path) -> Result<Vec<DirEntry>, DirectoryError> {
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

    fn file(
        &mut self,
        directory: &str,
        path: String,
        file_type: FileType,
    ) -> Result<(), DirectoryError> {
        let file = self.resolve(&path, file_type);
        if Path::new(&path).file_name() == Some(OsStr::new(IGNORE_FILE)) {
            let file = file?;
            self.revision.file(&path, &file.metadata);
            return self.patterns(directory, &path, &file);
        }
        self.found.push(Found { path, file });
        Ok(())
    }

    fn resolve(&self, path: &str, file_type: FileType) -> Result<Resolved, DirectoryError> {
        let full = self.root.join(path);
        if file_type.is_symlink() {
            return self.follow(&full);
        }
        if !file_type.is_file() {
            return Err(DirectoryError::NotAFile {
                path: full,
                kind: kind(file_type),
            });
        }
        let metadata =
            fs::symlink_metadata(&full).map_err(|source| io_error("look at", &full, source))?;
        Ok(Resolved {
            real: PathBuf::from(path),
            metadata,
        })
    }

    fn follow(&self, link: &Path) -> Result<Resolved, DirectoryError> {
        let target =
            fs::read_link(link).map_err(|source| io_error("read the link", link, source))?;
        let link = link.to_owned();
        // All links on the way are resolved first, so neither `..` nor a link in a parent hides
        // where this one leads.
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
        Ok(Resolved {
            real: real.to_owned(),
            metadata,
        })
    }

    fn patterns(
        &mut self,
        directory: &str,
        path: &str,
        file: &Resolved,
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
            .remove_ignored(&mut self.found, |found| &found.path);
        removed.map_err(|source| DirectoryError::IgnoreFile {
            path: self.root.clone(),
            source,
        })?;
        self.found
            .sort_by(|one, other| compare_paths(&one.path, &other.path));
        let mut files = Vec::with_capacity(self.found.len());
        for Found { path, file } in self.found {
            let Resolved { real, metadata } = file?;
            self.revision.file(&path, &metadata);
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
