//! Reads the files of a directory on every core.

use edit::file::LineReader;
use loading::directory::{ListedFile, Listing};

use crate::error::CatalogReadError;
use crate::parallel::in_order;

/// Reads the files of a directory, and collects the canonical lines of each, without line feeds.
/// `begin` creates the collection of a file, and `add` adds a line to it.
///
/// # Errors
/// The first in the order of the files.
pub fn read_files<L: Send>(
    listing: &Listing,
    begin: impl Fn(&ListedFile) -> L + Sync,
    add: impl Fn(&mut L, &str) + Sync,
) -> Result<Vec<L>, CatalogReadError> {
    let mut all = Vec::with_capacity(listing.files().len());
    let read = |reader: &mut LineReader, file: &ListedFile| {
        let mut open = listing.open(file)?;
        let mut lines = begin(file);
        let input = |buffer: &mut [u8]| Ok::<_, CatalogReadError>(open.read(buffer)?);
        reader.read(&file.path, input, |line, _| add(&mut lines, line))?;
        Ok::<_, CatalogReadError>(lines)
    };
    let take = |lines| {
        all.push(lines);
        Ok(())
    };
    in_order(listing.files(), LineReader::default, read, take)?;
    Ok(all)
}
