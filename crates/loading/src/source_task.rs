//! The life of one source, the same for every kind: poll → revision, fetch → files, read → content;
//! then a wait until the next poll is due.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fbc_grammar::Digest;
use fbc_read::Origins;
use futures_util::FutureExt;
use jiff::Timestamp;
use opentelemetry::Context;
use serving::{CatalogName, Content, LoadFailure, LoadStatus};
use store::{SourceState, Store, WrittenContent};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::sleep;

use crate::contents::Contents;
use crate::directory::{self, Listing};
use crate::emptied::EmptiedDirectories;
use crate::image::{FetchedImage, ImageState, Pulls};
use crate::integrity::DamagedContent;
use crate::loader::Event;
use crate::low_priority::{COMPRESSING, LOADING, panic_message, spawn_low_priority};
use crate::metrics::{LoadMetrics, Stage};
use crate::read::read;
use crate::refresh::jittered;
use crate::span::LoadSpan;
use crate::{LoadError, Source, SourceSpec, SyncStatus, WatchInterval};

/// What happens to the bytes of a source, in this order. Only images are fetched and unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Layers come from a registry or an OCI layout.
    Fetch,
    /// Files are made of layers.
    Unpack,
    /// Lines are made of files.
    Read,
}

/// What all attempts to load a source share.
#[derive(Debug)]
pub(crate) struct Stages {
    pub(crate) contents: Contents,
    pub(crate) pulls: Pulls,
    pub(crate) metrics: LoadMetrics,
    emptied: EmptiedDirectories,
    /// Held while a content is read or indexed, so that only one of them is in memory in parts.
    exclusive: Arc<Semaphore>,
    /// Held while a content that is served already is made faster to query.
    background: Arc<Semaphore>,
    /// Held while a content is checked, or compressed, which takes a minute for a large one and few
    /// megabytes of memory.
    compression: Arc<Semaphore>,
}

/// The state of a source at one moment.
enum Polled {
    Directory(Listing),
    Image(ImageState),
}

/// The files of a source, or what they are made of.
enum Fetched {
    Directory(Listing),
    Image(FetchedImage),
}

/// Keeps one source current.
pub(crate) struct SourceTask {
    /// Identifies the task among those of its loader.
    pub(crate) id: u64,
    /// A catalog of the source, for progress.
    pub(crate) name: CatalogName,
    pub(crate) spec: SourceSpec,
    pub(crate) stages: Arc<Stages>,
    /// Number of loads that were asked for.
    pub(crate) requested: watch::Receiver<u64>,
}

/// The outcome of an attempt to load a source.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// The task that made it.
    pub(crate) task: u64,
    /// The content to serve; `None` when nothing is known of the source yet.
    pub(crate) content: Option<Content>,
    pub(crate) status: SyncStatus,
    pub(crate) duration: Duration,
    /// Number of loads that were asked for before it began.
    pub(crate) requested: u64,
    /// Number of failed attempts in a row, this one included.
    pub(crate) failures: u32,
    /// When it ended.
    pub(crate) at: Timestamp,
    /// When the source is polled next; `None` if it is not, or if it is watched all the time.
    pub(crate) next_check: Option<Timestamp>,
}

/// The loader does not listen any more.
struct Closed;

/// Loads a source once, without a store that outlives it: temporary files lie in this folder until
/// the content is dropped.
pub async fn load_once(
    spec: &SourceSpec,
    folder: &Path,
    progress: impl Fn(Step, u64, u64) + Clone + Send + Sync + 'static,
) -> Result<Content, LoadError> {
    Arc::new(Stages::new(Store::ephemeral(folder)?))
        .sync(spec, progress)
        .await
}

impl Stages {
    pub(crate) fn new(store: Store) -> Self {
        let [exclusive, background, compression] = [(); 3].map(|()| Arc::new(Semaphore::new(1)));
        Self {
            contents: Contents::new(store),
            pulls: Pulls::default(),
            metrics: LoadMetrics::default(),
            emptied: EmptiedDirectories::default(),
            exclusive,
            background,
            compression,
        }
    }

