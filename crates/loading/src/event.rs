//! Events of a loader: progress, reports, and changes of the set of catalogs.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serving::{CatalogName, Content, Verification};

use crate::{LoadError, Source, SyncStatus};

/// A step of a load that reports progress, in this order. Only images are fetched and unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadStep {
    /// Layers are downloaded from a registry, or copied from an OCI layout.
    Fetch,
    /// Layers are unpacked into files.
    Unpack,
    /// Files are read into canonical lines.
    Read,
}

/// An event of a loader.
#[derive(Debug)]
pub enum LoaderEvent {
    /// Progress of a source.
    Progress {
        /// One of the catalogs of that source.
        name: CatalogName,
        /// The current step.
        step: LoadStep,
        /// Bytes done.
        done: u64,
        /// Total bytes of the step.
        total: u64,
    },
    /// An attempt to load a catalog ended with another result than the last one.
    Attempted(Report),
    /// The index of a served content was stored, and replaces the one in memory.
    Indexed(CatalogName, Content),
    /// A catalog is no longer desired and was withdrawn.
    Withdrawn(CatalogName),
    /// The set of catalogs that wait for their first attempt changed to these, by name.
    Waiting(Vec<CatalogName>),
    /// Every desired catalog has been attempted since the set of desired catalogs changed.
    AllAttempted,
    /// The first attempts of these catalogs have taken longer than
    /// [`READY_AFTER`](crate::READY_AFTER), while at least one other catalog is served. Sent once
    /// after each change of the set of desired catalogs;
    /// [`LoaderEvent::AllAttempted`] may follow.
    FirstAttemptsLate(Vec<CatalogName>),
}

/// The result of an attempt to load a catalog.
#[derive(Clone, Debug)]
pub struct Report {
    /// The catalog.
    pub name: CatalogName,
    /// The source that was attempted. The served content may come from the catalog's former source.
    pub source: Arc<Source>,
    /// The content that is served now, if any.
    pub content: Option<Content>,
    /// Decision of the signature policy about the image of the content, or of the one that was
    /// withdrawn; `None` without a policy, or an image.
    pub verification: Option<Arc<Verification>>,
    /// Relation of the content to its source.
    pub status: SyncStatus,
    /// Duration of the attempt.
    pub duration: Duration,
}

impl Report {
    /// Returns the error of the attempt, if it failed.
    pub fn error(&self) -> Option<&LoadError> {
        self.status.error()
    }

    /// Returns the time since the content was first read from its source, in whole seconds; `None`
    /// if nothing is served.
    pub fn age(&self) -> Option<SignedDuration> {
        let first_read = self.content.as_ref()?.last_unpacked?;
        Some(SignedDuration::from_secs(
            Timestamp::now().duration_since(first_read).as_secs(),
        ))
    }

    pub(crate) fn log(&self, is_new: bool) {
        let Self {
            name: catalog,
            source: _,
            content,
            verification: _,
            status,
            duration,
        } = self;
        let content = content.as_ref();
        let digest = content.map(|content| content.digest.to_string());
        let image = content.and_then(|content| content.image.as_deref());
        let age_seconds = self.age().map(|age| age.as_secs());
        let duration_seconds = duration.as_secs_f64();
        match status {
            SyncStatus::Synced
                if is_new && content.is_some_and(|content| content.catalog.meta_count() == 0) =>
            {
                tracing::warn!(%catalog, digest, image, duration_seconds, "serving new content without blobs");
            }
            SyncStatus::Synced if is_new => {
                tracing::info!(%catalog, digest, image, duration_seconds, "serving new content");
            }
            SyncStatus::Synced => {
                tracing::info!(%catalog, digest, image, "source unchanged");
            }
            SyncStatus::Pending => {
                let message = "serving stored content while the source is being contacted";
                tracing::info!(%catalog, digest, image, age_seconds, "{message}");
            }
            SyncStatus::Failed(error) => {
                let message = if content.is_some() {
                    "cannot load the source, still serving the last content"
                } else {
                    "cannot load the source, nothing to serve"
                };
                tracing::error!(%catalog, error = error.chain(), reason = ?error.reason(), digest, age_seconds, "{message}");
            }
        }
    }
}
