//! Records: for each source, the content that it provided last and the time at which that content
//! was first read.

use std::path::Path;

use fbc::outline::REMEMBERED;
use fbc_grammar::Digest;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Version of the file format of records. Those of another version are ignored; change it with the meaning
/// of any field.
pub const RECORD_FORMAT: u32 = 1;

/// The content that a source provided last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Key that identifies the source.
    pub key: String,
    /// Revision of the source that was read; `None` if an equal revision would not prove an equal
    /// content.
    pub revision: Option<String>,
    /// Reference by digest to the image that was read; `None` if the source is not an image.
    pub image: Option<String>,
    /// Validators of the source, as [`SourceState::validators`].
    pub validators: Option<String>,
    /// Digest of the evidence that was kept with the content; `None` if there is none.
    pub evidence: Option<Digest>,
    /// Digest of the content.
    pub content: Digest,
    /// Length of the content in bytes.
    pub bytes: u64,
    /// Digest of the analysis of the content.
    pub analysis: Digest,
    /// Time at which this content was first read from this source.
    pub first_read_at: Timestamp,
    /// Contents that the source provided before, latest first, at most [`REMEMBERED`].
    pub previous: Vec<PreviousContent>,
}

/// A content that a source provided before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousContent {
    /// Digest of the content.
    pub digest: Digest,
    /// Reference by digest to the image that was read; `None` if the source is not an image, or if
    /// this is unknown.
    pub image: Option<String>,
    /// Time at which the content was first read from the source; `None` if it was recorded by a
    /// build that did not keep it.
    pub first_read_at: Option<Timestamp>,
}

/// The state of a source at the time of reading it.
#[derive(Clone, Debug, Default)]
pub struct SourceState {
    /// Revision of the source; `None` if an equal revision would not prove an equal content.
    pub revision: Option<String>,
    /// Reference by digest to the image; `None` if the source is not an image.
    pub image: Option<String>,
    /// Text by which the source's next poll asks only for changes; the store does not interpret it.
    pub validators: Option<String>,
    /// Evidence about the state, such as the signatures of an image, to keep with the content; the
    /// store does not interpret it.
    pub evidence: Option<Vec<u8>>,
}

/// A content by its digest, with its length in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContentSize {
    pub(super) digest: Digest,
    pub(super) bytes: u64,
}

/// The file format of a record.
#[derive(Serialize, Deserialize)]
struct RecordFile {
    format: u32,
    key: String,
    revision: Option<String>,
    // Absent in files of builds that did not support images.
    #[serde(default)]
    image: Option<String>,
    // Absent in files of builds that did not support remote sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    validators: Option<String>,
    // Absent in files of builds that kept no evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    content: String,
    bytes: u64,
    #[serde(rename = "notes")]
    analysis: String,
    #[serde(rename = "at")]
    first_read_at: String,
    #[serde(default, rename = "former")]
    previous: Vec<PreviousFile>,
}

/// The file format of a previous content.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PreviousFile {
    /// As earlier builds wrote it.
    Digest(String),
    Content {
        content: String,
        image: Option<String>,
        at: Option<String>,
    },
}

impl Record {
    /// Creates the record, without evidence, that replaces `replaced` after a content was written. If
    /// the content is unchanged, its time is kept. Otherwise its time is at least one second later than the
    /// replaced one, whatever the clock says, because `Last-Modified` counts whole seconds.
    pub(super) fn new(
        key: &str,
        state: &SourceState,
        content: ContentSize,
        analysis: Digest,
        replaced: Option<Record>,
    ) -> Self {
        let ContentSize { digest, bytes } = content;
        let previous = replaced
            .as_ref()
            .map(|replaced| replaced.previous_before(digest))
            .unwrap_or_default();
        let now = Timestamp::now();
        let first_read_at = match replaced {
            Some(replaced) if replaced.content == digest => replaced.first_read_at,
            Some(replaced) => {
                let next_second = replaced
                    .first_read_at
                    .checked_add(SignedDuration::from_secs(1));
                next_second.map_or(now, |next| next.max(now))
            }
            None => now,
        };
        Self {
            key: key.to_owned(),
            revision: state.revision.clone(),
            image: state.image.clone(),
            validators: state.validators.clone(),
            evidence: None,
            content: digest,
            bytes,
            analysis,
            first_read_at,
            previous,
        }
    }

    /// Returns the previous contents of a record that replaces this one with the content `next`.
    fn previous_before(&self, next: Digest) -> Vec<PreviousContent> {
        self.contents()
            .filter(|content| content.digest != next)
            .take(REMEMBERED)
            .collect()
    }

    /// The content that the source provided last, and then those before, latest first.
    pub(super) fn contents(&self) -> impl Iterator<Item = PreviousContent> {
        let last = PreviousContent {
            digest: self.content,
            image: self.image.clone(),
            first_read_at: Some(self.first_read_at),
        };
        std::iter::once(last).chain(self.previous.iter().cloned())
    }

    /// Reads a record; `None` if the file is missing, damaged or of another format.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let file: RecordFile = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        if file.format != RECORD_FORMAT {
            return None;
        }
        Some(Self {
            key: file.key,
            revision: file.revision,
            image: file.image,
            validators: file.validators,
            evidence: file.evidence.as_deref().and_then(Digest::parse),
            content: Digest::parse(&file.content)?,
            bytes: file.bytes,
            analysis: Digest::parse(&file.analysis)?,
            first_read_at: file.first_read_at.parse().ok()?,
            previous: file
                .previous
                .into_iter()
                .filter_map(PreviousFile::into_content)
                .collect(),
        })
    }

    /// Serializes the record to its file format.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let file = RecordFile {
            format: RECORD_FORMAT,
            key: self.key.clone(),
            revision: self.revision.clone(),
            image: self.image.clone(),
            validators: self.validators.clone(),
            evidence: self.evidence.map(|evidence| evidence.to_string()),
            content: self.content.to_string(),
            bytes: self.bytes,
            analysis: self.analysis.to_string(),
            first_read_at: self.first_read_at.to_string(),
            previous: self
                .previous
                .iter()
                .map(PreviousFile::from_content)
                .collect(),
        };
        serde_json::to_vec_pretty(&file).expect("numbers and strings serialize to JSON")
    }
}

impl PreviousFile {
    fn from_content(content: &PreviousContent) -> Self {
        Self::Content {
            content: content.digest.to_string(),
            image: content.image.clone(),
            at: content.first_read_at.map(|at| at.to_string()),
        }
    }

    fn into_content(self) -> Option<PreviousContent> {
        let (digest, image, at) = match self {
            Self::Digest(digest) => (digest, None, None),
            Self::Content { content, image, at } => (content, image, at),
        };
        let first_read_at = at.and_then(|at| at.parse().ok());
        Some(PreviousContent {
            digest: Digest::parse(&digest)?,
            image,
            first_read_at,
        })
    }
}
