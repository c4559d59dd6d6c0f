//! Filters blobs by schema, package and name with sorted tables.

use super::super::names::{Name, NameTable};
use super::super::record::MetaRecord;
use super::super::{Catalog, id};
use super::MetaFilter;
use super::tables::equal_range;
use crate::work::{CHUNK, Step, Work, WorkStopped};

/// Index of blobs by schema, by package and by name.
#[derive(Debug)]
pub(in crate::catalog) struct MetaIndex {
    schemas: FieldTable,
    packages: FieldTable,
    names: FieldTable,
}

/// Ids of the blobs that have a field, sorted by its text, then in catalog order.
#[derive(Debug)]
struct FieldTable {
    field: fn(&MetaRecord) -> Name,
    places: Box<[u32]>,
}

impl Catalog {
    /// Returns the indexes of the blobs that meet the conditions, in catalog order.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn find_metas(
        &self,
        filter: &MetaFilter<'_>,
        work: &Work<'_>,
    ) -> Result<Vec<u32>, WorkStopped> {
        if *filter == MetaFilter::default() {
            work.draw(Step::Blob, self.index.metas.len())?;
            return Ok((0..id(self.index.metas.len())).collect());
        }
        let index = self.meta_index();
        let lists = [
            filter.schema.map(|text| index.schemas.find(self, text)),
            filter.package.map(|text| index.packages.find(self, text)),
            filter.name.map(|text| index.names.find(self, text)),
        ];
        let shortest = lists
            .into_iter()
            .flatten()
            .min_by_key(|list| list.len())
            .unwrap_or_default();
        let is = |name: Name, text: Option<&str>| {
            text.is_none_or(|text| self.index.names.get(name) == text)
        };
        let meets = |&place: &u32| {
            let meta = &self.index.metas[place as usize];
            !self.index.names.get(meta.schema).is_empty()
                && is(meta.schema, filter.schema)
                && is(meta.package, filter.package)
                && is(meta.name, filter.name)
        };
        let mut found = Vec::new();
        for chunk in shortest.chunks(CHUNK) {
            work.draw(Step::Blob, chunk.len())?;
            found.extend(chunk.iter().filter(|place| meets(place)));
        }
        Ok(found)
    }
}

impl MetaIndex {
    pub(in crate::catalog) fn new(metas: &[MetaRecord], names: &NameTable) -> Self {
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
    fn find(&self, catalog: &Catalog, text: &str) -> &[u32] {
        let compare = |&at: &u32| {
            catalog
                .index
                .names
                .get((self.field)(&catalog.index.metas[at as usize]))
                .cmp(text)
        };
        &self.places[equal_range(&self.places, compare)]
    }
}
