//! Trees that are no archives: files, folders and links that a caller reads from elsewhere, such as a
//! commit of git.

use std::io::{self, Read};
use std::path::Path;

use super::apply::LayeredImage;
use super::members::{ArchiveEntry, ArchiveEntryKind};
use super::{CatalogRoot, REPOSITORY, UnpackError, UnpackLimits, Unpacked};

/// Collects the entries of a tree, by the rules for those of an archive. All paths are from the top of
/// the tree.
pub struct TreeUnpacker<'a>(LayeredImage<'a>);

impl<'a> TreeUnpacker<'a> {
    /// Creates an empty tree. Contents of files are stored on the file system of `folder`.
    pub fn new(
        root: &'a CatalogRoot,
        limits: &'a UnpackLimits,
        folder: &Path,
    ) -> Result<Self, UnpackError> {
        Ok(Self(LayeredImage::new(root, limits, folder)?))
    }

    /// Adds a folder.
    pub fn folder(&mut self, path: &str) -> Result<(), UnpackError> {
        self.add(path, ArchiveEntryKind::Folder, 0, &mut io::empty())
    }

    /// Adds a file of this length.
    pub fn file(
        &mut self,
        path: &str,
        bytes: u64,
        content: &mut impl Read,
    ) -> Result<(), UnpackError> {
        self.add(path, ArchiveEntryKind::File, bytes, content)
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, target: &[u8]) -> Result<(), UnpackError> {
        let kind = ArchiveEntryKind::Link(target.to_owned());
        self.add(path, kind, 0, &mut io::empty())
    }

    /// Returns the entries below the root.
    pub fn finish(self) -> Result<Unpacked, UnpackError> {
        self.0.finish()
    }

    fn add(
        &mut self,
        path: &str,
        kind: ArchiveEntryKind,
        bytes: u64,
        content: &mut impl Read,
    ) -> Result<(), UnpackError> {
        let entry = ArchiveEntry {
            layer: REPOSITORY,
            path: path.as_bytes().to_owned(),
            kind,
            bytes,
        };
        self.0.apply_plain(&entry, content)
    }
}
