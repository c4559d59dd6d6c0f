//! Whether a directory changed: a digest of what the file system says of its files, without reading
//! them.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

/// How long nothing must have changed before equal times prove equal contents: file systems count
/// time in steps, and a file that is written twice within one step looks like one that was written
/// once. The coarsest in use counts seconds.
pub(super) const SETTLED: Duration = Duration::from_millis(1200);

/// Says which state of a source was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Revision(String);

/// Collects what the revision is made of, in catalog order.
#[derive(Default)]
pub(super) struct RevisionBuilder {
    hash: Sha256,
    newest: Option<SystemTime>,
}

impl Revision {
    /// A revision as it was shown before.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RevisionBuilder {
    /// A file that counts: a change of it changes the revision.
    pub(super) fn file(&mut self, path: &str, file: &Metadata) {
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
        self.time(file);
    }

    /// Something whose change can only be seen by its time, such as a directory.
    pub(super) fn time(&mut self, metadata: &Metadata) {
        self.newest = self
            .newest
            .max(metadata.modified().ok())
            .max(changed(metadata));
    }

    /// The revision, and whether it has settled at this moment.
    pub(super) fn finish(self, now: SystemTime) -> (Revision, bool) {
        let revision = fbc_grammar::Digest::new(self.hash.finalize().into()).hex();
        // A time in the future says nothing of when the change was.
        let settled = self.newest.is_none_or(|newest| {
            now.duration_since(newest)
                .map_or(true, |age| age >= SETTLED)
        });
        (Revision(revision), settled)
    }
}

/// When the entry itself was last changed: unlike the time of modification nobody can set it.
fn changed(metadata: &Metadata) -> Option<SystemTime> {
    let seconds = u64::try_from(metadata.ctime()).ok()?;
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
}
