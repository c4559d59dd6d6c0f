//! Serves the catalogs that are wanted: one task a source, one owner of the published set.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use fbc_grammar::Digest;
use jiff::{SignedDuration, Timestamp};
use serving::{CatalogMetadata, CatalogName, CatalogsWriter, Content, History, LoadStatus, Served};
use store::Store;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use crate::demand::{Demand, RefreshRequest, Refresher};
use crate::integrity::{CHECK_INTERVAL, ContentCheck, DamagedContent, check_all};
use crate::metrics::{LoadResult, LoadStatistics};
use crate::source_task::{Attempt, SourceTask, Stages, Step};
use crate::{CatalogSpec, LoadError, Source, SourceSpec, SyncStatus};

/// Time until a content that is served is compressed. A content that is replaced or withdrawn
/// sooner never is.
pub const COMPRESS_AFTER: Duration = Duration::from_mins(1);

/// Time that a source has for its first attempt. Then it is late, and [`Event::FirstAttemptsLate`]
/// says so: a server need not wait for one slow registry, or one hostile image, before it serves
/// the other catalogs.
pub const READY_AFTER: Duration = Duration::from_mins(2);

/// Says which catalogs are to be served. Once it is dropped, nothing is added any more, and its
/// [`LoaderTask`] ends with the last source that can change.
#[derive(Debug)]
pub struct Loader {
    specs: watch::Sender<Vec<CatalogSpec>>,
    refresher: Refresher,
}

/// Loads catalogs and publishes them; see [`LoaderTask::run`].
#[derive(Debug)]
pub struct LoaderTask {
    specs: watch::Receiver<Vec<CatalogSpec>>,
    requests: mpsc::Receiver<RefreshRequest>,
    stages: Arc<Stages>,
    writer: CatalogsWriter,
    compress_after: Duration,
    ready_after: Duration,
    /// Between two checks of the stored contents; `None` never checks them.
    check_interval: Option<Duration>,
    /// The sources that are kept current.
    sources: Vec<RunningSource>,
    /// The identifier of the next task.
    next_task: u64,
    /// Each wanted catalog.
    catalogs: BTreeMap<CatalogName, CatalogState>,
    tasks: JoinSet<()>,
    /// Whether [`Event::AllAttempted`] was sent since the wanted catalogs changed.
    is_settled: bool,
    /// Whether the sources without an attempt have had their time since the wanted catalogs
    /// changed.
    is_overdue: bool,
    /// Whether [`Event::FirstAttemptsLate`] was sent since the wanted catalogs changed.
    is_late_reported: bool,
    /// The catalogs of the last [`Event::Waiting`].
    waiting: Vec<CatalogName>,
}

/// An event of a loader.
#[derive(Debug)]
pub enum Event {
    /// Progress of a source.
    Progress {
        /// One of the catalogs of that source.
        name: CatalogName,
        /// The step that they are in.
        step: Step,
        /// Bytes done.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// An attempt to load a catalog ended with another outcome than the one before.
    Attempted(Report),
    /// A catalog is no longer wanted and was withdrawn.
    Withdrawn(CatalogName),
    /// Other catalogs than before are wanted and were never attempted: these, by name.
    Waiting(Vec<CatalogName>),
    /// Every wanted catalog was attempted since the set of wanted catalogs changed.
    AllAttempted,
    /// These catalogs were not attempted in [`READY_AFTER`], while all others were and at least one
    /// is served. Sent once after each change of the set of wanted catalogs;
    /// [`Event::AllAttempted`] may follow.
    FirstAttemptsLate(Vec<CatalogName>),
}

/// The outcome of an attempt to load a catalog.
#[derive(Clone, Debug)]
pub struct Report {
    /// The catalog.
    pub name: CatalogName,
    /// The source that was attempted. What is served may come from another one that was wanted
    /// before.
    pub source: Arc<Source>,
    /// The content that is served now, if any.
    pub content: Option<Content>,
    /// How the content relates to its source.
    pub status: SyncStatus,
    /// How long the attempt took.
    pub duration: Duration,
}

/// Wanted catalogs that one task can keep current.
struct SourceGroup {
    spec: SourceSpec,
    catalogs: Vec<CatalogSpec>,
}

/// A source that a task keeps current.
#[derive(Debug)]
struct RunningSource {
    task: u64,
    spec: SourceSpec,
    catalogs: Vec<CatalogSpec>,
    abort: AbortHandle,
    demand: Demand,
    started: Instant,
    last_attempt: Option<Attempt>,
    load_status: LoadStatus,
}

/// One wanted catalog.
#[derive(Debug, Default)]
struct CatalogState {
    /// The content that is served, with its metadata.
    published: Option<(Content, CatalogMetadata)>,
    /// The source and the status that were reported last.
    reported: Option<(Arc<Source>, SyncStatus)>,
    /// Whether a stored file of the content that is served is damaged, so that it is served only
    /// until its source was read.
    is_damaged: bool,
    /// The background work on the content that is served.
    finishing: Option<AbortHandle>,
}

impl Loader {
    /// Creates a loader that publishes through this writer and keeps contents in this store, and
    /// the task that does it.
    pub fn new(store: Store, writer: CatalogsWriter) -> (Self, LoaderTask) {
        let (sender, receiver) = watch::channel(Vec::new());
        let (request, requests) = mpsc::channel(1);
        let task = LoaderTask {
            specs: receiver,
            requests,
            stages: Arc::new(Stages::new(store)),
            writer,
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
            },
            task,
        )
    }

