//! Turns the layers of an image into the files of its catalog: what lies under one directory of the image, as the last
//! layer leaves it.
//!
//! A layer is an archive by a stranger. It is read once, from its beginning to its end, and never held in memory. What
//! it says of names becomes a tree in memory; contents go to files with names of our own. Only the finished tree is
//! written under its own names, so that no archive decides where something is written. This room does not know where
//! layers come from or what the files hold, and runs nothing of them.

mod apply;
mod error;
mod links;
mod members;
mod root;
mod spool;
mod stream;
mod tree;
mod write;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use fbc::Digest;

pub use apply::NAME_BYTES;
pub use error::{Place, UnpackError};
pub use links::LINKS_IN_A_ROW;
pub use root::Root;
pub use stream::ZSTD_WINDOW_LOG;

use apply::Image;
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
pub struct Limits {
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
    /// Bytes of a path under the root, and of what a link says. With the folder that it is written to, it must stay
    /// below the 4,096 that Linux takes.
    pub path_bytes: usize,
    /// Bytes of one file under the root.
    pub file_bytes: u64,
    /// Bytes of all files under the root, also of those that a later layer replaces.
    pub bytes: u64,
}

impl Default for Limits {
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

/// Applies layers, the lowest first. Afterwards the folder, which exists and is empty, holds what lies under the root.
/// `progress` hears how many bytes of the blobs have been read so far.
pub fn unpack(
    layers: &[Layer],
    root: &Root,
    to: &Path,
    limits: &Limits,
    mut progress: impl FnMut(u64),
) -> Result<(), UnpackError> {
    if layers.len() > limits.layers {
        return Err(UnpackError::TooManyLayers { layers: layers.len(), limit: limits.layers });
    }
    let mut image = Image::new(root, limits, to)?;
    let read = Cell::new(0);
    let mut uncompressed = 0;
    for (number, layer) in (1..).zip(layers) {
        let contents = Cell::new(0);
        let stream = Stream::open(layer, number, limits, uncompressed, &read, &contents, &mut progress)?;
        let mut archive = tar::Archive::new(stream);
        image.apply(number, &mut archive, &contents)?;
        uncompressed = archive.into_inner().finish()?;
    }
    image.write(to)
}

#[cfg(test)]
mod tests;
