//! The main loop of the controller. It owns all state: it receives changes of objects and reports of
//! the loader, updates the desired catalogs, writes status, and decides when the replica is ready.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use images::{Registries, RegistrySettings};
use jiff::Timestamp;
use kube::api::Api;
use loading::{ExpectedImages, Loader, LoaderEvent, Report, SyncStatus};
use olm_api::{CatalogSource, ClusterCatalog};
use serving::{CatalogName, ReadBarrier, WaitingRead, read_barrier};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::changes::ClusterChange;
use crate::client::ApiServerClient;
use crate::desired::{
    CatalogObjectSet, DesiredCatalogs, name_of, pull_secret, resolved_source, serving_status,
};
use crate::desired_file::{DesiredCatalogsFile, SavedObjects};
use crate::image_policies::ImagePolicyWatches;
use crate::initial_lists::InitialLists;
use crate::lease::LeaseCandidate;
use crate::metrics::{ControllerMetrics, PolicyReadResult, ReconcileResult};
use crate::pull::{FIRST_RESPONSE_TIMEOUT, PullConfiguration, PullSecretNames};
use crate::readiness::{LoadState, Readiness};
use crate::status::{FIRST_REPORT, Observed};
use crate::status_reads::StatusReader;
use crate::watches::Informer;
use crate::writer::{ObjectWrite, StatusWriteError, StatusWriter, next_write};
use crate::{ControllerError, ControllerMode, ControllerOptions};

/// First backoff after a failed write. It doubles with each further failure, up to
/// [`MAX_WRITE_RETRY`].
pub const WRITE_RETRY: Duration = Duration::from_secs(1);

/// Maximum backoff after failed writes.
pub const MAX_WRITE_RETRY: Duration = Duration::from_secs(30);

/// Resource version of the object after a write.
type WriteResult = Result<Option<String>, StatusWriteError>;

/// A write that is under way.
struct PendingWrite {
    name: String,
    /// Resource version of the object that the write was computed from.
    version: Option<String>,
    begun: Instant,
    result: Pin<Box<dyn Future<Output = WriteResult> + Send>>,
}

/// Progress of loading a desired catalog.
enum LoadProgress {
    /// The first attempt has not ended yet. It is awaited since this time.
    Waiting(Instant),
    /// The last attempt has ended with this report.
    Attempted(Report),
}

/// Reconciles the served catalogs and their status with the objects of a cluster.
pub struct Controller {
    options: ControllerOptions,
    loader: Loader,
    changes: mpsc::UnboundedReceiver<ClusterChange>,
    cluster_catalogs: Informer<ClusterCatalog>,
    catalog_sources: Option<Informer<CatalogSource>>,
    image_policies: Option<ImagePolicyWatches>,
    pull: PullConfiguration,
    desired_file: DesiredCatalogsFile,
    initial_lists: InitialLists,
    /// The desired catalogs are those of the watched objects, and not those of the file. This waits
    /// for the initial lists and for the pull secrets.
    is_reconciled: bool,
    /// The last known `ClusterCatalog` objects, by name.
    objects: BTreeMap<String, Arc<ClusterCatalog>>,
    sources: Vec<Arc<CatalogSource>>,
    desired: DesiredCatalogs,
    /// Load progress of the desired catalogs, and of others until they are withdrawn.
    loads: BTreeMap<CatalogName, LoadProgress>,
    readiness: Readiness,
    status: StatusWriteQueue,
    read_barrier: ReadBarrier,
    waiting_reads: mpsc::Receiver<WaitingRead>,
}

/// Queue of the objects that may need a write. One write runs at a time.
struct StatusWriteQueue {
    writer: StatusWriter,
    /// Names of the queued objects.
    queued: BTreeSet<String>,
    /// Name of the object that was taken from the queue last. The next one is the one after it in
    /// order, so that an object whose writes fail cannot starve the others.
    last: String,
    /// Resource versions that this replica has written to, until the watch reports a newer one.
    written: BTreeMap<String, Option<String>>,
    pending: Option<PendingWrite>,
    /// Number of consecutive failed writes.
    failures: u32,
    /// Time at which the backoff after a failed write ends.
    retry_at: Option<Instant>,
    metrics: Arc<ControllerMetrics>,
}

