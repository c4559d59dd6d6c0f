//! Applies the entries of a layer's archive to the tree of an image: entries at or below the root,
//! and whiteouts. Path traversal (`..`) and paths through symlinks are refused.

use std::cell::Cell;
use std::io::Read;
use std::path::Path;

use super::entries;
use super::error::shown;
use super::members::{ArchiveEntry, ArchiveEntryKind, ArchiveReader};
use super::root::Relation;
use super::spool::Spool;
use super::tree::{ImageTree, Leaf, TreeError};
use super::{CatalogRoot, FileContent, UnpackError, UnpackLimits, Unpacked};

/// Maximum length in bytes of a name, as on the file systems of Linux.
pub const MAX_NAME_BYTES: usize = 255;

/// Prefix of a whiteout, which removes the rest of its name from lower layers.
const WHITEOUT: &str = ".wh.";
/// Opaque whiteout, which removes everything that lower layers have in its folder.
const OPAQUE: &str = ".wh..wh..opq";

/// Prefix of the internal files of AUFS, which invented whiteouts. They are ignored.
const AUFS_PREFIX: &str = ".wh..wh.";

/// An image to which some of its layers are applied.
pub(super) struct LayeredImage<'a> {
    root: &'a CatalogRoot,
    limits: &'a UnpackLimits,
    tree: ImageTree,
    spool: Spool,
    headers: u64,
    links: usize,
}

impl<'a> LayeredImage<'a> {
    /// Creates an image without layers. Contents of files are stored on the file system of
    /// `folder`.
    pub(super) fn new(
        root: &'a CatalogRoot,
        limits: &'a UnpackLimits,
        folder: &Path,
    ) -> Result<Self, UnpackError> {
        // The folders that lead to the root are entries as well.
        let tree = ImageTree::new(limits.entries.saturating_add(root.parts().len()));
        Ok(Self {
            root,
            limits,
            tree,
            spool: Spool::new(folder)?,
            headers: 0,
            links: 0,
        })
    }

    /// Applies the next layer. `content_end` is kept at the offset at which the last content ends.
    pub(super) fn apply(
        &mut self,
        layer: u32,
        archive: &mut tar::Archive<impl Read>,
        content_end: &Cell<u64>,
    ) -> Result<(), UnpackError> {
        let mut headers = self.headers;
        let mut entries =
            ArchiveReader::new(archive, layer, self.limits, &mut headers, content_end)?;
        while let Some((entry, mut content)) = entries.next()? {
            self.apply_entry(&entry, &mut content)?;
        }
        self.headers = headers;
        Ok(())
    }

    /// Applies a layer that is one file.
    pub(super) fn apply_file(
        &mut self,
        layer: u32,
        path: &str,
        content: &mut impl Read,
    ) -> Result<(), UnpackError> {
        let entry = ArchiveEntry {
            layer,
            path: path.as_bytes().to_vec(),
            kind: ArchiveEntryKind::File,
            bytes: 0,
        };
        let parts = split_path(path.as_bytes(), &entry)?;
        if !matches!(self.root.relation(&parts), Relation::Below) {
            return Ok(());
        }
        let names = self.names(&parts, &entry)?;

        // The length of the file is known once it is uncompressed.
        let UnpackLimits {
            file_bytes, bytes, ..
        } = *self.limits;
        let limit = file_bytes.min(bytes.saturating_sub(self.spool.bytes()));
        let content = self.spool.add_all(content, layer, limit)?;
        let content = content.ok_or_else(|| UnpackError::TooManyBytes {
            location: entry.location(),
            root: self.root.clone(),
            limit,
        })?;
        self.tree
            .put_leaf(&names, Leaf::File(content), layer)
            .map_err(|error| self.tree_error(error, &entry))
    }

    /// Returns the entries below the root.
    pub(super) fn finish(self) -> Result<Unpacked, UnpackError> {
        let UnpackLimits {
            path_bytes, bytes, ..
        } = *self.limits;
        Ok(Unpacked {
            entries: entries::list(&self.tree, self.root, path_bytes)?,
            spool: self.spool,
            max_bytes: bytes,
        })
    }

