//! Outlines of the contents that sources gave, so that a content can be compared with one that is swept already.
//!
//! They are a convenience. Where there is no room for them they are not kept, and damaged ones are as if not there.

use std::path::PathBuf;

use fbc::{Digest, Outline};

use super::file::{self, FileKind};
use super::{OUTLINES, Store, StoreError, lock_mutex};

impl Store {
    /// Keeps the outline of a content until no source gave it among its last ones. Nothing is kept where there is no
    /// room.
    pub fn keep_outline(&self, digest: &Digest, outline: &Outline) -> Result<(), StoreError> {
        if self.outline(digest).is_some_and(|kept| kept == *outline) {
            return Ok(());
        }
        let _pen = lock_mutex(&self.guard);
        let bytes = outline.as_bytes();
        if self.used()? + bytes.len() as u64 > self.quota {
            return Ok(());
        }
        file::write(&self.outline_path(digest), bytes, FileKind::Outline)
    }

    /// The outlines of what a source gave, the latest content first, as far as they are kept.
    pub fn outlines(&self, key: &str) -> Vec<(Digest, Outline)> {
        let contents = self.record(key).into_iter().flat_map(|record| [vec![record.content], record.former].concat());
        contents.filter_map(|digest| Some((digest, self.outline(&digest)?))).collect()
    }

    fn outline(&self, digest: &Digest) -> Option<Outline> {
        Outline::from_bytes(file::map(&self.outline_path(digest)).ok()?)
    }

    pub(super) fn outline_path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(OUTLINES).join(format!("{}.outline", digest.hex()))
    }
}

#[cfg(test)]
mod tests;
