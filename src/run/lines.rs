//! Canonical lines of catalogs, without an index: what commands need that print or change blobs.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use edit::file::LineReader;
use loading::Source;
use loading::directory::{self, ListedFile, Listing};

use super::once;
use super::parallel::in_order;
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
    lines
}

/// Reads the files of a directory on every core, and collects the canonical lines of each, without
/// line feeds.
pub(super) fn read_files<L: Send>(
    listing: &Listing,
    begin: impl Fn(&ListedFile) -> L + Sync,
    add: impl Fn(&mut L, &str) + Sync,
) -> anyhow::Result<Vec<L>> {
    let mut all = Vec::with_capacity(listing.files().len());
    let read = |reader: &mut LineReader, file: &ListedFile| {
        let mut open = listing.open(file)?;
        let mut lines = begin(file);
        let input = |buffer: &mut [u8]| anyhow::Ok(open.read(buffer)?);
        reader.read(&file.path, input, |line, _| add(&mut lines, line))?;
        Ok(lines)
    };
    let take = |lines| {
        all.push(lines);
        Ok(())
    };
    in_order(listing.files(), LineReader::default, read, take)?;
    Ok(all)
}