    /// Replaces the set of wanted catalogs, at any time and as often as it changes. No two may have
    /// one name: the last one counts.
    ///
    /// A catalog that is no longer wanted is withdrawn at once. One whose metadata changed is
    /// published anew with the content that it has. One whose source changed keeps its content
    /// until the new source has given one.
    pub fn set(&self, specs: Vec<CatalogSpec>) {
        self.specs.send_replace(specs);
    }

    /// Returns what asks this loader for loads.
    pub fn refresher(&self) -> Refresher {
        self.refresher.clone()
    }
}

impl LoaderTask {
    /// Sets the time until a content that is served is compressed; [`COMPRESS_AFTER`] otherwise.
    #[must_use]
    pub fn compress_after(self, delay: Duration) -> Self {
        Self {
            compress_after: delay,
            ..self
        }
    }

    /// Sets the time that a source has for its first attempt; [`READY_AFTER`] otherwise.
    #[must_use]
    pub fn ready_after(self, delay: Duration) -> Self {
        Self {
            ready_after: delay,
            ..self
        }
    }

    /// Sets the interval between two checks of the stored contents; [`CHECK_INTERVAL`] otherwise.
    /// `None` never checks them.
    #[must_use]
    pub fn check_interval(self, interval: Option<Duration>) -> Self {
        Self {
            check_interval: interval,
            ..self
        }
    }

    /// Returns what reads the counters of this loader, also while it runs.
    pub fn statistics(&self) -> LoadStatistics {
        LoadStatistics(Arc::clone(&self.stages))
    }

