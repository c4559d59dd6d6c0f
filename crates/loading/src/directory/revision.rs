//! Revision of a directory: a digest of the metadata of its files, which changes with them.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

/// Time without changes after which equal revisions prove equal contents.
//
// File systems record times in steps. A file that is written twice within one step has the same
// metadata as one that is written once. The coarsest step in use is a second.
pub(super) const SETTLED: Duration = Duration::from_millis(1200);

/// Identifies a state of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DirectoryRevision(String);

/// Hashes the metadata of files into a revision, in catalog order.
#[derive(Default)]
pub(super) struct DirectoryRevisionBuilder {
    hash: Sha256,
    newest: Option<SystemTime>,
}

impl DirectoryRevision {
    /// Creates a revision from its text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text of the revision.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DirectoryRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl DirectoryRevisionBuilder {
    /// Adds a file of the catalog.
    pub(super) fn add_file(&mut self, path: &str, file: &Metadata) {
        self.hash.update((path.len() as u64).to_le_bytes());
        self.hash.update(path);
        let numbers = [
            file.mtime(),
            file.mtime_nsec(),
            file.ctime(),
            file.ctime_nsec(),
        ];
        for number in numbers {
            self.hash.update(number.to_le_bytes());
        }
        for number in [file.dev(), file.ino(), file.len()] {
            self.hash.update(number.to_le_bytes());
        }
        self.add_time(file);
    }

    /// Adds the times of an entry that is not part of the revision, such as a directory. A recent
    /// change of it keeps the revision from settling.
    pub(super) fn add_time(&mut self, metadata: &Metadata) {
        self.newest = self
            .newest
            .max(metadata.modified().ok())
            .max(changed(metadata));
    }

    /// Returns the revision, and whether it has settled at this time.
    pub(super) fn finish(self, now: SystemTime) -> (DirectoryRevision, bool) {
        let revision = fbc_grammar::Digest::new(self.hash.finalize().into()).hex();
        // A time in the future says nothing about the time of the change, and must not keep the
        // revision from settling.
        let settled = self.newest.is_none_or(|newest| {
            now.duration_since(newest)
                .map_or(true, |age| age >= SETTLED)
        });
        (DirectoryRevision(revision), settled)
    }
}

/// Returns the time of the last status change. Programs cannot set it, unlike that of the last
/// modification.
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    let seconds = u64::try_from(metadata.ctime()).ok()?;
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
}
