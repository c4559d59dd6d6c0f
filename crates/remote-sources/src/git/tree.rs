//! The folder of a catalog in the tree of a commit: which entries it has, and their contents.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use images::unpack::{CatalogRoot, TreeUnpacker, UnpackLimits, Unpacked};

use super::object::{
    EntryKind, ObjectId, ObjectKind, TreeEntry, target_of_tag, tree_entries, tree_of_commit,
};
use super::pack::Pack;
use crate::{GitReason, MAX_TAG_HOPS, MAX_TREE_DEPTH, MAX_TREE_NAME_BYTES, RemoteError};

/// Folder at the top of a repository that holds the catalog if there is one.
const CONFIGS: &str = "configs";

/// First bytes of a pointer of Git LFS, and its maximum length in bytes.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
const LFS_POINTER_BYTES: u64 = 1024;

/// Characters without width that some file systems ignore in names.
const IGNORABLE: [std::ops::RangeInclusive<char>; 4] = [
    '\u{200c}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{206a}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
];

/// Maximum number of characters of a name that errors show.
const SHOWN_CHARS: usize = 200;

/// The objects that were fetched.
#[derive(Debug, Default)]
pub(super) struct Objects(pub(super) Vec<Pack>);

/// A folder of a commit, or one file of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CatalogTree {
    /// The folder. It is that around the file if there is one.
    pub(super) folder: String,
    /// Name of the file, if the catalog is one.
    pub(super) file: Option<String>,
    pub(super) id: ObjectId,
}

/// An entry below the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedEntry {
    /// Path from the top of the repository.
    pub(super) path: String,
    pub(super) kind: EntryKind,
    pub(super) id: ObjectId,
}

/// A commit with its tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commit {
    pub(super) id: ObjectId,
    tree: ObjectId,
}

/// Lists the entries below a folder.
struct TreeListing<'o> {
    objects: &'o Objects,
    limits: &'o UnpackLimits,
    found: Vec<ListedEntry>,
}

impl Objects {
    /// Returns whether an object was fetched.
    pub(super) fn has(&self, id: ObjectId) -> bool {
        self.locate(id).is_ok()
    }

    fn locate(&self, id: ObjectId) -> Result<(&Pack, u32), GitReason> {
        let mut packs = self.0.iter();
        let found = packs.find_map(|pack| Some((pack, pack.find(id)?)));
        found.ok_or_else(|| GitReason::Missing(id.to_string()))
    }

    /// Reads a commit, a tag or a tree.
    fn structure(&self, id: ObjectId, kind: ObjectKind) -> Result<Vec<u8>, GitReason> {
        let (pack, position) = self.locate(id)?;
        if pack.kind(position) != kind {
            return Err(GitReason::Damaged(
                "an object is of another kind than its name says",
            ));
        }
        pack.structure(position)
    }

    /// Returns the commit that an object is, or that it names as a tag. `name` is that of the ref.
    pub(super) fn commit(&self, mut id: ObjectId, name: &str) -> Result<Commit, GitReason> {
        for _ in 0..=MAX_TAG_HOPS {
            let (pack, position) = self.locate(id)?;
            match pack.kind(position) {
                ObjectKind::Commit => {
                    let tree = tree_of_commit(&pack.structure(position)?)?;
                    return Ok(Commit { id, tree });
                }
                ObjectKind::Tag => id = target_of_tag(&pack.structure(position)?)?,
                kind @ (ObjectKind::Tree | ObjectKind::Blob) => {
                    return Err(GitReason::NotACommit {
                        name: name.to_owned(),
                        kind: kind.name(),
                    });
                }
            }
        }
        Err(GitReason::TooManyTags(MAX_TAG_HOPS))
    }

