//! One attempt to load files: from the store when it holds what the source has, by reading them otherwise.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use fbc::catalog::IndexError;
use fbc::{Catalog, Digest, Origins, Outline};
use http_facts::coding::{Coding, MIN_ENCODED_BYTES};
use images::Registries;
use jiff::Timestamp;
use serving::Encodings;
use store::{Analysis, ContentWriter, Record, SourceState, Store, StoreError, StoredContent, WrittenContent};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

use super::LoadError;
use super::pull::Turns;
use super::read::read;
use crate::directory::{self, DirectoryError, Listing};

/// How often a directory is read that changes while it is read.
pub const TRIES: usize = 3;

/// How much less of a processor loading gets than answering where both want it, as nice(2) counts: about a tenth.
const NICENESS: i32 = 10;

/// What every attempt shares.
#[derive(Debug)]
pub(super) struct Stages {
    pub(super) store: Store,
    pub(super) registries: Registries,
    /// Whose turn it is to pull.
    pub(super) turns: Turns,
    /// Catalogs in use, by their content and by what was found out about it: equal ones are held once.
    catalogs: Mutex<HashMap<(Digest, Digest), Weak<Catalog>>>,
    /// Their compressed forms, by their content.
    encodings: Mutex<HashMap<Digest, Weak<Encodings>>>,
    /// Held while a content is read or indexed, so that only one of them is in memory in parts.
    pub(super) heavy: Arc<Semaphore>,
}

/// A content that can be served.
#[derive(Clone, Debug)]
pub struct Content {
    /// The index over its lines.
    pub catalog: Arc<Catalog>,
    /// sha256 of its lines.
    pub digest: Digest,
    /// Its lines compressed, as far as that is done.
    pub encodings: Arc<Encodings>,
    /// The image that it was read from, by digest; absent when its source is none.
    pub image: Option<Arc<str>>,
    /// When it was first read from its source; unknown when no store keeps it.
    pub at: Option<Timestamp>,
}

/// The files of a directory as they were when nothing changed, and their lines.
type Whole<'a> = (Listing, WrittenContent<'a>, Origins);

/// Loads a directory without a store: its lines lie in a file without a name on the file system of `folder`.
pub fn read_once(root: &Path, folder: &Path) -> Result<Content, LoadError> {
    let (_, written, origins) =
        read_whole(root, directory::list(root)?, || ContentWriter::temporary(folder), |_, _| ())?;
    build(&written, &origins)
}

/// A content that no store keeps.
pub(super) fn build(written: &WrittenContent<'_>, origins: &Origins) -> Result<Content, LoadError> {
    let catalog = Arc::new(Catalog::build(written.content.clone(), origins)?);
    Ok(Content { catalog, digest: written.digest, encodings: Arc::default(), image: None, at: None })
}

impl Content {
    /// Whether it is the very same catalog of the very same image: equal catalogs in use are one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.catalog, &other.catalog) && self.image == other.image
    }
}

impl Stages {
    pub(super) fn new(store: Store, registries: Registries) -> Self {
        Self {
            store,
            registries,
            turns: Turns::default(),
            catalogs: Mutex::default(),
            encodings: Mutex::default(),
            heavy: Arc::new(Semaphore::new(1)),
        }
    }

