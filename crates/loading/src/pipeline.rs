//! The stages of a load, in order: poll, find in the store, fetch, unpack, read, index.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fbc_grammar::Digest;
use futures_util::future::BoxFuture;
use images::Judgement;
use metrics::{Family, Histogram};
use opentelemetry::Context;
use opentelemetry::context::FutureExt as _;
use remote_sources::{RemoteError, RemoteKind, RemoteReference, Validators};
use serving::{CatalogName, Content, Verification};
use shared_store::{SharedStore, SharedStoreMetrics};
use store::{SourceState, Store, StoreError, StoreUsage};
use tokio::sync::Semaphore;

use crate::contents::{Contents, ReadContent};
use crate::directory::{self, Listing};
use crate::emptied::EmptiedDirectories;
use crate::event::LoadStep;
use crate::image::{ImageFiles, ImageLocks, ImageState, PulledImage};
use crate::low_priority::{COMPRESSING_NICENESS, LOADING_NICENESS, spawn_low_priority};
use crate::metrics::{CatalogLoads, LoadMetrics, Stage};
use crate::read::{read, read_unchanged};
use crate::remote::{self, DownloadPlace, KnownContent, RemoteDownload, RemotePoll, ShrunkSources};
use crate::shared::SharedSearch;
use crate::{LoadError, Source, SourceSpec, span};

/// State and stages shared by all attempts to load a source.
#[derive(Debug)]
pub(crate) struct LoadPipeline {
    pub(crate) contents: Contents,
    pub(crate) images: ImageLocks,
    pub(crate) metrics: LoadMetrics,
    /// Contents that replicas share, if there is a shared store.
    pub(crate) shared: Option<Arc<SharedStore>>,
    emptied: EmptiedDirectories,
    shrunk: ShrunkSources,
    /// Serializes reading and indexing: a content that is being read takes several times the memory
    /// that it takes afterwards.
    serialized: Arc<Semaphore>,
    /// Serializes work that makes served contents faster to query.
    background: Arc<Semaphore>,
    /// Serializes integrity checks and compression. They take a minute for a large content, and a
    /// few megabytes of memory, so that loading need not wait for them.
    compression: Arc<Semaphore>,
}

/// Reads files of a content in the store, and returns the first damaged one.
pub(crate) type FindDamage = fn(&Store, &Digest) -> Option<PathBuf>;

/// The state of a source that a poll has found.
enum PolledSource {
    Directory(Listing),
    Image(Box<ImageState>),
}

/// A content that a source has provided, with what the source said besides.
#[derive(Clone, Debug)]
pub(crate) struct LoadedContent {
    pub(crate) content: Content,
    /// Time for which a remote source says that it is fresh.
    pub(crate) fresh_for: Option<Duration>,
    /// The source may announce new contents.
    pub(crate) may_announce: bool,
}

/// Reads the metrics of a loader and the size of its store. Clones are cheap.
#[derive(Clone, Debug)]
pub struct LoadStatistics(pub(crate) Arc<LoadPipeline>);

/// Loads a source once, without a persistent store. The files of the content lie in this folder
/// until it is dropped.
pub async fn load_once(
    spec: &SourceSpec,
    folder: &Path,
    progress: impl Fn(LoadStep, u64, u64) + Send + Sync + 'static,
) -> Result<Content, LoadError> {
    Ok(load_verified_once(spec, folder, progress).await?.content)
}

/// A content that was loaded once, with the decision about its image.
#[derive(Clone, Debug)]
pub struct VerifiedContent {
    /// The content.
    pub content: Content,
    /// Decision of the signature policy about its image; `None` without a policy, or an image.
    pub verification: Option<Arc<Verification>>,
}

/// Loads a source once, as [`load_once`] does, with the decision about its image.
//
// The future is boxed, and does not depend on the type of `progress`: otherwise each crate that
// loads compiles the whole pipeline again.
pub fn load_verified_once<'a>(
    spec: &'a SourceSpec,
    folder: &'a Path,
    progress: impl Fn(LoadStep, u64, u64) + Send + Sync + 'static,
) -> BoxFuture<'a, Result<VerifiedContent, LoadError>> {
    load_shared(spec, folder, Arc::new(progress))
}

