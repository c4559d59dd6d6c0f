//! Writes catalogs as tables in Parquet files, which analytical databases query.
//!
//! An [`ExportTable`] has one file for each content of a catalog. Its columns are listed in
//! `docs/reference/export.md`, which a test compares with [`ExportTable::columns`]. The same content
//! becomes the same bytes, except in the table `contents`, which has the time of the export.
//!
//! | module | contents |
//! |---|---|
//! | `column` | types of columns, and the values of a column that a row group collects |
//! | `table` | the tables: one struct for a row of each, from which its schema is derived |
//! | `rows` | the rows of a catalog |
//! | `file` | a Parquet file with bounded row groups |
//!
//! The crate is pure: the caller passes a writer and the time. It opens no file, and does not know
//! in which folders the files lie.

#![deny(missing_docs)]
// clippy.toml of this crate lists the disallowed items: IO and clocks.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

mod column;
mod file;
mod rows;
mod table;

use std::io::{self, Write};

use fbc::Catalog;
use fbc_grammar::Digest;
use jiff::Timestamp;
use parquet::errors::ParquetError;

pub use column::{ColumnType, ExportColumn};
pub use file::{MAX_ROW_GROUP_BYTES, MAX_ROW_GROUP_ROWS};
pub use table::ExportTable;

/// Version of the tables, in the metadata of each file under [`VERSION_KEY`]. Columns and tables are
/// added without a new version; it changes if one is removed, renamed or changes its type.
pub const TABLES_VERSION: &str = "1";

/// Key of [`TABLES_VERSION`] in the metadata of a file.
pub const VERSION_KEY: &str = "catalogql.tables.version";

/// Key of the name of the table in the metadata of a file.
pub const TABLE_KEY: &str = "catalogql.table";

/// Key of the digest of the content in the metadata of a file.
pub const CONTENT_KEY: &str = "catalogql.content";

/// A content that is exported.
#[derive(Clone, Copy, Debug)]
pub struct ExportedContent<'a> {
    /// Its index.
    pub catalog: &'a Catalog,
    /// SHA-256 of its canonical lines.
    pub digest: Digest,
    /// The image that it was unpacked from, by digest; `None` for other sources.
    pub image: Option<&'a str>,
    /// Time of the export.
    pub exported_at: Timestamp,
}

/// An error of writing a table.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file cannot be written.
    #[error(transparent)]
    Io(io::Error),
    /// The rows cannot be encoded.
    #[error("cannot encode the rows: {0}")]
    Encode(ParquetError),
}

impl From<ParquetError> for ExportError {
    /// Recovers the error of the file, which `ParquetError` wraps.
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(inner) => Self::Io(*inner),
                Err(inner) => Self::Encode(ParquetError::External(inner)),
            },
            other => Self::Encode(other),
        }
    }
}

/// Writes one table of a content as a Parquet file. Returns the writer.
///
/// Holds at most one row group in memory: [`MAX_ROW_GROUP_ROWS`] rows or [`MAX_ROW_GROUP_BYTES`], and
/// one row more.
///
/// # Errors
/// If the writer fails.
pub fn write_table<W: Write + Send>(
    table: ExportTable,
    content: &ExportedContent<'_>,
    out: W,
) -> Result<W, ExportError> {
    rows::write(table, content, out)
}
