//! Keeps catalogs current: source → reading → store → index → published set.
//!
//! This is the only room that knows the order of the stages. One task keeps one source current; a source that several
//! catalogs name is loaded once for all of them. What is slow on the processor or the disk runs off the async threads,
//! one content at a time. A content that cannot be loaded leaves the former one served. This room does not know who asks
//! for catalogs or who shows its reports.

mod keeper;
mod read;
mod stages;
mod wanted;

use std::error::Error;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use fbc::catalog::IndexError;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::catalogs::{CatalogsWriter, Served};
use crate::source::SourceError;
use crate::store::{Store, StoreError};

pub use read::{READERS, ReadFailure};
pub use stages::{Content, TRIES, load_once};
pub use wanted::{CatalogName, InvalidName, Wanted};

use keeper::{Keeper, Update};
use stages::Stages;

/// Loads catalogs and publishes them.
#[derive(Debug)]
pub struct Loader {
    stages: Arc<Stages>,
    writer: CatalogsWriter,
    /// Contents that are served, and not finished yet.
    finishing: JoinSet<()>,
}

/// Whether sources are looked at again once they were loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Load once.
    Once,
    /// Load again whenever a source changed, and look for that at this pace.
    Changes(Pace),
}

/// How often watched sources are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between two looks.
    pub poll: Duration,
    /// Until a source that failed is tried again although it looks unchanged.
    pub retry: Duration,
}

/// What a loader says while it works.
#[derive(Debug)]
pub enum Event {
    /// So many of so many bytes of a source are read.
    Progress {
        /// The first of the catalogs of that source.
        name: CatalogName,
        /// Bytes read.
        read: u64,
        /// Bytes in all.
        total: u64,
    },
    /// An attempt to load one catalog ended.
    Tried(Report),
    /// Every catalog was tried once.
    AllTried,
}

/// How an attempt to load a catalog ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// The catalog.
    pub name: CatalogName,
    /// What is served of it now, if anything is.
    pub content: Option<Content>,
    /// Why its source could not be loaded; what is served then is an earlier content.
    pub error: Option<Arc<LoadError>>,
    /// How long the attempt took.
    pub took: Duration,
}

/// Why a content could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The source cannot be read.
    #[error("cannot read the source")]
    Source(#[from] SourceError),
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
    #[error("`{0}` changed each time it was read, {TRIES} times")]
    Changing(String),
    /// The program stumbled over the content: a fault of ours.
    #[error("stumbled over the content: {0}")]
    Panicked(String),
}

impl Default for Pace {
    fn default() -> Self {
        Self { poll: Duration::from_secs(1), retry: Duration::from_secs(30) }
    }
}

impl Loader {
    /// A loader that publishes through this writer and keeps contents in this store.
    pub fn new(store: Store, writer: CatalogsWriter) -> Self {
        Self { stages: Arc::new(Stages::new(store)), writer, finishing: JoinSet::new() }
    }

    /// Loads every catalog, and again whenever its source changed if it is to watch. Without watching it returns after
    /// each was tried once. `observe` is called from several threads.
    pub async fn run(
        &mut self,
        wanted: Vec<Wanted>,
        watch: Watch,
        observe: impl Fn(Event) + Clone + Send + Sync + 'static,
    ) {
        let (updates, mut received) = mpsc::channel(1);
        let mut untried = wanted.len();
        // They end when this does.
        let mut keepers = JoinSet::new();
        for keeper in Keeper::each(wanted, &self.stages, watch) {
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
        while self.finishing.join_next().await.is_some() {}
    }

    /// Publishes what an attempt gave for one of the names of its source, and logs how it ended.
    fn apply(&mut self, wanted: &Wanted, update: &Update) -> Report {
        let Update { content, error, took, .. } = update;
        let name = wanted.name.clone();
        if let Some(content) = content.as_ref().filter(|_| update.is_new) {
            self.writer.publish(Served {
                name: name.as_str().to_owned(),
                catalog: Arc::clone(&content.catalog),
                digest: content.digest,
                encodings: Arc::clone(&content.encodings),
                image: None,
                last_unpacked: content.at,
                about: wanted.about.clone(),
            });
            while self.finishing.try_join_next().is_some() {}
            self.finishing.spawn(finish(Arc::clone(&self.stages), content.clone()));
            tracing::info!(catalog = %name, digest = %content.digest, took = ?took, "serving a new content");
        }
        if let Some(error) = error {
            let digest = content.as_ref().map(|content| content.digest.to_string());
            let instead = if digest.is_some() { "still serving the former content" } else { "serving nothing" };
            tracing::error!(catalog = %name, error = error.chain(), digest, "{instead}");
        }
        Report { name, content: content.clone(), error: error.clone(), took: *took }
    }
}

/// Does what a content that is served already is the better for: makes what it finds things by, and compresses it once
/// nothing waits to be loaded. Who asks before that waits a little longer, or gets more bytes.
async fn finish(stages: Arc<Stages>, content: Content) {
    let Content { catalog, .. } = content.clone();
    let prepared = tokio::task::spawn_blocking(move || catalog.prepare()).await;
    let Ok(permit) = stages.heavy.clone().acquire_owned().await else { return };
    let compressed = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        stages.encode(&content);
    });
    if let Err(error) = prepared.and(compressed.await) {
        tracing::error!(%error, "stumbled over a content that is served");
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
