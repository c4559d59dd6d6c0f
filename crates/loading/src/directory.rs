//! A directory as a source: a list of its files, and their bytes, piece by piece.
//!
//! It does not know what the files hold, beyond which of them `.indexignore` leaves out, and never holds a whole file in
//! memory.

mod beneath;
mod error;
mod revision;
mod walk;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

pub use error::DirectoryError;
pub use revision::Revision;

/// How many entries a directory tree may have, of every kind. The list of them is held in memory.
pub const ENTRIES: usize = 200_000;

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

/// Finds every file of the catalog below a directory, without opening any but `.indexignore`.
pub fn list(directory: &Path) -> Result<Listing, DirectoryError> {
    walk::list(directory, ENTRIES)
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
    pub fn open(&self, file: &ListedFile) -> Result<OpenFile, DirectoryError> {
        let path = self.root.join(&file.path);
        let file = beneath::open(&self.folder, &file.real).map_err(|source| io_error("open", &path, source))?;
        let metadata = file.metadata().map_err(|source| io_error("look at", &path, source))?;
        if !metadata.is_file() {
            return Err(DirectoryError::NotAFile { path, kind: walk::kind(metadata.file_type()) });
        }
        Ok(OpenFile { file, path })
    }
}

impl OpenFile {
    /// Reads the next bytes of the file into this room and says how many; 0 at its end.
    pub fn read(&mut self, room: &mut [u8]) -> Result<usize, DirectoryError> {
        loop {
            match self.file.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|source| io_error("read", &self.path, source)),
            }
        }
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> DirectoryError {
    DirectoryError::Io { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
