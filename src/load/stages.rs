//! One attempt to load a source: from the store when it holds what the source has, by reading it otherwise.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use fbc::catalog::IndexError;
use fbc::{Catalog, Digest};
use jiff::Timestamp;
use tokio::sync::Semaphore;

use super::LoadError;
use super::read::read;
use crate::catalogs::Encodings;
use crate::coding::{Coding, MIN_ENCODED_BYTES};
use crate::source::{Listing, Source, SourceError};
use crate::store::{ContentWriter, Kept, Notes, Record, Store, StoreError, WrittenContent};

/// How often a source is read that changes while it is read.
pub const TRIES: usize = 3;

/// What every attempt shares.
#[derive(Debug)]
pub(super) struct Stages {
    store: Store,
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
    /// When it was first read from its source; unknown when no store keeps it.
    pub at: Option<Timestamp>,
}

/// Loads a source without a store: its lines lie in a file without a name on the file system of `folder`.
pub fn load_once(source: &Source, folder: &Path) -> Result<Content, LoadError> {
    let writer = || ContentWriter::nowhere(folder);
    let (_, written, origins) = read_whole(source, source.list()?, writer, |_, _| ())?;
    let catalog = Arc::new(Catalog::build(written.content.clone(), &origins)?);
    Ok(Content { catalog, digest: written.digest, encodings: Arc::default(), at: None })
}

impl Content {
    /// Whether it is the very same catalog: equal ones in use are one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.catalog, &other.catalog)
    }
}

impl Stages {
    pub(super) fn new(store: Store) -> Self {
        Self { store, catalogs: Mutex::default(), encodings: Mutex::default(), heavy: Arc::new(Semaphore::new(1)) }
    }

    /// What the source holds now. `progress` is told how many of how many bytes were read.
    pub(super) fn current(&self, source: &Source, progress: impl Fn(u64, u64)) -> Result<Content, LoadError> {
        let listing = source.list()?;
        if let Some(content) = self.unchanged(source, &listing)? {
            return Ok(content);
        }
        let (listing, written, origins) = read_whole(source, listing, || self.store.writer(), progress)?;
        let digest = written.digest;
        let catalog = Catalog::build(written.content.clone(), &origins)?;
        let notes = Notes { origins, problems: Some(catalog.problems().to_vec()) };
        let revision = listing.is_settled().then(|| listing.revision().as_str());
        let record = written.keep(&source.key(), revision, &notes)?;
        let at = record.as_ref().map(|record| record.at);
        let catalog = match record {
            Some(record) => self.share(&record, || Ok(catalog))?,
            None => Arc::new(catalog),
        };
        Ok(Content { catalog, digest, encodings: self.encodings(digest), at })
    }

    /// What the source held when it could last be read.
    pub(super) fn former(&self, source: &Source) -> Option<Content> {
        let kept = self.store.kept(&source.key())?;
        self.reopen(kept).ok()
    }

    /// The stored content, when it is what the source has now.
    fn unchanged(&self, source: &Source, listing: &Listing) -> Result<Option<Content>, StoreError> {
        let key = source.key();
        let Some(kept) = self.store.kept(&key) else { return Ok(None) };
        let same_revision = kept.record.revision.as_deref() == Some(listing.revision().as_str());
        // Another build may have read the same files otherwise.
        if !same_revision || kept.notes.problems.is_none() {
            return Ok(None);
        }
        match self.reopen(kept) {
            Ok(content) => Ok(Some(content)),
            Err(damaged) => {
                tracing::warn!(source = key, %damaged, "reading the source again");
                self.store.forget(&key)?;
                Ok(None)
            }
        }
    }

    fn reopen(&self, kept: Kept) -> Result<Content, IndexError> {
        let Kept { record, content, notes } = kept;
        let catalog = self.share(&record, || match notes.problems {
            Some(problems) => Catalog::reopen(content, &notes.origins, problems),
            None => Catalog::build(content, &notes.origins),
        })?;
        Ok(Content { catalog, digest: record.content, encodings: self.encodings(record.content), at: Some(record.at) })
    }

    /// Compresses a content, or takes from the store what was compressed before. It takes seconds; what fails is logged,
    /// because a content can be served without.
    pub(super) fn encode(&self, content: &Content) {
        let lines = content.catalog.content();
        for coding in Coding::ALL.into_iter().filter(|_| lines.len() >= MIN_ENCODED_BYTES) {
            match self.store.encoded(&content.digest, lines, coding) {
                Ok(Some(bytes)) => content.encodings.offer(coding, bytes),
                Ok(None) => tracing::info!(digest = %content.digest, "there is no room for a compressed form"),
                Err(error) => tracing::warn!(digest = %content.digest, %error, "serving a content without compression"),
            }
        }
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
        let key = (record.content, record.notes);
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

/// Reads a source that stands still meanwhile, so that no mixture of two states is taken for a content.
fn read_whole<'a>(
    source: &Source,
    mut listing: Listing,
    writer: impl Fn() -> Result<ContentWriter<'a>, StoreError>,
    progress: impl Fn(u64, u64),
) -> Result<(Listing, WrittenContent<'a>, fbc::Origins), LoadError> {
    for _ in 0..TRIES {
        let mut writer = writer()?;
        let total = listing.bytes();
        let result = read(&listing, &mut writer, |read| progress(read, total));
        let now: Result<Listing, SourceError> = source.list();
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
    Err(LoadError::Changing(source.key()))
}
