//! Metrics of loading: the durations of its stages, and the results of the loads of each desired
//! catalog.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use images::ImageSource;
use jiff::Timestamp;
use metrics::{Family, Histogram, MILLISECOND, labels};
use remote_sources::RemoteKind;
use serving::{CatalogName, CatalogSourceKind, SourceDescription, VerificationState};

use crate::{Source, SourceSpec};

labels! {
    /// A stage of a load.
    pub enum Stage {
        /// The digest of a tag is resolved, or the files of a directory are listed.
        Resolve = "resolve",
        /// The layers of an image are downloaded.
        Pull = "pull",
        /// Layers are unpacked into files.
        Unpack = "unpack",
        /// Files are read into canonical lines.
        Read = "read",
        /// Lines are indexed and recorded.
        Index = "index",
    }
}

labels! {
    /// Result of a load.
    pub enum LoadResult {
        /// The source had another content than the one that was served.
        Loaded = "loaded",
        /// The source had the content that was served.
        Unchanged = "unchanged",
        /// The load failed. The last content stays served.
        Failed = "failed",
    }
}

labels! {
    /// Kind of a source.
    pub enum SourceKind {
        /// A directory.
        Directory = "directory",
        /// An image in a registry.
        Registry = "registry",
        /// An image in an OCI layout.
        Layout = "layout",
        /// A file on an HTTP server.
        Http = "http",
        /// A catalog of a catalogd.
        Catalogd = "catalogd",
        /// A folder of a git repository.
        Git = "git",
    }
}

/// Upper bounds of the durations of stages, in nanoseconds: from 10 milliseconds to 5 minutes.
const STAGE_BOUNDS: &[u64] = &[
    10 * MILLISECOND,
    100 * MILLISECOND,
    1_000 * MILLISECOND,
    5_000 * MILLISECOND,
    30_000 * MILLISECOND,
    300_000 * MILLISECOND,
];

/// Results of the loads of one desired catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogLoads {
    /// Kind of its source.
    pub source_kind: SourceKind,
    /// Interval between two polls of its source; `None` if it is loaded once.
    pub poll_interval: Option<Duration>,
    /// Time of the last successful load; `None` before the first.
    pub last_success: Option<Timestamp>,
    /// Number of loads that found another content.
    pub loaded: u64,
    /// Number of loads that found the content unchanged.
    pub unchanged: u64,
    /// Number of loads that failed.
    pub failed: u64,
    /// Decisions of the signature policy.
    pub verifications: VerificationCounts,
}

/// Decisions of the signature policy about the images of a catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerificationCounts {
    /// The last decision; `None` without a policy, or an image.
    pub last: Option<VerificationState>,
    /// Number of decisions that required no signature.
    pub accepted: u64,
    /// Number of decisions that found the required signatures.
    pub verified: u64,
    /// Number of refusals.
    pub refused: u64,
}

/// Metrics of a loader.
#[derive(Debug)]
pub(crate) struct LoadMetrics {
    stages: Family<Stage, Histogram>,
    catalogs: Mutex<BTreeMap<CatalogName, CatalogLoads>>,
}

impl Default for LoadMetrics {
    fn default() -> Self {
        Self {
            stages: Family::new(|| Histogram::new(STAGE_BOUNDS)),
            catalogs: Mutex::default(),
        }
    }
}

impl LoadMetrics {
    /// Adds a desired catalog, or updates its source.
    pub(crate) fn add_catalog(&self, name: &CatalogName, spec: &SourceSpec) {
        let source_kind = SourceKind::from_source(&spec.source);
        let poll_interval = spec.poll_interval();
        let new = CatalogLoads {
            source_kind,
            poll_interval,
            last_success: None,
            loaded: 0,
            unchanged: 0,
            failed: 0,
            verifications: VerificationCounts::default(),
        };
        let mut catalogs = self.lock_catalogs();
        let loads = catalogs.entry(name.clone()).or_insert(new);
        loads.source_kind = source_kind;
        loads.poll_interval = poll_interval;
    }

    /// Removes a catalog that is no longer desired.
    pub(crate) fn remove_catalog(&self, name: &CatalogName) {
        self.lock_catalogs().remove(name);
    }

    /// Counts a load.
    pub(crate) fn count_load(&self, name: &CatalogName, result: LoadResult) {
        let mut catalogs = self.lock_catalogs();
        let Some(loads) = catalogs.get_mut(name) else {
            return;
        };
        let (count, is_success) = match result {
            LoadResult::Loaded => (&mut loads.loaded, true),
            LoadResult::Unchanged => (&mut loads.unchanged, true),
            LoadResult::Failed => (&mut loads.failed, false),
        };
        *count += 1;
        if is_success {
            loads.last_success = Some(Timestamp::now());
        }
    }

    /// Counts a decision of the signature policy; `None` if there is none.
    pub(crate) fn count_verification(&self, name: &CatalogName, state: Option<VerificationState>) {
        let mut catalogs = self.lock_catalogs();
        let Some(loads) = catalogs.get_mut(name) else {
            return;
        };
        let counts = &mut loads.verifications;
        counts.last = state;
        match state {
            Some(VerificationState::Accepted) => counts.accepted += 1,
            Some(VerificationState::Verified) => counts.verified += 1,
            Some(VerificationState::Refused) => counts.refused += 1,
            None => {}
        }
    }

    /// Records the duration of a stage.
    pub(crate) fn observe_stage(&self, stage: Stage, duration: Duration) {
        self.stages[stage].observe_duration(duration);
    }

    /// Returns the durations of the stages of loads.
    pub(crate) fn stages(&self) -> &Family<Stage, Histogram> {
        &self.stages
    }

    /// Returns every desired catalog with the results of its loads, by name.
    pub(crate) fn catalogs(&self) -> Vec<(CatalogName, CatalogLoads)> {
        self.lock_catalogs()
            .iter()
            .map(|(name, loads)| (name.clone(), loads.clone()))
            .collect()
    }

    fn lock_catalogs(&self) -> MutexGuard<'_, BTreeMap<CatalogName, CatalogLoads>> {
        self.catalogs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Describes a source for people, before it is loaded.
pub(crate) fn describe(source: &Source) -> SourceDescription {
    let kind = match SourceKind::from_source(source) {
        SourceKind::Directory => CatalogSourceKind::Directory,
        SourceKind::Registry => CatalogSourceKind::Registry,
        SourceKind::Layout => CatalogSourceKind::Layout,
        SourceKind::Http => CatalogSourceKind::Http,
        SourceKind::Catalogd => CatalogSourceKind::Catalogd,
        SourceKind::Git => CatalogSourceKind::Git,
    };
    SourceDescription {
        kind,
        reference: source.shown_reference(),
        revision: None,
    }
}

impl SourceKind {
    pub(crate) fn from_source(source: &Source) -> Self {
        match source {
            Source::Directory(_) => Self::Directory,
            Source::Image(ImageSource::Registry(_)) => Self::Registry,
            Source::Image(ImageSource::Layout(_)) => Self::Layout,
            Source::Remote(remote) => match remote.kind() {
                RemoteKind::Http => Self::Http,
                RemoteKind::Git => Self::Git,
                RemoteKind::Catalogd | RemoteKind::Catalogql => Self::Catalogd,
            },
        }
    }
}
