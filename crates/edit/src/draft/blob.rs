//! A blob of a draft by its members.

use std::sync::Arc;

use crate::value::{BlobValue, Members};

/// A blob of a draft. Operations change the members that they know and keep all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DraftBlob {
    /// Number in the catalog; `None` for a new blob.
    pub(crate) id: Option<usize>,
    // Shared, because each operation works on a copy of its package and changes few blobs of it.
    pub(crate) members: Arc<Members>,
}

impl DraftBlob {
    /// Creates a new blob.
    pub(crate) fn new(members: Members) -> Self {
        Self {
            id: None,
            members: Arc::new(members),
        }
    }

    /// Creates a blob that the catalog has.
    pub(super) fn with_id(id: usize, members: Members) -> Self {
        Self {
            id: Some(id),
            members: Arc::new(members),
        }
    }

    /// Returns the members to change them.
    pub(crate) fn members_mut(&mut self) -> &mut Members {
        Arc::make_mut(&mut self.members)
    }

    /// Returns the string member of a key; empty if there is none.
    pub(super) fn text(&self, key: &str) -> String {
        self.members
            .get(key)
            .and_then(BlobValue::as_str)
            .unwrap_or_default()
            .to_owned()
    }

    pub(super) fn value(&self) -> BlobValue {
        BlobValue::Object(Members::clone(&self.members))
    }
}