    fn apply_entry(
        &mut self,
        entry: &ArchiveEntry,
        content: &mut impl Read,
    ) -> Result<(), UnpackError> {
        let parts = split_path(&entry.path, entry)?;
        let Some((last, parents)) = parts.split_last() else {
            return Ok(());
        };
        // Whiteouts apply to parents of the root too, so that they come before the check of the path.
        if let Some(hidden) = last.strip_prefix(WHITEOUT.as_bytes()) {
            return self.apply_whiteout(entry, parents, hidden);
        }
        self.apply_named(entry, &parts, content)
    }

    /// Applies an entry that is no whiteout.
    fn apply_named(
        &mut self,
        entry: &ArchiveEntry,
        parts: &[&[u8]],
        content: &mut impl Read,
    ) -> Result<(), UnpackError> {
        match self.root.relation(parts) {
            Relation::Elsewhere => Ok(()),
            Relation::Above => self.apply_above(entry, &self.names(parts, entry)?),
            Relation::Below => self.apply_below(entry, &self.names(parts, entry)?, content),
        }
    }

    /// Applies an entry of a tree that is no archive: no name of it is a whiteout.
    pub(super) fn apply_plain(
        &mut self,
        entry: &ArchiveEntry,
        content: &mut impl Read,
    ) -> Result<(), UnpackError> {
        let parts = split_path(&entry.path, entry)?;
        self.apply_named(entry, &parts, content)
    }

    /// Applies a whiteout.
    fn apply_whiteout(
        &mut self,
        entry: &ArchiveEntry,
        parents: &[&[u8]],
        hidden: &[u8],
    ) -> Result<(), UnpackError> {
        let is_opaque = hidden == &OPAQUE.as_bytes()[WHITEOUT.len()..];
        if !is_opaque && hidden.starts_with(&AUFS_PREFIX.as_bytes()[WHITEOUT.len()..]) {
            return Ok(());
        }
        if matches!(hidden, b"" | b"." | b"..") {
            return Err(UnpackError::BadWhiteout(entry.location()));
        }
        let mut parts = parents.to_vec();
        if !is_opaque {
            parts.push(hidden);
        }
        if matches!(self.root.relation(&parts), Relation::Elsewhere) {
            return Ok(());
        }
        let names = self.names(&parts, entry)?;
        let done = if is_opaque {
            self.tree.clear(&names, entry.layer)
        } else {
            self.tree.hide(&names, entry.layer)
        };
        done.map_err(|error| self.tree_error(error, entry))
    }

    /// Applies an entry at the root or above it, of which only the kind matters.
    fn apply_above(&mut self, entry: &ArchiveEntry, names: &[&str]) -> Result<(), UnpackError> {
        let done = match &entry.kind {
            ArchiveEntryKind::Folder => self.tree.put_folder(names, entry.layer),
            ArchiveEntryKind::Link(target) => {
                let target = self.link_target(target, entry)?;
                self.tree
                    .put_leaf(names, Leaf::Link(target.to_owned()), entry.layer)
            }
            ArchiveEntryKind::File | ArchiveEntryKind::HardLink(_) | ArchiveEntryKind::Other(_) => {
                self.tree.put_leaf(names, Leaf::Other, entry.layer)
            }
        };
        done.map_err(|error| self.tree_error(error, entry))
    }

    /// Applies an entry below the root.
    fn apply_below(
        &mut self,
        entry: &ArchiveEntry,
        names: &[&str],
        content: &mut impl Read,
    ) -> Result<(), UnpackError> {
        let leaf = match &entry.kind {
            ArchiveEntryKind::Folder => {
                let done = self.tree.put_folder(names, entry.layer);
                return done.map_err(|error| self.tree_error(error, entry));
            }
            ArchiveEntryKind::Other(kind) => {
                return Err(UnpackError::NotAFile {
                    location: entry.location(),
                    kind,
                });
            }
            ArchiveEntryKind::File => Leaf::File(self.file(entry, content)?),
            ArchiveEntryKind::HardLink(target) => self.hard_link(entry, target)?,
            ArchiveEntryKind::Link(target) => {
                Leaf::Link(self.link_target(target, entry)?.to_owned())
            }
        };
        // Each link is resolved in the tree, which takes time. Hard links to symbolic links count as
        // symbolic links.
        if matches!(leaf, Leaf::Link(_)) {
            self.links += 1;
            if self.links > self.limits.links {
                let location = entry.location();
                let root = self.root.clone();
                let limit = self.limits.links;
                return Err(UnpackError::TooManyLinks {
                    location,
                    root,
                    limit,
                });
            }
        }
        self.tree
            .put_leaf(names, leaf, entry.layer)
            .map_err(|error| self.tree_error(error, entry))
    }

