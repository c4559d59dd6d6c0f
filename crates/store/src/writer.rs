//! Writes one content and computes its digest. It does not parse the lines.

use std::path::Path;
use std::sync::MutexGuard;

use bytes::Bytes;
use fbc::Digest;
use sha2::{Digest as _, Sha256};

use super::file::{FileKind, TempFile};
use super::{Analysis, CONTENT, Record, SourceState, Store, StoreError};

/// Size of the write buffer in bytes.
const BUFFER_BYTES: usize = 256 * 1024;

/// A content that is being written. If it is dropped before it is finished, nothing of it remains.
#[derive(Debug)]
pub struct ContentWriter<'a> {
    /// `None` for a temporary content, which exists for as long as its bytes are used.
    guard: Option<WriteGuard<'a>>,
    file: TempFile,
    hash: Sha256,
    buffer: Vec<u8>,
    written: u64,
    /// Maximum length of the content in bytes, before evicting others.
    max_bytes: u64,
}

/// A complete content, to which no record refers yet.
#[derive(Debug)]
pub struct WrittenContent<'a> {
    /// SHA-256 of the lines.
    pub digest: Digest,
    /// The canonical lines.
    pub content: Bytes,
    guard: Option<WriteGuard<'a>>,
}

/// The write lock of a store, held until a record refers to the content: unreferenced contents are removed.
#[derive(Debug)]
struct WriteGuard<'a> {
    store: &'a Store,
    _lock: MutexGuard<'a, ()>,
}

impl<'a> ContentWriter<'a> {
    pub(super) fn new(store: &'a Store, lock: MutexGuard<'a, ()>) -> Result<Self, StoreError> {
        let file = TempFile::create(&store.folder.join(CONTENT), FileKind::Content)?;
        let max_bytes = store.quota.saturating_sub(store.used_bytes()?);
        Ok(Self::with_file(Some(WriteGuard { store, _lock: lock }), file, max_bytes))
    }

    /// Starts writing a temporary content into an unnamed file on the file system of a folder.
    pub fn temporary(folder: &Path) -> Result<ContentWriter<'static>, StoreError> {
        Ok(ContentWriter::with_file(None, TempFile::unnamed(folder)?, u64::MAX))
    }

    fn with_file(guard: Option<WriteGuard<'a>>, file: TempFile, max_bytes: u64) -> Self {
        Self { guard, file, hash: Sha256::new(), buffer: Vec::with_capacity(BUFFER_BYTES), written: 0, max_bytes }
    }

    /// Appends lines, each with its line feed.
    pub fn write(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        self.written += lines.len() as u64;
        if self.written > self.max_bytes {
            self.make_room()?;
        }
        self.hash.update(lines);
        if self.buffer.len() + lines.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if lines.len() > BUFFER_BYTES {
            return self.file.write(lines);
        }
        self.buffer.extend_from_slice(lines);
        Ok(())
    }

    /// Completes the content: syncs it to the disk and gives the file its name.
    pub fn finish(mut self) -> Result<WrittenContent<'a>, StoreError> {
        self.flush()?;
        let digest = Digest::new(self.hash.finalize().into());
        let content = self.file.map()?;
        if let Some(WriteGuard { store, .. }) = &self.guard {
            self.file.persist(&store.content_path(&digest))?;
        }
        Ok(WrittenContent { digest, content, guard: self.guard })
    }

    /// Writes the buffer to the file.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        let written = if self.buffer.is_empty() { Ok(()) } else { self.file.write(&self.buffer) };
        self.buffer.clear();
        written
    }

    /// Evicts other contents, so that what was written so far fits into the quota.
    fn make_room(&mut self) -> Result<(), StoreError> {
        let Some(WriteGuard { store, .. }) = &self.guard else { return Ok(()) };
        self.max_bytes = store.make_room(self.written)?;
        if self.written > self.max_bytes {
            return Err(StoreError::QuotaExceeded { folder: store.folder.clone(), quota: store.quota });
        }
        Ok(())
    }
}

impl WrittenContent<'_> {
    /// Records that a source provides this content, in place of the content that it provided before. `None` for a
    /// temporary content, which is not recorded.
    pub fn commit(self, key: &str, state: &SourceState<'_>, analysis: &Analysis) -> Result<Option<Record>, StoreError> {
        match &self.guard {
            Some(WriteGuard { store, .. }) => store.commit(key, state, &self, analysis).map(Some),
            None => Ok(None),
        }
    }
}
