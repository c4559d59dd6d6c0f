//! Applies the members of an archive to the tree of an image: which of them count, what each does, and which are
//! refused.

use std::cell::Cell;
use std::io::Read;
use std::path::Path;

use super::entries;
use super::error::shown;
use super::members::{Kind, Member, Members};
use super::root::Relation;
use super::spool::Spool;
use super::tree::{Blocked, Leaf, Tree};
use super::{CatalogRoot, FileContent, UnpackError, UnpackLimits, Unpacked};

/// How many bytes a name in a folder may have, on the file systems of Linux.
pub const MAX_NAME_BYTES: usize = 255;

/// What marks a name as removed from lower layers, and the mark that removes everything else in its folder.
const WHITEOUT: &str = ".wh.";
const OPAQUE: &str = ".wh..wh..opq";

/// What AUFS, which invented the marks, calls its own files; they mean nothing to others.
const AUFS: &str = ".wh..wh.";

/// An image, as far as its layers have been applied.
pub(super) struct Image<'a> {
    root: &'a CatalogRoot,
    limits: &'a UnpackLimits,
    tree: Tree,
    spool: Spool,
    headers: u64,
    links: usize,
}

impl<'a> Image<'a> {
    /// An image without layers, whose contents are kept on the file system of a folder.
    pub(super) fn new(root: &'a CatalogRoot, limits: &'a UnpackLimits, folder: &Path) -> Result<Self, UnpackError> {
        // The folders on the way to the root are entries as well.
        let tree = Tree::new(limits.entries.saturating_add(root.parts().len()));
        Ok(Self { root, limits, tree, spool: Spool::new(folder)?, headers: 0, links: 0 })
    }

    /// Applies the next layer, and keeps saying where the contents end that were told of so far.
    pub(super) fn apply(
        &mut self,
        layer: u32,
        archive: &mut tar::Archive<impl Read>,
        contents: &Cell<u64>,
    ) -> Result<(), UnpackError> {
        let mut headers = self.headers;
        let mut members = Members::new(archive, layer, self.limits, &mut headers, contents)?;
        while let Some((member, mut content)) = members.next()? {
            self.member(&member, &mut content)?;
        }
        self.headers = headers;
        Ok(())
    }

    /// What lies under the root.
    pub(super) fn finish(self) -> Result<Unpacked, UnpackError> {
        let UnpackLimits { path_bytes, bytes, .. } = *self.limits;
        Ok(Unpacked { entries: entries::of(&self.tree, self.root, path_bytes)?, spool: self.spool, bytes })
    }

    fn member(&mut self, member: &Member, content: &mut impl Read) -> Result<(), UnpackError> {
        let parts = parts(&member.path, member)?;
        let Some((last, parents)) = parts.split_last() else { return Ok(()) };
        if let Some(hidden) = last.strip_prefix(WHITEOUT.as_bytes()) {
            return self.whiteout(member, parents, hidden);
        }
        match self.root.relation(&parts) {
            Relation::Elsewhere => Ok(()),
            Relation::Above => self.above(member, &self.names(&parts, member)?),
            Relation::Below => self.below(member, &self.names(&parts, member)?, content),
        }
    }

    /// Applies a mark that something was removed.
    fn whiteout(&mut self, member: &Member, parents: &[&[u8]], hidden: &[u8]) -> Result<(), UnpackError> {
        let is_opaque = hidden == &OPAQUE.as_bytes()[WHITEOUT.len()..];
        if !is_opaque && hidden.starts_with(&AUFS.as_bytes()[WHITEOUT.len()..]) {
            return Ok(());
        }
        if matches!(hidden, b"" | b"." | b"..") {
            return Err(UnpackError::BadWhiteout(member.place()));
        }
        let mut parts = parents.to_vec();
        if !is_opaque {
            parts.push(hidden);
        }
        if matches!(self.root.relation(&parts), Relation::Elsewhere) {
            return Ok(());
        }
        let names = self.names(&parts, member)?;
        let done = if is_opaque { self.tree.clear(&names, member.layer) } else { self.tree.hide(&names, member.layer) };
        done.map_err(|blocked| self.blocked(blocked, member))
    }

    /// Applies an entry at the root or on the way to it: all that matters is whether it is a folder.
    fn above(&mut self, member: &Member, names: &[&str]) -> Result<(), UnpackError> {
        let done = match &member.kind {
            Kind::Folder => self.tree.put_folder(names, member.layer),
            Kind::Link(target) => {
                let target = self.target(target, member)?;
                self.tree.put_leaf(names, Leaf::Link(target.to_owned()), member.layer)
            }
            Kind::File | Kind::HardLink(_) | Kind::Other(_) => self.tree.put_leaf(names, Leaf::Other, member.layer),
        };
        done.map_err(|blocked| self.blocked(blocked, member))
    }