    /// Loads and publishes until the [`Loader`] is dropped and no source can change any more.
    /// `observe` is called from several threads.
    pub async fn run(mut self, observe: impl Fn(Event) + Clone + Send + Sync + 'static) {
        let (sender, mut attempts) = mpsc::channel(1);
        let mut sender = Some(sender);
        let (damage, mut damaged) = mpsc::channel(1);
        let mut check = ContentCheck::new(self.check_interval);
        loop {
            let deadline = self.deadline();
            tokio::select! {
                // A load may be asked for as soon as its catalog is wanted.
                biased;
                changed = self.specs.changed(), if sender.is_some() => match (changed, &sender) {
                    (Ok(()), Some(attempts)) => {
                        let specs = self.specs.borrow_and_update().clone();
                        self.reconcile(&specs, attempts, &observe);
                    }
                    _ => sender = None,
                },
                Some(RefreshRequest { name, served }) = self.requests.recv() => {
                    let of_catalog = |running: &&mut RunningSource| running.catalogs.iter().any(|spec| spec.name == name);
                    // Whoever asks for another catalog learns by the end of the channel that it is
                    // not loaded.
                    if let Some(running) = self.sources.iter_mut().find(of_catalog) {
                        running.demand.add(served);
                    }
                }
                attempt = attempts.recv() => match attempt {
                    Some(attempt) => self.apply(&attempt, &observe),
                    None => break,
                },
                Some(damaged) = damaged.recv() => if let Some(attempts) = &sender {
                    self.mend(&damaged, attempts, &observe);
                },
                () = check.due() => check.begin(check_all(Arc::clone(&self.stages), self.digests(), damage.clone())),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    self.is_overdue = true;
                    self.settle(&observe);
                }
            }
        }
        drop(check);
        // The store is free for another loader once nothing of this one is left.
        while self.tasks.join_next().await.is_some() {}
    }

    /// Brings the tasks and the published set to what is wanted.
    fn reconcile(
        &mut self,
        specs: &[CatalogSpec],
        attempts: &mpsc::Sender<Attempt>,
        observe: &(impl Fn(Event) + Clone + Send + Sync + 'static),
    ) {
        let wanted: BTreeMap<_, _> = specs.iter().map(|spec| (spec.name.clone(), spec)).collect();
        for spec in wanted.values() {
            self.stages.metrics.want(&spec.name, &spec.source);
        }
        let withdrawn: Vec<_> = self
            .catalogs
            .keys()
            .filter(|name| !wanted.contains_key(name))
            .cloned()
            .collect();
        for name in withdrawn {
            self.withdraw(&name, observe);
        }
        let mut groups: Vec<SourceGroup> = Vec::new();
        // Positions in `groups`, by the key of their source: comparing each with each would take
        // seconds for thousands.
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        for spec in specs
            .iter()
            .filter(|spec| std::ptr::eq(wanted[&spec.name], *spec))
        {
            let positions = by_key.entry(spec.source.key()).or_default();
            if let Some(&at) = positions
                .iter()
                .find(|&&at| groups[at].spec.is_same_task(&spec.source))
            {
                groups[at].catalogs.push(spec.clone());
            } else {
                positions.push(groups.len());
                groups.push(SourceGroup {
                    spec: spec.source.clone(),
                    catalogs: vec![spec.clone()],
                });
            }
        }
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
            if !by_key.contains_key(&key) {
                self.stages.contents.store.release(&key);
            }
        }
        while self.tasks.try_join_next().is_some() {}
        (self.is_settled, self.is_overdue, self.is_late_reported) = (false, false, false);
        self.report_waiting(observe);
        self.settle(observe);
    }

    fn start(
        &mut self,
        spec: SourceSpec,
        catalogs: Vec<CatalogSpec>,
        attempts: &mpsc::Sender<Attempt>,
        observe: &(impl Fn(Event) + Clone + Send + Sync + 'static),
    ) -> RunningSource {
        self.next_task += 1;
        let id = self.next_task;
        let name = catalogs[0].name.clone();
        let (demand, requested) = Demand::new();
        let task = SourceTask {
            id,
            name,
            spec: spec.clone(),
            stages: Arc::clone(&self.stages),
            requested,
        };
        self.stages.contents.store.hold(&spec.key());
        let abort = self
            .tasks
            .spawn(task.run(attempts.clone(), observe.clone()));
        let last_attempt = None;
        let load_status = LoadStatus::default();
        RunningSource {
            task: id,
            spec,
            catalogs,
            abort,
            demand,
            started: Instant::now(),
            last_attempt,
            load_status,
        }
    }

    /// Returns the digests of the contents that are served.
    fn digests(&self) -> Vec<Digest> {
        let published = self
            .catalogs
            .values()
            .filter_map(|state| state.published.as_ref());
        let digests: BTreeSet<_> = published.map(|(content, _)| content.digest).collect();
        digests.into_iter().collect()
    }

    /// Has the sources of catalogs with a damaged content read again. It is served until that is
    /// done, and then no more.
    fn mend(
        &mut self,
        damaged: &DamagedContent,
        attempts: &mpsc::Sender<Attempt>,
        observe: &(impl Fn(Event) + Clone + Send + Sync + 'static),
    ) {
        let serves = |state: &&mut CatalogState| matches!(&state.published, Some((content, _)) if content.digest == damaged.digest);
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
            let attempt = Attempt::damaged(restarted.task, damaged);
            self.sources.push(RunningSource {
                load_status,
                ..restarted
            });
            self.apply(&attempt, observe);
        }
    }

    fn withdraw(&mut self, name: &CatalogName, observe: &impl Fn(Event)) {
        let Some(state) = self.catalogs.remove(name) else {
            return;
        };
        self.stages.metrics.forget(name);
        self.writer.statuses().forget(name.as_str());
        state.finishing.inspect(AbortHandle::abort);
        if state.published.is_some() {
            self.writer.withdraw(name.as_str());
            tracing::info!(catalog = %name, "catalog withdrawn");
        }
        observe(Event::Withdrawn(name.clone()));
    }

    fn apply(&mut self, attempt: &Attempt, observe: &impl Fn(Event)) {
        // A task that was aborted may have sent its last attempt before.
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
        for spec in catalogs {
            self.count(&spec.name, attempt);
            self.update(&spec, attempt, observe);
            self.writer
                .statuses()
                .set(spec.name.as_str(), load_status.clone());
        }
        if let Some(running) = self
            .sources
            .iter_mut()
            .find(|running| running.task == attempt.task)
        {
            running.demand.answer(attempt);
        }
        self.report_waiting(observe);
        self.settle(observe);
    }

    /// Sends [`Event::Waiting`] if it says something else than the last one.
    fn report_waiting(&mut self, observe: &impl Fn(Event)) {
        let waiting = self
            .catalogs
            .iter()
            .filter(|(_, state)| state.reported.is_none());
        let waiting: Vec<_> = waiting.map(|(name, _)| name.clone()).collect();
        if waiting != self.waiting {
            self.waiting.clone_from(&waiting);
            observe(Event::Waiting(waiting));
        }
    }

    /// Counts a load of a catalog. Serving a stored content until its source answers is none.
    fn count(&self, name: &CatalogName, attempt: &Attempt) {
        let Some(state) = self.catalogs.get(name) else {
            return;
        };
        let is_served = |content: &Content| {
            state
                .published
                .as_ref()
                .is_some_and(|(before, _)| before.digest == content.digest)
        };
        let result = match (&attempt.status, &attempt.content) {
            (SyncStatus::Pending, _) => return,
            (SyncStatus::Failed(_), _) => LoadResult::Failed,
            (SyncStatus::Synced, Some(content)) if is_served(content) => LoadResult::Unchanged,
            (SyncStatus::Synced, _) => LoadResult::Loaded,
        };
        self.stages.metrics.loaded(name, result);
    }

    /// Publishes what an attempt gave for one of the catalogs of its source, and reports the
    /// outcome where it is news.
    fn update(&mut self, spec: &CatalogSpec, attempt: &Attempt, observe: &impl Fn(Event)) {
        let Some(state) = self.catalogs.get(&spec.name) else {
            return;
        };
        let before = state
            .published
            .as_ref()
            .filter(|_| !state.is_damaged || attempt.is_of_damage());
        let is_new = |content: &Content| before.is_none_or(|(before, _)| !before.is_same(content));
        let is_described = before.is_none_or(|(_, metadata)| *metadata == spec.metadata);
        let source = &spec.source.source;
        let reported = state.reported.as_ref();
        let is_reported =
            reported.is_some_and(|(of, status)| **of == *source && status.is_same(&attempt.status));
        // A source that failed tells nothing against what another source of the same catalog gave
        // before.
        let content = attempt
            .content
            .as_ref()
            .filter(|_| before.is_none() || attempt.status.error().is_none());
        let content = content.or(before.map(|(content, _)| content)).cloned();
        let is_new = content.as_ref().is_some_and(is_new);
        match content.clone() {
            Some(content) if is_new || !is_described => self.publish(spec, content, is_new),
            Some(_) => {}
            None => self.withdraw_damaged(&spec.name),
        }
        if is_reported && !is_new {
            return;
        }
        let Some(state) = self.catalogs.get_mut(&spec.name) else {
            return;
        };
        let source = Arc::new(source.clone());
        let status = attempt.status.clone();
        state.reported = Some((Arc::clone(&source), status.clone()));
        let report = Report {
            name: spec.name.clone(),
            source,
            content,
            status,
            duration: attempt.duration,
        };
        report.log(is_new);
        observe(Event::Attempted(report));
    }

    fn publish(&mut self, spec: &CatalogSpec, content: Content, is_new: bool) {
        self.writer.publish(Served::new(
            spec.name.as_str(),
            content.clone(),
            spec.metadata.clone(),
        ));
        let finish = is_new.then(|| {
            let stages = Arc::clone(&self.stages);
            let history = self.writer.history();
            self.tasks.spawn(finish(
                stages,
                content.clone(),
                spec.clone(),
                history,
                self.compress_after,
            ))
        });
        let Some(state) = self.catalogs.get_mut(&spec.name) else {
            return;
        };
        state.published = Some((content, spec.metadata.clone()));
        state.is_damaged &= !is_new;
        if let Some(finish) = finish {
            state.finishing.replace(finish).inspect(AbortHandle::abort);
        }
    }

    /// Stops serving a damaged content whose source cannot be read.
    fn withdraw_damaged(&mut self, name: &CatalogName) {
        let Some(state) = self.catalogs.get_mut(name).filter(|state| state.is_damaged) else {
            return;
        };
        state.is_damaged = false;
        state.published = None;
        state.finishing.take().inspect(AbortHandle::abort);
        self.writer.withdraw(name.as_str());
        tracing::error!(catalog = %name, "damaged content withdrawn");
    }

    /// Sends [`Event::AllAttempted`] once every catalog was attempted, and
    /// [`Event::FirstAttemptsLate`] when the time of the others is over.
    fn settle(&mut self, observe: &impl Fn(Event)) {
        if self.is_settled {
            return;
        }
        let late: Vec<_> = self
            .unattempted()
            .flat_map(|running| &running.catalogs)
            .map(|spec| spec.name.clone())
            .collect();
        if late.is_empty() {
            self.is_settled = true;
            return observe(Event::AllAttempted);
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
            observe(Event::FirstAttemptsLate(late));
        }
    }

    /// Returns when the time of the sources that were not attempted is over; `None` if it is, or
    /// there are none.
    fn deadline(&self) -> Option<Instant> {
        let last = self.unattempted().map(|running| running.started).max()?;
        (!self.is_settled && !self.is_overdue).then(|| last + self.ready_after)
    }

    fn unattempted(&self) -> impl Iterator<Item = &RunningSource> {
        self.sources
            .iter()
            .filter(|running| running.last_attempt.is_none())
    }
}

