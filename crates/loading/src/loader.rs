//! Reconciles the tasks of sources and the published set with the desired catalogs.
//!
//! [`LoaderTask`] is the only owner of both, so that each change of them is atomic for readers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use fbc_grammar::Digest;
use serving::{
    CatalogMetadata, CatalogName, CatalogsWriter, Content, History, LoadStatus, Served,
    Verification,
};
use shared_store::SharedStore;
use store::Store;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use crate::attempt::Attempt;
use crate::change_recorder::ChangeRecorder;
use crate::event::{LoaderEvent, Report};
use crate::follow::FollowedServers;
use crate::integrity::{CHECK_INTERVAL, ContentCheck, DamagedContent, check_all};
use crate::metrics::{LoadResult, describe};
use crate::pipeline::{LoadPipeline, LoadStatistics};
use crate::refresh_requests::{PendingRefreshes, RefreshRequest, Refresher};
use crate::source_task::{IndexedContent, SourceTask};
use crate::{CatalogSpec, LoadError, Source, SourceSpec, SyncStatus};

/// Time from the publication of a content until it is compressed.
//
// A content that is replaced or withdrawn sooner is never compressed, so that a source that changes
// often costs no compression.
pub const COMPRESS_AFTER: Duration = Duration::from_mins(1);

/// Time from the start of a source until [`LoaderEvent::FirstAttemptsLate`] names its catalogs.
//
// One slow registry, or one hostile image, must not keep a server from serving the other catalogs.
pub const READY_AFTER: Duration = Duration::from_mins(2);

/// Sets the desired catalogs of its [`LoaderTask`].
///
/// After it is dropped, the task ends with the last source that can change.
#[derive(Debug)]
pub struct Loader {
    specs: watch::Sender<Vec<CatalogSpec>>,
    refresher: Refresher,
    expected: ExpectedImages,
}

/// Tells a [`LoaderTask`] which images other replicas serve.
#[derive(Clone, Debug)]
pub struct ExpectedImages(mpsc::UnboundedSender<ExpectImageRequest>);

/// Says that another replica serves an image, by digest, of a catalog.
#[derive(Debug)]
struct ExpectImageRequest {
    name: CatalogName,
    image: Arc<str>,
    /// Dropped when the image is known.
    done: oneshot::Sender<()>,
}

/// Loads catalogs and publishes them: [`LoaderTask::run`].
#[derive(Debug)]
pub struct LoaderTask {
    specs: watch::Receiver<Vec<CatalogSpec>>,
    requests: mpsc::Receiver<RefreshRequest>,
    expected: mpsc::UnboundedReceiver<ExpectImageRequest>,
    /// Contents whose index was stored after they were published.
    indexed: mpsc::Receiver<IndexedContent>,
    /// Given to the tasks.
    index_sender: mpsc::Sender<IndexedContent>,
    followed: FollowedServers,
    pipeline: Arc<LoadPipeline>,
    writer: CatalogsWriter,
    /// Records the changes of contents while the task runs.
    recorder: Option<ChangeRecorder>,
    compress_after: Duration,
    ready_after: Duration,
    /// Interval between two checks of the stored contents; `None` disables them.
    check_interval: Option<Duration>,
    /// The sources with a task.
    sources: Vec<RunningSource>,
    /// The identifier of the next task.
    next_task: u64,
    /// The desired catalogs.
    catalogs: BTreeMap<CatalogName, ManagedCatalog>,
    tasks: JoinSet<()>,
    /// [`LoaderEvent::AllAttempted`] was sent since the desired catalogs changed.
    is_settled: bool,
    /// `ready_after` has passed since the desired catalogs changed.
    is_overdue: bool,
    /// [`LoaderEvent::FirstAttemptsLate`] was sent since the desired catalogs changed.
    is_late_reported: bool,
    /// The catalogs of the last [`LoaderEvent::Waiting`].
    waiting: Vec<CatalogName>,
}

/// Wanted catalogs that one task can keep current.
struct SourceGroup {
    spec: SourceSpec,
    catalogs: Vec<CatalogSpec>,
}

/// A source with its task.
#[derive(Debug)]
struct RunningSource {
    task: u64,
    spec: SourceSpec,
    catalogs: Vec<CatalogSpec>,
    abort: AbortHandle,
    refreshes: PendingRefreshes,
    started: Instant,
    last_attempt: Option<Attempt>,
    load_status: LoadStatus,
}

