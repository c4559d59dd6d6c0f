//! Unpacks the layers of an image into the files of its catalog: everything below one directory of
//! the image, after all layers are applied.
//!
//! A layer is an untrusted archive. It is read once from start to end, and never held in memory.
//! The names of its entries become a tree in memory and never reach the file system; the contents
//! of files are appended to one unnamed file and read from there by offset. This module does not
//! know where layers come from, parses no files apart from `.indexignore`, and executes nothing.

mod apply;
mod download;
mod entries;
mod error;
mod files;
mod links;
mod members;
mod plain;
mod root;
mod spool;
mod stream;
mod tree;

use std::path::{Path, PathBuf};

use fbc_grammar::Digest;

pub use apply::MAX_NAME_BYTES;
pub use download::{DownloadedFile, unpack_download};
pub(crate) use error::shown;
pub use error::{EntryLocation, UnpackError};
pub use links::MAX_LINK_HOPS;
pub use plain::TreeUnpacker;
pub(crate) use root::CONFIGS_LABEL;
pub use root::CatalogRoot;
pub use spool::FileContent;
pub use stream::MAX_ZSTD_WINDOW_LOG;

use apply::LayeredImage;
use spool::Spool;
use stream::{LayerStream, StreamCounters};

/// A layer of an image. Its compression (gzip, zstd or none) is detected from its first bytes.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Path of the file with the blob.
    pub blob: PathBuf,
    /// Expected SHA-256 of the uncompressed layer (`diff_id`), if the image config or the artifact
    /// names one.
    pub diff_id: Option<Digest>,
    /// Kind of content.
    pub content: LayerContent,
}

/// Content of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerContent {
    /// A tar archive.
    Archive,
    /// One file with this path from the top of the image, or a tar archive: the first bytes decide.
    FileOrArchive(String),
}

/// Number of an archive that is no layer of an image.
const ARCHIVE: u32 = 0;

/// Number of a repository, which is no layer of an image either.
const REPOSITORY: u32 = u32::MAX;

/// Limits of the layers of one image, of all together unless stated otherwise. An image that
/// exceeds one is refused.
#[derive(Clone, Debug)]
pub struct UnpackLimits {
    /// Maximum number of layers. Container runtimes support 127.
    pub layers: usize,
    /// Maximum number of archive headers, anywhere in the image. An image with an operating system
    /// has tens of thousands.
    pub headers: u64,
    /// Maximum length in bytes of an extended header of one entry (long names, pax records), which
    /// is held in memory.
    pub header_bytes: u64,
    /// Maximum number of bytes of the uncompressed archives, which are read and hashed.
    pub uncompressed: u64,
    /// Maximum ratio of the uncompressed length of a layer to that of its blob. Catalogs compress
    /// to a thirtieth at best.
    pub ratio: u64,
    /// Uncompressed length in bytes of a layer up to which the ratio is not checked: small archives
    /// are mostly padding.
    pub ratio_from: u64,
    /// Maximum number of files, folders and links below the root, whose names are held in memory.
    pub entries: usize,
    /// Maximum number of links below the root. Each is resolved in the tree.
    pub links: usize,
    /// Maximum length in bytes of a path below the root, and of the target of a link.
    pub path_bytes: usize,
    /// Maximum length in bytes of one file below the root.
    pub file_bytes: u64,
    /// Maximum length in bytes of all files below the root, including those that a later layer
    /// replaces.
    pub bytes: u64,
}

impl Default for UnpackLimits {
    fn default() -> Self {
        Self {
            layers: 127,
            headers: 1_000_000,
            header_bytes: 1024 * 1024,
            uncompressed: 16 * 1024 * 1024 * 1024,
            ratio: 500,
            ratio_from: 64 * 1024 * 1024,
            entries: 200_000,
            links: 10_000,
            path_bytes: 1024,
            file_bytes: 1024 * 1024 * 1024,
            bytes: 4 * 1024 * 1024 * 1024,
        }
    }
}

/// The entries below the root of an image. Dropping it removes their contents.
#[derive(Debug)]
pub struct Unpacked {
    /// Entries with their paths from the root, in catalog order.
    entries: Vec<(String, UnpackedEntry)>,
    spool: Spool,
    /// Maximum length in bytes of all files of the catalog.
    max_bytes: u64,
}

/// An entry below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnpackedEntry {
    /// A folder.
    Folder,
    /// A file with its content.
    File(FileContent),
    /// A link with its target, resolved over all other links to a path from the root; empty for the
    /// root itself. The target need not exist.
    Link(String),
}

/// A file of the catalog.
#[derive(Clone, Debug)]
pub struct CatalogFile {
    /// Path from the root, with `/` as the separator.
    pub path: String,
    /// Content of the file.
    pub content: FileContent,
}

/// Applies layers, lowest first. Contents of files are stored on the file system of `folder` for as
/// long as the result exists. `progress` is called with the number of bytes of the blobs that are
/// read.
pub fn unpack(
    layers: &[Layer],
    root: &CatalogRoot,
    folder: &Path,
    limits: &UnpackLimits,
    mut progress: impl FnMut(u64),
) -> Result<Unpacked, UnpackError> {
    if layers.len() > limits.layers {
        return Err(UnpackError::TooManyLayers {
            layers: layers.len(),
            limit: limits.layers,
        });
    }
    let mut image = LayeredImage::new(root, limits, folder)?;
    let counters = StreamCounters::default();
    for (number, layer) in (1..).zip(layers) {
        if let LayerContent::FileOrArchive(path) = &layer.content {
            let start = download::read_start(layer, number, limits)?;
            if !download::is_archive(&start) {
                download::check_start(&start)?;
                let mut stream =
                    LayerStream::open(layer, number, limits, &counters, &mut progress)?;
                image.apply_file(number, path, &mut stream)?;
                stream.finish()?;
                continue;
            }
        }
        let stream = LayerStream::open(layer, number, limits, &counters, &mut progress)?;
        let mut archive = tar::Archive::new(stream);
        image.apply(number, &mut archive, &counters.content_end)?;
        archive.into_inner().finish()?;
    }
    image.finish()
}

impl Unpacked {
    /// Returns all entries below the root with their paths from there, in catalog order.
    pub fn entries(&self) -> &[(String, UnpackedEntry)] {
        &self.entries
    }

    /// Reads bytes of a file from an offset on into a buffer. Returns the number of bytes, 0 at the
    /// end of the file.
    pub fn read(
        &self,
        content: FileContent,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, UnpackError> {
        self.spool.read(content, offset, buffer)
    }
}

#[cfg(test)]
mod tests;
