//! Contents in use: opened from the store or indexed, and shared in memory by all catalogs that
//! serve them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use fbc::{Catalog, IndexError};
use fbc_grammar::Digest;
use fbc_read::Origins;
use http_content::coding::{Coding, MIN_ENCODED_BYTES};
use serving::{Content, Encodings, RememberedContent};
use store::{
    Analysis, PreviousContent, Record, SourceState, Store, StoreError, StoredContent, StoredIndex,
    WrittenContent,
};

use crate::LoadError;

/// The store, and the contents in use of all sources.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) store: Store,
    /// Catalogs in use, by the digests of their content and of their analysis.
    catalogs: Mutex<HashMap<(Digest, Digest), Weak<Catalog>>>,
    /// Compressed forms in use, by the digest of their content.
    encodings: Mutex<HashMap<Digest, Weak<Encodings>>>,
}

/// A content that has been read from files and is not indexed yet.
pub(crate) struct ReadContent<'a> {
    /// Lines, as they have been written.
    pub(crate) written: WrittenContent<'a>,
    /// Files and lines that the blobs come from.
    pub(crate) origins: Origins,
}

impl Contents {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            catalogs: Mutex::default(),
            encodings: Mutex::default(),
        }
    }

    /// Indexes lines that have just been written, and records their source.
    pub(crate) fn add(
        &self,
        key: &str,
        state: &SourceState,
        read: ReadContent<'_>,
    ) -> Result<Content, LoadError> {
        self.add_checked(key, state, read, |_| Ok(()))
    }

    /// Indexes lines like [`Self::add`], unless the check refuses the catalog.
    pub(crate) fn add_checked(
        &self,
        key: &str,
        state: &SourceState,
        read: ReadContent<'_>,
        check: impl FnOnce(&Catalog) -> Result<(), LoadError>,
    ) -> Result<Content, LoadError> {
        let ReadContent { written, origins } = read;
        let catalog = Catalog::build(written.content.clone(), &origins)?;
        check(&catalog)?;
        let analysis = Analysis {
            origins,
            problems: Some(catalog.all_problems().clone()),
        };
        self.commit(key, state, written, &analysis, catalog)
    }

    /// Indexes lines that another process of this build has analyzed, and records their source.
    pub(crate) fn add_analyzed(
        &self,
        key: &str,
        state: &SourceState,
        written: WrittenContent<'_>,
        analysis: &Analysis,
    ) -> Result<Content, LoadError> {
        let problems = analysis.problems.clone().unwrap_or_default();
        let catalog = Catalog::reopen(written.content.clone(), &analysis.origins, problems)?;
        self.commit(key, state, written, analysis, catalog)
    }

    /// Records the source of lines that have been indexed.
    fn commit(
        &self,
        key: &str,
        state: &SourceState,
        written: WrittenContent<'_>,
        analysis: &Analysis,
        catalog: Catalog,
    ) -> Result<Content, LoadError> {
        let digest = written.digest;
        let record = written.commit(key, state, analysis)?;
        let catalog = self.share(&record, || Ok(catalog))?;
        Ok(Content {
            catalog,
            digest,
            encodings: self.encodings(digest),
            image: state.image.as_deref().map(Arc::from),
            last_unpacked: Some(record.first_read_at),
        })
    }

    /// Returns the last content of a source, and whether this build has analyzed it.
    pub(crate) fn last(&self, key: &str) -> Option<(Content, bool)> {
        let stored = self.store.get(key)?;
        let is_analyzed = stored.analysis.problems.is_some();
        Some((self.open(&stored).ok()?, is_analyzed))
    }

    /// Finds the stored content of this state of a source. It may have been stored for another source.
    pub(crate) fn find(
        &self,
        key: &str,
        state: &SourceState,
    ) -> Result<Option<Content>, LoadError> {
        if let Some(content) = self.find_own(key, state)? {
            return Ok(Some(content));
        }
        if state.revision.is_none() {
            return Ok(None);
        }
        let reused = self.store.reuse(key, state)?;
        Ok(reused.map(|stored| self.open(&stored)).transpose()?)
    }

    fn find_own(&self, key: &str, state: &SourceState) -> Result<Option<Content>, StoreError> {
        // This comes first, because opening a content hashes all of it.
        if !self.store.has_revision(key, state.revision.as_deref()) {
            return Ok(None);
        }
        let Some(stored) = self.store.get(key) else {
            return Ok(None);
        };
        // Another build may have read the same files in another way.
        if stored.analysis.problems.is_none() {
            return Ok(None);
        }
        match self.open(&stored) {
            Ok(content) => Ok(Some(content)),
            Err(error) => {
                tracing::warn!(source = key, %error, "stored content is damaged, reading the source again");
                self.store.forget(key)?;
                Ok(None)
            }
        }
    }

    fn open(&self, stored: &StoredContent) -> Result<Content, IndexError> {
        let record = &stored.record;
        let catalog = self.share(record, || self.open_catalog(stored))?;
        Ok(Content {
            catalog,
            digest: record.content,
            encodings: self.encodings(record.content),
            image: record.image.as_deref().map(Arc::from),
            last_unpacked: Some(record.first_read_at),
        })
    }

    /// Opens a catalog with its stored index, or else builds the index from the lines.
    fn open_catalog(&self, stored: &StoredContent) -> Result<Catalog, IndexError> {
        let StoredContent {
            record,
            content,
            analysis,
            index,
        } = stored;
        let digest = record.content;
        let origins = &analysis.origins;
        let Some(problems) = &analysis.problems else {
            return Catalog::build(content.clone(), origins);
        };
        match index {
            StoredIndex::Whole(index) => {
                match Catalog::open_stored(
                    content.clone(),
                    index.clone(),
                    origins,
                    problems.clone(),
                ) {
                    Ok(catalog) => return Ok(catalog),
                    Err(error) => {
                        tracing::warn!(%digest, %error, "cannot use the stored index, building it from the content");
                        self.store.forget_index(&digest);
                    }
                }
            }
            StoredIndex::Damaged(path) => {
                let path = path.display();
                tracing::warn!(%digest, %path, "stored index is damaged, building it from the content");
            }
            StoredIndex::Absent => {}
        }
        Catalog::reopen(content.clone(), origins, problems.clone())
    }

    /// Opens the stored compressed forms of a content.
    pub(crate) fn open_compressed(&self, content: &Content) {
        for coding in Coding::ALL {
            if let Some(bytes) = self.store.compressed(&content.digest, coding) {
                content.encodings.set(coding, bytes);
            }
        }
    }

    /// Compresses a content, or opens its stored compressed forms. It takes seconds. Failures are
    /// logged: a content can be served without.
    pub(crate) fn compress(&self, content: &Content) {
        let lines = content.catalog.content();
        for coding in Coding::ALL
            .into_iter()
            .filter(|_| lines.len() >= MIN_ENCODED_BYTES)
        {
            match self.store.load_or_compress(&content.digest, lines, coding) {
                Ok(Some(bytes)) => drop(content.encodings.set(coding, bytes)),
                Ok(None) => {
                    tracing::info!(digest = %content.digest, "skipping compression: the store is full");
                }
                Err(error) => {
                    tracing::warn!(digest = %content.digest, %error, "cannot compress the content");
                }
            }
        }
    }

    /// Stores the outline of a content. Returns the outlines of the former contents of its source,
    /// latest first.
    pub(crate) fn outlines(&self, key: &str, content: &Content) -> Vec<RememberedContent> {
        if let Err(error) = self
            .store
            .save_outline(&content.digest, content.catalog.outline())
        {
            tracing::warn!(digest = %content.digest, %error, "cannot store the outline of the content");
        }
        let stored = self.store.outlines(key).into_iter();
        let remembered = stored.map(
            |(
                PreviousContent {
                    digest,
                    image,
                    first_read_at,
                },
                outline,
            )| RememberedContent {
                digest,
                image: image.map(Arc::from),
                last_unpacked: first_read_at,
                outline,
            },
        );
        remembered.collect()
    }

    /// Returns whether the index of a content is to be stored, or replaced by the stored one.
    pub(crate) fn needs_index(&self, content: &Content) -> bool {
        let is_done = content.catalog.has_stored_index() && self.store.has_index(&content.digest);
        // A command that loads a content once has no use for it.
        !is_done && !self.store.is_ephemeral()
    }

    /// Stores the index of a content and all of its tables, and returns the content with those in
    /// place of the ones in memory; `None` if they are in place already, or cannot be stored. Failures
    /// are logged: a content can be served without.
    pub(crate) fn store_index(&self, content: &Content) -> Option<Content> {
        let Content {
            catalog, digest, ..
        } = content;
        if !self.needs_index(content) {
            return None;
        }
        if !self.store.has_index(digest) {
            match self.store.save_index(digest, |to| catalog.write_index(to)) {
                Ok(true) => {}
                Ok(false) => {
                    tracing::info!(%digest, "skipping the index of the content: the store is full");
                    return None;
                }
                Err(error) => {
                    tracing::warn!(%digest, %error, "cannot store the index of the content");
                    return None;
                }
            }
        }
        if catalog.has_stored_index() {
            return None;
        }
        let catalog = self.replace_index(content)?;
        Some(Content {
            catalog,
            ..content.clone()
        })
    }

    /// Replaces a catalog in use by one whose records and tables are in the stored index.
    fn replace_index(&self, content: &Content) -> Option<Arc<Catalog>> {
        let Content {
            catalog, digest, ..
        } = content;
        let mut catalogs = self.catalogs.lock().unwrap_or_else(PoisonError::into_inner);
        let same_content = catalogs.iter().filter(|((other, _), _)| other == digest);
        let mut stored: Vec<_> = same_content
            .filter_map(|(_, other)| other.upgrade())
            .filter(|other| other.has_stored_index())
            .collect();
        // Another source with the same files has replaced it before.
        let replaced_before = stored.iter().find(|other| other.has_origins_of(catalog));
        if let Some(replaced) = replaced_before {
            return Some(Arc::clone(replaced));
        }
        let replaced = match stored.pop() {
            Some(other) => catalog.with_index_of(&other),
            None => match catalog.with_stored_index(self.store.index(digest).whole()?) {
                Ok(replaced) => replaced,
                Err(error) => {
                    tracing::warn!(%digest, %error, "cannot use the stored index of the content");
                    return None;
                }
            },
        };
        let replaced = Arc::new(replaced);
        let in_use = catalogs
            .values_mut()
            .find(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(catalog)));
        if let Some(in_use) = in_use {
            *in_use = Arc::downgrade(&replaced);
        }
        Some(replaced)
    }

    /// Removes a content from the store and from the contents in use, so that its source is read
    /// again.
    pub(crate) fn discard(&self, digest: &Digest) -> Result<(), StoreError> {
        self.catalogs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(content, _), _| content != digest);
        self.encodings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(digest);
        self.store.discard(digest)
    }

    fn encodings(&self, digest: Digest) -> Arc<Encodings> {
        let mut encodings = self
            .encodings
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(encodings) = encodings.get(&digest).and_then(Weak::upgrade) {
            return encodings;
        }
        encodings.retain(|_, encodings| encodings.strong_count() > 0);
        let new = Arc::default();
        encodings.insert(digest, Arc::downgrade(&new));
        new
    }

    /// Returns the catalog of this record that is in use, or else the one that `open` creates. It
    /// shares its index with catalogs that have the same content from other files.
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
        let mut catalog = open()?;
        let mut same_content = catalogs
            .iter()
            .filter(|((content, _), _)| *content == record.content);
        if let Some(other) = same_content.find_map(|(_, other)| other.upgrade()) {
            catalog = catalog.with_index_of(&other);
        }
        let catalog = Arc::new(catalog);
        catalogs.insert(key, Arc::downgrade(&catalog));
        Ok(catalog)
    }
}
