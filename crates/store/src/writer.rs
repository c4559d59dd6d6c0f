//! Writes one content and computes its digest. It does not parse the lines.

use std::sync::MutexGuard;

use bytes::Bytes;
use content_digest::DigestHasher;
use fbc_grammar::Digest;

use super::crash_points::FileKind;
use super::file::TempFile;
use super::{Analysis, CONTENT, Record, SourceState, Store, StoreError, lock_mutex};

/// Size of the write buffer in bytes.
const BUFFER_BYTES: usize = 256 * 1024;

/// A content that is being written. If it is dropped before it is finished, it is removed.
#[derive(Debug)]
pub struct ContentWriter<'a> {
    guard: WriteGuard<'a>,
    file: TempFile,
    hash: DigestHasher,
    buffer: Vec<u8>,
    written: u64,
    /// Maximum length of the content in bytes, before evicting others.
    max_bytes: u64,
    /// Maximum length of the content in bytes, whether or not there is free space.
    share: u64,
}

/// A complete content, to which no record refers yet.
#[derive(Debug)]
pub struct WrittenContent<'a> {
    /// SHA-256 of the lines.
    pub digest: Digest,
    /// The canonical lines.
    pub content: Bytes,
    guard: WriteGuard<'a>,
}

/// The write lock of a store, held until a record refers to the content: unreferenced contents are
/// removed.
#[derive(Debug)]
struct WriteGuard<'a> {
    store: &'a Store,
    _lock: MutexGuard<'a, ()>,
}

impl<'a> ContentWriter<'a> {
    pub(super) fn new(store: &'a Store, lock: MutexGuard<'a, ()>) -> Result<Self, StoreError> {
        let file = TempFile::create(&store.folder.join(CONTENT), FileKind::Content)?;
        let max_bytes = store.quota.saturating_sub(store.used_bytes()?);
        let guard = WriteGuard { store, _lock: lock };
        Ok(Self {
            guard,
            file,
            hash: DigestHasher::new(),
            buffer: Vec::with_capacity(BUFFER_BYTES),
            written: 0,
            max_bytes,
            share: store.share(),
        })
    }

    /// Appends lines, each with its line feed.
    pub fn write(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        self.written += lines.len() as u64;
        let Store { folder, quota, .. } = self.guard.store;
        // One source must not evict the contents of all others.
        if self.written > self.share && self.share < *quota {
            return Err(StoreError::ShareExceeded {
                folder: folder.clone(),
                share: self.share,
                quota: *quota,
            });
        }
        if self.written > self.max_bytes {
            self.evict_others()?;
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
    pub fn finish(self) -> Result<WrittenContent<'a>, StoreError> {
        let digest = self.hash.clone().finish();
        self.persist(digest)
    }

    /// Completes the content like [`Self::finish`] if it has this digest; otherwise removes it and
    /// returns `None`.
    pub fn finish_as(self, expected: &Digest) -> Result<Option<WrittenContent<'a>>, StoreError> {
        let digest = self.hash.clone().finish();
        if digest != *expected {
            return Ok(None);
        }
        self.persist(digest).map(Some)
    }

    fn persist(mut self, digest: Digest) -> Result<WrittenContent<'a>, StoreError> {
        self.flush()?;
        let content = self.file.map()?;
        let store = self.guard.store;
        let path = store.content_path(&digest);
        self.file.persist(&path, store.durability())?;
        store.verified.add_written(&path, digest);
        // The seal in an index that is there is that of the replaced file.
        lock_mutex(&store.indexes).remove(&digest);
        Ok(WrittenContent {
            digest,
            content,
            guard: self.guard,
        })
    }

    /// Writes the buffer to the file.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        let written = if self.buffer.is_empty() {
            Ok(())
        } else {
            self.file.write(&self.buffer)
        };
        self.buffer.clear();
        written
    }

    /// Evicts other contents, so that the bytes written so far fit into the quota.
    fn evict_others(&mut self) -> Result<(), StoreError> {
        let store = self.guard.store;
        self.max_bytes = store.evict(self.written)?;
        if self.written > self.max_bytes {
            return Err(StoreError::QuotaExceeded {
                folder: store.folder.clone(),
                quota: store.quota,
            });
        }
        Ok(())
    }
}

impl WrittenContent<'_> {
    /// Records that a source provides this content, in place of the content that it provided
    /// before.
    pub fn commit(
        self,
        key: &str,
        state: &SourceState,
        analysis: &Analysis,
    ) -> Result<Record, StoreError> {
        self.guard.store.commit(key, state, &self, analysis)
    }
}
