//! What loading counts: the durations of its stages, and for each wanted catalog how its loads
//! ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use images::ImageSource;
use jiff::Timestamp;
use metrics::{Family, Histogram, MILLISECOND, labels};
use opentelemetry::context::FutureExt as _;
use serving::CatalogName;
use store::{StoreError, StoreUsage};

use crate::source_task::Stages;
use crate::{Source, SourceSpec, span};

labels! {
    /// A stage of a load.
    pub enum Stage {
        /// What the source has now: the digest of a tag, or the files of a directory.
        Resolve = "resolve",
        /// The layers of an image come.
        Pull = "pull",
        /// Layers become files.
        Unpack = "unpack",
        /// Files become canonical lines.
        Read = "read",
        /// Lines are indexed and recorded.
        Index = "index",
    }
}

labels! {
    /// How a load ended.
    pub enum LoadResult {
        /// It gave another content than the one that was served.
        Loaded = "loaded",
        /// The source has the content that is served.
        Unchanged = "unchanged",
        /// It failed. What was served before still is.
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

/// What is known of the loads of one wanted catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogLoads {
    /// Kind of its source.
    pub source_kind: SourceKind,
    /// Interval between two polls of its source; `None` if it is loaded once.
    pub poll_interval: Option<Duration>,
    /// When its source was last found to have the content that is served; `None` before.
    pub last_success: Option<Timestamp>,
    /// Number of loads that gave another content.
    pub loaded: u64,
    /// Number of loads that found the content unchanged.
    pub unchanged: u64,
    /// Number of loads that failed.
    pub failed: u64,
}

/// Counters of a loader.
#[derive(Debug)]
pub(crate) struct LoadMetrics {
    stages: Family<Stage, Histogram>,
    catalogs: Mutex<BTreeMap<CatalogName, CatalogLoads>>,
}

/// Reads the counters of a loader and the size of its store. Clones are cheap.
#[derive(Clone, Debug)]
pub struct LoadStatistics(pub(crate) Arc<Stages>);

impl Default for LoadMetrics {
    fn default() -> Self {
        Self {
            stages: Family::new(|| Histogram::new(STAGE_BOUNDS)),
            catalogs: Mutex::default(),
        }
    }
}

impl LoadMetrics {
    /// Runs a stage in a span of its own, and counts its duration, also where it fails.
    pub(crate) fn time<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let _span = span::stage(stage).attach();
        let begun = Instant::now();
        let done = work();
        self.stages[stage].observe_duration(begun.elapsed());
        done
    }

    /// Waits for a stage in a span of its own, and counts its duration, also where it fails.
    pub(crate) async fn time_async<T>(&self, stage: Stage, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.with_context(span::stage(stage)).await;
        self.stages[stage].observe_duration(begun.elapsed());
        done
    }

    /// Notes that a catalog is wanted from this source.
    pub(crate) fn want(&self, name: &CatalogName, spec: &SourceSpec) {
        let source_kind = SourceKind::of(&spec.source);
        let poll_interval = spec.poll_interval();
        let new = CatalogLoads {
            source_kind,
            poll_interval,
            last_success: None,
            loaded: 0,
            unchanged: 0,
            failed: 0,
        };
        let mut catalogs = self.catalogs();
        let loads = catalogs.entry(name.clone()).or_insert(new);
        (loads.source_kind, loads.poll_interval) = (source_kind, poll_interval);
    }

    /// Forgets a catalog that is not wanted any more.
    pub(crate) fn forget(&self, name: &CatalogName) {
        self.catalogs().remove(name);
    }

    /// Counts a load.
    pub(crate) fn loaded(&self, name: &CatalogName, result: LoadResult) {
        let mut catalogs = self.catalogs();
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

    fn catalogs(&self) -> MutexGuard<'_, BTreeMap<CatalogName, CatalogLoads>> {
        self.catalogs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadStatistics {
    /// Durations of the stages of loads.
    pub fn stages(&self) -> &Family<Stage, Histogram> {
        &self.0.metrics.stages
    }

    /// Every wanted catalog with what is known of its loads, by name.
    pub fn catalogs(&self) -> Vec<(CatalogName, CatalogLoads)> {
        self.0
            .metrics
            .catalogs()
            .iter()
            .map(|(name, loads)| (name.clone(), loads.clone()))
            .collect()
    }

    /// What the store holds. It looks at each file of the store.
    pub fn store_usage(&self) -> Result<StoreUsage, StoreError> {
        self.0.contents.store.usage()
    }
}

impl SourceKind {
    pub(crate) fn of(source: &Source) -> Self {
        match source {
            Source::Directory(_) => Self::Directory,
            Source::Image(ImageSource::Registry(_)) => Self::Registry,
            Source::Image(ImageSource::Layout(_)) => Self::Layout,
        }
    }
}