    /// Finds the folder of a catalog in a commit, or its file: that at the path, or else `configs` if
    /// there is one, or the top.
    pub(super) fn catalog(
        &self,
        commit: &Commit,
        path: Option<&str>,
    ) -> Result<CatalogTree, GitReason> {
        let Some(path) = path else {
            let configs = self.entry(commit.tree, CONFIGS)?;
            let configs = configs.filter(|(kind, _)| *kind == EntryKind::Folder);
            return Ok(CatalogTree {
                folder: configs.map_or("", |_| CONFIGS).to_owned(),
                file: None,
                id: configs.map_or(commit.tree, |(_, id)| id),
            });
        };
        let names: Vec<_> = path.split('/').filter(|name| !name.is_empty()).collect();
        let mut id = commit.tree;
        for (number, name) in names.iter().enumerate() {
            let shown = || names[..=number].join("/");
            let not_a_folder = |kind| {
                let path = shown();
                Err(GitReason::NotAFolder { path, kind })
            };
            let entry = self.entry(id, name)?;
            let (kind, found) = entry.ok_or_else(|| GitReason::NoPath(shown()))?;
            match kind {
                EntryKind::Folder => id = found,
                EntryKind::File if number + 1 == names.len() => {
                    return Ok(CatalogTree {
                        folder: names[..number].join("/"),
                        file: Some((*name).to_owned()),
                        id: found,
                    });
                }
                EntryKind::File => return not_a_folder("file"),
                EntryKind::Link => return not_a_folder("symbolic link"),
                EntryKind::Submodule => return not_a_folder("submodule"),
            }
        }
        Ok(CatalogTree {
            folder: names.join("/"),
            file: None,
            id,
        })
    }

    /// Finds an entry of a tree.
    fn entry(
        &self,
        tree: ObjectId,
        name: &str,
    ) -> Result<Option<(EntryKind, ObjectId)>, GitReason> {
        let data = self.structure(tree, ObjectKind::Tree)?;
        for entry in tree_entries(&data) {
            let TreeEntry {
                kind,
                name: found,
                id,
            } = entry?;
            if found == name.as_bytes() {
                return Ok(Some((kind, id)));
            }
        }
        Ok(None)
    }

    /// Lists everything below the folder of a catalog. Only trees are read.
    pub(super) fn list(
        &self,
        catalog: &CatalogTree,
        limits: &UnpackLimits,
    ) -> Result<Vec<ListedEntry>, GitReason> {
        if let Some(file) = &catalog.file {
            return Ok(vec![ListedEntry {
                path: joined(&catalog.folder, file),
                kind: EntryKind::File,
                id: catalog.id,
            }]);
        }
        let mut listing = TreeListing {
            objects: self,
            limits,
            found: Vec::new(),
        };
        listing.list_folder(&catalog.folder, catalog.id, 1)?;
        if listing.found.is_empty() {
            return Err(GitReason::NoFiles(catalog.folder.clone()));
        }
        Ok(listing.found)
    }

    /// Copies the listed files to the file system of a folder. `progress` is called with the number
    /// of files that are copied.
    pub(super) fn unpack(
        &self,
        catalog: &CatalogTree,
        entries: &[ListedEntry],
        folder: &Path,
        progress: impl Fn(u64),
    ) -> Result<Unpacked, UnpackTreeError> {
        let limits = UnpackLimits::default();
        let root = CatalogRoot::for_artifact(
            Some(&catalog.folder)
                .filter(|path| !path.is_empty())
                .map(String::as_str),
        )?;
        let mut unpacker = TreeUnpacker::new(&root, &limits, folder)?;
        for (done, entry) in (1..).zip(entries) {
            let path = &entry.path;
            match entry.kind {
                EntryKind::Folder => unpacker.folder(path)?,
                EntryKind::Submodule => return Err(GitReason::Submodule(path.clone()).into()),
                EntryKind::File | EntryKind::Link => {
                    let (pack, position) = self.locate(entry.id)?;
                    if pack.kind(position) != ObjectKind::Blob {
                        return Err(GitReason::Damaged("a file is no blob").into());
                    }
                    let (bytes, mut content) = pack.content(position)?;
                    if entry.kind == EntryKind::Link {
                        // One byte more than is allowed, which the unpacker refuses.
                        let limit = limits.path_bytes as u64 + 1;
                        let mut target = Vec::new();
                        content
                            .take(limit)
                            .read_to_end(&mut target)
                            .map_err(GitReason::Io)?;
                        unpacker.link(path, &target)?;
                    } else if bytes <= LFS_POINTER_BYTES {
                        let mut text = Vec::new();
                        content.read_to_end(&mut text).map_err(GitReason::Io)?;
                        if text.starts_with(LFS_POINTER) {
                            return Err(GitReason::LfsPointer(path.clone()).into());
                        }
                        unpacker.file(path, bytes, &mut &text[..])?;
                    } else {
                        unpacker.file(path, bytes, &mut content)?;
                    }
                }
            }
            progress(done);
        }
        Ok(unpacker.finish()?)
    }
}