/// State of one desired catalog.
#[derive(Debug, Default)]
struct ManagedCatalog {
    /// The served content.
    published: Option<PublishedContent>,
    /// The last decision of the signature policy about the content that is served, or was withdrawn.
    verification: Option<Arc<Verification>>,
    /// The source and the status that were reported last.
    reported: Option<(Arc<Source>, SyncStatus)>,
    /// A stored file of the served content is damaged. The content is served until its source has
    /// been read again.
    is_damaged: bool,
    /// The background work on the served content.
    background: Option<AbortHandle>,
}

/// A content that is served.
#[derive(Debug)]
struct PublishedContent {
    content: Content,
    metadata: CatalogMetadata,
    verification: Option<Arc<Verification>>,
    /// The source that it was loaded from. The catalog may have another one by now.
    source: SourceSpec,
}

/// The content that a catalog should serve after an attempt.
struct DesiredContent {
    /// `None` if there is none, or it is withdrawn.
    content: Option<Content>,
    /// The source that the content was loaded from.
    source: SourceSpec,
    verification: Option<Arc<Verification>>,
    /// The signature policy refuses the content, and withdraws it.
    is_withdrawn: bool,
}

impl Loader {
    /// Creates a loader and its task, which publishes through this writer and keeps contents in this
    /// store.
    pub fn new(store: Store, writer: CatalogsWriter) -> (Self, LoaderTask) {
        Self::with_shared_store(store, None, writer)
    }

    /// Creates a loader like [`Self::new`], which finds the contents of images in a shared store
    /// before it pulls them, and uploads those that it pulled.
    pub fn with_shared_store(
        store: Store,
        shared: Option<Arc<SharedStore>>,
        writer: CatalogsWriter,
    ) -> (Self, LoaderTask) {
        let (sender, receiver) = watch::channel(Vec::new());
        let (request, requests) = mpsc::channel(1);
        let (expect, expected) = mpsc::unbounded_channel();
        writer.statuses().set_awaits_names(true);
        let (index_sender, indexed) = mpsc::channel(1);
        let task = LoaderTask {
            specs: receiver,
            requests,
            expected,
            indexed,
            index_sender,
            followed: FollowedServers::new(store.folder()),
            pipeline: Arc::new(LoadPipeline::new(store).with_shared_store(shared)),
            writer,
            recorder: None,
            compress_after: COMPRESS_AFTER,
            ready_after: READY_AFTER,
            check_interval: Some(CHECK_INTERVAL),
            sources: Vec::new(),
            next_task: 0,
            catalogs: BTreeMap::new(),
            tasks: JoinSet::new(),
            is_settled: true,
            is_overdue: false,
            is_late_reported: false,
            waiting: Vec::new(),
        };
        (
            Self {
                specs: sender,
                refresher: Refresher(request),
                expected: ExpectedImages(expect),
            },
            task,
        )
    }

    /// Replaces the set of desired catalogs. If two specs have the same name, the last one counts.
    ///
    /// A catalog that is no longer desired is withdrawn at once. One whose metadata has changed is
    /// published again with its content. One whose source has changed keeps its content until the new
    /// source is loaded.
    pub fn set(&self, specs: Vec<CatalogSpec>) {
        self.specs.send_replace(specs);
    }

    /// Returns a sender of refresh requests.
    pub fn refresher(&self) -> Refresher {
        self.refresher.clone()
    }

    /// Returns a sender of the images that other replicas serve.
    pub fn expected_images(&self) -> ExpectedImages {
        self.expected.clone()
    }
}

impl ExpectedImages {
    /// Says that another replica serves this image (by digest) of a catalog now. If this one serves
    /// another image, its source is polled at once, and the catalog is behind until then. The result
    /// need not be awaited.
    pub fn expect(&self, name: CatalogName, image: Arc<str>) -> impl Future<Output = ()> + use<> {
        let (done, known) = oneshot::channel();
        // Without a task, nothing is served.
        let _ = self.0.send(ExpectImageRequest { name, image, done });
        async move {
            let _ = known.await;
        }
    }
}

impl LoaderTask {
    /// Sets the time until a served content is compressed; [`COMPRESS_AFTER`] by default.
    #[must_use]
    pub fn compress_after(self, delay: Duration) -> Self {
        Self {
            compress_after: delay,
            ..self
        }
    }

    /// Sets the time until first attempts are reported as late; [`READY_AFTER`] by default.
    #[must_use]
    pub fn ready_after(self, delay: Duration) -> Self {
        Self {
            ready_after: delay,
            ..self
        }
    }

