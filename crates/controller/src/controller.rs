//! The loop that owns everything: it takes changes of objects and reports of the loader, and says
//! what is wanted, what is written, and when the replica is ready.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use images::RegistrySettings;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::Api;
use loading::{Event, Loader, Report, SyncStatus};
use olm_api::{CatalogSource, ClusterCatalog};
use serving::CatalogName;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::client::ApiServer;
use crate::lease::Candidate;
use crate::lists::FirstLists;
use crate::metrics::{ControllerMetrics, ReconcileResult};
use crate::pull::{FIRST_ANSWER, PullConfiguration, PullNames, SecretName};
use crate::readiness::{Attempted, Readiness};
use crate::remembered::Remembered;
use crate::status::{FIRST_REPORT, Observed};
use crate::wanted::{ClusterObjects, Wanted, name_of, pull_secret, serving_status};
use crate::watches::Informer;
use crate::writer::{Write, WriteError, Writer, next_write};
use crate::{ControllerError, ControllerOptions, Mode};

/// Delay before a write that failed is tried again. It doubles with each further failure, up to
/// [`MAX_WRITE_RETRY`].
pub const WRITE_RETRY: Duration = Duration::from_secs(1);

/// Longest delay before a write that failed is tried again.
pub const MAX_WRITE_RETRY: Duration = Duration::from_secs(30);

/// A change in the cluster.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    ClusterCatalogs,
    CatalogSources,
    ServiceAccount(Option<ServiceAccount>),
    Secret(SecretName, Option<Secret>),
    /// A watch has panicked: nothing is heard of its objects any more.
    WatchPanicked,
}

/// A write that is under way.
struct PendingWrite {
    /// The object, and the version of it that is written to.
    name: String,
    version: Option<String>,
    begun: Instant,
    /// The version after the write.
    done: Pin<Box<dyn Future<Output = Result<Option<String>, WriteError>> + Send>>,
}

/// Keeps the catalogs of a cluster served and their status true.
pub struct Controller {
    options: ControllerOptions,
    loader: Loader,
    changes: mpsc::UnboundedReceiver<Change>,
    cluster_catalogs: Informer<ClusterCatalog>,
    catalog_sources: Option<Informer<CatalogSource>>,
    pull: PullConfiguration,
    remembered: Remembered,
    /// The objects that the API server has told of since the start.
    lists: FirstLists,
    /// Whether what they ask for is wanted, which waits for all lists and for pull secrets.
    is_reconciled: bool,
    /// The objects as they were when last heard of, by name.
    objects: BTreeMap<String, Arc<ClusterCatalog>>,
    sources: Vec<Arc<CatalogSource>>,
    wanted: Wanted,
    /// The last report of each catalog that is not withdrawn.
    reports: BTreeMap<CatalogName, Report>,
    /// Since when the catalogs without a report are wanted.
    waiting: BTreeMap<CatalogName, Instant>,
    readiness: Readiness,
    status: StatusWrites,
}

/// The writes to objects, one at a time.
struct StatusWrites {
    writer: Writer,
    /// Names of the objects that may need a write.
    dirty: BTreeSet<String>,
    /// The object that was looked at last: the next one is the one after it, so that an object
    /// which cannot be written delays the others and no more.
    last: String,
    /// The versions of objects that were written to and that this replica has not heard of since.
    written: BTreeMap<String, Option<String>>,
    pending: Option<PendingWrite>,
    /// Failed writes in a row.
    failures: u32,
    /// When the next write may begin, after one failed.
    retry_at: Option<Instant>,
    metrics: Arc<ControllerMetrics>,
}

impl Controller {
    /// Starts to watch the cluster. What was wanted last is wanted until the API server answers.
    pub fn start(
        ApiServer { client, requests }: &ApiServer,
        options: ControllerOptions,
        loader: Loader,
        settings: RegistrySettings,
    ) -> Result<Self, ControllerError> {
        let (sender, changes) = mpsc::unbounded_channel();
        let names = PullNames {
            namespace: options.namespace.clone(),
            service_account: options.service_account.clone(),
            global: options.global_pull_secret.clone(),
        };
        let pull = PullConfiguration::new(client.clone(), sender.clone(), names, settings)?;
        let cluster_catalogs = Informer::start(
            Api::all(client.clone()),
            Change::ClusterCatalogs,
            sender.clone(),
        );
        let catalog_sources = options.catalog_sources.then(|| {
            Informer::start(
                Api::all(client.clone()),
                Change::CatalogSources,
                sender.clone(),
            )
        });
        let remembered = Remembered::open(&options.remembered);
        let (objects, sources) = remembered.objects();
        let writer = Writer {
            client: client.clone(),
            instance: options.identity.clone(),
        };
        let mut controller = Self {
            loader,
            changes,
            cluster_catalogs,
            catalog_sources,
            pull,
            lists: FirstLists::new(options.catalog_sources),
            is_reconciled: false,
            objects: by_name(objects),
            sources: if options.catalog_sources {
                sources
            } else {
                Vec::new()
            },
            wanted: Wanted::default(),
            reports: BTreeMap::new(),
            waiting: BTreeMap::new(),
            readiness: Readiness::new(options.ready_after),
            status: StatusWrites::new(
                writer,
                ControllerMetrics::new(options.mode, Arc::clone(requests)),
            ),
            remembered,
            options,
        };
        controller.set_wanted();
        Ok(controller)
    }

