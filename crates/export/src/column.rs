//! Types of columns, and the values of a column that a row group collects.

use std::borrow::Cow;
use std::fmt;
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::{Type, TypePtr};

/// Memory that a value takes besides the bytes of its text.
const VALUE_BYTES: usize = 16;

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportColumn {
    /// Its name.
    pub name: &'static str,
    /// Type of its values.
    pub column_type: ColumnType,
    /// `true` if values may be null.
    pub is_optional: bool,
    /// Markdown: one or more sentences.
    pub description: &'static str,
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text in UTF-8.
    Text,
    /// Integer of 64 bits.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// Microseconds since the beginning of 1970, in UTC.
    Timestamp,
    /// List of texts, which may be empty.
    TextList,
}

impl fmt::Display for ColumnType {
    /// Writes the type as the documentation names it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "string",
            Self::Integer => "int64",
            Self::Boolean => "boolean",
            Self::Timestamp => "timestamp",
            Self::TextList => "list of strings",
        })
    }
}

impl ExportColumn {
    /// Returns the column as a field of a Parquet schema.
    pub(crate) fn field(&self) -> Result<TypePtr, ParquetError> {
        let repetition = if self.is_optional {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let primitive = |name, physical_type, logical_type| {
            Type::primitive_type_builder(name, physical_type)
                .with_logical_type(logical_type)
                .with_repetition(repetition)
                .build()
        };
        let text = |name| primitive(name, PhysicalType::BYTE_ARRAY, Some(LogicalType::String));
        let timestamp = LogicalType::timestamp(true, TimeUnit::MICROS);
        let field = match self.column_type {
            ColumnType::Text => text(self.name)?,
            ColumnType::Integer => primitive(self.name, PhysicalType::INT64, None)?,
            ColumnType::Boolean => primitive(self.name, PhysicalType::BOOLEAN, None)?,
            ColumnType::Timestamp => primitive(self.name, PhysicalType::INT64, Some(timestamp))?,
            ColumnType::TextList => {
                let list = Type::group_type_builder("list")
                    .with_repetition(Repetition::REPEATED)
                    .with_fields(vec![Arc::new(text("element")?)])
                    .build()?;
                Type::group_type_builder(self.name)
                    .with_logical_type(Some(LogicalType::List))
                    .with_repetition(repetition)
                    .with_fields(vec![Arc::new(list)])
                    .build()?
            }
        };
        Ok(Arc::new(field))
    }
}

/// Values of a column, of the rows of one row group.
///
/// `definitions` and `repetitions` are Parquet's levels: an optional value is defined at level 1, an
/// element of a list too, and an element that continues the list of its row repeats at level 1.
#[derive(Debug)]
pub(crate) struct ColumnBuffer {
    values: ColumnValues,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

#[derive(Debug)]
enum ColumnValues {
    /// Texts one behind another, and where each ends.
    Texts {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
    Integers(Vec<i64>),
    Booleans(Vec<bool>),
}

impl ColumnBuffer {
    /// Creates a buffer without values.
    pub(crate) fn new(column_type: ColumnType) -> Self {
        let values = match column_type {
            ColumnType::Text | ColumnType::TextList => ColumnValues::Texts {
                bytes: Vec::new(),
                ends: Vec::new(),
            },
            ColumnType::Integer | ColumnType::Timestamp => ColumnValues::Integers(Vec::new()),
            ColumnType::Boolean => ColumnValues::Booleans(Vec::new()),
        };
        Self {
            values,
            definitions: Vec::new(),
            repetitions: Vec::new(),
        }
    }

    /// Returns the memory that the values take, in bytes.
    pub(crate) fn size(&self) -> usize {
        let (texts, values) = match &self.values {
            ColumnValues::Texts { bytes, ends } => (bytes.len(), ends.len()),
            ColumnValues::Integers(integers) => (0, integers.len()),
            ColumnValues::Booleans(booleans) => (0, booleans.len()),
        };
        texts + VALUE_BYTES * values.max(self.definitions.len())
    }