    fn file(
        &mut self,
        entry: &ArchiveEntry,
        content: &mut impl Read,
    ) -> Result<FileContent, UnpackError> {
        let UnpackLimits {
            file_bytes, bytes, ..
        } = *self.limits;
        if entry.bytes > file_bytes {
            let location = entry.location();
            return Err(UnpackError::FileTooLarge {
                location,
                bytes: entry.bytes,
                limit: file_bytes,
            });
        }
        if self.spool.bytes().saturating_add(entry.bytes) > bytes {
            let location = entry.location();
            let root = self.root.clone();
            return Err(UnpackError::TooManyBytes {
                location,
                root,
                limit: bytes,
            });
        }
        self.spool.add(content, entry)
    }

    /// Resolves a hard link to the leaf that its target has at this point.
    fn hard_link(&mut self, entry: &ArchiveEntry, target: &[u8]) -> Result<Leaf, UnpackError> {
        let parts = split_path(target, entry)?;
        // The archive is read once: the content of a file outside of the root has not been kept.
        if !matches!(self.root.relation(&parts), Relation::Below) {
            let location = entry.location();
            let root = self.root.clone();
            return Err(UnpackError::HardLinkEscapes {
                location,
                target: shown(target),
                root,
            });
        }
        let names = self.names(&parts, entry)?;
        let found = self
            .tree
            .find(&names)
            .map_err(|error| self.tree_error(error, entry))?;
        let broken = || UnpackError::HardLinkBroken {
            location: entry.location(),
            target: shown(target),
        };
        found.and_then(|node| node.leaf.clone()).ok_or_else(broken)
    }

    /// Validates the target of a symbolic link.
    fn link_target<'t>(
        &self,
        target: &'t [u8],
        entry: &ArchiveEntry,
    ) -> Result<&'t str, UnpackError> {
        if target.contains(&0) {
            return Err(UnpackError::NulInName(entry.location()));
        }
        if target.len() > self.limits.path_bytes {
            return Err(UnpackError::PathTooLong(
                entry.location(),
                self.limits.path_bytes,
            ));
        }
        std::str::from_utf8(target).map_err(|_| UnpackError::NotUtf8(entry.location()))
    }

    /// Validates the names of a path.
    fn names<'p>(
        &self,
        parts: &[&'p [u8]],
        entry: &ArchiveEntry,
    ) -> Result<Vec<&'p str>, UnpackError> {
        let bytes = parts
            .iter()
            .map(|part| part.len() + 1)
            .sum::<usize>()
            .saturating_sub(1);
        let limit = self.limits.path_bytes;
        if bytes > limit || parts.iter().any(|part| part.len() > MAX_NAME_BYTES) {
            return Err(UnpackError::PathTooLong(entry.location(), limit));
        }
        if parts
            .iter()
            .any(|part| part.starts_with(WHITEOUT.as_bytes()))
        {
            return Err(UnpackError::BadWhiteout(entry.location()));
        }
        let name = |part: &&'p [u8]| {
            std::str::from_utf8(part).map_err(|_| UnpackError::NotUtf8(entry.location()))
        };
        parts.iter().map(name).collect()
    }

    /// Returns the error for an entry that the tree does not accept.
    fn tree_error(&self, error: TreeError, entry: &ArchiveEntry) -> UnpackError {
        let location = entry.location();
        match error {
            // umoci follows the link here. Readers disagree, so that such an archive is rejected.
            TreeError::Link { path, target } => UnpackError::BelowLink {
                location,
                link: shown(path.as_bytes()),
                target: shown(target.as_bytes()),
            },
            TreeError::Full => UnpackError::TooManyEntries {
                location,
                root: self.root.clone(),
                limit: self.limits.entries,
            },
        }
    }
}

/// Splits a path into its names. Archives use `a`, `./a` and `/a` for the same path.
fn split_path<'p>(path: &'p [u8], entry: &ArchiveEntry) -> Result<Vec<&'p [u8]>, UnpackError> {
    if path.contains(&0) {
        return Err(UnpackError::NulInName(entry.location()));
    }
    let parts: Vec<_> = path
        .split(|byte| *byte == b'/')
        .filter(|part| !matches!(*part, b"" | b"."))
        .collect();
    if parts.contains(&&b".."[..]) {
        return Err(UnpackError::Traversal(entry.location()));
    }
    Ok(parts)
}