    /// Counters of this controller.
    pub fn metrics(&self) -> Arc<ControllerMetrics> {
        Arc::clone(&self.status.metrics)
    }

    /// Works until `stop` is set, and then releases the Lease. `events` are the loader's,
    /// `settings` those for registries without the pull secrets of the cluster. `readiness` is told
    /// whether the replica has just become ready, and which catalogs are not loaded yet, whenever
    /// that may have changed.
    pub async fn run(
        mut self,
        mut events: mpsc::UnboundedReceiver<Event>,
        mut settings: watch::Receiver<RegistrySettings>,
        readiness: impl Fn(bool, Vec<CatalogName>),
        mut stop: watch::Receiver<bool>,
    ) {
        let (holder, lease) = self.compete(stop.clone());
        let mut holder_changes = holder.clone();
        let stopping = stop.clone();
        loop {
            let is_ready = self.is_ready_now();
            readiness(is_ready, self.readiness.late());
            let is_leader = *holder.borrow();
            if self.lists.has_cluster_catalogs() && is_leader {
                self.begin_write();
            }
            self.status.metrics.is_leader.set(u64::from(is_leader));
            self.status
                .metrics
                .queued
                .set(self.status.dirty.len() as u64);
            let late = self
                .waiting
                .values()
                .map(|since| *since + FIRST_REPORT)
                .filter(|at| *at > Instant::now());
            let deadlines = [
                self.readiness.deadline(),
                self.status.retry_at,
                self.lists.deadline(),
            ];
            let deadline = deadlines.into_iter().flatten().chain(late).min();
            tokio::select! {
                Some(change) = self.changes.recv() => self.apply(change),
                Some(event) = events.recv() => self.observe(event),
                Ok(()) = settings.changed() => {
                    self.pull.set_settings(settings.borrow_and_update().clone());
                    self.reconcile();
                }
                changed = holder_changes.changed(), if lease.is_some() => match changed {
                    Ok(()) => self.status.reset(self.objects.keys()),
                    // Only at the end does it end in another way: nobody else knows that the Lease
                    // is not renewed any more.
                    Err(_) => assert!(*stopping.borrow(), "the task that renews the Lease panicked"),
                },
                written = written(&mut self.status.pending) => self.status.finish(written),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => self.pass_deadline(),
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        if let Some(lease) = lease {
            // It logs its failures itself.
            let _ = lease.await;
        }
    }

    /// Competes for the Lease. Returns whether this replica writes, from now on.
    fn compete(
        &self,
        stop: watch::Receiver<bool>,
    ) -> (watch::Receiver<bool>, Option<JoinHandle<()>>) {
        let is_manager = self.options.mode == Mode::Manage;
        let (sender, receiver) = watch::channel(is_manager && self.options.lease.is_none());
        let durations = self.options.lease.filter(|_| is_manager);
        let lease = durations.map(|durations| {
            let client = self.status.writer.client.clone();
            let identity = self.options.identity.clone();
            let candidate = Candidate::new(client, &self.options.namespace, identity, durations);
            tokio::spawn(candidate.run(sender, stop))
        });
        (receiver, lease)
    }

    /// Takes a change of the cluster, and those that came with it.
    fn apply(&mut self, first: Change) {
        let mut next = Some(first);
        while let Some(change) = next {
            match change {
                Change::ClusterCatalogs => {
                    self.lists.add_cluster_catalogs(Instant::now());
                    let objects = by_name(self.cluster_catalogs.objects());
                    let former = std::mem::replace(&mut self.objects, objects);
                    let is_new = |name: &String, object| {
                        former
                            .get(name)
                            .is_none_or(|former| !Arc::ptr_eq(former, object))
                    };
                    let new = self
                        .objects
                        .iter()
                        .filter(|(name, object)| is_new(name, object));
                    self.status.dirty.extend(new.map(|(name, _)| name.clone()));
                    self.status
                        .written
                        .retain(|name, _| self.objects.contains_key(name));
                }
                Change::CatalogSources => {
                    self.lists.add_catalog_sources();
                    self.sources = self
                        .catalog_sources
                        .as_ref()
                        .map(Informer::objects)
                        .unwrap_or_default();
                }
                Change::ServiceAccount(account) => self.pull.set_service_account(account),
                Change::Secret(name, secret) => self.pull.set_secret(&name, secret.as_ref()),
                // The process is to end, so that what watches over it starts it again.
                Change::WatchPanicked => panic!("a watch of the API server panicked"),
            }
            next = self.changes.try_recv().ok();
        }
        self.reconcile();
    }

    /// Brings the loader to what the cluster says, once all lists and pull secrets are known.
    fn reconcile(&mut self) {
        let named = self
            .objects
            .values()
            .filter_map(|object| pull_secret(object));
        if self.pull.update(named) && self.lists.is_complete() {
            self.is_reconciled = true;
            self.set_wanted();
            self.remembered
                .remember(self.objects.values(), &self.sources);
        }
    }

    fn set_wanted(&mut self) {
        let catalogs: Vec<_> = self.objects.values().cloned().collect();
        let objects = ClusterObjects {
            mode: self.options.mode,
            catalogs: &catalogs,
            catalog_sources: &self.sources,
        };
        let wanted = Wanted::new(&objects, &self.wanted, |secret| {
            self.pull.registries(secret)
        });
        let former = std::mem::replace(&mut self.wanted, wanted);
        for (catalog, reason) in &self.wanted.invalid {
            if former.invalid.get(catalog) != Some(reason) {
                tracing::error!(%catalog, reason, "cannot use the source of a catalog");
                // Its object may have been looked at before this was known.
                self.status.dirty.insert(catalog.to_string());
            }
        }
        self.status
            .metrics
            .set_blocked(self.wanted.without_source());
        self.waiting
            .retain(|name, _| self.wanted.specs.contains_key(name));
        for name in self
            .wanted
            .specs
            .keys()
            .filter(|name| !self.reports.contains_key(name))
        {
            self.waiting
                .entry(name.clone())
                .or_insert_with(Instant::now);
        }
        if former.specs != self.wanted.specs {
            self.loader
                .set(self.wanted.specs.values().cloned().collect());
        }
    }

    /// Takes an event of the loader.
    fn observe(&mut self, event: Event) {
        let name = match event {
            Event::Attempted(report) => {
                let name = report.name.clone();
                self.waiting.remove(&name);
                self.reports.insert(name.clone(), report);
                name
            }
            Event::Withdrawn(name) => {
                self.reports.remove(&name);
                name
            }
            Event::Progress { .. }
            | Event::Waiting(_)
            | Event::AllAttempted
            | Event::FirstAttemptsLate(_) => return,
        };
        self.status.dirty.insert(name.to_string());
    }

    /// Begins the next write, if an object differs from what it should be.
    fn begin_write(&mut self) {
        while let Some(object) = self.status.next(&self.objects) {
            let Some(name) = name_of(object) else {
                continue;
            };
            let observed = Observed {
                object,
                invalid: self.wanted.invalid.get(&name).map(String::as_str),
                report: self.reports.get(&name),
                is_late: self
                    .waiting
                    .get(&name)
                    .is_some_and(|since| since.elapsed() >= FIRST_REPORT),
                base_url: &self.options.base_url,
            };
            let begun = Instant::now();
            match next_write(&observed, Timestamp::now()) {
                Some(write) => self.status.begin(object, write),
                None => self
                    .status
                    .metrics
                    .reconciled(ReconcileResult::Success, begun.elapsed()),
            }
        }
    }

    /// Looks again at what was to wait until now.
    fn pass_deadline(&mut self) {
        self.status.retry();
        let late = self
            .waiting
            .iter()
            .filter(|(_, since)| since.elapsed() >= FIRST_REPORT);
        self.status
            .dirty
            .extend(late.map(|(name, _)| name.to_string()));
        if self.lists.pass_deadline(Instant::now()) {
            let waited_seconds = FIRST_ANSWER.as_secs();
            tracing::warn!(
                waited_seconds,
                "cannot list CatalogSources, serving the other catalogs meanwhile"
            );
            self.reconcile();
        }
    }

    /// Whether the replica has just become ready. Without an answer of the API server it is when it
    /// serves what was wanted last.
    fn is_ready_now(&mut self) -> bool {
        if !self.is_reconciled && self.wanted.specs.is_empty() {
            return false;
        }
        let attempted = self.wanted.specs.keys().map(|name| {
            let report = self.reports.get(name);
            let object = self.objects.get(name.as_str());
            let attempted = Attempted {
                has_content: report.is_some_and(|report| report.content.is_some()),
                has_failed: report
                    .is_some_and(|report| !matches!(report.status, SyncStatus::Pending)),
                is_served_elsewhere: object
                    .is_some_and(|object| serving_status(object) == Some("True")),
            };
            (name.clone(), attempted)
        });
        self.readiness.update(attempted, Instant::now())
    }
}

impl StatusWrites {
    fn new(writer: Writer, metrics: ControllerMetrics) -> Self {
        let dirty = BTreeSet::new();
        let written = BTreeMap::new();
        let metrics = Arc::new(metrics);
        Self {
            writer,
            dirty,
            last: String::new(),
            written,
            pending: None,
            failures: 0,
            retry_at: None,
            metrics,
        }
    }

    /// Looks at every object again: another replica may have written before.
    fn reset<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        self.written.clear();
        self.dirty = names.cloned().collect();
    }

    /// The next object that may need a write, unless one is under way or must wait. Objects whose
    /// last write this replica has not heard of are left out: it will hear of it, and look again.
    fn next<'a>(
        &mut self,
        objects: &'a BTreeMap<String, Arc<ClusterCatalog>>,
    ) -> Option<&'a Arc<ClusterCatalog>> {
        while self.pending.is_none() && self.retry_at.is_none() {
            let after = (Bound::Excluded(self.last.as_str()), Bound::Unbounded);
            let name = self
                .dirty
                .range::<str, _>(after)
                .next()
                .or_else(|| self.dirty.first())?
                .clone();
            self.dirty.remove(&name);
            self.last.clone_from(&name);
            match objects.get(&name) {
                Some(object)
                    if self.written.get(&name) == Some(&object.metadata.resource_version) => {}
                Some(object) => return Some(object),
                None => drop(self.written.remove(&name)),
            }
        }
        None
    }

    fn begin(&mut self, object: &Arc<ClusterCatalog>, write: Write) {
        let name = object.metadata.name.clone().unwrap_or_default();
        let version = object.metadata.resource_version.clone();
        self.written.insert(name.clone(), version.clone());
        let writer = self.writer.clone();
        let object = Arc::clone(object);
        let done = Box::pin(async move { writer.write(&object, write).await });
        self.pending = Some(PendingWrite {
            name,
            version,
            begun: Instant::now(),
            done,
        });
    }

    /// Takes the outcome of a write.
    fn finish(&mut self, (name, version, written): Written) {
        let duration = self
            .pending
            .take()
            .map_or(Duration::ZERO, |pending| pending.begun.elapsed());
        let counted = |result| self.metrics.reconciled(result, duration);
        match written {
            Ok(now) => {
                counted(ReconcileResult::Success);
                self.failures = 0;
                if now == version {
                    // Nothing changed, so nothing will be heard.
                    self.written.remove(&name);
                }
            }
            // The object is gone or has a newer version. This replica has heard of that, or will.
            Err(WriteError::Api(kube::Error::Api(status)))
                if status.is_not_found() || status.is_conflict() =>
            {
                counted(ReconcileResult::Requeue);
                self.written.remove(&name);
            }
            Err(error) => {
                counted(ReconcileResult::Error);
                let delay = WRITE_RETRY
                    .saturating_mul(2_u32.saturating_pow(self.failures))
                    .min(MAX_WRITE_RETRY);
                self.failures = self.failures.saturating_add(1);
                self.retry_at = Some(Instant::now() + delay);
                let retry_seconds = delay.as_secs_f64();
                tracing::warn!(catalog = name, %error, retry_seconds, "cannot write to a ClusterCatalog, trying again");
                self.written.remove(&name);
                self.dirty.insert(name);
            }
        }
    }

    /// Lets writes begin again once the delay after a failure is over.
    fn retry(&mut self) {
        self.retry_at = self.retry_at.filter(|at| *at > Instant::now());
    }
}

/// The name of an object, its version before a write, and the version after it.
type Written = (String, Option<String>, Result<Option<String>, WriteError>);

/// Waits for the write that is under way. It is safe to cancel.
async fn written(pending: &mut Option<PendingWrite>) -> Written {
    match pending {
        Some(PendingWrite {
            name,
            version,
            done,
            ..
        }) => (name.clone(), version.clone(), done.await),
        None => std::future::pending().await,
    }
}

fn by_name(
    objects: impl IntoIterator<Item = Arc<ClusterCatalog>>,
) -> BTreeMap<String, Arc<ClusterCatalog>> {
    objects
        .into_iter()
        .filter_map(|object| Some((object.metadata.name.clone()?, object)))
        .collect()
}
