//! Load status: outcome of the last attempts to load each catalog. The loader sets it, and views
//! show it.
//!
//! It is no part of snapshots: an attempt without a new content changes no snapshot and no
//! revision, so that no response is evicted because of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::Verification;

/// The load status of each configured catalog, by name. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct LoadStatuses(Arc<Mutex<ConfiguredCatalogs>>);

/// Maximum time for which a catalog counts as behind another replica. Where the image of that one
/// cannot be loaded, the former content is better than none.
pub const MAX_BEHIND: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
struct ConfiguredCatalogs {
    by_name: BTreeMap<String, LoadStatus>,
    /// Images that other replicas serve already and this one does not, by catalog.
    expected: BTreeMap<String, ExpectedImage>,
    /// `true` from the start of a loader until it knows which catalogs are configured.
    awaits_names: bool,
}

/// An image that another replica serves.
#[derive(Debug)]
struct ExpectedImage {
    /// Reference by digest.
    image: Arc<str>,
    since: Instant,
    /// The source was polled since.
    is_polled: bool,
}

/// Outcome of the last attempts to load a catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadStatus {
    /// Time of the last success, with or without a new content; `None` if there was none since the
    /// process started.
    pub last_success: Option<Timestamp>,
    /// The last failed attempt; `None` if no attempt failed since the last success.
    pub last_failure: Option<LoadFailure>,
    /// Time of the next poll of the source; `None` if it is not polled, or watched all the time.
    pub next_check: Option<Timestamp>,
    /// The source; `None` if it is unknown.
    pub source: Option<SourceDescription>,
    /// Decision of the signature policy about the image that was loaded last; `None` without a
    /// policy, or an image.
    pub verification: Option<Arc<Verification>>,
    /// Ids of the servers that the content came through, with this one first, as in the header
    /// `Catalogql-Via`; empty if they are unknown.
    pub via: Arc<str>,
}

/// The source of a catalog, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceDescription {
    /// Kind of the source.
    pub kind: CatalogSourceKind,
    /// Reference without secrets; `None` for a directory.
    pub reference: Option<String>,
    /// Revision of the source that was loaded last; `None` if there is none, or for a directory.
    pub revision: Option<String>,
}

/// Kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogSourceKind {
    /// A directory.
    Directory,
    /// An image in a registry.
    Registry,
    /// An image in an OCI layout.
    Layout,
    /// A file on an HTTP server.
    Http,
    /// A catalog of a catalogd.
    Catalogd,
    /// A folder of a git repository.
    Git,
}

/// A failed attempt to load a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFailure {
    /// Time at which the attempt ended.
    pub at: Timestamp,
    /// The reason in one word.
    pub reason: FailureReason,
    /// The error with its causes, in one line.
    pub message: String,
    /// Number of failed attempts in a row, from 1.
    pub attempts: u32,
}

/// Reason of a failed attempt to load a source, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureReason {
    /// The directory, or something in it, cannot be read, or an HTTP server does not send the file.
    SourceUnreadable,
    /// The source changed each time it was read, or has just lost most of its packages.
    SourceUnstable,
    /// The registry cannot be reached, does not answer in time, or has too many requests.
    RegistryUnavailable,
    /// The registry or server rejects the credentials, or requires some.
    Unauthorized,
    /// The image, or a part of it, does not exist.
    ImageNotFound,
    /// The image or downloaded file is damaged, hostile, too large, or of an unknown form.
    InvalidImage,
    /// The image does not say where its catalog is, or has no file there.
    NoCatalog,
    /// A file of the catalog does not parse.
    InvalidCatalog,
    /// The content cannot be stored.
    StorageFailed,
    /// The stored content is damaged.
    Damaged,
    /// An error of this program.
    Internal,
}

impl LoadStatuses {
    /// Sets the status of a catalog.
    pub fn set(&self, name: &str, status: LoadStatus) {
        let by_name = &mut self.lock().by_name;
        match by_name.get_mut(name) {
            Some(former) => *former = status,
            None => drop(by_name.insert(name.to_owned(), status)),
        }
    }

    /// Says whether it is still unknown which catalogs are configured, as it is when a loader
    /// starts.
    pub fn set_awaits_names(&self, awaits_names: bool) {
        self.lock().awaits_names = awaits_names;
    }

    /// Removes a catalog that is no longer configured.
    pub fn forget(&self, name: &str) {
        let mut configured = self.lock();
        configured.by_name.remove(name);
        configured.expected.remove(name);
    }

    /// Sets the image that another replica serves of a catalog. Returns whether it is another one
    /// than before.
    pub fn set_expected_image(&self, name: &str, image: Arc<str>) -> bool {
        let expected = &mut self.lock().expected;
        // The time and the poll of an image that is expected already count.
        if expected
            .get(name)
            .is_some_and(|former| former.image == image)
        {
            return false;
        }
        let new = ExpectedImage {
            image,
            since: Instant::now(),
            is_polled: false,
        };
        expected.insert(name.to_owned(), new);
        true
    }

    /// Says that the source of a catalog was polled since its expected image was set.
    pub fn set_polled(&self, name: &str) {
        if let Some(expected) = self.lock().expected.get_mut(name) {
            expected.is_polled = true;
        }
    }

    /// Returns whether another replica serves another image of a catalog than this one.
    pub(super) fn is_behind(&self, name: &str, image: Option<&str>) -> bool {
        let configured = self.lock();
        configured.expected.get(name).is_some_and(|expected| {
            !expected.is_polled
                && Some(&*expected.image) != image
                && expected.since.elapsed() < MAX_BEHIND
        })
    }

    /// Returns the status of a catalog; the default one before the first report.
    pub(super) fn get(&self, name: &str) -> LoadStatus {
        self.lock().by_name.get(name).cloned().unwrap_or_default()
    }

    /// Returns `true` if the catalog is configured, or if that is still unknown.
    pub(super) fn may_have(&self, name: &str) -> bool {
        let configured = self.lock();
        configured.awaits_names || configured.by_name.contains_key(name)
    }

    /// Returns all statuses, by the names of their catalogs.
    pub(super) fn all(&self) -> BTreeMap<String, LoadStatus> {
        self.lock().by_name.clone()
    }

    fn lock(&self) -> MutexGuard<'_, ConfiguredCatalogs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FailureReason {
    /// Returns whether the next attempt may succeed although neither the configuration nor the
    /// source changes.
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
