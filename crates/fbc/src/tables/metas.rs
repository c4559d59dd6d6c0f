//! Index of blobs by schema, by package and by name: sorted tables.

use std::io;

use crate::array::Array;
use crate::ids::id;
use crate::index::ContentIndex;
use crate::names::{Name, NameTable};
use crate::record::MetaRecord;
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};
use crate::tables::postings::equal_range;

/// A field of a blob.
type Field = fn(&MetaRecord) -> Name;

const SCHEMA: Field = |meta| meta.schema;
const PACKAGE: Field = |meta| meta.package;
const NAME: Field = |meta| meta.name;

/// Index of blobs by schema, by package and by name.
#[derive(Debug)]
pub(crate) struct MetaIndex {
    pub(crate) schemas: FieldTable,
    pub(crate) packages: FieldTable,
    pub(crate) names: FieldTable,
}

/// Ids of the blobs that have a field, sorted by its text, then in catalog order.
#[derive(Debug)]
pub(crate) struct FieldTable {
    field: Field,
    places: Array<u32>,
}

impl MetaIndex {
    pub(crate) fn new(metas: &[MetaRecord], names: &NameTable) -> Self {
        Self {
            schemas: FieldTable::new(metas, names, SCHEMA),
            packages: FieldTable::new(metas, names, PACKAGE),
            names: FieldTable::new(metas, names, NAME),
        }
    }

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        let tables = [&self.schemas, &self.packages, &self.names];
        tables
            .into_iter()
            .try_for_each(|table| sections.array(&table.places))
    }

    pub(crate) fn read(
        sections: &mut SectionReader,
        index: &ContentIndex,
    ) -> Result<Self, StoredIndexError> {
        let mut table = |field| -> Result<FieldTable, StoredIndexError> {
            let places = sections.ids(index.metas.len())?;
            Ok(FieldTable { field, places })
        };
        Ok(Self {
            schemas: table(SCHEMA)?,
            packages: table(PACKAGE)?,
            names: table(NAME)?,
        })
    }
}

impl FieldTable {
    fn new(metas: &[MetaRecord], names: &NameTable, field: Field) -> Self {
        let text = |at: u32| names.get(field(&metas[at as usize]));
        // Absent and empty fields match no condition.
        let mut places: Vec<u32> = (0..id(metas.len()))
            .filter(|&at| !text(at).is_empty())
            .collect();
        places.sort_by_key(|&at| text(at));
        Self {
            field,
            places: Array::new(places),
        }
    }

    /// Returns the blobs whose field equals the text, in catalog order.
    pub(crate) fn find(&self, index: &ContentIndex, text: &str) -> &[u32] {
        let compare = |&at: &u32| {
            index
                .names
                .get((self.field)(&index.metas[at as usize]))
                .cmp(text)
        };
        &self.places[equal_range(&self.places, compare)]
    }
}
