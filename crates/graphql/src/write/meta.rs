//! `Meta`: raw blobs.

use std::cmp::Ordering;

use fbc::Meta;
use fbc_grammar::ignore::compare_paths;
use serving::Served;

use super::catalog::CatalogObject;
use super::connection::ConnectionNode;
use super::scans::ScanKey;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::connection::{ConnectionItem, ConnectionSource, FixedOrder, Places, RankedPlace};
use crate::fields::{MetaConnectionField, MetaEdgeField, MetaField};
use crate::filter;
use crate::opaque_key::{KeyTag, OpaqueKey};

impl<'a> Object<'a> for InCatalog<'a, Meta<'a>> {
    type Field = MetaField;

    fn write(
        self,
        name: MetaField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let meta = self.item;
        match name {
            MetaField::Catalog => return writer.object(CatalogObject(self.served), field),
            MetaField::Schema => writer.string(meta.schema()),
            MetaField::Name => writer.optional_string(meta.name()),
            MetaField::PackageName => writer.optional_string(meta.package_name()),
            MetaField::Blob => return writer.json_at_pointer(Some(meta.blob().raw()), field),
        }
        Ok(())
    }
}

/// Sort key of a blob: its catalog, then its file and index there.
pub(super) struct MetaKey<'k> {
    catalog: &'k str,
    file: &'k str,
    index: u32,
}

impl<'a> ResponseWriter<'a> {
    /// Writes the connection of the blobs of some catalogs.
    pub(super) fn metas(
        &mut self,
        catalogs: &[&'a Served],
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let filter = filter::metas(arguments(field));
        let mut sources = Vec::with_capacity(catalogs.len());
        for &served in catalogs {
            let places = match &filter {
                Some(filter) => {
                    let found = self.scans.places.get_or_scan(
                        ScanKey::of_content(field, served, None),
                        || {
                            served
                                .content
                                .catalog
                                .find_metas(filter, self.work)
                                .map(|found| found.into_iter().collect())
                        },
                    );
                    found.map_err(|_| self.stopped_search(field, catalogs.len(), None))?
                }
                None => Places::all(served.content.catalog.meta_count()),
            };
            sources.push(ConnectionSource { served, places });
        }
        self.connection::<InCatalog<'_, Meta<'_>>>(&sources, FixedOrder, field)
    }
}

impl<'a> ConnectionItem<'a> for InCatalog<'a, Meta<'a>> {
    type Order = FixedOrder;
    type Key<'k> = MetaKey<'k>;

    fn from_place(served: &'a Served, ranked: RankedPlace, _: FixedOrder) -> Self {
        InCatalog {
            served,
            item: served.content.catalog.meta_at(ranked.place as usize),
        }
    }

    fn key(self) -> MetaKey<'a> {
        MetaKey {
            catalog: &self.served.name,
            file: self.item.file(),
            index: self.item.index(),
        }
    }

    fn key_from_cursor(_: FixedOrder, cursor: &OpaqueKey) -> Option<MetaKey<'_>> {
        let [catalog, file, index] = cursor.parts(KeyTag::METAS)?;
        Some(MetaKey {
            catalog: catalog?,
            file: file?,
            index: index?.parse().ok()?,
        })
    }

    fn compare(_: FixedOrder, a: &MetaKey<'_>, b: &MetaKey<'_>) -> Ordering {
        let by_place = || compare_paths(a.file, b.file).then(a.index.cmp(&b.index));
        a.catalog.cmp(b.catalog).then_with(by_place)
    }
}

impl<'a> ConnectionNode<'a> for InCatalog<'a, Meta<'a>> {
    type ConnectionField = MetaConnectionField;
    type EdgeField = MetaEdgeField;

    fn cursor(self, writer: &mut ResponseWriter<'a>) {
        let MetaKey {
            catalog,
            file,
            index,
        } = self.key();
        writer.opaque_key(KeyTag::METAS, [catalog, file, &index.to_string()].map(Some));
    }
}