/// Finishes a content that is served already: makes what queries need beyond the index, remembers
/// its outline for comparisons, and compresses it once it has been served for a while. Requests
/// that need these sooner wait for them, or receive an uncompressed body.
async fn finish(
    stages: Arc<Stages>,
    content: Content,
    spec: CatalogSpec,
    history: History,
    compress_after: Duration,
) {
    let outlined = stages.run_in_background({
        let content = content.clone();
        let key = spec.source.key();
        move |stages| {
            stages.contents.open_compressed(&content);
            content.catalog.prepare();
            Ok(stages.contents.outlines(&key, &content))
        }
    });
    // Not in the background thread, which goes on when the catalog is withdrawn: nobody would
    // forget it again.
    let outlined = outlined
        .await
        .map(|outlines| history.remember(spec.name.as_str(), outlines));
    sleep(compress_after).await;
    if let Err(error) = outlined.and(stages.compress(content).await) {
        tracing::error!(
            error = error.chain(),
            "cannot prepare the content being served"
        );
    }
}

impl Report {
    /// Why the last attempt failed, if it did.
    pub fn error(&self) -> Option<&LoadError> {
        self.status.error()
    }

    /// Time since the content was first read from its source, in whole seconds; `None` if nothing
    /// is served.
    pub fn age(&self) -> Option<SignedDuration> {
        let first_read = self.content.as_ref()?.last_unpacked?;
        Some(SignedDuration::from_secs(
            Timestamp::now().duration_since(first_read).as_secs(),
        ))
    }

    fn log(&self, is_new: bool) {
        let Self {
            name: catalog,
            source: _,
            content,
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
                tracing::warn!(%catalog, digest, image, duration_seconds, "serving new content, which has no blob");
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