impl Controller {
    /// Starts to watch the cluster. Until the API server responds, the desired catalogs are those of
    /// the file.
    pub fn start(
        ApiServerClient { client, requests }: &ApiServerClient,
        options: ControllerOptions,
        loader: Loader,
        settings: RegistrySettings,
    ) -> Result<Self, ControllerError> {
        let (sender, changes) = mpsc::unbounded_channel();
        let names = PullSecretNames {
            namespace: options.namespace.clone(),
            service_account: options.service_account.clone(),
            global: options.global_pull_secret.clone(),
        };
        let mut pull = PullConfiguration::new(client.clone(), sender.clone(), names, settings)?;
        let cluster_catalogs = Informer::start(
            Api::all(client.clone()),
            ClusterChange::ClusterCatalogs,
            sender.clone(),
        );
        let catalog_sources = options.catalog_sources.then(|| {
            Informer::start(
                Api::all(client.clone()),
                ClusterChange::CatalogSources,
                sender.clone(),
            )
        });
        let mut image_policies = options
            .image_policies
            .then(|| ImagePolicyWatches::start(client, &options.namespace, &sender));
        if let Some(policies) = &mut image_policies {
            pull.set_image_policies(policies.read());
            // The catalogs of the file must not be loaded without the requirements.
            pull.update(std::iter::empty());
        }
        let desired_file = DesiredCatalogsFile::open(options.desired_catalogs_file.clone());
        let SavedObjects {
            cluster_catalogs: saved_catalogs,
            catalog_sources: saved_sources,
        } = desired_file.objects();
        let writer = StatusWriter {
            client: client.clone(),
            instance: options.identity.clone(),
        };
        let (read_barrier, waiting_reads) = read_barrier();
        let mut controller = Self {
            loader,
            changes,
            read_barrier,
            waiting_reads,
            cluster_catalogs,
            catalog_sources,
            image_policies,
            pull,
            initial_lists: InitialLists::new(options.catalog_sources, options.image_policies),
            is_reconciled: false,
            objects: by_name(saved_catalogs.into_iter().map(Arc::new)),
            sources: saved_sources
                .into_iter()
                .filter(|_| options.catalog_sources)
                .map(Arc::new)
                .collect(),
            desired: DesiredCatalogs::default(),
            loads: BTreeMap::new(),
            readiness: Readiness::new(options.ready_after),
            status: StatusWriteQueue::new(
                writer,
                ControllerMetrics::new(options.mode, Arc::clone(requests)),
            ),
            desired_file,
            options,
        };
        controller.update_desired();
        Ok(controller)
    }

    /// Returns the metrics of this controller.
    pub fn metrics(&self) -> Arc<ControllerMetrics> {
        Arc::clone(&self.status.metrics)
    }

    /// Returns the barrier at which a read waits until this replica knows the status of the catalog.
    pub fn read_barrier(&self) -> ReadBarrier {
        self.read_barrier.clone()
    }

    /// Returns a channel with the client for images that are not catalogs, such as those of bundles.
    pub fn registries(&self) -> watch::Receiver<Registries> {
        self.pull.common_registries()
    }