    /// Does something off the async threads once its turn has come, behind those who wait for an answer.
    pub(super) async fn run_exclusive<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, LoadError> + Send + 'static,
    ) -> Result<T, LoadError> {
        let permit = self.heavy.clone().acquire_owned().await;
        let stages = Arc::clone(self);
        let done = spawn_low_priority(move || {
            let _permit = permit;
            work(&stages)
        });
        done.await.unwrap_or_else(|error| Err(LoadError::Panicked(error.to_string())))
    }

    /// What a directory holds now. `progress` is told how many of how many bytes were read.
    pub(super) fn current(&self, root: &Path, key: &str, progress: impl Fn(u64, u64)) -> Result<Content, LoadError> {
        let listing = directory::list(root)?;
        if let Some(content) = self.known(key, listing.revision().as_str())? {
            return Ok(content);
        }
        let (listing, written, origins) = read_whole(root, listing, || self.store.writer(), progress)?;
        let revision = listing.is_settled().then(|| listing.revision().as_str());
        self.keep(key, &SourceState { revision, image: None }, written, origins)
    }

    /// Indexes what was written and remembers which source gave it.
    pub(super) fn keep(
        &self,
        key: &str,
        state: &SourceState<'_>,
        written: WrittenContent<'_>,
        origins: Origins,
    ) -> Result<Content, LoadError> {
        let digest = written.digest;
        let catalog = Catalog::build(written.content.clone(), &origins)?;
        let analysis = Analysis { origins, problems: Some(catalog.problems().to_vec()) };
        let record = written.commit(key, state, &analysis)?;
        let at = record.as_ref().map(|record| record.first_read_at);
        let catalog = match record {
            Some(record) => self.share(&record, || Ok(catalog))?,
            None => Arc::new(catalog),
        };
        let image = state.image.map(Arc::from);
        Ok(Content { catalog, digest, encodings: self.encodings(digest), image, at })
    }

    /// What a source held when it could last be read, and whether this build has looked at it.
    pub(super) fn former(&self, key: &str) -> Option<(Content, bool)> {
        let kept = self.store.get(key)?;
        let is_known = kept.analysis.problems.is_some();
        Some((self.reopen(kept).ok()?, is_known))
    }

    /// What the store has of a source, when the source was in this state.
    pub(super) fn known(&self, key: &str, revision: &str) -> Result<Option<Content>, StoreError> {
        let Some(kept) = self.store.get(key) else { return Ok(None) };
        // Another build may have read the same files otherwise.
        if kept.record.revision.as_deref() != Some(revision) || kept.analysis.problems.is_none() {
            return Ok(None);
        }
        match self.reopen(kept) {
            Ok(content) => Ok(Some(content)),
            Err(damaged) => {
                tracing::warn!(source = key, %damaged, "reading the source again");
                self.store.forget(key)?;
                Ok(None)
            }
        }
    }

    /// What another source gave in this very state.
    pub(super) fn reuse(&self, key: &str, state: &SourceState<'_>) -> Result<Option<Content>, LoadError> {
        let kept = self.store.reuse(key, state)?;
        Ok(kept.map(|kept| self.reopen(kept)).transpose()?)
    }

    fn reopen(&self, kept: StoredContent) -> Result<Content, IndexError> {
        let StoredContent { record, content, analysis } = kept;
        let image = record.image.as_deref().map(Arc::from);
        let catalog = self.share(&record, || match analysis.problems {
            Some(problems) => Catalog::reopen(content, &analysis.origins, problems),
            None => Catalog::build(content, &analysis.origins),
        })?;
        let encodings = self.encodings(record.content);
        Ok(Content { catalog, digest: record.content, encodings, image, at: Some(record.first_read_at) })
    }

    /// Compresses a content, or takes from the store what was compressed before. It takes seconds; what fails is logged,
    /// because a content can be served without.
    pub(super) fn encode(&self, content: &Content) {
        let lines = content.catalog.content();
        for coding in Coding::ALL.into_iter().filter(|_| lines.len() >= MIN_ENCODED_BYTES) {
            match self.store.load_or_compress(&content.digest, lines, coding) {
                Ok(Some(bytes)) => drop(content.encodings.set(coding, bytes)),
                Ok(None) => tracing::info!(digest = %content.digest, "there is no room for a compressed form"),
                Err(error) => tracing::warn!(digest = %content.digest, %error, "serving a content without compression"),
            }
        }
    }

    /// Keeps the outline of a content. Gives the outlines of what its source gave, the latest first.
    pub(super) fn outlines(&self, key: &str, content: &Content) -> Vec<(Digest, Outline)> {
        if let Err(error) = self.store.save_outline(&content.digest, content.catalog.outline()) {
            tracing::warn!(digest = %content.digest, %error, "what changes after this content will not be known");
        }
        self.store.outlines(key)
    }

    fn encodings(&self, digest: Digest) -> Arc<Encodings> {
        let mut encodings = self.encodings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(encodings) = encodings.get(&digest).and_then(Weak::upgrade) {
            return encodings;
        }
        encodings.retain(|_, encodings| encodings.strong_count() > 0);
        let new = Arc::default();
        encodings.insert(digest, Arc::downgrade(&new));
        new
    }

    /// The catalog of this record that is in use already, or else the one that `open` makes.
    fn share(
        &self,
        record: &Record,
        open: impl FnOnce() -> Result<Catalog, IndexError>,
    ) -> Result<Arc<Catalog>, IndexError> {
        let key = (record.content, record.analysis);
        let mut catalogs = self.catalogs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(catalog) = catalogs.get(&key).and_then(Weak::upgrade) {
            return Ok(catalog);
        }
        catalogs.retain(|_, catalog| catalog.strong_count() > 0);
        let catalog = Arc::new(open()?);
        catalogs.insert(key, Arc::downgrade(&catalog));
        Ok(catalog)
    }
}

/// Does something off the async threads that takes long, and lets those who answer go first.
pub(super) async fn spawn_low_priority<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let yielding = || {
        if let Err(error) = rustix::process::nice(NICENESS) {
            tracing::debug!(%error, "loading takes as much of a processor as answering");
        }
        work()
    };
    // On a thread of its own, because what was yielded cannot be taken back.
    let done = spawn_blocking(|| {
        thread::scope(|scope| scope.spawn(yielding).join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    done.await
}

/// Reads a directory that stands still meanwhile, so that no mixture of two states is taken for a content.
fn read_whole<'a>(
    root: &Path,
    mut listing: Listing,
    writer: impl Fn() -> Result<ContentWriter<'a>, StoreError>,
    progress: impl Fn(u64, u64),
) -> Result<Whole<'a>, LoadError> {
    for _ in 0..TRIES {
        let mut writer = writer()?;
        let total = listing.bytes();
        let result = read(&listing, &mut writer, |read| progress(read, total));
        let now: Result<Listing, DirectoryError> = directory::list(root);
        let stood_still = now.as_ref().is_ok_and(|now| now.revision() == listing.revision());
        match (result, now) {
            (Ok(origins), _) if stood_still => return Ok((listing, writer.finish()?, origins)),
            // What went wrong need not have to do with the change when it is not about a file.
            (Err(error @ LoadError::Store(_)), _) => return Err(error),
            (Err(error), _) if stood_still => return Err(error),
            (_, Ok(now)) => listing = now,
            (_, Err(error)) => return Err(error.into()),
        }
    }
    Err(LoadError::Changing(root.to_owned()))
}
