//! Builds a [`Catalog`] from canonical lines: decodes, links, and optionally validates.

use std::sync::Arc;

use bytes::Bytes;

use fbc_read::json::JsonText;
use fbc_read::origin::Origins;
use fbc_read::problem::{Problem, ProblemCode, ProblemCollector, Problems};

use crate::array::Array;
use crate::blobs::{
    BlobLocations, Findings, IndexError, MAX_CONTENT_BYTES, RawBlobs, max_objects, read_lines,
};
use crate::catalog::Catalog;
use crate::check;
use crate::decode::{Checks, Decoder};
use crate::ids::id;
use crate::link::Linker;

impl Catalog {
    /// Indexes canonical lines and finds every problem in them.
    ///
    /// # Errors
    /// Fails when a line is not a canonical JSON object, the origins belong to another content, or
    /// the content is too large.
    pub fn build(content: Bytes, origins: &Origins) -> Result<Self, IndexError> {
        build(content, origins)
    }

    /// Indexes canonical lines whose problems are known: those that [`Catalog::all_problems`]
    /// returned for the same lines. Skips validation, which takes longer than indexing.
    ///
    /// # Errors
    /// Fails as [`Catalog::build`] does.
    pub fn reopen(
        content: Bytes,
        origins: &Origins,
        problems: Problems,
    ) -> Result<Self, IndexError> {
        reopen(content, origins, problems)
    }
}

/// Indexes and validates lines.
fn build(content: Bytes, origins: &Origins) -> Result<Catalog, IndexError> {
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
    // The reader saw more notices than it lists; their numbers count all the same.
    problems.count(&origins.unlisted);
    let (mut catalog, findings) = index(content, origins, Checks::All, &mut problems)?;
    if catalog.meta_count() == 0 {
        let message = "the catalog has no blob: its directory is empty, or every file is empty or left out by .indexignore";
        problems.add(ProblemCode::CatalogEmpty, || {
            Problem::new(ProblemCode::CatalogEmpty, message.to_owned())
        });
    }
    check::check(&catalog, &findings, &mut problems);
    catalog.set_problems(problems.finish());
    Ok(catalog)
}

/// Indexes lines that have been validated before.
fn reopen(content: Bytes, origins: &Origins, problems: Problems) -> Result<Catalog, IndexError> {
    // Checking takes longer than indexing, and a start must serve at once: the store keeps the
    // problems that an earlier build of the same code found.
    let (mut catalog, _) = index(
        content,
        origins,
        Checks::Done,
        &mut ProblemCollector::default(),
    )?;
    catalog.set_problems(problems);
    Ok(catalog)
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
    index.bundles_by_image = Array::new(by_image);
    let BlobLocations { files, lines } = locations;
    Ok((Catalog::new(index, files, lines), findings))
}
