//! Which content a source gave, and when: one small file a source.

use std::path::Path;

use fbc::Digest;
use fbc::outline::REMEMBERED;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Changes when what is written here changes its meaning; records of another format are as if they were not there.
const FORMAT: u32 = 1;

/// What a source gave last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What tells the source from others.
    pub key: String,
    /// Which state of the source was read; absent when an equal state does not prove an equal content.
    pub revision: Option<String>,
    /// The image that was read, by digest; absent when the source is none.
    pub image: Option<String>,
    /// Digest of the content.
    pub content: Digest,
    /// Length of the content in bytes.
    pub bytes: u64,
    /// Digest of what was found out about it.
    pub notes: Digest,
    /// When this content was first read from this source.
    pub at: Timestamp,
    /// Digests of other contents that the source gave before, the latest first.
    pub former: Vec<Digest>,
}

/// What a source looked like when it was read.
#[derive(Clone, Copy, Debug, Default)]
pub struct State<'a> {
    /// Equal for equal contents; absent when an equal state does not prove that.
    pub revision: Option<&'a str>,
    /// The image it was, by digest; absent when the source is none.
    pub image: Option<&'a str>,
}

/// The file, field by field.
#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    key: String,
    revision: Option<String>,
    /// Builds that knew no images did not write it.
    #[serde(default)]
    image: Option<String>,
    content: String,
    bytes: u64,
    notes: String,
    at: String,
    #[serde(default)]
    former: Vec<String>,
}

impl Record {
    /// A record of what was just written. Where the one before was of the same content, its time still holds. Another
    /// content has a time of another second, and a later one whatever the clock says: HTTP counts changes in seconds.
    pub(super) fn new(
        key: &str,
        state: &State<'_>,
        (content, bytes): (Digest, u64),
        notes: Digest,
        before: Option<Record>,
    ) -> Self {
        let former = before.as_ref().map(|before| before.formerly(content)).unwrap_or_default();
        let now = Timestamp::now();
        let at = match before {
            Some(before) if before.content == content => before.at,
            Some(before) => before.at.checked_add(SignedDuration::from_secs(1)).map_or(now, |next| next.max(now)),
            None => now,
        };
        Self {
            key: key.to_owned(),
            revision: state.revision.map(str::to_owned),
            image: state.image.map(str::to_owned),
            content,
            bytes,
            notes,
            at,
            former,
        }
    }

    /// What was before a content that comes after this one.
    fn formerly(&self, next: Digest) -> Vec<Digest> {
        let all = std::iter::once(self.content).chain(self.former.iter().copied());
        all.filter(|digest| *digest != next).take(REMEMBERED).collect()
    }

    /// The record in a file, if there is one that can be used.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let stored: Stored = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        if stored.format != FORMAT {
            return None;
        }
        Some(Self {
            key: stored.key,
            revision: stored.revision,
            image: stored.image,
            content: Digest::parse(&stored.content)?,
            bytes: stored.bytes,
            notes: Digest::parse(&stored.notes)?,
            at: stored.at.parse().ok()?,
            former: stored.former.iter().filter_map(|digest| Digest::parse(digest)).collect(),
        })
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        let stored = Stored {
            format: FORMAT,
            key: self.key.clone(),
            revision: self.revision.clone(),
            image: self.image.clone(),
            content: self.content.to_string(),
            bytes: self.bytes,
            notes: self.notes.to_string(),
            at: self.at.to_string(),
            former: self.former.iter().map(Digest::to_string).collect(),
        };
        serde_json::to_vec_pretty(&stored).expect("numbers and texts are JSON")
    }
}

pub(super) fn digest(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}