    /// Runs until `stop` is set, and then releases the Lease. `events` are the loader's, `settings`
    /// those for registries without the pull secrets of the cluster. `readiness` is called whenever
    /// the readiness may have changed, with whether the replica has just become ready, and with the
    /// catalogs that are not loaded yet.
    pub async fn run(
        mut self,
        mut events: mpsc::UnboundedReceiver<LoaderEvent>,
        mut settings: watch::Receiver<RegistrySettings>,
        readiness: impl Fn(bool, Vec<CatalogName>),
        mut stop: watch::Receiver<bool>,
    ) {
        let (holder, lease) = self.compete(stop.clone());
        let reads = self.read_statuses(holder.clone(), lease.is_some());
        let mut holder_changes = holder.clone();
        let stopping = stop.clone();
        loop {
            let is_ready = self.update_readiness();
            readiness(is_ready, self.readiness.late());

            let is_leader = *holder.borrow();
            // Objects of the file have no current resource version: writes wait for the list.
            if self.may_write() && is_leader {
                self.begin_write();
            }
            self.status.metrics.is_leader.set(u64::from(is_leader));
            self.status
                .metrics
                .queued
                .set(self.status.queued.len() as u64);

            let deadline = self.next_deadline();
            tokio::select! {
                Some(change) = self.changes.recv() => self.apply(change),
                Some(event) = events.recv() => self.observe(event),
                Ok(()) = settings.changed() => {
                    self.pull.set_settings(settings.borrow_and_update().clone());
                    self.reconcile();
                }
                changed = holder_changes.changed(), if lease.is_some() => match changed {
                    Ok(()) => self.status.reset(self.objects.keys()),
                    // A replica whose Lease is not renewed any more would never write again. The
                    // panic ends the process, so that the kubelet restarts it.
                    Err(_) => assert!(*stopping.borrow(), "the task that renews the Lease panicked"),
                },
                result = join_write(&mut self.status.pending) => self.status.finish(result),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => self.pass_deadline(),
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        if let Some(reads) = reads {
            reads.abort();
        }
        if let Some(lease) = lease {
            // The task logs its failures.
            let _ = lease.await;
        }
    }

    /// Returns whether the objects and the decisions about their images are known well enough to
    /// write status.
    fn may_write(&self) -> bool {
        let has_policies = self
            .image_policies
            .as_ref()
            .is_none_or(|_| self.is_reconciled);
        self.initial_lists.has_cluster_catalogs() && has_policies
    }

    /// Starts to read statuses for reads that wait at the barrier, if other replicas write them.
    fn read_statuses(
        &mut self,
        is_leader: watch::Receiver<bool>,
        has_replicas: bool,
    ) -> Option<JoinHandle<()>> {
        let (_, closed) = mpsc::channel(1);
        let waiting = std::mem::replace(&mut self.waiting_reads, closed);
        let reader = StatusReader {
            cluster_catalogs: Api::all(self.status.writer.client.clone()),
            expected: self.loader.expected_images(),
            is_leader,
        };
        has_replicas.then(|| tokio::spawn(reader.run(waiting)))
    }

    /// Starts the leader election. Returns a channel that holds whether this replica writes.
    fn compete(
        &self,
        stop: watch::Receiver<bool>,
    ) -> (watch::Receiver<bool>, Option<JoinHandle<()>>) {
        let is_manager = self.options.mode == ControllerMode::Manage;
        let (sender, receiver) = watch::channel(is_manager && self.options.lease.is_none());
        let durations = self.options.lease.filter(|_| is_manager);
        let lease = durations.map(|durations| {
            let client = self.status.writer.client.clone();
            let identity = self.options.identity.clone();
            let candidate =
                LeaseCandidate::new(client, &self.options.namespace, identity, durations);
            tokio::spawn(candidate.run(sender, stop))
        });
        (receiver, lease)
    }

    /// Applies a change of the cluster and those that are queued behind it.
    fn apply(&mut self, first: ClusterChange) {
        let mut has_new_policies = false;
        let mut next = Some(first);
        while let Some(change) = next {
            match change {
                ClusterChange::ClusterCatalogs => {
                    self.initial_lists.add_cluster_catalogs(Instant::now());
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
                    self.status.queued.extend(new.map(|(name, _)| name.clone()));
                    // Before, the former objects are those of the file.
                    if self.is_reconciled {
                        expect_new_images(&self.loader.expected_images(), &former, &self.objects);
                    }
                    self.status
                        .written
                        .retain(|name, _| self.objects.contains_key(name));
                }
                ClusterChange::CatalogSources => {
                    self.initial_lists.add_catalog_sources();
                    self.sources = self
                        .catalog_sources
                        .as_ref()
                        .map(Informer::objects)
                        .unwrap_or_default();
                }
                ClusterChange::ImagePolicies(list) => {
                    if let Some(policies) = &mut self.image_policies {
                        policies.update(list);
                        has_new_policies = true;
                    }
                }
                ClusterChange::ServiceAccount(account) => self.pull.set_service_account(account),
                ClusterChange::Secret(name, secret) => self.pull.set_secret(&name, secret.as_ref()),
                // Its objects would be stale for ever. The panic ends the process, so that the
                // kubelet restarts it.
                ClusterChange::WatchPanicked => panic!("a watch of the API server panicked"),
            }
            next = self.changes.try_recv().ok();
        }
        if has_new_policies {
            self.read_image_policies();
        }
        self.reconcile();
    }

    /// Passes the requirements of objects on to the clients for registries.
    fn read_image_policies(&mut self) {
        if let Some(policies) = &mut self.image_policies {
            if policies.are_known() {
                self.initial_lists.add_image_policies();
            }
            self.pull.set_image_policies(policies.read());
            let result = if policies.are_readable() {
                PolicyReadResult::Success
            } else {
                PolicyReadResult::Failure
            };
            self.status.metrics.image_policy_reads[result].inc();
        }
    }

    /// Updates the desired catalogs once the initial lists and all pull secrets are known.
    fn reconcile(&mut self) {
        let named = self
            .objects
            .values()
            .filter_map(|object| pull_secret(object));
        if self.pull.update(named) && self.initial_lists.is_complete() {
            self.is_reconciled = true;
            self.update_desired();
            self.desired_file.save(self.objects.values(), &self.sources);
        }
    }

    /// Derives the desired catalogs from the objects, and passes them to the loader if they changed.
    fn update_desired(&mut self) {
        let catalogs: Vec<_> = self.objects.values().cloned().collect();
        let objects = CatalogObjectSet {
            mode: self.options.mode,
            policy_withdraws: self.options.policy_withdraws,
            catalogs: &catalogs,
            catalog_sources: &self.sources,
        };
        let desired = DesiredCatalogs::new(&objects, &self.desired, |secret| {
            self.pull.registries(secret)
        });
        let former = std::mem::replace(&mut self.desired, desired);
        for (catalog, reason) in &self.desired.invalid {
            if former.invalid.get(catalog) != Some(reason) {
                tracing::error!(%catalog, reason, "cannot use the source of a catalog");
                // The queue may have passed its object before the reason was known.
                self.status.queued.insert(catalog.to_string());
            }
        }
        self.status
            .metrics
            .set_blocked(self.desired.without_source());

        // A report stays until the loader has withdrawn the catalog: its content is still served.
        self.loads.retain(|name, load| {
            matches!(load, LoadProgress::Attempted(_)) || self.desired.specs.contains_key(name)
        });
        for name in self.desired.specs.keys() {
            self.loads
                .entry(name.clone())
                .or_insert_with(|| LoadProgress::Waiting(Instant::now()));
        }

        if former.specs != self.desired.specs {
            self.loader
                .set(self.desired.specs.values().cloned().collect());
        }
    }

    /// Records an event of the loader, and queues the object that it is about.
    fn observe(&mut self, event: LoaderEvent) {
        let name = match event {
            LoaderEvent::Attempted(report) => {
                let name = report.name.clone();
                self.loads
                    .insert(name.clone(), LoadProgress::Attempted(report));
                name
            }
            LoaderEvent::Withdrawn(name) => {
                // A catalog that is desired again may already wait for its next first attempt.
                if self.report(&name).is_some() {
                    self.loads.remove(&name);
                }
                name
            }
            LoaderEvent::Progress { .. }
            | LoaderEvent::Waiting(_)
            | LoaderEvent::AllAttempted
            | LoaderEvent::FirstAttemptsLate(_) => return,
        };
        self.status.queued.insert(name.to_string());
    }

    /// Returns the report of the last attempt to load a catalog.
    fn report(&self, name: &CatalogName) -> Option<&Report> {
        match self.loads.get(name)? {
            LoadProgress::Attempted(report) => Some(report),
            LoadProgress::Waiting(_) => None,
        }
    }

    /// Returns the catalogs whose first attempt has not ended, with the time at which they began to
    /// wait for it.
    fn waiting(&self) -> impl Iterator<Item = (&CatalogName, Instant)> {
        self.loads.iter().filter_map(|(name, load)| match load {
            LoadProgress::Waiting(since) => Some((name, *since)),
            LoadProgress::Attempted(_) => None,
        })
    }

    /// Begins the next write, unless one is under way or all queued objects are up to date.
    fn begin_write(&mut self) {
        while let Some(object) = self.status.next(&self.objects) {
            let Some(name) = name_of(object) else {
                continue;
            };
            let observed = Observed {
                object,
                invalid: self.desired.invalid.get(&name).map(String::as_str),
                report: self.report(&name),
                is_late: self.loads.get(&name).is_some_and(LoadProgress::is_late),
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

    /// Returns the time at which to call [`Self::pass_deadline`].
    fn next_deadline(&self) -> Option<Instant> {
        let now = Instant::now();
        let first_reports = self
            .waiting()
            .map(|(_, since)| since + FIRST_REPORT)
            .filter(|deadline| *deadline > now);
        let deadlines = [
            self.readiness.deadline(),
            self.status.retry_at,
            self.initial_lists.deadline(),
        ];
        deadlines.into_iter().flatten().chain(first_reports).min()
    }

    /// Handles the deadlines that have passed.
    fn pass_deadline(&mut self) {
        self.status.end_write_retry();
        let late = self.loads.iter().filter(|(_, load)| load.is_late());
        self.status
            .queued
            .extend(late.map(|(name, _)| name.to_string()));
        if let Some(unknown) = self.initial_lists.pass_deadline(Instant::now()) {
            let waited_seconds = FIRST_RESPONSE_TIMEOUT.as_secs();
            let kinds = unknown.join(", ");
            tracing::warn!(
                waited_seconds,
                kinds,
                "cannot list objects, serving what needs none of them meanwhile"
            );
            self.reconcile();
        }
    }

    /// Updates the readiness. Returns whether the replica has just become ready.
    ///
    /// While the API server does not respond, a replica is ready once it serves the catalogs of the
    /// file.
    fn update_readiness(&mut self) -> bool {
        // Without a file and without lists, an empty set of catalogs is unknown and not desired.
        if !self.is_reconciled && self.desired.specs.is_empty() {
            return false;
        }
        let states = self.desired.specs.keys().map(|name| {
            let report = match self.loads.get(name) {
                Some(LoadProgress::Attempted(report)) => Some(report),
                Some(LoadProgress::Waiting(_)) | None => None,
            };
            let object = self.objects.get(name.as_str());
            let state = LoadState {
                has_content: report.is_some_and(|report| report.content.is_some()),
                has_failed: report
                    .is_some_and(|report| !matches!(report.status, SyncStatus::Pending)),
                is_served_elsewhere: object
                    .is_some_and(|object| serving_status(object) == Some("True")),
            };
            (name.clone(), state)
        });
        self.readiness.update(states, Instant::now())
    }
}

impl LoadProgress {
    /// Returns whether the first attempt has taken longer than [`FIRST_REPORT`].
    fn is_late(&self) -> bool {
        matches!(self, Self::Waiting(since) if since.elapsed() >= FIRST_REPORT)
    }
}

impl StatusWriteQueue {
    fn new(writer: StatusWriter, metrics: ControllerMetrics) -> Self {
        Self {
            writer,
            queued: BTreeSet::new(),
            last: String::new(),
            written: BTreeMap::new(),
            pending: None,
            failures: 0,
            retry_at: None,
            metrics: Arc::new(metrics),
        }
    }

    /// Queues every object, after a change of leadership: another replica may have written them.
    fn reset<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        self.written.clear();
        self.queued = names.cloned().collect();
    }

    /// Takes the next object from the queue. Returns `None` while a write is under way, and during
    /// backoff.
    fn next<'a>(
        &mut self,
        objects: &'a BTreeMap<String, Arc<ClusterCatalog>>,
    ) -> Option<&'a Arc<ClusterCatalog>> {
        while self.pending.is_none() && self.retry_at.is_none() {
            let after = (Bound::Excluded(self.last.as_str()), Bound::Unbounded);
            let name = self
                .queued
                .range::<str, _>(after)
                .next()
                .or_else(|| self.queued.first())?
                .clone();
            self.queued.remove(&name);
            self.last.clone_from(&name);
            match objects.get(&name) {
                // The watch has not reported this replica's last write yet. A write to the old
                // version would conflict; the report of the watch queues the object again.
                Some(object)
                    if self.written.get(&name) == Some(&object.metadata.resource_version) => {}
                Some(object) => return Some(object),
                None => drop(self.written.remove(&name)),
            }
        }
        None
    }

    fn begin(&mut self, object: &Arc<ClusterCatalog>, write: ObjectWrite) {
        let name = object.metadata.name.clone().unwrap_or_default();
        let version = object.metadata.resource_version.clone();
        self.written.insert(name.clone(), version.clone());
        let writer = self.writer.clone();
        let object = Arc::clone(object);
        let result = Box::pin(async move { writer.write(&object, write).await });
        self.pending = Some(PendingWrite {
            name,
            version,
            begun: Instant::now(),
            result,
        });
    }

    /// Records the result of the pending write.
    fn finish(&mut self, result: WriteResult) {
        let Some(PendingWrite {
            name,
            version,
            begun,
            ..
        }) = self.pending.take()
        else {
            return;
        };
        let count = |result| self.metrics.reconciled(result, begun.elapsed());
        match result {
            Ok(new_version) => {
                count(ReconcileResult::Success);
                self.failures = 0;
                if new_version == version {
                    // The write changed nothing, so that the watch will report nothing.
                    self.written.remove(&name);
                }
            }
            // The object is deleted or has a newer version. The watch has reported that, or will.
            Err(StatusWriteError::Api(kube::Error::Api(status)))
                if status.is_not_found() || status.is_conflict() =>
            {
                count(ReconcileResult::Requeue);
                self.written.remove(&name);
            }
            Err(error) => {
                count(ReconcileResult::Error);
                let delay = WRITE_RETRY
                    .saturating_mul(2_u32.saturating_pow(self.failures))
                    .min(MAX_WRITE_RETRY);
                self.failures = self.failures.saturating_add(1);
                self.retry_at = Some(Instant::now() + delay);
                let retry_seconds = delay.as_secs_f64();
                tracing::warn!(catalog = name, %error, retry_seconds, "cannot write to a ClusterCatalog, trying again");
                self.written.remove(&name);
                self.queued.insert(name);
            }
        }
    }

    /// Ends the backoff if its time is over.
    fn end_write_retry(&mut self) {
        self.retry_at = self.retry_at.filter(|at| *at > Instant::now());
    }
}

/// Waits for the result of the pending write, forever if there is none. It is cancel-safe.
async fn join_write(pending: &mut Option<PendingWrite>) -> WriteResult {
    match pending {
        Some(pending) => pending.result.as_mut().await,
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

/// Tells the loader the images that were written into the statuses of objects, by this replica or
/// another one.
fn expect_new_images(
    expected: &ExpectedImages,
    former: &BTreeMap<String, Arc<ClusterCatalog>>,
    objects: &BTreeMap<String, Arc<ClusterCatalog>>,
) {
    for (name, object) in objects {
        let Some(before) = former.get(name) else {
            continue;
        };
        let image = resolved_source(object).filter(|image| resolved_source(before) != Some(image));
        if let (Some(image), Ok(name)) = (image, CatalogName::new(name)) {
            drop(expected.expect(name, image.into()));
        }
    }
}
