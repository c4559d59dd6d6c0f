//! Objects as lists hold them: their metadata, without their text.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// An object in the list of its kind, which is sorted by name.
#[derive(Clone, Debug)]
pub(crate) struct ObjectEntry {
    /// Index of the package, bundle or blob in its catalog from which the object is made.
    pub(crate) index: usize,
    pub(crate) meta: Arc<ObjectMeta>,
}

/// The metadata of an object, and the values that selectors and tables read.
#[derive(Debug)]
pub(crate) struct ObjectMeta {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// Values by which the object is selected or shown in tables, by field.
    pub(crate) fields: Vec<(&'static str, String)>,
    /// The first bytes of the SHA-256 of everything that the object shows.
    pub(crate) hash: u64,
    /// Revision at which the object last changed.
    pub(crate) revision: u64,
}

impl ObjectMeta {
    /// Returns the value of a field; empty if there is none.
    pub(crate) fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(field, _)| *field == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns the value of a selectable field, for a request that sees the object in a namespace.
    pub(crate) fn selectable_field<'o>(&'o self, field: &str, namespace: &'o str) -> &'o str {
        match field {
            "metadata.name" => &self.name,
            "metadata.namespace" => namespace,
            other => self.field(other),
        }
    }
}

/// Finds the entry of a name in a list.
pub(crate) fn find_entry(entries: &[ObjectEntry], name: &str) -> Option<usize> {
    entries
        .binary_search_by(|entry| entry.meta.name.as_str().cmp(name))
        .ok()
}

/// Returns the first bytes of the SHA-256 of these parts.
pub(crate) fn hash_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in parts {
        // Without their lengths, parts could be cut elsewhere and have the same hash.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..16]
        .try_into()
        .expect("a digest has 32 bytes")
}

/// Returns the first 8 bytes of the SHA-256 of these parts.
pub(crate) fn hash_object<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> u64 {
    let [first @ .., _, _, _, _, _, _, _, _] = hash_parts(parts);
    u64::from_be_bytes(first)
}