    /// Sets the interval between two checks of the stored contents; [`CHECK_INTERVAL`] by default.
    /// `None` disables them.
    #[must_use]
    pub fn check_interval(self, interval: Option<Duration>) -> Self {
        Self {
            check_interval: interval,
            ..self
        }
    }

    /// Returns the metrics of this loader. They can be read while it runs.
    pub fn statistics(&self) -> LoadStatistics {
        LoadStatistics(Arc::clone(&self.pipeline))
    }

    /// Runs until the [`Loader`] is dropped and no source can change any more. `observe` is called
    /// from several threads.
    pub async fn run(mut self, observe: impl Fn(LoaderEvent) + Clone + Send + Sync + 'static) {
        let (recorder, recording) =
            ChangeRecorder::new(Arc::clone(&self.pipeline), self.writer.history());
        self.recorder = Some(recorder);
        self.tasks.spawn(recording);
        let (sender, mut attempts) = mpsc::channel(1);
        let mut sender = Some(sender);
        let (damage, mut damaged) = mpsc::channel(1);
        let mut check = ContentCheck::new(self.check_interval);
        loop {
            let deadline = self.deadline();
            tokio::select! {
                // First, so that a refresh request finds a catalog that has just been set.
                biased;
                changed = self.specs.changed(), if sender.is_some() => match (changed, &sender) {
                    (Ok(()), Some(attempts)) => {
                        let specs = self.specs.borrow_and_update().clone();
                        self.followed.set(&specs);
                        let specs = self.followed.expand(&specs);
                        self.reconcile(&specs, attempts, &observe);
                    }
                    _ => sender = None,
                },
                () = self.followed.changed() => if let Some(attempts) = &sender {
                    let specs = self.specs.borrow().clone();
                    let specs = self.followed.expand(&specs);
                    self.reconcile(&specs, attempts, &observe);
                },
                Some(request) = self.requests.recv() => self.add_refresh(request),
                Some(expected) = self.expected.recv() => self.expect(expected),
                attempt = attempts.recv() => match attempt {
                    Some(attempt) => self.apply(&attempt, &observe),
                    None => break,
                },
                // After the attempts: only what was published can be replaced.
                Some(indexed) = self.indexed.recv() => self.replace_index(&indexed, &observe),
                Some(damaged) = damaged.recv() => if let Some(attempts) = &sender {
                    self.reload_damaged(&damaged, attempts, &observe);
                },
                () = check.due() => {
                    let pipeline = Arc::clone(&self.pipeline);
                    let damage = damage.clone();
                    if check.is_first() {
                        let sealed = pipeline.contents.store.unverified();
                        check.begin(check_all(pipeline, sealed, Store::find_damaged_lines, damage));
                    } else {
                        check.begin(check_all(pipeline, self.digests(), Store::find_damage, damage));
                    }
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    self.is_overdue = true;
                    self.report_first_attempts(&observe);
                }
            }
        }
        drop(check);
        // The tasks have sent these before they ended.
        while let Ok(indexed) = self.indexed.try_recv() {
            self.replace_index(&indexed, &observe);
        }
        self.recorder = None;
        // Tasks hold the store, and so do the threads that they have started, which outlive a task that
        // was aborted. Another loader can open the store once all have ended.
        while self.tasks.join_next().await.is_some() {}
        self.pipeline.wait_until_idle().await;
    }

    /// Adds a refresh request to its source. If the catalog is not desired, dropping the request
    /// tells the caller.
    fn add_refresh(&mut self, request: RefreshRequest) {
        if let Some(running) = self.running_source(&request.name) {
            running.refreshes.add(request.respond);
        }
    }

    /// Polls the source of a catalog of which another replica serves another image.
    fn expect(&mut self, expected: ExpectImageRequest) {
        let ExpectImageRequest { name, image, done } = expected;
        let statuses = self.writer.statuses();
        let published = self.catalogs.get(&name);
        let published = published.and_then(|catalog| catalog.published.as_ref());
        let served = published.and_then(|published| published.content.image.as_ref());
        let is_published = served.is_some();
        let is_served = served == Some(&image);
        let is_new = statuses.set_expected_image(name.as_str(), image);
        if is_served {
            statuses.set_polled(name.as_str());
        } else if is_published
            && is_new
            && let Some(running) = self.running_source(&name)
        {
            running.refreshes.wake();
        }
        drop(done);
    }

    /// Returns the source of a desired catalog, with its task.
    fn running_source(&mut self, name: &CatalogName) -> Option<&mut RunningSource> {
        self.sources.iter_mut().find(|running| {
            let mut catalogs = running.catalogs.iter();
            catalogs.any(|spec| spec.name == *name)
        })
    }

