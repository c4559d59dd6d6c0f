//! Builds a [`Catalog`] from canonical lines: decodes, links, and optionally validates.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hashbrown::HashMap;

use super::decode::{BlobBody, Checks, DecodedBlob, Decoder};
use super::link::Linker;
use super::names::Name;
use super::record::{FileRecord, MetaRecord};
use super::{
    BYTES_PER_OBJECT, Catalog, FREE_OBJECTS, IndexError, JsonText, MAX_CONTENT_BYTES, check, id,
    values,
};
use crate::origin::Origins;
use crate::problem::{Problem, ProblemCode, ProblemCollector, Problems};

/// Indexes and validates lines.
pub(super) fn build(content: Bytes, origins: &Origins) -> Result<Catalog, IndexError> {
    let mut problems = ProblemCollector::default();
    for file in &origins.files {
        let path: Arc<str> = file.path.as_str().into();
        for notice in &file.notices {
            problems.add(notice.code, || Problem {
                file: Some(Arc::clone(&path)),
                line: Some(notice.line),
                ..Problem::new(notice.code, notice.message.clone())
            });
        }
    }
    problems.count(&origins.unlisted);
    let (mut catalog, findings) = index(content, origins, Checks::All, &mut problems)?;
    if catalog.meta_count() == 0 {
        let message = "the catalog has no blob: its directory is empty, or every file is empty or left out by .indexignore";
        problems.add(ProblemCode::CatalogEmpty, || {
            Problem::new(ProblemCode::CatalogEmpty, message.to_owned())
        });
    }
    values::check(&catalog, &findings, &mut problems);
    check::check(&catalog, &mut problems);
    catalog.problems = problems.finish();
    Ok(catalog)
}

/// Indexes lines that have been validated before.
pub(super) fn reopen(
    content: Bytes,
    origins: &Origins,
    problems: Problems,
) -> Result<Catalog, IndexError> {
    let (mut catalog, _) = index(
        content,
        origins,
        Checks::Done,
        &mut ProblemCollector::default(),
    )?;
    catalog.problems = problems;
    Ok(catalog)
}

/// What decoding finds out about properties, for the checks.
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

fn index(
    content: Bytes,
    origins: &Origins,
    checks: Checks,
    problems: &mut ProblemCollector,
) -> Result<(Catalog, Findings), IndexError> {
    if content.len() > MAX_CONTENT_BYTES {
        return Err(IndexError::TooLarge {
            bytes: content.len(),
        });
    }
    let locations = BlobLocations::new(origins);
    let mut decoded = RawBlobs {
        decoder: Decoder::new(checks),
        metas: Vec::with_capacity(locations.lines.len()),
        blobs: Vec::new(),
        schemas: HashMap::new(),
        max_objects: max_objects(origins),
    };
    read_lines(&content, origins, &mut decoded)?;
    let (mut index, findings) = Linker::new(decoded, &locations, problems).link();
    index.content = content;
    let mut by_image: Vec<u32> = (0..id(index.bundles.len())).collect();
    // Keys are cached because they are far apart in the content.
    by_image.sort_by_cached_key(|&at| {
        let bundle = &index.bundles[at as usize];
        if bundle.image.is_none() {
            JsonText::EMPTY.raw()
        } else {
            index.slice(bundle.meta, bundle.image)
        }
    });
    index.bundles_by_image = by_image;
    let BlobLocations { files, lines } = locations;
    let catalog = Catalog {
        index: Arc::new(index),
        files,
        lines,
        problems: Problems::default(),
        problem_counts: OnceLock::new(),
    };
    Ok((catalog, findings))
}

/// All decoded blobs, in catalog order.
pub(super) struct RawBlobs<'a> {
    pub(super) decoder: Decoder<'a>,
    pub(super) metas: Vec<MetaRecord>,
    /// Decoded blobs of known schemas, each with its index in `metas`.
    pub(super) blobs: Vec<(u32, DecodedBlob)>,
    pub(super) schemas: HashMap<Name, u32>,
    max_objects: usize,
}

/// Decodes the lines of a content, of which the origins must have as many.
fn read_lines<'a>(
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
        if decoded.object_count() > decoded.max_objects {
            return Err(IndexError::TooManyObjects {
                line: decoded.metas.len(),
                max: decoded.max_objects,
            });
        }
        at += len + 1;
    }
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
fn max_objects(origins: &Origins) -> usize {
    let bytes: u64 = origins.files.iter().map(|file| file.bytes).sum();
    FREE_OBJECTS.saturating_add(usize::try_from(bytes / BYTES_PER_OBJECT).unwrap_or(usize::MAX))
}

impl BlobLocations {
    fn new(origins: &Origins) -> Self {
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
    fn decode_line(&mut self, line: &'a [u8], start: usize) -> Result<(), crate::json::JsonError> {
        let blob = self.decoder.decode(line)?;
        let DecodedBlob {
            schema,
            package,
            name,
            ..
        } = blob;
        *self.schemas.entry(schema).or_default() += 1;
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
