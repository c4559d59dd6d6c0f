//! Objects of git: ids, hashes, and what the data of commits, tags and trees says.

use std::fmt;

use sha1_checked::{Digest as _, Sha1};

use crate::GitReason;

/// Number of bytes of an id.
const ID_BYTES: usize = 20;

/// The id of an object: the SHA-1 of its kind, length and data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ObjectId([u8; ID_BYTES]);

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Commit,
    Tree,
    Blob,
    Tag,
}

/// Hashes the data of an object to its id.
pub(super) struct ObjectHasher(Sha1);

/// An entry of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry<'a> {
    pub(super) kind: EntryKind,
    pub(super) name: &'a [u8],
    pub(super) id: ObjectId,
}

/// The kind of an entry of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Folder,
    File,
    Link,
    Submodule,
}

impl ObjectId {
    /// Parses the hexadecimal form.
    pub(super) fn parse(hex: &[u8]) -> Option<Self> {
        let mut bytes = [0; ID_BYTES];
        if hex.len() != 2 * ID_BYTES {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
            *byte = u8::try_from(high? * 16 + low?).ok()?;
        }
        Some(Self(bytes))
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ObjectKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }
}

impl ObjectHasher {
    pub(super) fn new(kind: ObjectKind, bytes: u64) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("{} {bytes}\0", kind.name()));
        Self(hash)
    }

    pub(super) fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// Returns the id. Data that was made to collide with other data is refused: its id proves
    /// nothing.
    pub(super) fn finish(self) -> Result<ObjectId, GitReason> {
        let result = self.0.try_finalize();
        if result.has_collision() {
            return Err(GitReason::Collision);
        }
        Ok(ObjectId((*result.hash()).into()))
    }

    pub(super) fn hash(kind: ObjectKind, data: &[u8]) -> Result<ObjectId, GitReason> {
        let mut hasher = Self::new(kind, data.len() as u64);
        hasher.update(data);
        hasher.finish()
    }
}

/// Returns the tree of a commit.
pub(super) fn tree_of_commit(data: &[u8]) -> Result<ObjectId, GitReason> {
    id_after(data, b"tree ").ok_or(GitReason::Damaged("a commit names no tree"))
}

/// Returns the object that a tag names.
pub(super) fn target_of_tag(data: &[u8]) -> Result<ObjectId, GitReason> {
    id_after(data, b"object ").ok_or(GitReason::Damaged("a tag names no object"))
}

/// Parses the entries of a tree.
pub(super) fn tree_entries(
    mut data: &[u8],
) -> impl Iterator<Item = Result<TreeEntry<'_>, GitReason>> {
    std::iter::from_fn(move || {
        if data.is_empty() {
            return None;
        }
        let parsed = parse_entry(data);
        data = parsed.map_or(&[][..], |(_, rest)| rest);
        let entry = parsed.map(|(entry, _)| entry);
        Some(entry.ok_or(GitReason::Damaged(
            "a tree has an entry that cannot be parsed",
        )))
    })
}

/// Parses the first entry of a tree: `MODE NAME`, a NUL and the bytes of the id.
fn parse_entry(data: &[u8]) -> Option<(TreeEntry<'_>, &[u8])> {
    let space = data.iter().position(|byte| *byte == b' ')?;
    let nul = data.iter().position(|byte| *byte == 0)?;
    let kind = match &data[..space] {
        b"40000" | b"040000" => EntryKind::Folder,
        b"120000" => EntryKind::Link,
        b"160000" => EntryKind::Submodule,
        mode if mode.len() == 6 && mode.starts_with(b"100") => EntryKind::File,
        _ => return None,
    };
    let name = data.get(space + 1..nul)?;
    let end = nul + 1 + ID_BYTES;
    let id = ObjectId::from_bytes(data.get(nul + 1..end)?)?;
    Some((TreeEntry { kind, name, id }, &data[end..]))
}