    /// Applies an entry under the root.
    fn below(&mut self, member: &Member, names: &[&str], content: &mut impl Read) -> Result<(), UnpackError> {
        let leaf = match &member.kind {
            Kind::Folder => {
                let done = self.tree.put_folder(names, member.layer);
                return done.map_err(|blocked| self.blocked(blocked, member));
            }
            Kind::Other(kind) => return Err(UnpackError::NotAFile { place: member.place(), kind }),
            Kind::File => Leaf::File(self.file(member, content)?),
            Kind::HardLink(target) => self.hard_link(member, target)?,
            Kind::Link(target) => Leaf::Link(self.target(target, member)?.to_owned()),
        };
        // A hard link to a link is another one.
        if matches!(leaf, Leaf::Link(_)) {
            self.links += 1;
            if self.links > self.limits.links {
                let (place, root, limit) = (member.place(), self.root.clone(), self.limits.links);
                return Err(UnpackError::TooManyLinks { place, root, limit });
            }
        }
        self.tree.put_leaf(names, leaf, member.layer).map_err(|blocked| self.blocked(blocked, member))
    }

    fn file(&mut self, member: &Member, content: &mut impl Read) -> Result<FileContent, UnpackError> {
        let UnpackLimits { file_bytes, bytes, .. } = *self.limits;
        if member.bytes > file_bytes {
            let place = member.place();
            return Err(UnpackError::FileTooLarge { place, bytes: member.bytes, limit: file_bytes });
        }
        if self.spool.bytes().saturating_add(member.bytes) > bytes {
            let (place, root) = (member.place(), self.root.clone());
            return Err(UnpackError::TooManyBytes { place, root, limit: bytes });
        }
        self.spool.add(content, member)
    }

    /// What another name in the image stands for.
    fn hard_link(&mut self, member: &Member, target: &[u8]) -> Result<Leaf, UnpackError> {
        let parts = parts(target, member)?;
        if !matches!(self.root.relation(&parts), Relation::Below) {
            let (place, root) = (member.place(), self.root.clone());
            return Err(UnpackError::HardLinkEscapes { place, target: shown(target), root });
        }
        let names = self.names(&parts, member)?;
        let found = self.tree.find(&names).map_err(|blocked| self.blocked(blocked, member))?;
        let broken = || UnpackError::HardLinkBroken { place: member.place(), target: shown(target) };
        found.and_then(|node| node.leaf.clone()).ok_or_else(broken)
    }

    /// The target of a link as text.
    fn target<'t>(&self, target: &'t [u8], member: &Member) -> Result<&'t str, UnpackError> {
        if target.contains(&0) {
            return Err(UnpackError::NulInName(member.place()));
        }
        if target.len() > self.limits.path_bytes {
            return Err(UnpackError::PathTooLong(member.place(), self.limits.path_bytes));
        }
        std::str::from_utf8(target).map_err(|_| UnpackError::NotUtf8(member.place()))
    }

    /// The parts of a path that counts as text.
    fn names<'p>(&self, parts: &[&'p [u8]], member: &Member) -> Result<Vec<&'p str>, UnpackError> {
        let bytes = parts.iter().map(|part| part.len() + 1).sum::<usize>().saturating_sub(1);
        let limit = self.limits.path_bytes;
        if bytes > limit || parts.iter().any(|part| part.len() > MAX_NAME_BYTES) {
            return Err(UnpackError::PathTooLong(member.place(), limit));
        }
        if parts.iter().any(|part| part.starts_with(WHITEOUT.as_bytes())) {
            return Err(UnpackError::BadWhiteout(member.place()));
        }
        let name = |part: &&'p [u8]| std::str::from_utf8(part).map_err(|_| UnpackError::NotUtf8(member.place()));
        parts.iter().map(name).collect()
    }

    fn blocked(&self, blocked: Blocked, member: &Member) -> UnpackError {
        let place = member.place();
        match blocked {
            Blocked::Link { path, target } => {
                UnpackError::BelowLink { place, link: shown(path.as_bytes()), target: shown(target.as_bytes()) }
            }
            Blocked::Full => UnpackError::TooManyEntries { place, root: self.root.clone(), limit: self.limits.entries },
        }
    }
}

/// The names that a path is made of, from the top of the image. Archives write `a`, `./a` and `/a` and mean the same.
fn parts<'p>(path: &'p [u8], member: &Member) -> Result<Vec<&'p [u8]>, UnpackError> {
    if path.contains(&0) {
        return Err(UnpackError::NulInName(member.place()));
    }
    let parts: Vec<_> = path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
    if parts.contains(&&b".."[..]) {
        return Err(UnpackError::Traversal(member.place()));
    }
    Ok(parts)
}
