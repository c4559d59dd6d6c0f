//! The published set as objects of the API, and the task that follows its changes.
//!
//! The task alone makes states and revisions: one for each change of the published set. Requests
//! take a state, which never changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serving::{Catalogs, Served, Snapshot};
use tokio::sync::watch;

use crate::catalog::{CatalogObjects, PublishedCatalog};
use crate::executor::RequestExecutor;
use crate::history::CatalogHistory;
use crate::kind::ResourceKind;
use crate::manifest_cache::{ManifestCache, ManifestCacheBudget};
use crate::options::MAX_WATCH_TIME;
use crate::status::Status;
use crate::version::next_revision;

/// All objects at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublishedState {
    /// Revision of the last change; 0 before the first state.
    pub(crate) revision: u64,
    /// Number of changes of the published set that the state includes.
    pub(crate) changes: u64,
    /// Sorted by name.
    pub(crate) catalogs: Vec<PublishedCatalog>,
    pub(crate) history: CatalogHistory,
}

/// The parameters of objects that no catalog has.
#[derive(Clone)]
pub(crate) struct ObjectSettings {
    /// Namespace of catalogs without one.
    pub(crate) global_namespace: Arc<str>,
    pub(crate) cache_budget: ManifestCacheBudget,
}

/// Publishes a state for each change of the published set, until the program ends.
pub(crate) async fn follow(
    catalogs: Catalogs,
    settings: ObjectSettings,
    states: watch::Sender<Arc<PublishedState>>,
) {
    let mut changes = catalogs.changes();
    loop {
        let count = *changes.borrow_and_update();
        let snapshot = catalogs.published();
        let current = states.borrow().clone();
        let settings = settings.clone();
        // Listing the objects of a large catalog takes seconds.
        let next =
            tokio::task::spawn_blocking(move || current.next(&snapshot, count, &settings)).await;
        // After a panic, the former state stays: clients would take none for a deletion.
        if let Ok(next) = next {
            states.send_replace(Arc::new(next));
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

impl PublishedState {
    /// Returns the state of a snapshot. It has the revision of `self` if no catalog differs.
    fn next(&self, snapshot: &Snapshot, changes: u64, settings: &ObjectSettings) -> Self {
        let is_first = self.revision == 0;
        let changed_names = self.changed_catalogs(snapshot);
        let revision = if changed_names.is_empty() && !is_first {
            self.revision
        } else {
            next_revision(Timestamp::now(), self.revision)
        };

        let mut catalogs = Vec::<PublishedCatalog>::new();
        for served in snapshot.by_name() {
            let former = self.find(&served.name);
            let catalog = match former {
                Some(former) if !changed_names.contains(&*served.name) => PublishedCatalog {
                    served: Arc::clone(served),
                    ..former.clone()
                },
                _ => PublishedCatalog::build(
                    served,
                    self.manifests(served, &catalogs, settings),
                    &settings.global_namespace,
                    revision,
                    former.map(|former| &*former.objects),
                ),
            };
            catalogs.push(catalog);
        }

        let mut history = if is_first {
            CatalogHistory::new(revision)
        } else {
            self.history.clone()
        };
        for name in changed_names {
            let catalog = catalogs.iter().find(|catalog| catalog.served.name == name);
            let objects = catalog.map(|catalog| Arc::clone(&catalog.objects));
            history.push(name, revision, objects);
        }
        let watch_millis = u64::try_from(MAX_WATCH_TIME.as_millis()).unwrap_or(u64::MAX);
        // A client resumes soon after its watch has ended, and that lasts an hour at most.
        history.forget_before(revision.saturating_sub(watch_millis));
        Self {
            revision,
            changes,
            catalogs,
            history,
        }
    }

    /// Returns the names of the catalogs that differ from a snapshot.
    fn changed_catalogs<'s>(&'s self, snapshot: &'s Snapshot) -> BTreeSet<&'s str> {
        let is_changed = |served: &&Arc<Served>| {
            self.find(&served.name)
                .is_none_or(|former| former.served.revision() != served.revision())
        };
        let published = snapshot.by_name().filter(is_changed);
        let withdrawn = self
            .catalogs
            .iter()
            .map(|catalog| &catalog.served)
            .filter(|served| snapshot.get(&served.name).is_none());
        published
            .chain(withdrawn)
            .map(|served| &*served.name)
            .collect()
    }

    /// Returns the cache of manifests of a catalog: that of a catalog with equal content, if there
    /// is one.
    fn manifests(
        &self,
        served: &Served,
        others: &[PublishedCatalog],
        settings: &ObjectSettings,
    ) -> Arc<ManifestCache> {
        let digest = served.content.digest;
        let equal = self
            .catalogs
            .iter()
            .chain(others)
            .find(|other| other.served.content.digest == digest);
        equal.map_or_else(
            || ManifestCache::new(&settings.cache_budget),
            |equal| Arc::clone(&equal.manifests),
        )
    }

    fn find(&self, catalog: &str) -> Option<&PublishedCatalog> {
        self.catalogs
            .iter()
            .find(|known| known.served.name == catalog)
    }

    /// Returns the caches of at least `min_bytes` bytes that are not compressed, of the catalogs
    /// that meet a condition.
    pub(crate) fn uncompressed_manifests(
        &self,
        min_bytes: usize,
        is_wanted: impl Fn(&CatalogObjects) -> bool,
    ) -> Vec<Arc<ManifestCache>> {
        self.catalogs
            .iter()
            .filter(|catalog| is_wanted(&catalog.objects))
            .map(|catalog| &catalog.manifests)
            .filter(|manifests| !manifests.is_deflated(min_bytes))
            .cloned()
            .collect()
    }

    /// Returns the objects of its catalogs.
    pub(crate) fn objects(&self) -> Vec<Arc<CatalogObjects>> {
        self.catalogs
            .iter()
            .map(|catalog| Arc::clone(&catalog.objects))
            .collect()
    }

    /// Lists the objects of a kind in every catalog, if that has not been done. It takes seconds
    /// for a large catalog.
    pub(crate) async fn list_kind(
        self: Arc<Self>,
        kind: ResourceKind,
        executor: &RequestExecutor,
    ) -> Result<Arc<Self>, Status> {
        let is_listed = |catalog: &PublishedCatalog| catalog.objects.listed(kind).is_some();
        if !self.catalogs.iter().all(is_listed) {
            let state = Arc::clone(&self);
            let list = move || {
                for catalog in &state.catalogs {
                    catalog.entries(kind);
                }
            };
            executor.run(list).await?;
        }
        Ok(self)
    }
}