    /// Runs work that is heavy on the processor or on memory, one at a time and with low priority.
    pub(crate) async fn run_exclusive<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, LoadError> + Send + 'static,
    ) -> Result<T, LoadError> {
        self.run_one(&self.exclusive, LOADING, work).await
    }

    /// Runs work on a content that is served already, one at a time and with low priority. Loading
    /// does not wait for it.
    pub(crate) async fn run_in_background<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, LoadError> + Send + 'static,
    ) -> Result<T, LoadError> {
        self.run_one(&self.background, LOADING, work).await
    }

    /// Compresses a content. Neither loading nor other work waits for it, and both have a higher
    /// priority.
    pub(crate) async fn compress(self: &Arc<Self>, content: Content) -> Result<(), LoadError> {
        let compress = move |stages: &Self| {
            stages.contents.compress(&content);
            Ok(())
        };
        self.run_one(&self.compression, COMPRESSING, compress).await
    }

    /// Checks the stored files of a content. Returns the one that is damaged; the content is
    /// removed from the store then.
    pub(crate) async fn check(
        self: &Arc<Self>,
        digest: Digest,
    ) -> Result<Option<PathBuf>, LoadError> {
        let check = move |stages: &Self| {
            let damaged = stages.contents.store.find_damage(&digest);
            if damaged.is_some() {
                stages.contents.discard(&digest)?;
            }
            Ok(damaged)
        };
        self.run_one(&self.compression, COMPRESSING, check).await
    }

    async fn run_one<T: Send + 'static>(
        self: &Arc<Self>,
        semaphore: &Arc<Semaphore>,
        niceness: i32,
        work: impl FnOnce(&Self) -> Result<T, LoadError> + Send + 'static,
    ) -> Result<T, LoadError> {
        let permit = Arc::clone(semaphore).acquire_owned().await;
        let stages = Arc::clone(self);
        let context = Context::current();
        let done = spawn_low_priority(niceness, move || {
            let _permit = permit;
            let _context = context.attach();
            work(&stages)
        });
        done.await?
    }

    /// The content that a source has now: from the store where it knows the source's revision, read
    /// otherwise.
    pub(crate) async fn sync(
        self: &Arc<Self>,
        spec: &SourceSpec,
        progress: impl Fn(Step, u64, u64) + Clone + Send + Sync + 'static,
    ) -> Result<Content, LoadError> {
        let polled = self
            .metrics
            .time_async(Stage::Resolve, Polled::poll(spec))
            .await?;
        // References to one image wait for each other, so that it is pulled once.
        let _lock = match &polled {
            Polled::Image(image) => Some(self.pulls.lock(image.revision()).await),
            Polled::Directory(_) => None,
        };
        let key = spec.key();
        let state = polled.state();
        let found = self.run_exclusive({
            let key = key.clone();
            let state = state.clone();
            move |stages| stages.contents.find(&key, &state)
        });
        if let Some(content) = found.await? {
            return Ok(content);
        }
        let _permit = match &polled {
            Polled::Image(_) => Some(self.pulls.permits.acquire().await),
            Polled::Directory(_) => None,
        };
        let fetched = polled.fetch(spec, self, progress.clone()).await?;
        self.run_exclusive(move |stages| fetched.read(&key, state, stages, &progress))
            .await
    }
}

impl Polled {
    async fn poll(spec: &SourceSpec) -> Result<Self, LoadError> {
        match &spec.source {
            Source::Directory(root) => Ok(Self::Directory(directory::poll(root).await?)),
            Source::Image(image) => {
                let polled = ImageState::poll(image, spec.configs_dir.as_deref(), &spec.registries);
                Ok(Self::Image(polled.await?))
            }
        }
    }

    fn state(&self) -> SourceState {
        match self {
            Self::Directory(listing) => SourceState {
                revision: Some(listing.revision().as_str().to_owned()),
                image: None,
            },
            Self::Image(image) => SourceState {
                revision: Some(image.revision().to_owned()),
                image: Some(image.by_digest().to_owned()),
            },
        }
    }

    async fn fetch(
        self,
        spec: &SourceSpec,
        stages: &Stages,
        progress: impl Fn(Step, u64, u64) + Clone + Send + Sync + 'static,
    ) -> Result<Fetched, LoadError> {
        match self {
            Self::Directory(listing) => Ok(Fetched::Directory(listing)),
            Self::Image(image) => {
                let scratch = stages.contents.store.create_scratch_folder()?;
                let fetched = image.fetch(&spec.registries, scratch, progress);
                Ok(Fetched::Image(
                    stages.metrics.time_async(Stage::Pull, fetched).await?,
                ))
            }
        }
    }
}