/// Returns the id on the first line of an object, behind a word.
fn id_after(data: &[u8], word: &[u8]) -> Option<ObjectId> {
    let line = data.split(|byte| *byte == b'\n').next()?;
    ObjectId::parse(line.strip_prefix(word)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

    /// The first blocks of a file that was published with another one of the same SHA-1
    /// (<https://shattered.io>).
    const SHATTERED: &str = "255044462d312e330a25e2e3cfd30a0a0a312030206f626a0a3c3c2f57696474682032203020522f48656967\
     68742033203020522f547970652034203020522f537562747970652035203020522f46696c74657220362030\
     20522f436f6c6f7253706163652037203020522f4c656e6774682038203020522f42697473506572436f6d70\
     6f6e656e7420383e3e0a73747265616d0affd8fffe00245348412d3120697320646561642121212121852fec\
     092339759c39b1a1c63c4c97e1fffe017346dc9166b67e118f029ab621b2560ff9ca67cca8c7f85ba84c7903\
     0c2b3de218f86db3a90901d5df45c14f26fedfb3dc38e96ac22fe7bd728f0e45bce046d23c570feb141398bb\
     552ef5a0a82be331fea48037b8b5d71f0e332edf93ac3500eb4ddc0decc1a864790c782c76215660dd309791\
     d06bd0af3f98cda4bc4629b1";

    fn id(hex: &str) -> ObjectId {
        ObjectId::parse(hex.as_bytes()).expect("it is an id")
    }

    #[test]
    fn ids_are_those_of_git() {
        for (kind, expected) in [
            (ObjectKind::Tree, EMPTY_TREE),
            (ObjectKind::Blob, EMPTY_BLOB),
        ] {
            assert_eq!(ObjectHasher::hash(kind, b"").unwrap(), id(expected));
        }
        assert_eq!(id(EMPTY_TREE).to_string(), EMPTY_TREE);
        for text in ["", "4b825d", &EMPTY_TREE.replace('4', "g")] {
            assert_eq!(ObjectId::parse(text.as_bytes()), None);
        }
    }

    #[test]
    fn data_that_were_made_to_collide_have_no_id() {
        let byte =
            |at: usize| u8::from_str_radix(&SHATTERED[at..at + 2], 16).expect("it is hexadecimal");
        let data: Vec<_> = (0..SHATTERED.len()).step_by(2).map(byte).collect();
        // Without the head of an object, which no published collision has.
        let mut hasher = ObjectHasher(Sha1::new());
        hasher.update(&data);
        assert!(matches!(hasher.finish(), Err(GitReason::Collision)));
        let mut hasher = ObjectHasher(Sha1::new());
        hasher.update(&data[..data.len() - 64]);
        assert!(hasher.finish().is_ok());
    }

    #[test]
    fn entries_of_a_tree_have_a_kind_a_name_and_an_id() {
        let raw = id(EMPTY_BLOB).0;
        let entry =
            |mode: &str, name: &str| [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &raw].concat();
        let tree = [
            entry("100644", "a b"),
            entry("100755", "run"),
            entry("120000", "link"),
            entry("160000", "sub"),
            entry("40000", "folder"),
        ]
        .concat();
        let found: Vec<_> = tree_entries(&tree)
            .map(|entry| entry.map(|entry| (entry.kind, entry.name)).unwrap())
            .collect();
        assert_eq!(
            found,
            [
                (EntryKind::File, &b"a b"[..]),
                (EntryKind::File, b"run"),
                (EntryKind::Link, b"link"),
                (EntryKind::Submodule, b"sub"),
                (EntryKind::Folder, b"folder"),
            ]
        );
        for damaged in [&tree[..tree.len() - 1], b"100644", &entry("777", "a")] {
            assert!(tree_entries(damaged).any(|entry| entry.is_err()));
        }
    }

    #[test]
    fn the_first_line_of_a_commit_and_of_a_tag_names_an_object() {
        let commit = format!("tree {EMPTY_TREE}\nparent {EMPTY_BLOB}\n");
        assert_eq!(tree_of_commit(commit.as_bytes()).unwrap(), id(EMPTY_TREE));
        let tag = format!("object {EMPTY_TREE}\ntype tree\n");
        assert_eq!(target_of_tag(tag.as_bytes()).unwrap(), id(EMPTY_TREE));
        assert!(tree_of_commit(tag.as_bytes()).is_err());
        assert!(target_of_tag(b"").is_err());
    }
}
