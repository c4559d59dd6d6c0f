//! Compressed forms of contents, stored beside them: made once, and removed with the content.
//!
//! They are optional: a compressed form that does not fit into the quota is not stored.

use std::path::PathBuf;

use bytes::Bytes;
use fbc_grammar::Digest;
use http_content::coding::{Coding, CompressionLevel};

use super::crash_points::FileKind;
use super::file::{self, TempFile};
use super::{CONTENT, Store, StoreError, lock_mutex};

/// Maximum compression ratio of a content.
const MAX_COMPRESSION: u64 = 32;

impl Store {
    /// Returns the stored compressed form of a content; `None` if it was not created, or was evicted.
    pub fn compressed(&self, digest: &Digest, coding: Coding) -> Option<Bytes> {
        file::map(&self.encoded_path(digest, coding), self.protection)
    }

    /// Returns the compressed form of a content, and creates it if it is missing, which takes
    /// seconds. `None` if it does not fit into the quota, or the store no longer holds the content.
    pub fn load_or_compress(
        &self,
        digest: &Digest,
        content: &[u8],
        coding: Coding,
    ) -> Result<Option<Bytes>, StoreError> {
        let path = self.encoded_path(digest, coding);
        if let Some(bytes) = file::map(&path, self.protection) {
            return Ok(Some(bytes));
        }
        // A form that cannot fit would be compressed in vain at each start.
        let smallest = content.len() as u64 / MAX_COMPRESSION;
        if self.used_bytes()?.saturating_add(smallest) > self.quota {
            return Ok(None);
        }
        let mut file = TempFile::create(&self.folder.join(CONTENT), FileKind::Encoded)?;
        file.write_with(|file| coding.compress(content, CompressionLevel::Compact, file))?;
        let bytes = file.map()?;
        // The content may have been removed meanwhile, and the quota used up.
        let _writing = lock_mutex(&self.write_lock);
        let fits = self.used_bytes()? + bytes.len() as u64 <= self.quota;
        if !fits || !self.content_path(digest).exists() {
            return Ok(None);
        }
        file.persist(&path, self.durability())?;
        Ok(Some(bytes))
    }

    /// Path of the compressed form of a content.
    pub(super) fn encoded_path(&self, digest: &Digest, coding: Coding) -> PathBuf {
        let extension = match coding {
            Coding::Gzip => "jsonl.gz",
            Coding::Zstd => "jsonl.zst",
        };
        self.folder
            .join(CONTENT)
            .join(format!("{}.{extension}", digest.hex()))
    }
}

#[cfg(test)]
mod tests;
