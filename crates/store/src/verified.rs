//! Content files that have been verified against their digest. A process hashes each of them once,
//! and again only if its metadata has changed.
//!
//! A change of a mapped file by another program is detected when the file is opened again, or by
//! [`super::Store::find_damage`].

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use fbc_grammar::Digest;

use super::protection::Protection;
use super::{file, lock_mutex};

/// Time after a change of a file in which another change may leave the same times: clocks of file
/// systems are coarse.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Files that were checked, by the digest of their content.
#[derive(Debug, Default)]
pub(super) struct VerifiedFiles(Mutex<HashMap<Digest, FileIdentity>>);

/// Metadata that identify a version of a file: they are equal while the file is not written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Time at which the metadata changed, which no program can set.
    changed: (i64, i64),
}

impl VerifiedFiles {
    /// Maps the file of a content; `None` if it is missing, does not have these bytes, or others
    /// can write to it.
    pub(super) fn open(
        &self,
        path: &Path,
        digest: Digest,
        protection: Protection,
    ) -> Option<Bytes> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        if !protection.covers(&metadata) {
            return None;
        }
        let identity = FileIdentity::new(&metadata);
        let bytes = file::map_file(&file).ok()?;
        if lock_mutex(&self.0).get(&digest) == Some(&identity) {
            return Some(bytes);
        }
        if content_digest::digest(&bytes) != digest {
            return None;
        }
        // Otherwise another write within the same step of the file system's clock would not be seen.
        if identity.is_settled(SystemTime::now()) {
            lock_mutex(&self.0).insert(digest, identity);
        }
        Some(bytes)
    }

    /// Keeps only the contents for which `is_stored` is true.
    pub(super) fn retain(&self, is_stored: impl Fn(&Digest) -> bool) {
        lock_mutex(&self.0).retain(|digest, _| is_stored(digest));
    }
}

impl FileIdentity {
    /// Returns whether the last change is so long ago that another change would alter the times.
    fn is_settled(self, now: SystemTime) -> bool {
        let changed = u64::try_from(self.changed.0)
            .ok()
            .map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
        let age = changed.and_then(|changed| now.duration_since(changed).ok());
        age.is_some_and(|age| age > SETTLED_AFTER)
    }

    fn new(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_settled_two_seconds_after_it_changed() {
        let file = |changed| FileIdentity {
            inode: 1,
            bytes: 2,
            modified: (3, 0),
            changed: (changed, 999),
        };
        let now = UNIX_EPOCH + Duration::from_millis(1_000_500);
        assert_eq!(
            [998, 999, 1_000, 1_001, -1].map(|changed| file(changed).is_settled(now)),
            [true, false, false, false, false]
        );
    }

    #[test]
    fn a_settled_file_that_did_not_change_is_not_hashed_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content");
        std::fs::write(&path, "a").unwrap();
        let protection = Protection::probe(folder.path()).unwrap();
        let files = VerifiedFiles::default();
        let right = content_digest::digest(b"a");
        let wrong = content_digest::digest(b"b");
        let is_open = |digest| files.open(&path, digest, protection).is_some();
        assert!(is_open(right) && !is_open(wrong));
        // As if this was found out before.
        lock_mutex(&files.0).insert(wrong, FileIdentity::new(&path.metadata().unwrap()));
        assert!(is_open(wrong));
        files.retain(|digest| *digest == right);
        assert!(!is_open(wrong));
    }
}
