//! Decodes all lines of a content, in catalog order, before names are resolved.
//!
//! A hostile catalog may have an object in every few bytes, so the number of objects is bounded by
//! the size of the files.

use std::sync::Arc;

use fbc_read::json::JsonError;
use fbc_read::origin::Origins;
use fbc_read::problem::Problem;

use crate::decode::{BlobBody, DecodedBlob, Decoder};
use crate::ids::id;
use crate::record::{FileRecord, MetaRecord};

/// Maximum size of a content, in bytes. Offsets into it are `u32`.
pub const MAX_CONTENT_BYTES: usize = u32::MAX as usize;

/// Number of objects that a catalog may have however small its files are: blobs, channel entries,
/// skips, properties and deprecations. Each takes up to 70 bytes of memory while the catalog is
/// indexed.
pub const FREE_OBJECTS: usize = 500_000;

/// Number of bytes of its files for which a catalog may have one object more than [`FREE_OBJECTS`].
/// The files of real catalogs have more than 1,000 bytes per object; the shortest entry with a name
/// has more than 8.
pub const BYTES_PER_OBJECT: u64 = 8;

/// An error that prevents lines from being indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// A line is not a canonical JSON object, or the origins are of another content. The stored
    /// content is damaged and must be loaded again.
    #[error("line {line} of the stored content is damaged")]
    Damaged {
        /// Line of the content, counted from 1.
        line: usize,
    },
    /// The catalog has more objects than its files justify; see [`FREE_OBJECTS`] and
    /// [`BYTES_PER_OBJECT`].
    #[error(
        "the first {line} blobs have more than {max} objects (blobs, channel entries, skips, properties and \
         deprecations), which is the most for files of this size: remove empty objects"
    )]
    TooManyObjects {
        /// Number of blobs up to the one with too many.
        line: usize,
        /// Maximum number of objects.
        max: usize,
    },
    /// The content is larger than [`MAX_CONTENT_BYTES`].
    #[error("the content has {bytes} bytes, and at most {MAX_CONTENT_BYTES} can be indexed")]
    TooLarge {
        /// Size of the content, in bytes.
        bytes: usize,
    },
}

/// Properties that decoding found to be wrong, for the checks.
pub(super) struct Findings {
    /// Ids of properties that upstream's decoder rejects, in order.
    pub(super) type_mismatches: Vec<u32>,
    /// Ids of properties with an unknown install mode, in order.
    pub(super) unknown_modes: Vec<u32>,
}

/// Files with blobs, and the line of its file on which each blob begins.
pub(super) struct BlobLocations {
    pub(super) files: Vec<FileRecord>,
    pub(super) lines: Vec<u32>,
}

/// All decoded blobs, in catalog order.
pub(super) struct RawBlobs<'a> {
    pub(super) decoder: Decoder<'a>,
    pub(super) metas: Vec<MetaRecord>,
    /// Decoded blobs of known schemas, each with its index in `metas`.
    pub(super) blobs: Vec<(u32, DecodedBlob)>,
    pub(super) max_objects: usize,
}

/// Decodes the lines of a content, of which the origins must have as many.
pub(crate) fn read_lines<'a>(
    content: &'a [u8],
    origins: &Origins,
    decoded: &mut RawBlobs<'a>,
) -> Result<(), IndexError> {
    let mut at = 0;
    for _ in origins.files.iter().flat_map(|file| &file.lines) {
        let damaged = IndexError::Damaged {
            line: decoded.metas.len() + 1,
        };
        let len = memchr::memchr(b'\n', &content[at..]).ok_or(damaged)?;
        decoded
            .decode_line(&content[at..at + len], at)
            .map_err(|_| damaged)?;
        // Checked after each line, before the next one is decoded: without the bound, a repeated channel
        // entry takes 75 bytes of memory for each byte of its file.
        if decoded.object_count() > decoded.max_objects {
            return Err(IndexError::TooManyObjects {
                line: decoded.metas.len(),
                max: decoded.max_objects,
            });
        }
        at += len + 1;
    }
    // More lines than the origins have: they belong to another content.
    if at == content.len() {
        Ok(())
    } else {
        Err(IndexError::Damaged {
            line: decoded.metas.len() + 1,
        })
    }
}

/// Returns how many objects a catalog may have: [`FREE_OBJECTS`], and one more for each
/// [`BYTES_PER_OBJECT`] of its files.
pub(crate) fn max_objects(origins: &Origins) -> usize {
    let bytes: u64 = origins.files.iter().map(|file| file.bytes).sum();
    FREE_OBJECTS.saturating_add(usize::try_from(bytes / BYTES_PER_OBJECT).unwrap_or(usize::MAX))
}

impl BlobLocations {
    pub(super) fn new(origins: &Origins) -> Self {
        let blobs = origins.files.iter().map(|file| file.lines.len()).sum();
        let mut files = Vec::with_capacity(origins.files.len());
        let mut lines = Vec::with_capacity(blobs);
        for file in origins.files.iter().filter(|file| !file.lines.is_empty()) {
            files.push(FileRecord {
                path: file.path.as_str().into(),
                first: id(lines.len()),
            });
            lines.extend_from_slice(&file.lines);
        }
        Self { files, lines }
    }

    /// Locates a problem in a blob.
    pub(super) fn locate(&self, problem: Problem, meta: u32) -> Problem {
        let after = self.files.partition_point(|file| file.first <= meta);
        let file = Some(Arc::clone(&self.files[after - 1].path));
        Problem {
            file,
            line: Some(self.lines[meta as usize]),
            ..problem
        }
    }
}

impl<'a> RawBlobs<'a> {
    fn decode_line(&mut self, line: &'a [u8], start: usize) -> Result<(), JsonError> {
        let blob = self.decoder.decode(line)?;
        let DecodedBlob {
            schema,
            package,
            name,
            ..
        } = blob;
        if !matches!(blob.body, BlobBody::Opaque) {
            self.blobs.push((id(self.metas.len()), blob));
        }
        self.metas.push(MetaRecord {
            start: id(start),
            len: id(line.len()),
            schema,
            package,
            name,
        });
        Ok(())
    }

    /// Returns the number of blobs, entries, skips, properties and deprecations so far.
    fn object_count(&self) -> usize {
        let Decoder {
            entries,
            skips,
            properties,
            deprecations,
            ..
        } = &self.decoder;
        self.metas.len() + entries.len() + skips.len() + properties.len() + deprecations
    }
}