/// Callback for the progress of a load: the step, what is done, and the total, in bytes.
type SharedProgress = Arc<dyn Fn(LoadStep, u64, u64) + Send + Sync>;

fn load_shared<'a>(
    spec: &'a SourceSpec,
    folder: &'a Path,
    progress: SharedProgress,
) -> BoxFuture<'a, Result<VerifiedContent, LoadError>> {
    Box::pin(async move {
        let pipeline = Arc::new(LoadPipeline::new(Store::ephemeral(folder)?));
        let progress = move |step, done, total| progress(step, done, total);
        let content = pipeline.load(spec, None, progress).await?.content;
        Ok(VerifiedContent {
            verification: pipeline.verify(spec).await,
            content,
        })
    })
}

impl LoadPipeline {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            contents: Contents::new(store),
            images: ImageLocks::default(),
            metrics: LoadMetrics::default(),
            shared: None,
            emptied: EmptiedDirectories::default(),
            shrunk: ShrunkSources::default(),
            serialized: Arc::new(Semaphore::new(1)),
            background: Arc::new(Semaphore::new(1)),
            compression: Arc::new(Semaphore::new(1)),
        }
    }

    /// Finds the contents of images in a shared store before it pulls them.
    pub(crate) fn with_shared_store(self, shared: Option<Arc<SharedStore>>) -> Self {
        Self { shared, ..self }
    }

    /// Loads the current content of a source: from the store if it has the source's revision, or
    /// else from the source. `former` is the content that the last load gave, if it is in use.
    pub(crate) async fn load(
        self: &Arc<Self>,
        spec: &SourceSpec,
        former: Option<&Content>,
        progress: impl Fn(LoadStep, u64, u64) + Clone + Send + Sync + 'static,
    ) -> Result<LoadedContent, LoadError> {
        if let Source::Remote(reference) = &spec.source {
            return self.load_remote(spec, reference, former, progress).await;
        }
        let content = self.load_polled(spec, progress).await?;
        Ok(LoadedContent {
            content,
            fresh_for: None,
            may_announce: false,
        })
    }

    /// Loads a remote source, for which one request is both the poll and the download.
    async fn load_remote(
        self: &Arc<Self>,
        spec: &SourceSpec,
        reference: &RemoteReference,
        former: Option<&Content>,
        progress: impl Fn(LoadStep, u64, u64) + Clone + Send + Sync + 'static,
    ) -> Result<LoadedContent, LoadError> {
        if reference.is_server() {
            return Err(RemoteError::NamesServer(reference.to_string()).into());
        }
        let key = spec.key();
        let stored = self.stored_remote(&key, former).await?;
        // Without a content that this build has read, everything is downloaded again.
        let known = stored.clone().filter(|(_, is_analyzed)| *is_analyzed);
        let known = known.and_then(|(content, _)| {
            let state = self.contents.store.last_state(&key)?;
            Some(KnownContent { content, state })
        });
        let place = DownloadPlace {
            scratch: self.contents.store.create_scratch_folder()?,
            instance: self.contents.store.instance_id(),
        };
        let poll = remote::poll(reference, &spec.http, known, place, progress.clone());
        let download = match self.time_async(Stage::Pull, poll).await? {
            RemotePoll::Unchanged(unchanged) => {
                if unchanged.validators.is_some() {
                    let store = &self.contents.store;
                    store.set_validators(&key, unchanged.validators)?;
                }
                if unchanged.revision.is_some() {
                    let store = &self.contents.store;
                    store.set_revision(&key, unchanged.revision)?;
                }
                return Ok(LoadedContent {
                    content: unchanged.content,
                    fresh_for: unchanged.fresh_for,
                    may_announce: self.may_announce(&key, reference),
                });
            }
            RemotePoll::Downloaded(download) => download,
        };
        let stored = stored.map(|(content, _)| content);
        let fresh_for = download.fresh_for();
        // A commit is whole by nature.
        let accepts_shrink = spec.http.settings().accept_shrink
            || spec.source.is_pinned()
            || reference.kind() == RemoteKind::Git;
        let former = stored.filter(|_| !accepts_shrink);
        let read_reference = reference.clone();
        let read = self.run_serialized(move |pipeline| {
            let state = download.state();
            if let Some(content) = pipeline.contents.find(&key, &state)? {
                // The same bytes; the server's validators may be new.
                let store = &pipeline.contents.store;
                store.set_validators(&key, state.validators)?;
                return Ok(content);
            }
            pipeline.read_remote(&key, &read_reference, &download, former.as_ref(), &progress)
        });
        let content = read.await?;
        Ok(LoadedContent {
            content,
            fresh_for,
            may_announce: self.may_announce(&spec.key(), reference),
        })
    }

    /// Returns the stored content of a remote source, and whether this build has analyzed it. The
    /// content of the last load is not opened again, because that hashes all of it.
    async fn stored_remote(
        self: &Arc<Self>,
        key: &str,
        former: Option<&Content>,
    ) -> Result<Option<(Content, bool)>, LoadError> {
        let last = self.contents.store.last_digest(key);
        if let Some(former) = former.filter(|former| last == Some(former.digest)) {
            return Ok(Some((former.clone(), true)));
        }
        let key = key.to_owned();
        self.run_serialized(move |pipeline| Ok(pipeline.contents.last(&key)))
            .await
    }

    /// Returns whether the server of a catalog may announce new contents. A catalogql has strong
    /// entity tags; upstream's catalogd has none, and is spared a request that it does not know.
    fn may_announce(&self, key: &str, reference: &RemoteReference) -> bool {
        let validators = self
            .contents
            .store
            .last_state(key)
            .and_then(|state| state.validators);
        let validators = validators.and_then(|text| Validators::parse(&text));
        let has_strong_etag =
            validators.is_some_and(|validators| validators.strong_etag().is_some());
        match reference.kind() {
            RemoteKind::Http | RemoteKind::Git => false,
            RemoteKind::Catalogd => has_strong_etag,
            RemoteKind::Catalogql => true,
        }
    }

    /// Unpacks a download, reads its files into a content and records it.
    fn read_remote(
        &self,
        key: &str,
        reference: &RemoteReference,
        download: &RemoteDownload,
        former: Option<&Content>,
        progress: &impl Fn(LoadStep, u64, u64),
    ) -> Result<Content, LoadError> {
        let unpack = || {
            download.unpack(reference, |done, total| {
                progress(LoadStep::Unpack, done, total);
            })
        };
        let files = self.time(Stage::Unpack, unpack)?;
        let read = self.read_files(&files, progress)?;
        let state = download.state();
        self.time(Stage::Index, || {
            self.contents.add_checked(key, &state, read, |catalog| {
                let packages = catalog.packages().len();
                self.shrunk.check(key, &state, packages, former)
            })
        })
    }

    async fn load_polled(
        self: &Arc<Self>,
        spec: &SourceSpec,
        progress: impl Fn(LoadStep, u64, u64) + Clone + Send + Sync + 'static,
    ) -> Result<Content, LoadError> {
        let polled = self
            .time_async(Stage::Resolve, PolledSource::poll(spec))
            .await?;

        // Loads of the same image wait for each other: the second one finds the content of the
        // first in the store.
        let _lock = match &polled {
            PolledSource::Image(image) => Some(self.images.lock(image.revision()).await),
            PolledSource::Directory(_) => None,
        };
        // Before the policy is applied: what it decides about the image that is served is kept, too.
        if let PolledSource::Image(image) = &polled {
            if let Some(judgement) = image.judgement() {
                self.keep_judgement(spec, image.revision(), judgement.clone())
                    .await;
            }
            image.accept()?;
        }
        let key = spec.key();
        let state = polled.state();
        // Serialized too, because opening a stored content hashes and indexes it.
        let stored = self.run_serialized({
            let key = key.clone();
            let state = state.clone();
            move |pipeline| pipeline.contents.find(&key, &state)
        });
        if let Some(content) = stored.await? {
            return Ok(content);
        }

        match polled {
            PolledSource::Directory(listing) => {
                self.run_serialized(move |pipeline| {
                    pipeline.read_directory(&key, state, listing, &progress)
                })
                .await
            }
            PolledSource::Image(image) => {
                // After the policy was applied: it decides by what the registry says.
                let ticket = match self.find_shared(&key, &state).await? {
                    SharedSearch::Found(content) => return Ok(content),
                    SharedSearch::Absent(ticket) => Some(ticket),
                    SharedSearch::NoStore => None,
                };
                // Held until the content is read: the layers are on the disk until then.
                let _permit = self.images.permits.acquire().await;
                let scratch = self.contents.store.create_scratch_folder()?;
                let pull = image.pull(&spec.registries, scratch, progress.clone());
                let layers = self.time_async(Stage::Pull, pull).await?;
                let read_key = key.clone();
                let read = self.run_serialized(move |pipeline| {
                    pipeline.read_image(&read_key, &state, &layers, &progress)
                });
                let content = read.await?;
                if let Some(ticket) = ticket {
                    self.share(ticket, &key, &content);
                }
                Ok(content)
            }
        }
    }

    /// Reads the files of a directory into a content and records it.
    fn read_directory(
        &self,
        key: &str,
        mut state: SourceState,
        listing: Listing,
        progress: &impl Fn(LoadStep, u64, u64),
    ) -> Result<Content, LoadError> {
        let store = &self.contents.store;
        let reading = |done, total| progress(LoadStep::Read, done, total);
        let read = || read_unchanged(listing, || store.writer(), reading);
        let (listing, written, origins) = self.time(Stage::Read, read)?;
        let is_empty = written.content.is_empty();
        self.emptied
            .check(key, &listing, is_empty, store.last_bytes(key))?;

        // An equal revision proves an equal content only once the file system's clock has moved on.
        state.revision = listing
            .is_settled()
            .then(|| listing.revision().as_str().to_owned());
        self.time(Stage::Index, || {
            let read = ReadContent { written, origins };
            self.contents.add(key, &state, read)
        })
    }

    /// Unpacks the layers of an image, reads its files into a content and records it.
    fn read_image(
        &self,
        key: &str,
        state: &SourceState,
        image: &PulledImage,
        progress: &impl Fn(LoadStep, u64, u64),
    ) -> Result<Content, LoadError> {
        let unpack = || image.unpack(|done, total| progress(LoadStep::Unpack, done, total));
        let files = self.time(Stage::Unpack, unpack)?;

        let read = self.read_files(&files, progress)?;
        self.time(Stage::Index, || self.contents.add(key, state, read))
    }

    /// Reads unpacked files into lines.
    fn read_files(
        &self,
        files: &ImageFiles,
        progress: &impl Fn(LoadStep, u64, u64),
    ) -> Result<ReadContent<'_>, LoadError> {
        let total = files.files.iter().map(|file| file.content.bytes).sum();
        let mut writer = self.contents.store.writer()?;
        let reading = |done| progress(LoadStep::Read, done, total);
        let origins = self.time(Stage::Read, || read(files, &mut writer, reading))?;
        let written = writer.finish()?;
        Ok(ReadContent { written, origins })
    }

    /// Runs work that needs much processor time or memory: one at a time, and with low priority in
    /// a server.
    pub(crate) async fn run_serialized<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, LoadError> + Send + 'static,
    ) -> Result<T, LoadError> {
        // A command has an ephemeral store, and no requests that loading could slow down: on a busy
        // machine it would only take ten times as long.
        let niceness = if self.contents.store.is_ephemeral() {
            0
        } else {
            LOADING_NICENESS
        };
        self.run_one(&self.serialized, niceness, work).await
    }

    /// Runs work on a content that is already served: one at a time and with low priority. Loading
    /// does not wait for it.
    pub(crate) async fn run_in_background<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, LoadError> + Send + 'static,
    ) -> Result<T, LoadError> {
        self.run_one(&self.background, LOADING_NICENESS, work).await
    }

    /// Compresses a content, with the lowest priority. Neither loading nor other background work
    /// waits for it.
    pub(crate) async fn compress(self: &Arc<Self>, content: Content) -> Result<(), LoadError> {
        let compress = move |pipeline: &Self| {
            pipeline.contents.compress(&content);
            Ok(())
        };
        self.run_one(&self.compression, COMPRESSING_NICENESS, compress)
            .await
    }

    /// Verifies the stored files of a content against their digests. Returns the damaged file, if
    /// any, after removing the content from the store.
    pub(crate) async fn check(
        self: &Arc<Self>,
        digest: Digest,
        find_damage: FindDamage,
    ) -> Result<Option<PathBuf>, LoadError> {
        let check = move |pipeline: &Self| {
            let damaged = find_damage(&pipeline.contents.store, &digest);
            if damaged.is_some() {
                pipeline.contents.discard(&digest)?;
            }
            Ok(damaged)
        };
        self.run_one(&self.compression, COMPRESSING_NICENESS, check)
            .await
    }

    async fn run_one<T: Send + 'static>(
        self: &Arc<Self>,
        semaphore: &Arc<Semaphore>,
        niceness: i32,
        work: impl FnOnce(&Self) -> Result<T, LoadError> + Send + 'static,
    ) -> Result<T, LoadError> {
        let permit = Arc::clone(semaphore).acquire_owned().await;
        let pipeline = Arc::clone(self);
        let context = Context::current();
        let done = spawn_low_priority(niceness, move || {
            // The thread outlives a caller that was aborted, and holds the permit until it ends.
            let _permit = permit;
            let _context = context.attach();
            let done = work(&pipeline);
            // Before the permit, which tells that the store is not held any more.
            drop(pipeline);
            done
        });
        done.await?
    }

    /// Waits until no thread works for this pipeline.
    pub(crate) async fn wait_until_idle(&self) {
        for semaphore in [&self.serialized, &self.background, &self.compression] {
            // Always granted: no semaphore is closed.
            let _permit = semaphore.acquire().await;
        }
    }

    /// Runs a stage in its own span, and records its duration whether or not it succeeds.
    pub(crate) fn time<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let _span = span::begin_stage(stage).attach();
        let begun = Instant::now();
        let done = work();
        self.metrics.observe_stage(stage, begun.elapsed());
        done
    }

    /// Awaits a stage in its own span, and records its duration whether or not it succeeds.
    async fn time_async<T>(&self, stage: Stage, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.with_context(span::begin_stage(stage)).await;
        self.metrics.observe_stage(stage, begun.elapsed());
        done
    }
}

