//! Where the files of a catalog come from: a reference → a list of files → their bytes, piece by piece.
//!
//! A source is a directory today; images come as further variants. This room does not know what the files hold, beyond
//! which of them `.indexignore` leaves out, and never holds a whole file in memory.

mod beneath;
mod directory;
mod revision;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

pub use revision::Revision;

/// How many entries a directory tree may have, of every kind. The list of them is held in memory.
pub const ENTRIES: usize = 200_000;

/// How many bytes one `.indexignore` may have.
pub const IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// A reference to a catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Every file below this directory; the path is absolute.
    Directory(PathBuf),
}

/// The files of a source at one moment, in catalog order.
#[derive(Debug)]
pub struct Listing {
    root: PathBuf,
    /// Opened once, so that a root that is replaced meanwhile is not mixed with its successor.
    folder: OwnedFd,
    files: Vec<ListedFile>,
    revision: Revision,
    settled: bool,
}

/// One file of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Path from the root of the catalog, with `/` between its parts.
    pub path: String,
    /// Its length in bytes when it was listed.
    pub bytes: u64,
    /// Where it really is, from the root: without links.
    real: PathBuf,
}

/// A file that is being read.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    path: PathBuf,
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The text is no reference to a catalog.
    #[error("`{0}` is no source: write dir:PATH or the path of a directory that exists")]
    Unknown(String),
    /// The root of the catalog is something else than a directory.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The operating system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no file to read.
    #[error("`{}` has no file to read: it is empty or .indexignore leaves out every file", .0.display())]
    Empty(PathBuf),
    /// The tree is larger than it may be.
    #[error("`{}` has more than {limit} entries", root.display())]
    TooManyEntries {
        /// The root of the catalog.
        root: PathBuf,
        /// How many it may have.
        limit: usize,
    },
    /// A name that is not UTF-8 cannot be shown or matched.
    #[error("the name of `{}` is not UTF-8", .0.display())]
    NameNotUtf8(PathBuf),
    /// A link that leads out of the catalog.
    #[error("the link `{}` leads out of the catalog, to `{}`", link.display(), target.display())]
    LinkEscapes {
        /// The link.
        link: PathBuf,
        /// What it says.
        target: PathBuf,
    },
    /// A link to a directory, which is not descended into.
    #[error("the link `{}` leads to the directory `{}`: name it in .indexignore or replace it by the directory", link.display(), target.display())]
    LinkToDirectory {
        /// The link.
        link: PathBuf,
        /// What it says.
        target: PathBuf,
    },
    /// A link that leads nowhere or to itself.
    #[error("the link `{}` to `{}` cannot be followed", link.display(), target.display())]
    LinkBroken {
        /// The link.
        link: PathBuf,
        /// What it says.
        target: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A device, a pipe or a socket.
    #[error("`{}` is no regular file but a {kind}", path.display())]
    NotAFile {
        /// Where it is.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// The patterns of an `.indexignore` cannot be read.
    #[error("cannot use the patterns in `{}`", path.display())]
    IgnoreFile {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        source: fbc::ignore::IgnoreError,
    },
    /// An `.indexignore` that is larger than [`IGNORE_FILE_BYTES`].
    #[error("`{}` has more than {IGNORE_FILE_BYTES} bytes", .0.display())]
    IgnoreFileTooLarge(PathBuf),
}

impl Source {
    /// Reads `dir:PATH`, or the path of something that exists. A relative path starts at `base`.
    pub fn parse(text: &str, base: &Path) -> Result<Self, SourceError> {
        let path = match text.strip_prefix("dir:") {
            Some("") => return Err(SourceError::Unknown(text.to_owned())),
            Some(path) => base.join(path),
            None => {
                let path = base.join(text);
                let there = path.try_exists().map_err(|source| io_error("look for", &path, source))?;
                if text.is_empty() || !there {
                    return Err(SourceError::Unknown(text.to_owned()));
                }
                path
            }
        };
        let path = std::path::absolute(&path).map_err(|source| io_error("find", &path, source))?;
        Ok(Self::Directory(path))
    }

    /// What tells this source from every other.
    pub fn key(&self) -> String {
        match self {
            Self::Directory(path) => format!("dir:{}", path.display()),
        }
    }

    /// The last part of its path: what the catalog is called when nobody named it.
    pub fn last_part(&self) -> Option<String> {
        match self {
            Self::Directory(path) => {
                let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                Some(path.file_name()?.to_string_lossy().into_owned())
            }
        }
    }

    /// Finds every file of the catalog, without opening any but `.indexignore`.
    pub fn list(&self) -> Result<Listing, SourceError> {
        match self {
            Self::Directory(path) => directory::list(path, ENTRIES),
        }
    }
}

impl Listing {
    /// The files, in catalog order.
    pub fn files(&self) -> &[ListedFile] {
        &self.files
    }

    /// What all files have together, in bytes, when they were listed.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Equal for two listings when nothing changed between them.
    pub fn revision(&self) -> &Revision {
        &self.revision
    }

    /// Whether nothing changed for so long that an equal revision proves an equal content.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Opens one of the files; its path must not have become a link or left the root since it was listed.
    pub fn open(&self, file: &ListedFile) -> Result<OpenFile, SourceError> {
        let path = self.root.join(&file.path);
        let file = beneath::open(&self.folder, &file.real).map_err(|source| io_error("open", &path, source))?;
        let metadata = file.metadata().map_err(|source| io_error("look at", &path, source))?;
        if !metadata.is_file() {
            return Err(SourceError::NotAFile { path, kind: directory::kind(metadata.file_type()) });
        }
        Ok(OpenFile { file, path })
    }
}

impl OpenFile {
    /// Reads the next bytes of the file into this room and says how many; 0 at its end.
    pub fn read(&mut self, room: &mut [u8]) -> Result<usize, SourceError> {
        loop {
            match self.file.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|source| io_error("read", &self.path, source)),
            }
        }
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> SourceError {
    SourceError::Io { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
