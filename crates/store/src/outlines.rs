//! Outlines of recent contents, so that a content can be compared with previous ones that were
//! removed.
//!
//! They are optional: an outline that does not fit into the quota is not stored, and a damaged one
//! is ignored.

use std::path::PathBuf;

use fbc::Outline;
use fbc_grammar::Digest;

use super::crash_points::FileKind;
use super::file;
use super::record::PreviousContent;
use super::{OUTLINES, Store, StoreError, lock_mutex};

impl Store {
    /// Stores the outline of a content, for as long as a record names the content as current or
    /// previous. An outline that does not fit into the quota is not stored.
    pub fn save_outline(&self, digest: &Digest, outline: &Outline) -> Result<(), StoreError> {
        if self
            .outline(digest)
            .is_some_and(|stored| stored == *outline)
        {
            return Ok(());
        }
        let _writing = lock_mutex(&self.write_lock);
        let bytes = outline.as_bytes();
        if self.used_bytes()? + bytes.len() as u64 > self.quota {
            return Ok(());
        }
        self.write_file(&self.outline_path(digest), bytes, FileKind::Outline)
    }

    /// Returns the contents that a source provided, with their stored outlines, latest first.
    /// Contents without a stored outline are left out.
    pub fn outlines(&self, key: &str) -> Vec<(PreviousContent, Outline)> {
        let contents = self
            .record(key)
            .into_iter()
            .flat_map(|record| record.contents().collect::<Vec<_>>());
        contents
            .filter_map(|content| Some((content.clone(), self.outline(&content.digest)?)))
            .collect()
    }

    /// Returns the stored outline of a content.
    pub fn outline(&self, digest: &Digest) -> Option<Outline> {
        Outline::from_bytes(file::map(&self.outline_path(digest), self.protection)?)
    }

    /// Path of the outline of a content.
    pub(super) fn outline_path(&self, digest: &Digest) -> PathBuf {
        self.folder
            .join(OUTLINES)
            .join(format!("{}.outline", digest.hex()))
    }
}

#[cfg(test)]
mod tests;
