//! Records of revisions and leases, and the names of objects.

use std::time::Duration;

use fbc_grammar::Digest;
use jiff::Timestamp;
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use crate::{LEASE_DURATION, MAX_CONTENT_BYTES};

/// Version of the format of all objects. It is a part of each key, so that builds with different
/// formats do not meet.
const FORMAT: u32 = 1;

/// Identifies a revision as one build reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RevisionKey(String);

/// The content of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RevisionRecord {
    /// SHA-256 of the lines.
    pub(crate) content: Digest,
    /// Length of the lines in bytes.
    pub(crate) bytes: u64,
    /// SHA-256 of the analysis.
    pub(crate) analysis: Digest,
}

/// The lease of a replica that pulls a revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeaseFile {
    /// Random name of the holder.
    pub(crate) holder: String,
    /// Time after which another replica may take the lease.
    pub(crate) expires: Timestamp,
}

/// The file format of a record.
#[derive(Serialize, Deserialize)]
struct RecordFile {
    content: String,
    bytes: u64,
    analysis: String,
}

impl RevisionKey {
    pub(crate) fn new(build: &str, revision: &str) -> Self {
        let text = format!("{FORMAT}\n{build}\n{revision}");
        Self(content_digest::digest(text.as_bytes()).hex())
    }

    /// Returns the name of the record.
    pub(crate) fn record_path(&self) -> Path {
        Path::from(format!("revisions/{}.json", self.0))
    }

    /// Returns the name of the lease.
    pub(crate) fn lease_path(&self) -> Path {
        Path::from(format!("pulling/{}.json", self.0))
    }
}

impl RevisionRecord {
    /// Parses a record; `None` if it is damaged, or its content is too long.
    pub(crate) fn from_json(text: &[u8]) -> Option<Self> {
        let file: RecordFile = serde_json::from_slice(text).ok()?;
        Some(Self {
            content: Digest::parse(&file.content)?,
            bytes: Some(file.bytes).filter(|bytes| *bytes <= MAX_CONTENT_BYTES)?,
            analysis: Digest::parse(&file.analysis)?,
        })
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        let file = RecordFile {
            content: self.content.to_string(),
            bytes: self.bytes,
            analysis: self.analysis.to_string(),
        };
        serde_json::to_vec(&file).expect("numbers and strings serialize to JSON")
    }

    /// Returns the name of the compressed lines.
    pub(crate) fn content_path(&self) -> Path {
        Path::from(format!("contents/{}.jsonl.zst", self.content.hex()))
    }

    /// Returns the name of the analysis.
    pub(crate) fn analysis_path(&self) -> Path {
        Path::from(format!("notes/{}.json", self.analysis.hex()))
    }
}

impl LeaseFile {
    /// Creates a lease that begins now.
    pub(crate) fn new(holder: &str) -> Self {
        Self {
            holder: holder.to_owned(),
            expires: after(LEASE_DURATION),
        }
    }

    /// Returns whether text is a lease that has not expired. A time that no replica would write, such
    /// as one in a year, counts as expired.
    pub(crate) fn is_valid(text: &[u8]) -> bool {
        let lease: Option<Self> = serde_json::from_slice(text).ok();
        let latest = after(LEASE_DURATION * 2);
        lease.is_some_and(|lease| lease.expires > Timestamp::now() && lease.expires <= latest)
    }

    /// Returns whether text is a lease of this holder.
    pub(crate) fn is_of(text: &[u8], holder: &str) -> bool {
        let lease: Option<Self> = serde_json::from_slice(text).ok();
        lease.is_some_and(|lease| lease.holder == holder)
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings serialize to JSON")
    }
}

/// Returns the time after a duration.
fn after(duration: Duration) -> Timestamp {
    let now = Timestamp::now();
    now.checked_add(duration).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn a_key_depends_on_the_revision_and_the_build() {
        let key = RevisionKey::new("build", "sha256:a /configs");
        assert_eq!(key, RevisionKey::new("build", "sha256:a /configs"));
        assert_ne!(key, RevisionKey::new("other", "sha256:a /configs"));
        assert_ne!(key, RevisionKey::new("build", "sha256:a /other"));
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_others_are_none() {
        let record = RevisionRecord {
            content: content_digest::digest(b"lines"),
            bytes: MAX_CONTENT_BYTES,
            analysis: content_digest::digest(b"analysis"),
        };
        assert_eq!(
            RevisionRecord::from_json(&record.to_json()),
            Some(record.clone())
        );
        let too_long = RevisionRecord {
            bytes: MAX_CONTENT_BYTES + 1,
            ..record.clone()
        };
        let no_digest = String::from_utf8(record.to_json())
            .unwrap()
            .replacen("sha256:", "", 1);
        let others = [too_long.to_json(), no_digest.into_bytes(), b"{".to_vec()];
        assert_eq!(
            others.map(|text| RevisionRecord::from_json(&text)),
            [None, None, None]
        );
    }

    #[test]
    fn a_lease_is_valid_until_it_expires_and_never_for_long() {
        let is_valid = |seconds| {
            let expires = Timestamp::now() + SignedDuration::from_secs(seconds);
            let lease = LeaseFile {
                holder: "a".to_owned(),
                expires,
            };
            LeaseFile::is_valid(&lease.to_json())
        };
        let longest = i64::try_from(LEASE_DURATION.as_secs() * 2).unwrap();
        assert_eq!(
            [-1, 5, longest - 5, longest + 5].map(is_valid),
            [false, true, true, false]
        );
        assert!(!LeaseFile::is_valid(b"{}"));
        assert!(LeaseFile::is_valid(&LeaseFile::new("a").to_json()));
    }
}
