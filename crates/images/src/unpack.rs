//! Turns the layers of an image into the files of its catalog: what lies under one directory of the image, as the last
//! layer leaves it.
//!
//! A layer is an archive by a stranger. It is read once, from its beginning to its end, and never held in memory. What
//! it says of names becomes a tree in memory and never reaches a file system; all contents go to one file without a
//! name, from which they are read by their places. This room does not know where layers come from, nor what the files
//! hold beyond which of them `.indexignore` leaves out, and runs nothing of them.

mod apply;
mod entries;
mod error;
mod files;
mod links;
mod members;
mod root;
mod spool;
mod stream;
mod tree;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use fbc::Digest;

pub use apply::MAX_NAME_BYTES;
pub use error::{EntryLocation, UnpackError};
pub use links::MAX_LINK_HOPS;
pub use root::CatalogRoot;
pub use spool::FileContent;
pub use stream::MAX_ZSTD_WINDOW_LOG;

use apply::Image;
use spool::Spool;
use stream::Stream;

/// One layer of an image. How it is compressed its first bytes say: gzip, zstd or not at all.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The file that holds it.
    pub blob: PathBuf,
    /// sha256 of the uncompressed archive; nothing where nobody said it.
    pub diff_id: Option<Digest>,
}

/// What the layers of one image may ask for, all together where nothing else is said. Whatever is beyond is refused.
#[derive(Clone, Debug)]
pub struct UnpackLimits {
    /// Layers. Container runtimes end at 127.
    pub layers: usize,
    /// Headers of the archives, wherever in the image. An image with an operating system has tens of thousands.
    pub headers: u64,
    /// Bytes that an archive says of one entry beside its header: long names and attributes. They are held in memory.
    pub header_bytes: u64,
    /// Bytes of the uncompressed archives. Each is read and hashed.
    pub uncompressed: u64,
    /// How many times the size of its blob a layer may have. Catalogs compress to a thirtieth at best.
    pub ratio: u64,
    /// Uncompressed bytes of a layer up to which its ratio is not looked at: what is mostly padding is small.
    pub ratio_from: u64,
    /// Files, folders and links under the root. They are held in memory, and a directory may not have more either.
    pub entries: usize,
    /// Links under the root. Each is followed through the tree.
    pub links: usize,
    /// Bytes of a path under the root, and of what a link says. Paths are held in memory as well.
    pub path_bytes: usize,
    /// Bytes of one file under the root.
    pub file_bytes: u64,
    /// Bytes of all files under the root, also of those that a later layer replaces.
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

/// What lies under the root of an image. Its contents are gone with it.
#[derive(Debug)]
pub struct Unpacked {
    /// By their paths from the root, in catalog order.
    entries: Vec<(String, UnpackedEntry)>,
    spool: Spool,
    /// Bytes that the files of the catalog may have.
    bytes: u64,
}

/// What a path stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnpackedEntry {
    /// A folder.
    Folder,
    /// A file with this content.
    File(FileContent),
    /// A link, by the path from the root that it leads to over all other links: empty for the root itself. Something
    /// need not be there.
    Link(String),
}

/// A file of a catalog.
#[derive(Clone, Debug)]
pub struct CatalogFile {
    /// Its path from the root, with `/` between its parts.
    pub path: String,
    /// Where its bytes are.
    pub content: FileContent,
}

/// Applies layers, the lowest first. Contents take room on the file system of `folder` as long as the answer lives.
/// `progress` hears how many bytes of the blobs have been read so far.
pub fn unpack(
    layers: &[Layer],
    root: &CatalogRoot,
    folder: &Path,
    limits: &UnpackLimits,
    mut progress: impl FnMut(u64),
) -> Result<Unpacked, UnpackError> {
    if layers.len() > limits.layers {
        return Err(UnpackError::TooManyLayers { layers: layers.len(), limit: limits.layers });
    }
    let mut image = Image::new(root, limits, folder)?;
    let read = Cell::new(0);
    let mut uncompressed = 0;
    for (number, layer) in (1..).zip(layers) {
        let contents = Cell::new(0);
        let stream = Stream::open(layer, number, limits, uncompressed, &read, &contents, &mut progress)?;
        let mut archive = tar::Archive::new(stream);
        image.apply(number, &mut archive, &contents)?;
        uncompressed = archive.into_inner().finish()?;
    }
    image.finish()
}

impl Unpacked {
    /// Everything under the root, by paths from there and in catalog order.
    pub fn entries(&self) -> &[(String, UnpackedEntry)] {
        &self.entries
    }

    /// Reads the bytes of a file from here on into this room and says how many; 0 at its end.
    pub fn read(&self, content: FileContent, from: u64, room: &mut [u8]) -> Result<usize, UnpackError> {
        self.spool.read(content, from, room)
    }
}

#[cfg(test)]
mod tests;
