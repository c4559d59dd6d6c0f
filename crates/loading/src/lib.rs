//! Keeps catalogs current: source → unpacking → reading → store → index → published set.
//!
//! This is the only room that knows the order of the stages. One task keeps one source current; a source that several
//! catalogs name is loaded once for all of them, and so are references to one image. What is slow on the processor or
//! the disk runs off the async threads, one content at a time. A content that cannot be loaded leaves the former one
//! served. This room does not know who asks for catalogs or who shows its reports.

pub mod directory;
mod pull;
mod read;
mod refresh;
mod source;
mod source_task;
mod spec;
mod stages;

use std::error::Error;
use std::fmt;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fbc::catalog::IndexError;
use images::unpack::UnpackError;
use images::{ImageError, Registries};
use jiff::{SignedDuration, Timestamp};
use serving::{CatalogName, CatalogsWriter, History, Served};
use store::{Store, StoreError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use directory::DirectoryError;

pub use pull::PULLS;
pub use read::{READERS, ReadFailure};
pub use refresh::{JITTER, POLL, PollPolicy, RETRY, RefreshPolicy, WatchInterval};
pub use source::{InvalidSource, Source};
pub use spec::{CatalogSpec, SourceSpec};
pub use stages::{Content, TRIES, read_once};

use source_task::{SourceTask, Update};
use stages::{Stages, spawn_low_priority};

/// Loads catalogs and publishes them.
#[derive(Debug)]
pub struct Loader {
    stages: Arc<Stages>,
    writer: CatalogsWriter,
    /// Contents that are served, and not finished yet.
    finishing: JoinSet<()>,
}

/// What a loader says while it works.
#[derive(Debug)]
pub enum Event {
    /// So many of so many bytes of a source have come so far.
    Progress {
        /// The first of the catalogs of that source.
        name: CatalogName,
        /// How far.
        step: Step,
        /// Bytes done.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// An attempt to load one catalog ended.
    Tried(Report),
    /// Every catalog was tried once.
    AllTried,
}

/// What happens to the bytes of a source, in this order. Only images are fetched and unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// They come from a registry or a layout.
    Fetch,
    /// Files are made of layers.
    Unpack,
    /// Lines are made of files.
    Read,
}

/// How an attempt to load a catalog ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// The catalog.
    pub name: CatalogName,
    /// What is served of it now, if anything is.
    pub content: Option<Content>,
    /// How that stands to its source.
    pub standing: SyncStatus,
    /// How long the attempt took.
    pub took: Duration,
}

/// How what is served stands to its source.
#[derive(Clone, Debug)]
pub enum SyncStatus {
    /// It is what the source has.
    Current,
    /// It is what the source had when it was last asked; it will be asked now.
    Unasked,
    /// The source could not be loaded. What is served, if anything is, is an earlier content.
    Failed(Arc<LoadError>),
}