/// An error of copying files out of a pack.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnpackTreeError {
    #[error(transparent)]
    Git(#[from] GitReason),
    #[error(transparent)]
    Unpack(#[from] images::unpack::UnpackError),
}

impl UnpackTreeError {
    /// Names the repository in the error.
    pub(super) fn of(self, reference: &str) -> RemoteError {
        match self {
            Self::Git(reason) => RemoteError::Git {
                reference: reference.to_owned(),
                reason,
            },
            Self::Unpack(error) => RemoteError::Unpack(error),
        }
    }
}

impl TreeListing<'_> {
    fn list_folder(&mut self, folder: &str, id: ObjectId, depth: usize) -> Result<(), GitReason> {
        if depth > MAX_TREE_DEPTH {
            return Err(GitReason::TooDeep {
                path: shown(folder.as_bytes()),
                limit: MAX_TREE_DEPTH,
            });
        }
        let data = self.objects.structure(id, ObjectKind::Tree)?;
        let mut names = HashSet::new();
        for entry in tree_entries(&data) {
            let TreeEntry { kind, name, id } = entry?;
            let path = joined(folder, checked_name(name)?);
            if !names.insert(name) {
                return Err(GitReason::RepeatedName(shown(path.as_bytes())));
            }
            if path.len() > self.limits.path_bytes {
                return Err(GitReason::PathTooLong {
                    path: shown(path.as_bytes()),
                    limit: self.limits.path_bytes,
                });
            }
            if kind == EntryKind::Submodule {
                return Err(GitReason::Submodule(shown(path.as_bytes())));
            }
            self.found.push(ListedEntry {
                path: path.clone(),
                kind,
                id,
            });
            if self.found.len() > self.limits.entries {
                return Err(GitReason::TooManyEntries(self.limits.entries));
            }
            if kind == EntryKind::Folder {
                self.list_folder(&path, id, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Returns the name of an entry unless git, or a file system, gives it a meaning of its own.
fn checked_name(name: &[u8]) -> Result<&str, GitReason> {
    let bad = || GitReason::BadName(shown(name));
    let text = std::str::from_utf8(name).map_err(|_| bad())?;
    let is_reserved = matches!(text, "" | "." | "..")
        || text.contains(['/', '\0', '\\'])
        || text.len() > MAX_TREE_NAME_BYTES
        || is_git_folder(text);
    if is_reserved { Err(bad()) } else { Ok(text) }
}

/// Returns whether some file system takes a name for `.git`: without regard to case, to characters
/// without width, or to dots and spaces at the end, and also as a short name of Windows or with the name of a stream.
fn is_git_folder(name: &str) -> bool {
    let is_visible = |letter: &char| !IGNORABLE.iter().any(|range| range.contains(letter));
    let visible: String = name.chars().filter(is_visible).collect();
    let plain = visible.to_lowercase();
    let plain = plain.split(':').next().unwrap_or_default();
    matches!(plain.trim_end_matches([' ', '.']), ".git" | "git~1")
}

/// Escapes and shortens a name of a repository for an error.
pub(super) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let mut letters = text.chars();
    let mut shown: String = letters
        .by_ref()
        .take(SHOWN_CHARS)
        .flat_map(char::escape_debug)
        .collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_file_system_could_take_for_the_folder_of_git_are_refused() {
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "a\\b",
            ".git",
            ".GIT",
            ".git.",
            ".git  ",
            ".g\u{200c}it",
            "git~1",
            "GIT~1",
            ".git::$INDEX_ALLOCATION",
            "a\0",
        ] {
            assert!(checked_name(name.as_bytes()).is_err(), "{name:?}");
        }
        assert!(checked_name(&[b'a'; MAX_TREE_NAME_BYTES + 1]).is_err());
        assert!(checked_name(b"\xff").is_err());
        for name in [
            "a",
            "...",
            ".gitignore",
            ".github",
            "git",
            "git~2",
            ".indexignore",
            "ü b",
        ] {
            assert_eq!(checked_name(name.as_bytes()).unwrap(), name);
        }
        let longest = "a".repeat(MAX_TREE_NAME_BYTES);
        assert_eq!(checked_name(longest.as_bytes()).unwrap(), longest);
    }
}
