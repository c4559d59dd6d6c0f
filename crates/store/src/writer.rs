//! Writes one content, hashing it on the way. It does not know what its lines say.

use std::sync::MutexGuard;

use bytes::Bytes;
use fbc::Digest;
use sha2::{Digest as _, Sha256};

use super::file::{FileKind, TempFile};
use super::{Analysis, CONTENT, Record, SourceState, Store, StoreError};

/// How many bytes are written at once.
const BUFFER: usize = 256 * 1024;

/// A content on its way to the disk. Dropped before it is finished, nothing remains of it.
#[derive(Debug)]
pub struct ContentWriter<'a> {
    guard: WriteGuard<'a>,
    file: TempFile,
    hash: Sha256,
    buffer: Vec<u8>,
    written: u64,
    /// How many bytes the content may have.
    room: u64,
}

/// A content that is complete, and that nobody refers to yet.
#[derive(Debug)]
pub struct WrittenContent<'a> {
    /// sha256 of its lines.
    pub digest: Digest,
    /// Its lines.
    pub content: Bytes,
    guard: WriteGuard<'a>,
}

/// The right to write into a store, held until something refers to the content: what nothing refers to is swept.
#[derive(Debug)]
struct WriteGuard<'a> {
    store: &'a Store,
    _held: MutexGuard<'a, ()>,
}

impl<'a> ContentWriter<'a> {
    pub(super) fn new(store: &'a Store, held: MutexGuard<'a, ()>) -> Result<Self, StoreError> {
        let file = TempFile::create(&store.folder.join(CONTENT), FileKind::Content)?;
        let room = store.quota.saturating_sub(store.used()?);
        let guard = WriteGuard { store, _held: held };
        Ok(Self { guard, file, hash: Sha256::new(), buffer: Vec::with_capacity(BUFFER), written: 0, room })
    }

    /// Adds lines, each with its line feed.
    pub fn write(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        self.written += lines.len() as u64;
        if self.written > self.room {
            self.make_room()?;
        }
        self.hash.update(lines);
        if self.buffer.len() + lines.len() > BUFFER {
            self.flush()?;
        }
        if lines.len() > BUFFER {
            return self.file.write(lines);
        }
        self.buffer.extend_from_slice(lines);
        Ok(())
    }

    /// Brings the content to the disk and under its name.
    pub fn finish(mut self) -> Result<WrittenContent<'a>, StoreError> {
        self.flush()?;
        let digest = Digest::new(self.hash.finalize().into());
        let content = self.file.map()?;
        let store = self.guard.store;
        self.file.name(&store.content_path(&digest), store.durability())?;
        Ok(WrittenContent { digest, content, guard: self.guard })
    }

    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        let written = if self.buffer.is_empty() { Ok(()) } else { self.file.write(&self.buffer) };
        self.buffer.clear();
        written
    }

    fn make_room(&mut self) -> Result<(), StoreError> {
        let store = self.guard.store;
        self.room = store.make_room(self.written)?;
        if self.written > self.room {
            return Err(StoreError::QuotaExceeded { folder: store.folder.clone(), quota: store.quota });
        }
        Ok(())
    }
}

impl WrittenContent<'_> {
    /// Records that a source gave this content, in place of the one that it gave before.
    pub fn commit(self, key: &str, state: &SourceState<'_>, analysis: &Analysis) -> Result<Record, StoreError> {
        self.guard.store.keep(key, state, &self, analysis)
    }
}