impl PolledSource {
    async fn poll(spec: &SourceSpec) -> Result<Self, LoadError> {
        match &spec.source {
            Source::Directory(root) => Ok(Self::Directory(directory::poll(root).await?)),
            Source::Image(image) => {
                let polled = ImageState::poll(image, spec.configs_dir.as_deref(), &spec.registries);
                Ok(Self::Image(Box::new(polled.await?)))
            }
            Source::Remote(_) => unreachable!("remote sources are polled by their download"),
        }
    }

    fn state(&self) -> SourceState {
        match self {
            Self::Directory(listing) => SourceState {
                revision: Some(listing.revision().as_str().to_owned()),
                ..SourceState::default()
            },
            Self::Image(image) => SourceState {
                revision: Some(image.revision().to_owned()),
                image: Some(image.pinned_reference().to_owned()),
                validators: None,
                evidence: image.judgement().map(Judgement::to_json),
            },
        }
    }
}

impl LoadStatistics {
    /// Returns the durations of the stages of loads.
    pub fn stages(&self) -> &Family<Stage, Histogram> {
        self.0.metrics.stages()
    }

    /// Returns every desired catalog with the results of its loads, by name.
    pub fn catalogs(&self) -> Vec<(CatalogName, CatalogLoads)> {
        self.0.metrics.catalogs()
    }

    /// Returns the counters of the shared store, if there is one.
    pub fn shared_store(&self) -> Option<&SharedStoreMetrics> {
        self.0.shared.as_deref().map(SharedStore::metrics)
    }

    /// Returns the size of the store. It reads the metadata of each file in the store.
    pub fn store_usage(&self) -> Result<StoreUsage, StoreError> {
        self.0.contents.store.usage()
    }
}
