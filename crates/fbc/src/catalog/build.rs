//! Builds a [`Catalog`] from canonical lines: decodes, links, and optionally validates.

use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashMap;

use super::decode::{BlobBody, Checks, DecodedBlob, Decoder};
use super::link::Linker;
use super::names::Name;
use super::record::{FileRecord, MetaRecord};
use super::{Catalog, IndexError, MAX_CONTENT_BYTES, check, id, values};
use crate::origin::Origins;
use crate::problem::Problem;

/// Indexes and validates lines.
pub(super) fn build(content: Bytes, origins: &Origins) -> Result<Catalog, IndexError> {
    let (mut catalog, mut findings) = index(content, origins, Checks::All)?;
    let mut problems = Vec::new();
    for file in &origins.files {
        let path: Arc<str> = file.path.as_str().into();
        problems.extend(file.notices.iter().map(|notice| Problem {
            file: Some(Arc::clone(&path)),
            line: Some(notice.line),
            ..Problem::new(notice.code, notice.message.clone())
        }));
    }
    let blob_problems = std::mem::take(&mut findings.blob_problems);
    problems.extend(blob_problems.into_iter().map(|(meta, problem)| problem.at(catalog.meta_at(meta as usize))));
    values::check(&catalog, &findings, &mut problems);
    check::check(&catalog, &mut problems);
    sort_in_catalog_order(&mut problems);
    problems.shrink_to_fit();
    catalog.problems = problems;
    Ok(catalog)
}

/// Indexes lines that have been validated before.
pub(super) fn reopen(content: Bytes, origins: &Origins, problems: Vec<Problem>) -> Result<Catalog, IndexError> {
    let (mut catalog, _) = index(content, origins, Checks::Done)?;
    catalog.problems = problems;
    Ok(catalog)
}

fn sort_in_catalog_order(problems: &mut [Problem]) {
    problems.sort_by(|a, b| {
        let by_file = match (&a.file, &b.file) {
            (Some(a), Some(b)) => crate::ignore::compare_paths(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        by_file.then_with(|| a.line.cmp(&b.line))
    });
}

/// Problems found while indexing, before their locations are known.
pub(super) struct Findings {
    /// Problems of blobs, each with the index of its blob.
    pub(super) blob_problems: Vec<(u32, Problem)>,
    /// Properties that upstream's decoder rejects, each with its id and Go's message.
    pub(super) type_mismatches: Vec<(u32, String)>,
    /// Properties with an unknown install mode, each with its id and its first unknown mode.
    pub(super) unknown_modes: Vec<(u32, String)>,
}

fn index(content: Bytes, origins: &Origins, checks: Checks) -> Result<(Catalog, Findings), IndexError> {
    if content.len() > MAX_CONTENT_BYTES {
        return Err(IndexError::TooLarge { bytes: content.len() });
    }
    let mut decoded =
        RawBlobs { decoder: Decoder::new(checks), metas: Vec::new(), blobs: Vec::new(), schemas: HashMap::new() };
    read_lines(&content, origins, &mut decoded)?;
    let (mut index, findings) = Linker::new(decoded).link();
    index.content = content;
    let mut by_image: Vec<u32> = (0..id(index.bundles.len())).collect();
    // Keys are cached because they are far apart in the content.
    by_image.sort_by_cached_key(|&at| {
        let bundle = &index.bundles[at as usize];
        index.slice(bundle.meta, bundle.image)
    });
    index.bundles_by_image = by_image;
    let (files, lines) = locate(origins);
    let catalog = Catalog { index: Arc::new(index), files, lines, problems: Vec::new() };
    Ok((catalog, findings))
}

/// All decoded blobs, in catalog order.
pub(super) struct RawBlobs<'a> {
    pub(super) decoder: Decoder<'a>,
    pub(super) metas: Vec<MetaRecord>,
    /// Decoded blobs of known schemas, each with its index in `metas`.
    pub(super) blobs: Vec<(u32, DecodedBlob)>,
    pub(super) schemas: HashMap<Name, u32>,
}

/// Decodes the lines of a content, of which the origins must have as many.
fn read_lines<'a>(content: &'a [u8], origins: &Origins, decoded: &mut RawBlobs<'a>) -> Result<(), IndexError> {
    let mut at = 0;
    for _ in origins.files.iter().flat_map(|file| &file.lines) {
        let damaged = IndexError::Damaged { line: decoded.metas.len() + 1 };
        let len = memchr::memchr(b'\n', &content[at..]).ok_or(damaged)?;
        decoded.decode_line(&content[at..at + len], at).map_err(|_| damaged)?;
        at += len + 1;
    }
    if at == content.len() { Ok(()) } else { Err(IndexError::Damaged { line: decoded.metas.len() + 1 }) }
}

/// The files with blobs, and the line on which each blob begins.
fn locate(origins: &Origins) -> (Vec<FileRecord>, Vec<u32>) {
    let (mut files, mut lines) = (Vec::with_capacity(origins.files.len()), Vec::new());
    for file in origins.files.iter().filter(|file| !file.lines.is_empty()) {
        files.push(FileRecord { path: file.path.as_str().into(), first: id(lines.len()) });
        lines.extend_from_slice(&file.lines);
    }
    lines.shrink_to_fit();
    (files, lines)
}

impl<'a> RawBlobs<'a> {
    fn decode_line(&mut self, line: &'a [u8], start: usize) -> Result<(), crate::json::JsonError> {
        let blob = self.decoder.decode(line)?;
        let DecodedBlob { schema, package, name, .. } = blob;
        *self.schemas.entry(schema).or_default() += 1;
        if !matches!(blob.body, BlobBody::Opaque) {
            self.blobs.push((id(self.metas.len()), blob));
        }
        self.metas.push(MetaRecord { start: id(start), len: id(line.len()), schema, package, name });
        Ok(())
    }
}
