//! Content files that have been verified against their digest. A process hashes each of them once,
//! and again only if its metadata has changed.
//!
//! A change of a mapped file by another program is detected when the file is opened again, or by
//! [`super::Store::find_damage`].

use std::collections::{HashMap, HashSet};
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
pub(super) struct VerifiedFiles {
    verified: Mutex<HashMap<Digest, FileIdentity>>,
    /// Files that this process wrote, as they were then.
    written: Mutex<HashMap<Digest, FileIdentity>>,
    /// Verified files of which only the seal was verified so far.
    sealed: Mutex<HashSet<Digest>>,
}

/// Metadata that identify a version of a file: they are equal while the file is not written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
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
        if lock_mutex(&self.verified).get(&digest) == Some(&identity) {
            return Some(bytes);
        }
        if content_digest::digest(&bytes) != digest {
            return None;
        }
        // Otherwise another write within the same step of the file system's clock would not be seen.
        if identity.is_settled(SystemTime::now()) {
            lock_mutex(&self.verified).insert(digest, identity);
        }
        Some(bytes)
    }

    /// Remembers the file of a content that was written and hashed just now.
    pub(super) fn add_written(&self, path: &Path, digest: Digest) {
        if let Ok(metadata) = path.metadata() {
            lock_mutex(&self.written).insert(digest, FileIdentity::new(&metadata));
        }
    }

    /// Returns the seal of the file of a content: what it looks like, if this process wrote or hashed
    /// it and it has not changed since then.
    pub(super) fn seal(&self, path: &Path, digest: Digest) -> Option<FileIdentity> {
        let identity = FileIdentity::new(&path.metadata().ok()?);
        [&self.written, &self.verified]
            .into_iter()
            .any(|known| lock_mutex(known).get(&digest) == Some(&identity))
            .then_some(identity)
    }

    /// Relies on a seal: if the file is as it says, it need not be hashed to be opened. Returns whether
    /// it is.
    pub(super) fn rely_on(&self, path: &Path, digest: Digest, seal: FileIdentity) -> bool {
        let identity = path.metadata().ok().as_ref().map(FileIdentity::new);
        if identity != Some(seal) || !seal.is_settled(SystemTime::now()) {
            return false;
        }
        if lock_mutex(&self.verified).insert(digest, seal) != Some(seal) {
            lock_mutex(&self.sealed).insert(digest);
        }
        true
    }

    /// Returns the contents of which only the seal was verified so far.
    pub(super) fn sealed(&self) -> Vec<Digest> {
        lock_mutex(&self.sealed).iter().copied().collect()
    }

    /// Remembers that a content was hashed.
    pub(super) fn unseal(&self, digest: &Digest) {
        lock_mutex(&self.sealed).remove(digest);
    }

    /// Keeps only the contents for which `is_stored` is true.
    pub(super) fn retain(&self, is_stored: impl Fn(&Digest) -> bool) {
        for files in [&self.verified, &self.written] {
            lock_mutex(files).retain(|digest, _| is_stored(digest));
        }
        lock_mutex(&self.sealed).retain(is_stored);
    }
}

impl FileIdentity {
    /// Reads what [`FileIdentity::to_bytes`] returned.
    pub(super) fn from_bytes(bytes: &[u8; 48]) -> Self {
        let number = |at: usize| {
            let bytes = bytes[8 * at..].first_chunk().copied();
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        let signed = |at: usize| number(at).cast_signed();
        Self {
            inode: number(0),
            bytes: number(1),
            modified: (signed(2), signed(3)),
            changed: (signed(4), signed(5)),
        }
    }

    /// Returns its numbers, little-endian.
    pub(super) fn to_bytes(self) -> [u8; 48] {
        let numbers = [
            self.inode,
            self.bytes,
            self.modified.0.cast_unsigned(),
            self.modified.1.cast_unsigned(),
            self.changed.0.cast_unsigned(),
            self.changed.1.cast_unsigned(),
        ];
        let mut bytes = [0; 48];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

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
        lock_mutex(&files.verified).insert(wrong, FileIdentity::new(&path.metadata().unwrap()));
        assert!(is_open(wrong));
        files.retain(|digest| *digest == right);
        assert!(!is_open(wrong));
    }
}
