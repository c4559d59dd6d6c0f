//! Compressed forms of contents, beside them and under their digests: made once, and swept with the content.
//!
//! They are a convenience. Where there is no room for them they are not made.

use std::path::PathBuf;

use bytes::Bytes;
use fbc::Digest;
use http_facts::coding::{Coding, CompressionLevel};

use super::file::{self, FileKind, TempFile};
use super::{CONTENT, Store, StoreError, lock_mutex};

impl Store {
    /// The stored compressed form of a content; `None` where it was not made, or was evicted.
    pub fn compressed(&self, digest: &Digest, coding: Coding) -> Option<Bytes> {
        file::map(&self.encoded_path(digest, coding)).ok()
    }

    /// The compressed form of a content, made where it is missing; nothing when there is no room for it, or the content
    /// is not kept any more. It takes seconds.
    pub fn load_or_compress(
        &self,
        digest: &Digest,
        content: &[u8],
        coding: Coding,
    ) -> Result<Option<Bytes>, StoreError> {
        let path = self.encoded_path(digest, coding);
        if let Ok(bytes) = file::map(&path) {
            return Ok(Some(bytes));
        }
        let mut file = TempFile::create(&self.folder.join(CONTENT), FileKind::Encoded)?;
        file.write_with(|to| coding.compress(content, CompressionLevel::Compact, to))?;
        let bytes = file.map()?;
        // What nothing refers to is swept while the guard is held.
        let _pen = lock_mutex(&self.guard);
        let fits = self.used()? + bytes.len() as u64 <= self.quota;
        if !fits || !self.content_path(digest).exists() {
            return Ok(None);
        }
        file.name(&path, self.durability())?;
        Ok(Some(bytes))
    }

    pub(super) fn encoded_path(&self, digest: &Digest, coding: Coding) -> PathBuf {
        let end = match coding {
            Coding::Gzip => "jsonl.gz",
            Coding::Zstd => "jsonl.zst",
        };
        self.folder.join(CONTENT).join(format!("{}.{end}", digest.hex()))
    }
}

#[cfg(test)]
mod tests;