impl Fetched {
    /// Reads the files into a content and records it.
    fn read(
        self,
        key: &str,
        mut state: SourceState,
        Stages {
            contents,
            metrics,
            emptied,
            ..
        }: &Stages,
        progress: &impl Fn(Step, u64, u64),
    ) -> Result<Content, LoadError> {
        let (written, origins): (WrittenContent<'_>, Origins) = match self {
            Self::Directory(listing) => {
                let reading = |done, total| progress(Step::Read, done, total);
                let read =
                    || directory::read_unchanged(listing, || contents.store.writer(), reading);
                let (listing, written, origins) = metrics.time(Stage::Read, read)?;
                emptied.check(
                    key,
                    &listing,
                    written.content.is_empty(),
                    contents.store.last_bytes(key),
                )?;
                // An equal revision proves an equal content only once the file system's clock has
                // moved on.
                state.revision = listing
                    .is_settled()
                    .then(|| listing.revision().as_str().to_owned());
                (written, origins)
            }
            Self::Image(image) => {
                let unpack = || image.unpack(|done, total| progress(Step::Unpack, done, total));
                let files = metrics.time(Stage::Unpack, unpack)?;
                let total = files.files.iter().map(|file| file.content.bytes).sum();
                let mut writer = contents.store.writer()?;
                let read = || {
                    read(&files, &mut writer, |done| {
                        progress(Step::Read, done, total);
                    })
                };
                let origins = metrics.time(Stage::Read, read)?;
                (writer.finish()?, origins)
            }
        };
        metrics.time(Stage::Index, || contents.add(key, &state, written, origins))
    }
}

impl Attempt {
    /// The outcome for a content whose stored file was found to be damaged.
    pub(crate) fn damaged(task: u64, damaged: &DamagedContent) -> Self {
        Self {
            task,
            content: None,
            status: SyncStatus::Failed(Arc::new(LoadError::Damaged(damaged.path.clone()))),
            duration: Duration::ZERO,
            requested: 0,
            failures: 1,
            at: Timestamp::now(),
            next_check: None,
        }
    }

    /// Whether it tells that a stored file is damaged.
    pub(crate) fn is_of_damage(&self) -> bool {
        matches!(self.status.error(), Some(LoadError::Damaged(_)))
    }

    /// The load status after this attempt.
    pub(crate) fn load_status(&self, before: &LoadStatus) -> LoadStatus {
        let (last_success, last_failure) = match &self.status {
            SyncStatus::Pending => (before.last_success, before.last_failure.clone()),
            SyncStatus::Synced => (Some(self.at), None),
            SyncStatus::Failed(error) => {
                let reason = error.reason();
                let message = error.chain();
                let failure = LoadFailure {
                    at: self.at,
                    reason,
                    message,
                    attempts: self.failures,
                };
                (before.last_success, Some(failure))
            }
        };
        LoadStatus {
            last_success,
            last_failure,
            next_check: self.next_check,
        }
    }
}

impl SourceTask {
    /// Works until nobody receives its attempts, or nothing can change any more.
    pub(crate) async fn run(
        self,
        attempts: mpsc::Sender<Attempt>,
        observe: impl Fn(Event) + Clone + Send + Sync + 'static,
    ) {
        // It ends early when the loader does not listen any more, which is no failure.
        let _ = self.keep_current(&attempts, &observe).await;
    }

