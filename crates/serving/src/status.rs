//! Load status: how the last attempts to load each catalog ended.
//!
//! It stands beside the snapshots: an attempt that gives nothing new changes no snapshot and no
//! revision, so that no response is evicted because of it. Whoever loads catalogs reports here, and
//! views show what was reported.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

/// The load status of each configured catalog, by name; clones see the same.
#[derive(Clone, Debug, Default)]
pub struct LoadStatuses(Arc<Mutex<BTreeMap<String, LoadStatus>>>);

/// How the last attempts to load a catalog ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadStatus {
    /// When the source last gave its content, changed or not; `None` if it never did since the
    /// process started.
    pub last_success: Option<Timestamp>,
    /// The last failed attempt; `None` if no attempt failed since the last success.
    pub last_failure: Option<LoadFailure>,
    /// When the source is polled next; `None` if it is not polled, or watched all the time.
    pub next_check: Option<Timestamp>,
}

/// A failed attempt to load a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFailure {
    /// When the attempt ended.
    pub at: Timestamp,
    /// The reason in one word.
    pub reason: FailureReason,
    /// The error with its causes, in one line.
    pub message: String,
    /// Number of failed attempts in a row, from 1.
    pub attempts: u32,
}

/// Why an attempt to load a source failed, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureReason {
    /// The directory, or something in it, cannot be read.
    SourceUnreadable,
    /// The directory changed each time it was read, or has become empty a moment ago.
    SourceUnstable,
    /// The registry cannot be reached, does not answer in time, or has too many requests.
    RegistryUnavailable,
    /// The registry refuses the credentials, or wants some.
    Unauthorized,
    /// The image, or a part of it, does not exist.
    ImageNotFound,
    /// The image is damaged, hostile, too large, or of an unknown form.
    InvalidImage,
    /// The image does not say where its catalog is, or has no file there.
    NoCatalog,
    /// A file of the catalog does not parse.
    InvalidCatalog,
    /// The content cannot be stored.
    StorageFailed,
    /// The stored content is damaged.
    Damaged,
    /// A fault of this program.
    Internal,
}

impl LoadStatuses {
    /// Sets the status of a catalog.
    pub fn set(&self, name: &str, status: LoadStatus) {
        let mut all = self.lock();
        match all.get_mut(name) {
            Some(former) => *former = status,
            None => drop(all.insert(name.to_owned(), status)),
        }
    }

    /// Forgets a catalog that is no longer configured.
    pub fn forget(&self, name: &str) {
        self.lock().remove(name);
    }

    /// The status of a catalog; the default one if nothing was reported of it.
    pub(super) fn get(&self, name: &str) -> LoadStatus {
        self.lock().get(name).cloned().unwrap_or_default()
    }

    /// Every status, by the name of its catalog.
    pub(super) fn all(&self) -> BTreeMap<String, LoadStatus> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, LoadStatus>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FailureReason {
    /// Whether the next attempt may succeed although neither the configuration nor the source
    /// changes.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::SourceUnreadable
                | Self::SourceUnstable
                | Self::RegistryUnavailable
                | Self::Unauthorized
                | Self::StorageFailed
                | Self::Damaged
                | Self::Internal
        )
    }
}
