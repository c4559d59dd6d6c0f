//! Filters blobs by schema, package and name with sorted tables.

use crate::catalog::Catalog;
use crate::find::filter::MetaFilter;
use crate::ids::id;
use crate::names::Name;
use crate::work::{CHUNK, Step, Work, WorkStopped};

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
            filter
                .schema
                .map(|text| index.schemas.find(&self.index, text)),
            filter
                .package
                .map(|text| index.packages.find(&self.index, text)),
            filter.name.map(|text| index.names.find(&self.index, text)),
        ];
        // The blobs of the rarest value are tested for the others, which costs the length of the
        // shortest list.
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
