//! A Parquet file with bounded row groups.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use crate::column::{ColumnBuffer, ExportColumn};
use crate::table::{ExportTable, TableRow};
use crate::{CONTENT_KEY, ExportError, ExportedContent, TABLE_KEY, TABLES_VERSION, VERSION_KEY};

/// Maximum number of rows of a row group.
pub const MAX_ROW_GROUP_ROWS: usize = 65_536;

/// Maximum size of the values of a row group in memory, in bytes; the last row may exceed it.
pub const MAX_ROW_GROUP_BYTES: usize = 16_777_216;

/// Level of zstd: that of its command line.
const COMPRESSION_LEVEL: i32 = 3;

/// A file of a table. A row group is written when it is full.
pub(crate) struct TableFile<W: Write + Send> {
    table: ExportTable,
    writer: SerializedFileWriter<W>,
    columns: Vec<ColumnBuffer>,
    /// Rows in `columns`.
    rows: usize,
}

impl<W: Write + Send> TableFile<W> {
    /// Begins a file.
    pub(crate) fn new(
        table: ExportTable,
        content: &ExportedContent<'_>,
        out: W,
    ) -> Result<Self, ExportError> {
        let columns = table.columns();
        let properties = Arc::new(properties(table, content)?);
        let buffers = columns
            .iter()
            .map(|column| ColumnBuffer::new(column.column_type));
        Ok(Self {
            table,
            writer: SerializedFileWriter::new(out, schema(columns)?, properties)?,
            columns: buffers.collect(),
            rows: 0,
        })
    }

    /// Appends a row.
    ///
    /// # Panics
    /// Panics when the row belongs to another table.
    pub(crate) fn push<R: TableRow>(&mut self, row: &R) -> Result<(), ExportError> {
        assert_eq!(R::TABLE, self.table, "a row of the table of the file");
        row.append(&mut self.columns);
        self.rows += 1;
        let size: usize = self.columns.iter().map(ColumnBuffer::size).sum();
        if self.rows >= MAX_ROW_GROUP_ROWS || size >= MAX_ROW_GROUP_BYTES {
            self.write_row_group()?;
        }
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<W, ExportError> {
        if self.rows > 0 {
            self.write_row_group()?;
        }
        Ok(self.writer.into_inner()?)
    }

    fn write_row_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        let mut columns = self.columns.iter_mut();
        while let Some(writer) = group.next_column()? {
            if let Some(column) = columns.next() {
                column.write(writer)?;
            }
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

fn schema(columns: &[ExportColumn]) -> Result<TypePtr, ParquetError> {
    let fields: Result<Vec<_>, _> = columns.iter().map(ExportColumn::field).collect();
    let schema = Type::group_type_builder("schema")
        .with_fields(fields?)
        .build()?;
    Ok(Arc::new(schema))
}

fn properties(
    table: ExportTable,
    content: &ExportedContent<'_>,
) -> Result<WriterProperties, ParquetError> {
    let metadata = [
        (VERSION_KEY, TABLES_VERSION.to_owned()),
        (TABLE_KEY, table.name().to_owned()),
        (CONTENT_KEY, content.digest.to_string()),
    ];
    let metadata = metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(COMPRESSION_LEVEL)?))
        .set_key_value_metadata(Some(metadata.to_vec()));

    // A search for an image over many contents reads the filters of most files, and rows of few.
    let is_searched = |column: &&ExportColumn| ["digest", "image"].contains(&column.name);
    let add_filter = |builder: WriterPropertiesBuilder, column: &ExportColumn| {
        builder.set_column_bloom_filter_enabled(ColumnPath::from(column.name), true)
    };
    let searched = table.columns().iter().filter(is_searched);
    Ok(searched.fold(builder, add_filter).build())
}
