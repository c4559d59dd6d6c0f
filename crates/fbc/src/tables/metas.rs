//! Index of blobs by schema, by package and by name: sorted tables.

use crate::ids::id;
use crate::index::ContentIndex;
use crate::names::{Name, NameTable};
use crate::record::MetaRecord;
use crate::tables::postings::equal_range;

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
    field: fn(&MetaRecord) -> Name,
    places: Box<[u32]>,
}

impl MetaIndex {
    pub(crate) fn new(metas: &[MetaRecord], names: &NameTable) -> Self {
        Self {
            schemas: FieldTable::new(metas, names, |meta| meta.schema),
            packages: FieldTable::new(metas, names, |meta| meta.package),
            names: FieldTable::new(metas, names, |meta| meta.name),
        }
    }
}

impl FieldTable {
    fn new(metas: &[MetaRecord], names: &NameTable, field: fn(&MetaRecord) -> Name) -> Self {
        let text = |at: u32| names.get(field(&metas[at as usize]));
        // Absent and empty fields match no condition.
        let mut places: Vec<u32> = (0..id(metas.len()))
            .filter(|&at| !text(at).is_empty())
            .collect();
        places.sort_by_key(|&at| text(at));
        Self {
            field,
            places: places.into_boxed_slice(),
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