/// Why a content could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The directory cannot be read.
    #[error("cannot read the source")]
    Directory(#[from] DirectoryError),
    /// The image cannot be fetched.
    #[error("cannot read the source")]
    Image(#[from] ImageError),
    /// The image cannot be unpacked.
    #[error("cannot unpack the image")]
    Unpack(#[from] UnpackError),
    /// There is nothing to read in an image.
    #[error("`{image}` has no file to read below `{root}`: name another directory of it with --configs-dir")]
    NoFiles {
        /// The image.
        image: String,
        /// The directory of it that counts.
        root: String,
    },
    /// A file of the source does not parse.
    #[error(transparent)]
    Read(#[from] ReadFailure),
    /// The content cannot be stored.
    #[error("cannot store the content")]
    Store(#[from] StoreError),
    /// What was just written cannot be indexed.
    #[error("cannot index the content")]
    Index(#[from] IndexError),
    /// The source did not stand still.
    #[error("`{}` changed each time it was read, {TRIES} times", .0.display())]
    Changing(PathBuf),
    /// The program stumbled over the content: a fault of ours.
    #[error("stumbled over the content: {0}")]
    Panicked(String),
}

/// Loads a source without a store, in temporary files in this folder that are gone afterwards.
pub async fn load_once(
    place: &SourceSpec,
    registries: &Registries,
    folder: &Path,
    progress: impl Fn(Step, u64, u64) + Clone + Send + Sync + 'static,
) -> Result<Content, LoadError> {
    match &place.source {
        Source::Directory(root) => read_once(root, folder),
        Source::Image(image) => {
            pull::pull_once(image, place.configs_dir.as_deref(), registries, folder, progress).await
        }
    }
}

impl Loader {
    /// A loader that pulls from these registries, publishes through this writer and keeps contents in this store.
    pub fn new(store: Store, registries: Registries, writer: CatalogsWriter) -> Self {
        Self { stages: Arc::new(Stages::new(store, registries)), writer, finishing: JoinSet::new() }
    }

    /// Loads every catalog, and again when its upkeep says so. It returns once nothing is to be done any more. `observe` is
    /// called from several threads.
    pub async fn run(
        &mut self,
        wanted: Vec<CatalogSpec>,
        upkeep: RefreshPolicy,
        observe: impl Fn(Event) + Clone + Send + Sync + 'static,
    ) {
        let (updates, mut received) = mpsc::channel(1);
        let mut untried = wanted.len();
        // They end when this does.
        let mut keepers = JoinSet::new();
        for keeper in SourceTask::each(wanted, &self.stages, upkeep) {
            keepers.spawn(keeper.run(updates.clone(), observe.clone()));
        }
        drop(updates);
        while let Some(update) = received.recv().await {
            for wanted in &*update.wanted {
                let report = self.apply(wanted, &update);
                observe(Event::Tried(report));
            }
            if update.is_first {
                untried -= update.wanted.len();
                if untried == 0 {
                    observe(Event::AllTried);
                }
            }
        }
        // The store is free for another loader once nothing of this one is left.
        while keepers.join_next().await.is_some() {}
        while self.finishing.join_next().await.is_some() {}
    }

    /// Publishes what an attempt gave for one of the names of its source, and logs how it ended.
    fn apply(&mut self, wanted: &CatalogSpec, update: &Update) -> Report {
        let Update { content, standing, took, .. } = update;
        let name = wanted.name.clone();
        if let Some(content) = content.as_ref().filter(|_| update.is_new) {
            self.writer.publish(Served {
                name: name.as_str().to_owned(),
                catalog: Arc::clone(&content.catalog),
                digest: content.digest,
                encodings: Arc::clone(&content.encodings),
                image: content.image.as_deref().map(str::to_owned),
                last_unpacked: content.at,
                metadata: wanted.metadata.clone(),
            });
            while self.finishing.try_join_next().is_some() {}
            let history = self.writer.history();
            self.finishing.spawn(finish(Arc::clone(&self.stages), content.clone(), wanted.clone(), history));
        }
        let report = Report { name, content: content.clone(), standing: standing.clone(), took: *took };
        report.log(update.is_new);
        report
    }
}

/// Does what a content that is served already is the better for: makes what it finds things by, remembers what it holds
/// for comparisons, and compresses it once nothing waits to be loaded. Who asks before that waits a little longer, or
/// gets more bytes.
async fn finish(stages: Arc<Stages>, content: Content, wanted: CatalogSpec, history: History) {
    let (prepared, keeper) = (content.clone(), Arc::clone(&stages));
    let prepared = tokio::task::spawn_blocking(move || {
        prepared.catalog.prepare();
        history.remember(wanted.name.as_str(), keeper.outlines(&wanted.place.key(), &prepared));
    })
    .await;
    let Ok(permit) = stages.heavy.clone().acquire_owned().await else { return };
    let compressed = spawn_low_priority(move || {
        let _permit = permit;
        stages.encode(&content);
    });
    if let Err(error) = prepared.and(compressed.await) {
        tracing::error!(%error, "stumbled over a content that is served");
    }
}

impl Content {
    /// How long ago it was first read from its source, to the second, when that is known.
    pub fn age(&self) -> Option<SignedDuration> {
        let age = Timestamp::now().duration_since(self.at?);
        Some(SignedDuration::from_secs(age.as_secs()))
    }
}

impl Report {
    /// Why the source could not be loaded.
    pub fn error(&self) -> Option<&LoadError> {
        match &self.standing {
            SyncStatus::Failed(error) => Some(error),
            SyncStatus::Current | SyncStatus::Unasked => None,
        }
    }

    fn log(&self, is_new: bool) {
        let Self { name: catalog, content, standing, took } = self;
        let content = content.as_ref();
        let (digest, image) =
            (content.map(|content| content.digest.to_string()), content.and_then(|it| it.image.as_deref()));
        let age = content.and_then(Content::age).map(|age| format!("{age:#}"));
        match standing {
            SyncStatus::Current if is_new => tracing::info!(%catalog, digest, image, ?took, "serving a new content"),
            SyncStatus::Current => tracing::info!(%catalog, digest, image, "what is served is current"),
            SyncStatus::Unasked => {
                tracing::info!(%catalog, digest, image, age, "serving the former content until its source was asked");
            }
            SyncStatus::Failed(error) => {
                let instead = if content.is_some() { "still serving the former content" } else { "serving nothing" };
                tracing::error!(%catalog, error = error.chain(), digest, age, "{instead}");
            }
        }
    }
}

impl fmt::Display for SyncStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Current => f.write_str("current"),
            Self::Unasked => f.write_str("not asked yet"),
            Self::Failed(error) => f.write_str(&error.chain()),
        }
    }
}

impl LoadError {
    /// The whole story in one line: what failed, and why, and why that.
    pub fn chain(&self) -> String {
        let causes = iter::successors(Some(self as &dyn Error), |&error| error.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    }
}

#[cfg(test)]
mod tests;
