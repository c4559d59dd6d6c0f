//! Canonical lines of catalogs, without an index: what commands need that print or change blobs.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use edit_directory::read_files;
use loading::Source;
use loading::directory::{self, ListedFile};

use super::once;
use super::sources::SourceReference;
use crate::args::ImageArgs;

/// Reads the canonical lines of a catalog, each with its line feed; those of a directory file by
/// file.
pub(super) fn read(source: &str, images: &ImageArgs) -> anyhow::Result<Vec<String>> {
    let failed = || format!("cannot render `{source}`");
    let reference = SourceReference::parse(source, images.configs_dir.as_deref())?;
    if let Source::Directory(root) = &reference.source {
        return read_directory(root).with_context(failed);
    }
    let content = once::load_one(&reference, images)?;
    let content = content.map_err(|error| anyhow!("{}: {}", failed(), error.chain()))?;
    Ok(vec![
        std::str::from_utf8(content.catalog.content())?.to_owned(),
    ])
}

fn read_directory(root: &Path) -> anyhow::Result<Vec<String>> {
    let listing = directory::list(root)?;
    // Canonical lines are no longer than their file as a rule, but for a last line feed.
    let begin = |file: &ListedFile| {
        String::with_capacity(usize::try_from(file.bytes).unwrap_or_default() + 1)
    };
    let add = |lines: &mut String, line: &str| {
        lines.push_str(line);
        lines.push('\n');
    };
    let lines = read_files(&listing, begin, add);
    if directory::list(root)?.revision() != listing.revision() {
        bail!("its files changed while they were read: try again");
    }
    Ok(lines?)
}
