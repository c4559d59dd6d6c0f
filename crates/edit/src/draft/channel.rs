//! A channel of a draft with its entries.

use std::collections::{HashMap, HashSet};

use super::blob::DraftBlob;
use crate::value::{BlobValue, Members};

/// An `olm.channel`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DraftChannel {
    pub(crate) name: String,
    pub(crate) entries: Vec<DraftEntry>,
    /// All members but `entries`.
    pub(crate) blob: DraftBlob,
}

/// An entry of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DraftEntry {
    pub(crate) name: String,
    pub(crate) replaces: String,
    pub(crate) skips: Vec<String>,
    pub(crate) skip_range: String,
    /// Members that are not fields of an entry; they are kept.
    pub(crate) others: Members,
}

impl DraftChannel {
    pub(crate) fn new(package: &str, name: &str) -> Self {
        let members = [
            ("schema", "olm.channel"),
            ("package", package),
            ("name", name),
        ];
        let members = members
            .map(|(key, text)| (key.to_owned(), BlobValue::text(text)))
            .into();
        Self {
            name: name.to_owned(),
            entries: Vec::new(),
            blob: DraftBlob::new(members),
        }
    }

    /// Reads an `olm.channel`.
    pub(crate) fn from_blob(mut blob: DraftBlob) -> Self {
        let entries = blob.members_mut().remove("entries");
        let entries = match &entries {
            Some(BlobValue::Array(entries)) => &entries[..],
            _ => &[],
        };
        let name = blob.text("name");
        Self {
            name,
            entries: entries.iter().map(DraftEntry::from_value).collect(),
            blob,
        }
    }

    pub(crate) fn value(&self) -> BlobValue {
        let mut members = Members::clone(&self.blob.members);
        members.insert(
            "entries".to_owned(),
            BlobValue::Array(self.entries.iter().map(DraftEntry::value).collect()),
        );
        BlobValue::Object(members)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&DraftEntry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Counts its entries and what they skip.
    pub(crate) fn edges(&self) -> usize {
        self.entries.iter().map(|entry| 1 + entry.skips.len()).sum()
    }

    /// Replaces entries of the same names where they are, and adds the others at the end.
    pub(crate) fn put(&mut self, entries: impl IntoIterator<Item = DraftEntry>) {
        let mut indexes: HashMap<String, usize> = HashMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            indexes.entry(entry.name.clone()).or_insert(index);
        }
        for entry in entries {
            let index = *indexes
                .entry(entry.name.clone())
                .or_insert(self.entries.len());
            match self.entries.get_mut(index) {
                Some(other) => *other = entry,
                None => self.entries.push(entry),
            }
        }
    }

    /// Finds the entries that no other entry replaces or skips.
    pub(crate) fn heads(&self) -> Vec<&DraftEntry> {
        let covered = self
            .entries
            .iter()
            .flat_map(|entry| entry.skips.iter().chain([&entry.replaces]));
        // A set, because channels have thousands of entries.
        let covered: HashSet<&String> = covered.collect();
        self.entries
            .iter()
            .filter(|entry| !covered.contains(&entry.name))
            .collect()
    }
}

impl DraftEntry {
    /// Reads an entry of a channel.
    fn from_value(value: &BlobValue) -> Self {
        let mut others = value.as_object().cloned().unwrap_or_default();
        let skips = value
            .list(&["skips"])
            .iter()
            .filter_map(BlobValue::as_str)
            .map(str::to_owned)
            .collect();
        for key in ["name", "replaces", "skips", "skipRange"] {
            others.remove(key);
        }
        let [name, replaces, skip_range] =
            ["name", "replaces", "skipRange"].map(|key| value.str(key).to_owned());
        Self {
            name,
            replaces,
            skips,
            skip_range,
            others,
        }
    }

    /// Returns whether both entries have the same edges.
    pub(crate) fn has_edges_of(&self, other: &Self) -> bool {
        (&self.replaces, &self.skips, &self.skip_range)
            == (&other.replaces, &other.skips, &other.skip_range)
    }

    fn value(&self) -> BlobValue {
        let mut members = self.others.clone();
        members.insert("name".to_owned(), BlobValue::text(&*self.name));
        for (key, text) in [
            ("replaces", &self.replaces),
            ("skipRange", &self.skip_range),
        ] {
            if !text.is_empty() {
                members.insert(key.to_owned(), BlobValue::text(&**text));
            }
        }
        if !self.skips.is_empty() {
            members.insert(
                "skips".to_owned(),
                BlobValue::Array(
                    self.skips
                        .iter()
                        .map(|name| BlobValue::text(&**name))
                        .collect(),
                ),
            );
        }
        BlobValue::Object(members)
    }
}
