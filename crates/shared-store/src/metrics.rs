//! Counters of lookups and uploads.

use metrics::{Counter, Family, labels};

labels! {
    /// Result of a search for a revision.
    pub enum SharedLookup {
        /// The content was downloaded, and is used.
        Hit = "hit",
        /// The store does not have the content.
        Miss = "miss",
        /// The store failed, or answered too slowly.
        Error = "error",
        /// An object is damaged, or a record names another content.
        Corrupt = "corrupt",
        /// The store was not asked, because it has failed a moment before.
        Skipped = "skipped",
    }
}

labels! {
    /// Result of an upload.
    pub enum SharedUpload {
        /// The content was uploaded.
        Stored = "stored",
        /// Another replica has uploaded the revision before.
        Exists = "exists",
        /// All attempts failed.
        Failed = "failed",
        /// Too many contents wait for their upload, or this one is too large.
        Dropped = "dropped",
    }
}

/// Counters of a shared store.
#[derive(Debug)]
pub struct SharedStoreMetrics {
    /// Searches for revisions.
    pub lookups: Family<SharedLookup, Counter>,
    /// Uploads.
    pub uploads: Family<SharedUpload, Counter>,
}

impl Default for SharedStoreMetrics {
    fn default() -> Self {
        Self {
            lookups: Family::new(Counter::default),
            uploads: Family::new(Counter::default),
        }
    }
}
