//! `Meta`: raw blobs.

use std::cmp::Ordering;

use fbc::catalog::Meta;
use fbc::ignore::compare_paths;
use serving::Served;

use super::catalog::CatalogObject;
use super::connection::Node;
use super::{Field, In, Object, Outcome, Writer, arguments};
use crate::connection::{Item, Listed, Places, Source};
use crate::fields::{MetaConnectionField, MetaEdgeField, MetaField};
use crate::filter;
use crate::key::{Key, Tag};

impl<'a> Object<'a> for In<'a, Meta<'a>> {
    type Field = MetaField;

    fn write(self, name: MetaField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let meta = self.it;
        match name {
            MetaField::Catalog => return to.one(CatalogObject(self.served), field),
            MetaField::Schema => to.text(meta.schema()),
            MetaField::Name => to.maybe_text(meta.name()),
            MetaField::PackageName => to.maybe_text(meta.package_name()),
            MetaField::Blob => return to.part(Some(meta.blob().raw()), field),
        }
        Ok(())
    }
}

/// What a blob is ordered by: its catalog, then its place there.
pub(super) struct MetaKey<'k> {
    catalog: &'k str,
    file: &'k str,
    index: u32,
}

impl<'a> Writer<'a> {
    /// Writes the blobs of some catalogs, as a field asks for them.
    pub(super) fn metas(&mut self, asked: Vec<&'a Served>, field: &'a Field<'a>) -> Outcome {
        let filter = filter::metas(arguments(field));
        let places = |served: &Served| match &filter {
            Some(filter) => served.content.catalog.find_metas(filter).into_iter().collect(),
            None => Places::all(served.content.catalog.meta_count()),
        };
        let sources: Vec<_> = asked.into_iter().map(|served| Source { served, places: places(served) }).collect();
        self.connection::<In<'_, Meta<'_>>>(&sources, (), field)
    }
}

impl<'a> Item<'a> for In<'a, Meta<'a>> {
    type Order = ();
    type Key<'k> = MetaKey<'k>;

    fn at(served: &'a Served, listed: Listed, (): ()) -> Self {
        In { served, it: served.content.catalog.meta_at(listed.place as usize) }
    }

    fn key(self) -> MetaKey<'a> {
        MetaKey { catalog: &self.served.name, file: self.it.file(), index: self.it.index() }
    }

    fn read((): (), cursor: &Key) -> Option<MetaKey<'_>> {
        let [catalog, file, index] = cursor.parts(Tag::METAS)?;
        Some(MetaKey { catalog: catalog?, file: file?, index: index?.parse().ok()? })
    }

    fn compare((): (), a: &MetaKey<'_>, b: &MetaKey<'_>) -> Ordering {
        let by_place = || compare_paths(a.file, b.file).then(a.index.cmp(&b.index));
        a.catalog.cmp(b.catalog).then_with(by_place)
    }
}

impl<'a> Node<'a> for In<'a, Meta<'a>> {
    type ConnectionField = MetaConnectionField;
    type EdgeField = MetaEdgeField;

    fn cursor(self, to: &mut Writer<'a>) {
        let MetaKey { catalog, file, index } = self.key();
        to.key(Tag::METAS, [catalog, file, &index.to_string()].map(Some));
    }
}