    /// Reconciles the tasks and the published set with the desired catalogs.
    fn reconcile(
        &mut self,
        specs: &[CatalogSpec],
        attempts: &mpsc::Sender<Attempt>,
        observe: &(impl Fn(LoaderEvent) + Clone + Send + Sync + 'static),
    ) {
        // If two specs have the same name, the last one counts.
        let desired: BTreeMap<_, _> = specs.iter().map(|spec| (spec.name.clone(), spec)).collect();
        for spec in desired.values() {
            self.pipeline.metrics.add_catalog(&spec.name, &spec.source);
        }
        let withdrawn: Vec<_> = self
            .catalogs
            .keys()
            .filter(|name| !desired.contains_key(name))
            .cloned()
            .collect();
        for name in withdrawn {
            self.withdraw(&name, observe);
        }

        let groups = group_by_source(
            specs
                .iter()
                .filter(|spec| std::ptr::eq(desired[&spec.name], *spec)),
        );
        self.assign_tasks(groups, attempts, observe);
        let awaits_names = self.followed.awaits_lists();
        self.writer.statuses().set_awaits_names(awaits_names);
        while self.tasks.try_join_next().is_some() {}

        self.is_settled = false;
        self.is_overdue = false;
        self.is_late_reported = false;
        self.report_waiting(observe);
        self.report_first_attempts(observe);
    }

    /// Gives each group of catalogs a task: the running one of its source, or a new one. Other tasks
    /// are aborted.
    fn assign_tasks(
        &mut self,
        groups: Vec<SourceGroup>,
        attempts: &mpsc::Sender<Attempt>,
        observe: &(impl Fn(LoaderEvent) + Clone + Send + Sync + 'static),
    ) {
        let keys: HashSet<_> = groups.iter().map(|group| group.spec.key()).collect();
        let mut former: HashMap<String, Vec<RunningSource>> = HashMap::new();
        for running in std::mem::take(&mut self.sources) {
            former.entry(running.spec.key()).or_default().push(running);
        }

        for SourceGroup { spec, catalogs } in groups {
            for spec in &catalogs {
                self.catalogs.entry(spec.name.clone()).or_default();
            }
            let same_key = former.get_mut(&spec.key());
            let same_task = same_key.and_then(|former| {
                let at = former
                    .iter()
                    .position(|running| running.spec.is_same_task(&spec))?;
                Some(former.swap_remove(at))
            });
            let running = match same_task {
                Some(running) => RunningSource {
                    catalogs,
                    ..running
                },
                None => self.start(spec, catalogs, attempts, observe),
            };
            if let Some(attempt) = &running.last_attempt {
                for spec in &running.catalogs {
                    self.update(spec, attempt, observe);
                }
            }
            for spec in &running.catalogs {
                self.writer
                    .statuses()
                    .set(spec.name.as_str(), running.load_status.clone());
            }
            self.sources.push(running);
        }

        for (key, former) in former {
            for running in former {
                running.abort.abort();
            }
            if !keys.contains(&key) {
                self.pipeline.contents.store.release(&key);
            }
        }
    }

    /// Starts a task for a source.
    fn start(
        &mut self,
        spec: SourceSpec,
        catalogs: Vec<CatalogSpec>,
        attempts: &mpsc::Sender<Attempt>,
        observe: &(impl Fn(LoaderEvent) + Clone + Send + Sync + 'static),
    ) -> RunningSource {
        self.next_task += 1;
        let id = self.next_task;
        let name = catalogs[0].name.clone();
        let (refreshes, requested) = PendingRefreshes::new();
        let task = SourceTask {
            id,
            name,
            spec: spec.clone(),
            pipeline: Arc::clone(&self.pipeline),
            requested,
            indexed: self.index_sender.clone(),
        };
        self.pipeline.contents.store.hold(&spec.key());
        let abort = self
            .tasks
            .spawn(task.run(attempts.clone(), observe.clone()));
        let load_status = LoadStatus {
            source: Some(describe(&spec.source)),
            ..LoadStatus::default()
        };
        RunningSource {
            task: id,
            spec,
            catalogs,
            abort,
            refreshes,
            started: Instant::now(),
            last_attempt: None,
            load_status,
        }
    }

    /// Returns the digests of the served contents.
    fn digests(&self) -> Vec<Digest> {
        let published = self
            .catalogs
            .values()
            .filter_map(|state| state.published.as_ref());
        let digests: BTreeSet<_> = published.map(|served| served.content.digest).collect();
        digests.into_iter().collect()
    }

    /// Restarts the sources of catalogs with a damaged content. The content is served until its
    /// source has been read again.
    fn reload_damaged(
        &mut self,
        damaged: &DamagedContent,
        attempts: &mpsc::Sender<Attempt>,
        observe: &(impl Fn(LoaderEvent) + Clone + Send + Sync + 'static),
    ) {
        let serves = |state: &&mut ManagedCatalog| matches!(&state.published, Some(served) if served.content.digest == damaged.digest);
        for state in self.catalogs.values_mut().filter(serves) {
            state.is_damaged = true;
        }
        let is_damaged = |spec: &CatalogSpec| {
            self.catalogs
                .get(&spec.name)
                .is_some_and(|state| state.is_damaged)
        };
        let (restarting, sources): (Vec<_>, Vec<_>) = std::mem::take(&mut self.sources)
            .into_iter()
            .partition(|running| running.catalogs.iter().any(is_damaged));
        self.sources = sources;
        for RunningSource {
            spec,
            catalogs,
            abort,
            load_status,
            ..
        } in restarting
        {
            abort.abort();
            let restarted = self.start(spec, catalogs, attempts, observe);
            let attempt = Attempt::damaged(restarted.task, &damaged.path);
            self.sources.push(RunningSource {
                load_status,
                ..restarted
            });
            self.apply(&attempt, observe);
        }
    }

    /// Withdraws a catalog that is no longer desired.
    fn withdraw(&mut self, name: &CatalogName, observe: &impl Fn(LoaderEvent)) {
        let Some(state) = self.catalogs.remove(name) else {
            return;
        };
        self.pipeline.metrics.remove_catalog(name);
        self.writer.statuses().forget(name.as_str());
        state.background.inspect(AbortHandle::abort);
        if state.published.is_some() {
            self.writer.withdraw(name.as_str());
            tracing::info!(catalog = %name, "catalog withdrawn");
        }
        observe(LoaderEvent::Withdrawn(name.clone()));
    }

    /// Applies the result of an attempt to all catalogs of its source.
    fn apply(&mut self, attempt: &Attempt, observe: &impl Fn(LoaderEvent)) {
        // An aborted task may have sent an attempt before.
        let Some(running) = self
            .sources
            .iter_mut()
            .find(|running| running.task == attempt.task)
        else {
            return;
        };
        running.last_attempt = Some(attempt.clone());
        running.load_status = attempt.load_status(&running.load_status);
        let catalogs = running.catalogs.clone();
        let load_status = running.load_status.clone();
        let is_current =
            matches!(attempt.status, SyncStatus::Synced) && running.refreshes.is_current(attempt);
        for spec in catalogs {
            self.count(&spec.name, attempt);
            self.update(&spec, attempt, observe);
            self.count_verification(&spec.name);
            self.writer
                .statuses()
                .set(spec.name.as_str(), load_status.clone());
            if is_current {
                self.writer.statuses().set_polled(spec.name.as_str());
            }
        }
        if let Some(running) = self
            .sources
            .iter_mut()
            .find(|running| running.task == attempt.task)
        {
            running.refreshes.respond(attempt);
        }
        self.report_waiting(observe);
        self.report_first_attempts(observe);
    }

    /// Sends [`LoaderEvent::Waiting`] if the set of catalogs differs from the last one.
    fn report_waiting(&mut self, observe: &impl Fn(LoaderEvent)) {
        let waiting = self
            .catalogs
            .iter()
            .filter(|(_, state)| state.reported.is_none());
        let waiting: Vec<_> = waiting.map(|(name, _)| name.clone()).collect();
        if waiting != self.waiting {
            self.waiting.clone_from(&waiting);
            observe(LoaderEvent::Waiting(waiting));
        }
    }

    /// Counts a load of a catalog. Serving a stored content until its source responds is not counted.
    fn count(&self, name: &CatalogName, attempt: &Attempt) {
        let Some(state) = self.catalogs.get(name) else {
            return;
        };
        let is_served = |content: &Content| {
            state
                .published
                .as_ref()
                .is_some_and(|before| before.content.digest == content.digest)
        };
        let result = match (&attempt.status, &attempt.content) {
            (SyncStatus::Pending, _) => return,
            (SyncStatus::Failed(_), _) => LoadResult::Failed,
            (SyncStatus::Synced, Some(content)) if is_served(content) => LoadResult::Unchanged,
            (SyncStatus::Synced, _) => LoadResult::Loaded,
        };
        self.pipeline.metrics.count_load(name, result);
    }

    /// Counts the decision of the signature policy after an attempt.
    fn count_verification(&self, name: &CatalogName) {
        let Some(state) = self.catalogs.get(name) else {
            return;
        };
        let verification = state.verification.as_ref();
        let decided = verification.map(|verification| verification.state);
        self.pipeline.metrics.count_verification(name, decided);
    }

    /// Publishes the result of an attempt for one of the catalogs of its source, and reports it if it
    /// differs from the last one.
    fn update(&mut self, spec: &CatalogSpec, attempt: &Attempt, observe: &impl Fn(LoaderEvent)) {
        let Some(state) = self.catalogs.get(&spec.name) else {
            return;
        };
        let desired = self.desired_content(spec, state, attempt);
        let before = state.before(attempt);
        let is_new = desired
            .content
            .as_ref()
            .is_some_and(|content| before.is_none_or(|before| !before.content.is_same(content)));
        let is_described = before.is_none_or(|before| {
            before.metadata == spec.metadata && before.verification == desired.verification
        });
        let is_judged_anew = state.verification != desired.verification;
        let status = desired.status(attempt);
        let source = &spec.source.source;
        let is_reported = state
            .reported
            .as_ref()
            .is_some_and(|(last, former)| **last == *source && former.is_same(&status));
        // The registry may have the signatures by now: this is no result yet.
        let is_preliminary = desired.is_withdrawn
            && matches!(attempt.status, SyncStatus::Pending)
            && state.reported.is_none();

        if is_judged_anew {
            desired.log_verification(&spec.name);
        }
        match &desired.content {
            Some(_) if is_new || !is_described => self.publish(spec, &desired, is_new),
            Some(_) => {}
            None if desired.is_withdrawn => self.withdraw_refused(&spec.name),
            None => self.withdraw_damaged(&spec.name),
        }
        let Some(state) = self.catalogs.get_mut(&spec.name) else {
            return;
        };
        state.verification.clone_from(&desired.verification);
        if is_preliminary || (is_reported && !is_new && !is_judged_anew) {
            return;
        }
        let source = Arc::new(source.clone());
        state.reported = Some((Arc::clone(&source), status.clone()));
        let report = Report {
            name: spec.name.clone(),
            source,
            content: desired.content,
            verification: desired.verification,
            status,
            duration: attempt.duration,
        };
        if !is_reported || is_new {
            report.log(is_new);
        }
        observe(LoaderEvent::Attempted(report));
    }

    /// Returns the content that a catalog should serve after an attempt.
    fn desired_content(
        &self,
        spec: &CatalogSpec,
        state: &ManagedCatalog,
        attempt: &Attempt,
    ) -> DesiredContent {
        let before = state.before(attempt);
        // After a failure, the served content stays, also if it comes from the catalog's former
        // source.
        let attempted = attempt
            .content
            .as_ref()
            .filter(|_| before.is_none() || attempt.status.error().is_none());
        let content = attempted.or(before.map(|before| &before.content)).cloned();
        let is_of_attempt = match (&content, &attempt.content) {
            (Some(content), Some(attempted)) => content.is_same(attempted),
            _ => false,
        };
        let (source, verification) = match before.filter(|_| !is_of_attempt) {
            None => (spec.source.clone(), attempt.verification.clone()),
            Some(before) => {
                let source = SourceSpec {
                    registries: spec.source.registries.clone(),
                    ..before.source.clone()
                };
                let verification = self.pipeline.verify_blocking(&source);
                (source, verification)
            }
        };
        // A decision that is only made again must not change the revision of the catalog.
        let former = state.verification.as_ref();
        let verification = match (verification, former) {
            (Some(again), Some(former)) if again.is_same(former) => Some(Arc::clone(former)),
            (verification, _) => verification,
        };
        let is_withdrawn = spec.policy_withdraws
            && verification
                .as_ref()
                .is_some_and(|verification| verification.withdraws());
        DesiredContent {
            content: content.filter(|_| !is_withdrawn),
            source,
            verification,
            is_withdrawn,
        }
    }

    fn publish(&mut self, spec: &CatalogSpec, desired: &DesiredContent, is_new: bool) {
        let Some(content) = desired.content.clone() else {
            return;
        };
        let verification = desired.verification.clone();
        let served = Served::new(spec.name.as_str(), content.clone(), spec.metadata.clone());
        if let Some(recorder) = &self.recorder {
            recorder.open(&self.pipeline.contents.store, &spec.name);
        }
        self.writer
            .publish(served.with_verification(verification.clone()));
        if let Some(recorder) = self.recorder.as_ref().filter(|_| is_new) {
            recorder.record(&spec.name, &content);
        }
        let background = is_new.then(|| {
            let pipeline = Arc::clone(&self.pipeline);
            let history = self.writer.history();
            self.tasks.spawn(prepare_served(
                pipeline,
                content.clone(),
                spec.clone(),
                history,
                self.compress_after,
            ))
        });
        let Some(state) = self.catalogs.get_mut(&spec.name) else {
            return;
        };
        state.published = Some(PublishedContent {
            content,
            metadata: spec.metadata.clone(),
            verification,
            source: desired.source.clone(),
        });
        state.is_damaged &= !is_new;
        if let Some(background) = background {
            let former = state.background.replace(background);
            former.inspect(AbortHandle::abort);
        }
    }

    /// Publishes a content again whose index is in the store now. Nothing else changes.
    fn replace_index(&mut self, indexed: &IndexedContent, observe: &impl Fn(LoaderEvent)) {
        let IndexedContent {
            task,
            before,
            content,
        } = indexed;
        let is_of_task = |running: &&mut RunningSource| running.task == *task;
        let Some(running) = self.sources.iter_mut().find(is_of_task) else {
            return;
        };
        if let Some(attempt) = &mut running.last_attempt
            && let Some(last) = &mut attempt.content
            && last.is_same(before)
        {
            *last = content.clone();
        }
        for spec in running.catalogs.clone() {
            let state = self.catalogs.get(&spec.name);
            let published = state.and_then(|state| state.published.as_ref());
            let Some(published) = published.filter(|it| it.content.is_same(before)) else {
                continue;
            };
            let desired = DesiredContent {
                content: Some(content.clone()),
                source: published.source.clone(),
                verification: published.verification.clone(),
                is_withdrawn: false,
            };
            self.publish(&spec, &desired, true);
            observe(LoaderEvent::Indexed(spec.name, content.clone()));
        }
    }

    /// Withdraws a content that the signature policy refuses. It is not served again, also not from
    /// the store, until the policy accepts it.
    fn withdraw_refused(&mut self, name: &CatalogName) {
        let Some(state) = self.catalogs.get_mut(name) else {
            return;
        };
        if state.published.take().is_none() {
            return;
        }
        state.is_damaged = false;
        state.background.take().inspect(AbortHandle::abort);
        self.writer.withdraw(name.as_str());
    }

    /// Withdraws a damaged content whose source cannot be read.
    fn withdraw_damaged(&mut self, name: &CatalogName) {
        let Some(state) = self.catalogs.get_mut(name).filter(|state| state.is_damaged) else {
            return;
        };
        state.is_damaged = false;
        state.published = None;
        state.background.take().inspect(AbortHandle::abort);
        self.writer.withdraw(name.as_str());
        tracing::error!(catalog = %name, "damaged content withdrawn");
    }

    /// Sends [`LoaderEvent::AllAttempted`] once every catalog has been attempted, and
    /// [`LoaderEvent::FirstAttemptsLate`] when the others are overdue.
    fn report_first_attempts(&mut self, observe: &impl Fn(LoaderEvent)) {
        // Until its servers have responded, it is unknown which catalogs there are.
        if self.is_settled || self.followed.awaits_lists() {
            return;
        }
        let late: Vec<_> = self
            .unattempted()
            .flat_map(|running| &running.catalogs)
            .map(|spec| spec.name.clone())
            .collect();
        if late.is_empty() {
            self.is_settled = true;
            return observe(LoaderEvent::AllAttempted);
        }
        let is_any_served = self
            .catalogs
            .values()
            .any(|state| state.published.is_some());
        if self.is_overdue && is_any_served && !self.is_late_reported {
            self.is_late_reported = true;
            for catalog in &late {
                let waited_seconds = self.ready_after.as_secs();
                tracing::warn!(%catalog, waited_seconds, "first load takes long, serving the other catalogs meanwhile");
            }
            observe(LoaderEvent::FirstAttemptsLate(late));
        }
    }

    /// Returns the time at which the first attempts are overdue; `None` if all have ended, or are
    /// overdue already.
    fn deadline(&self) -> Option<Instant> {
        let last = self.unattempted().map(|running| running.started).max()?;
        (!self.is_settled && !self.is_overdue).then(|| last + self.ready_after)
    }

    /// Returns the sources whose first attempt has not ended.
    fn unattempted(&self) -> impl Iterator<Item = &RunningSource> {
        self.sources
            .iter()
            .filter(|running| running.awaits_first_result())
    }
}

impl RunningSource {
    /// Returns whether its first attempt has not ended. A stored content that the signature policy
    /// refuses is no result for catalogs that withdraw it: the source may have a signature by now.
    fn awaits_first_result(&self) -> bool {
        let Some(attempt) = &self.last_attempt else {
            return true;
        };
        let is_refused = attempt
            .verification
            .as_ref()
            .is_some_and(|verification| verification.withdraws());
        matches!(attempt.status, SyncStatus::Pending)
            && is_refused
            && self.catalogs.iter().any(|spec| spec.policy_withdraws)
    }
}

impl ManagedCatalog {
    /// Returns the served content that an attempt may leave in place.
    fn before(&self, attempt: &Attempt) -> Option<&PublishedContent> {
        self.published
            .as_ref()
            .filter(|_| !self.is_damaged || attempt.is_damage())
    }
}

impl DesiredContent {
    /// Logs a decision of the signature policy that differs from the last one about a catalog.
    fn log_verification(&self, catalog: &CatalogName) {
        let Some(verification) = &self.verification else {
            return;
        };
        let image = self.content.as_ref();
        let image = image.and_then(|content| content.image.as_deref());
        let scope = verification.scope.as_deref();
        if let Some(reason) = &verification.reason {
            let message = if self.is_withdrawn {
                "the signature policy refuses the content of the catalog, withdrawing it"
            } else {
                "the signature policy refuses the content of the catalog, still serving it"
            };
            tracing::error!(%catalog, image, scope, code = reason.code, reason = reason.message, "{message}");
            return;
        }
        let state = verification.state.as_str();
        let signers = verification.signers.join(", ");
        tracing::info!(%catalog, image, scope, state, signers, "the signature policy accepts the content of the catalog");
    }

    /// Returns the status to report after an attempt.
    fn status(&self, attempt: &Attempt) -> SyncStatus {
        let reason = self.verification.as_ref();
        let reason = reason.and_then(|verification| verification.reason.as_ref());
        match reason.filter(|_| self.is_withdrawn && attempt.status.error().is_none()) {
            Some(reason) => SyncStatus::Failed(Arc::new(LoadError::Withdrawn {
                code: reason.code,
                message: reason.message.clone(),
            })),
            None => attempt.status.clone(),
        }
    }
}

/// Groups catalogs by the task that can keep them current, in the order of the specs.
fn group_by_source<'a>(specs: impl Iterator<Item = &'a CatalogSpec>) -> Vec<SourceGroup> {
    let mut groups: Vec<SourceGroup> = Vec::new();
    // Positions in `groups`, by the key of their source: comparing each spec with each group would
    // take seconds for thousands of catalogs.
    let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
    for spec in specs {
        let positions = by_key.entry(spec.source.key()).or_default();
        let position = positions
            .iter()
            .find(|&&position| groups[position].spec.is_same_task(&spec.source));
        if let Some(&position) = position {
            groups[position].catalogs.push(spec.clone());
        } else {
            positions.push(groups.len());
            groups.push(SourceGroup {
                spec: spec.source.clone(),
                catalogs: vec![spec.clone()],
            });
        }
    }
    groups
}

/// Background work on a content that is already served: computes the data that queries need beyond
/// the index, stores the outline for comparisons, and compresses the content after a while.
///
/// Requests that arrive earlier compute the data themselves, or receive an uncompressed body.
async fn prepare_served(
    pipeline: Arc<LoadPipeline>,
    content: Content,
    spec: CatalogSpec,
    history: History,
    compress_after: Duration,
) {
    let outlined = pipeline.run_in_background({
        let content = content.clone();
        let key = spec.source.key();
        move |pipeline| {
            pipeline.contents.open_compressed(&content);
            content.catalog.prepare();
            Ok(pipeline.contents.outlines(&key, &content))
        }
    });
    // Not on the background thread: it continues after the catalog has been withdrawn, and would
    // leave an entry in the history that is never removed.
    let outlined = outlined
        .await
        .map(|outlines| history.remember(spec.name.as_str(), outlines));
    sleep(compress_after).await;
    if let Err(error) = outlined.and(pipeline.compress(content).await) {
        tracing::error!(
            error = error.chain(),
            "cannot prepare the content being served"
        );
    }
}