    async fn keep_current(
        &self,
        attempts: &mpsc::Sender<Attempt>,
        observe: &(impl Fn(Event) + Clone + Send + Sync + 'static),
    ) -> Result<(), Closed> {
        let mut served = None;
        if let Source::Image(image) = &self.spec.source {
            // A registry may be slow or away: the stored content of the image can be served
            // meanwhile.
            let begun = Instant::now();
            if let Some((content, is_analyzed)) = self.last().await {
                let is_current = image.is_pinned() && is_analyzed;
                let status = if is_current {
                    SyncStatus::Synced
                } else {
                    SyncStatus::Pending
                };
                served = Some(content.clone());
                self.send(attempts, self.ended(Some(content), status, begun))
                    .await?;
                if is_current {
                    return Ok(());
                }
            }
        }
        let mut failures = 0_u32;
        loop {
            let requested = *self.requested.borrow();
            let before = self.look().await;
            let begun = Instant::now();
            let (content, status) = match self.attempt(served.as_ref(), observe).await {
                Ok(content) => (Some(content), SyncStatus::Synced),
                Err(error) => {
                    let former = match &served {
                        Some(content) => Some(Content::clone(content)),
                        None => self.last().await.map(|(content, _)| content),
                    };
                    (former, SyncStatus::Failed(Arc::new(error)))
                }
            };
            let failed = status.error().is_some();
            let is_emptied = matches!(status.error(), Some(LoadError::Emptied { .. }));
            failures = if failed {
                failures.saturating_add(1)
            } else {
                0
            };
            self.prepare(served.as_ref(), content.as_ref()).await;
            served.clone_from(&content);
            let delay = self.delay(failures);
            let next_check = delay.and_then(|delay| Timestamp::now().checked_add(delay).ok());
            let attempt = Attempt {
                requested,
                failures,
                next_check,
                ..self.ended(content, status, begun)
            };
            self.send(attempts, attempt).await?;
            tokio::select! {
                is_worth_it = self.wait(before, delay, failures > 0) => if !is_worth_it {
                    if !is_emptied {
                        return Ok(());
                    }
                    // A directory that is not watched is read a second time.
                    sleep(WatchInterval::default().retry).await;
                },
                () = self.requested_after(requested) => {}
            }
        }
    }

    /// Loads the source. A panic in the program's own code is an error like others. `served` is the
    /// content of the last attempt.
    async fn attempt(
        &self,
        served: Option<&Content>,
        observe: &(impl Fn(Event) + Clone + Send + Sync + 'static),
    ) -> Result<Content, LoadError> {
        let name = self.name.clone();
        let observe = observe.clone();
        let progress = move |step, done, total| {
            observe(Event::Progress {
                name: name.clone(),
                step,
                done,
                total,
            });
        };
        let span = LoadSpan::begin(&self.name, &self.spec.source);
        let sync = AssertUnwindSafe(self.stages.sync(&self.spec, progress)).catch_unwind();
        let done = span
            .run(sync)
            .await
            .unwrap_or_else(|panic| Err(LoadError::Panicked(panic_message(&*panic))));
        span.end(served, &done);
        done
    }

    /// Makes what queries need beyond the index before a content replaces another: requests that
    /// arrive just after the change need not wait for it.
    async fn prepare(&self, before: Option<&Content>, next: Option<&Content>) {
        let (Some(before), Some(next)) = (before, next) else {
            return;
        };
        if !next.is_same(before) {
            let catalog = Arc::clone(&next.catalog);
            let prepared = self.stages.run_exclusive(move |_| {
                catalog.prepare();
                Ok(())
            });
            // What fails here is made when it is asked for.
            let _ = prepared.await;
        }
    }

    /// What a watched directory looks like now, to be compared with later.
    async fn look(&self) -> Option<directory::Look> {
        self.spec.refresh.directories?;
        directory::look(&self.spec.source).await
    }

    /// The delay until an image is polled again; `None` if it never is. Directories are watched
    /// instead.
    fn delay(&self, failures: u32) -> Option<Duration> {
        let Source::Image(image) = &self.spec.source else {
            return None;
        };
        let delay = self
            .spec
            .refresh
            .images
            .and_then(|policy| policy.delay(failures, image.is_pinned()));
        delay.map(|delay| jittered(delay, fastrand::f64()))
    }

    /// Waits until the source is worth another attempt. Returns whether it ever will be.
    async fn wait(
        &self,
        before: Option<directory::Look>,
        delay: Option<Duration>,
        failed: bool,
    ) -> bool {
        match &self.spec.source {
            Source::Directory(root) => {
                let Some(interval) = self.spec.refresh.directories else {
                    return false;
                };
                directory::changed(root, interval, before.as_ref(), failed).await;
            }
            Source::Image(_) => {
                let Some(delay) = delay else { return false };
                sleep(delay).await;
            }
        }
        true
    }

    /// Waits until a load is asked for that is not one of the first `answered`. It is safe to
    /// cancel.
    async fn requested_after(&self, answered: u64) {
        let mut requested = self.requested.clone();
        let more = requested
            .wait_for(|requested| *requested > answered)
            .await
            .is_ok();
        if !more {
            // Nobody can ask any more.
            std::future::pending::<()>().await;
        }
    }

    /// The stored content of the source, and whether this build has analyzed it.
    async fn last(&self) -> Option<(Content, bool)> {
        let key = self.spec.key();
        self.stages
            .run_exclusive(move |stages| Ok(stages.contents.last(&key)))
            .await
            .ok()
            .flatten()
    }

    /// An attempt that began at this moment and ends now.
    fn ended(&self, content: Option<Content>, status: SyncStatus, begun: Instant) -> Attempt {
        let duration = begun.elapsed();
        let at = Timestamp::now();
        Attempt {
            task: self.id,
            content,
            status,
            duration,
            requested: 0,
            failures: 0,
            at,
            next_check: None,
        }
    }

    async fn send(&self, attempts: &mpsc::Sender<Attempt>, attempt: Attempt) -> Result<(), Closed> {
        attempts.send(attempt).await.map_err(|_| Closed)
    }
}