    /// Writes the values, and forgets them.
    pub(crate) fn write(
        &mut self,
        mut writer: SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        match &mut self.values {
            ColumnValues::Texts { bytes, ends } => {
                let bytes = Bytes::from(mem::take(bytes));
                let starts = [0].into_iter().chain(ends.iter().copied());
                let spans = starts.zip(ends.iter());
                let texts: Vec<_> = spans
                    .map(|(start, &end)| ByteArray::from(bytes.slice(start..end)))
                    .collect();
                ends.clear();
                self.write_values::<ByteArrayType>(&mut writer, &texts)?;
            }
            ColumnValues::Integers(integers) => {
                let integers = mem::take(integers);
                self.write_values::<Int64Type>(&mut writer, &integers)?;
            }
            ColumnValues::Booleans(booleans) => {
                let booleans = mem::take(booleans);
                self.write_values::<BoolType>(&mut writer, &booleans)?;
            }
        }
        writer.close()
    }

    fn write_values<T: DataType>(
        &mut self,
        writer: &mut SerializedColumnWriter<'_>,
        values: &[T::T],
    ) -> Result<(), ParquetError> {
        // Columns without nulls have no levels of definition, and columns without lists none of
        // repetition.
        let definitions = Some(self.definitions.as_slice()).filter(|levels| !levels.is_empty());
        let repetitions = Some(self.repetitions.as_slice()).filter(|levels| !levels.is_empty());
        writer
            .typed::<T>()
            .write_batch(values, definitions, repetitions)?;
        self.definitions.clear();
        self.repetitions.clear();
        Ok(())
    }

    fn push_text(&mut self, text: &str) {
        if let ColumnValues::Texts { bytes, ends } = &mut self.values {
            bytes.extend_from_slice(text.as_bytes());
            ends.push(bytes.len());
        }
    }

    fn push_integer(&mut self, integer: i64) {
        if let ColumnValues::Integers(integers) = &mut self.values {
            integers.push(integer);
        }
    }

    fn push_boolean(&mut self, boolean: bool) {
        if let ColumnValues::Booleans(booleans) = &mut self.values {
            booleans.push(boolean);
        }
    }
}

/// A value of a row. Its Rust type determines the type of the column.
pub(crate) trait CellValue {
    /// Type of the column.
    const TYPE: ColumnType;
    /// `true` if values may be null.
    const IS_OPTIONAL: bool = false;

    /// Appends the value to its column, which has the type [`CellValue::TYPE`].
    fn append(&self, column: &mut ColumnBuffer);
}

impl CellValue for &str {
    const TYPE: ColumnType = ColumnType::Text;

    fn append(&self, column: &mut ColumnBuffer) {
        column.push_text(self);
    }
}

impl CellValue for Cow<'_, str> {
    const TYPE: ColumnType = ColumnType::Text;

    fn append(&self, column: &mut ColumnBuffer) {
        column.push_text(self);
    }
}

impl CellValue for i64 {
    const TYPE: ColumnType = ColumnType::Integer;

    fn append(&self, column: &mut ColumnBuffer) {
        column.push_integer(*self);
    }
}

impl CellValue for bool {
    const TYPE: ColumnType = ColumnType::Boolean;

    fn append(&self, column: &mut ColumnBuffer) {
        column.push_boolean(*self);
    }
}

impl CellValue for Timestamp {
    const TYPE: ColumnType = ColumnType::Timestamp;

    fn append(&self, column: &mut ColumnBuffer) {
        column.push_integer(self.as_microsecond());
    }
}

impl<V: CellValue> CellValue for Option<V> {
    const TYPE: ColumnType = V::TYPE;
    const IS_OPTIONAL: bool = true;

    fn append(&self, column: &mut ColumnBuffer) {
        if let Some(value) = self {
            value.append(column);
        }
        column.definitions.push(i16::from(self.is_some()));
    }
}

impl CellValue for Vec<&str> {
    const TYPE: ColumnType = ColumnType::TextList;

    fn append(&self, column: &mut ColumnBuffer) {
        for (at, text) in self.iter().enumerate() {
            column.push_text(text);
            column.definitions.push(1);
            column.repetitions.push(i16::from(at > 0));
        }
        if self.is_empty() {
            column.definitions.push(0);
            column.repetitions.push(0);
        }
    }
}
