//! Where the files of a catalog come from: a directory → a list of files → their bytes, piece by piece; an image in a
//! registry or a layout on disk → a digest → its layers, verified.
//!
//! This room does not know what the files hold, beyond which of them `.indexignore` leaves out, nor what is in a layer,
//! and never holds a whole file or layer in memory. It reads no configuration: credentials, mirrors and authorities are
//! given to it.

mod beneath;
mod directory;
mod error;
mod layout;
mod manifest;
mod reference;
mod registries;
mod resolved;
mod revision;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

pub use error::SourceError;
pub use layout::LAYOUT_ENTRIES;
pub use manifest::NESTED_INDEXES;
pub use reference::{Chosen, Image, Layout};
pub use registries::{
    Credentials, HELPER_BYTES, HELPER_PATIENCE, Limits, Patience, REDIRECTS, REFUSAL_BYTES, Registries, RegistriesConf,
    Settings, TOKEN_BYTES,
};
pub use resolved::{Kind, LayerDescriptor, Resolved};
pub use revision::Revision;

/// How many entries a directory tree may have, of every kind. The list of them is held in memory.
pub const ENTRIES: usize = 200_000;

/// A reference to a catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Every file below this directory; the path is absolute.
    Directory(PathBuf),
    /// An image in a registry.
    Image(Image),
    /// An image in an OCI layout on disk.
    Layout(Layout),
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

/// Finds every file of the catalog below a directory, without opening any but `.indexignore`.
pub fn list(directory: &Path) -> Result<Listing, SourceError> {
    directory::list(directory, ENTRIES)
}

impl Source {
    /// Reads `dir:PATH`, `oci:PATH[:TAG|@DIGEST]`, `docker://REFERENCE`, the path of something that exists, or a
    /// reference that begins with the name of a registry. A relative path starts at `base`.
    pub fn parse(text: &str, base: &Path) -> Result<Self, SourceError> {
        reference::parse(text, base)
    }

    /// What tells this source from every other.
    pub fn key(&self) -> String {
        match self {
            Self::Directory(path) => format!("dir:{}", path.display()),
            Self::Image(image) => format!("docker://{image}"),
            Self::Layout(layout) => layout.to_string(),
        }
    }

    /// The last part of its path: what the catalog is called when nobody named it.
    pub fn last_part(&self) -> Option<String> {
        match self {
            Self::Directory(path) => {
                let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                Some(path.file_name()?.to_string_lossy().into_owned())
            }
            Self::Image(image) => image.path().rsplit('/').next().map(str::to_owned),
            Self::Layout(layout) => {
                let name = layout.path().file_name()?.to_string_lossy().into_owned();
                Some(name.strip_suffix(".tar").map_or(name.clone(), str::to_owned))
            }
        }
    }

    /// Whether it names one content for ever, by its digest.
    pub fn is_pinned(&self) -> bool {
        match self {
            Self::Directory(_) => false,
            Self::Image(image) => image.digest().is_some(),
            Self::Layout(layout) => matches!(layout.chosen(), Chosen::Digest(_)),
        }
    }

    /// Finds every file of a directory.
    pub fn list(&self) -> Result<Listing, SourceError> {
        match self {
            Self::Directory(path) => list(path),
            Self::Image(_) | Self::Layout(_) => Err(SourceError::NotADirectory(self.key().into())),
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
