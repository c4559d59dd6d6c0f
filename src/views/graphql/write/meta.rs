//! `Meta`: raw blobs.

use std::cmp::Ordering;

use fbc::catalog::Meta;

use super::catalog::CatalogObject;
use super::connection::Node;
use super::{Field, In, Object, Outcome, Writer};
use crate::catalogs::Served;
use crate::views::graphql::connection::{Found, Item};
use crate::views::graphql::key::{Key, Tag};

impl<'a> Object<'a> for In<'a, Meta<'a>> {
    fn type_name(self) -> &'static str {
        "Meta"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let meta = self.it;
        match field.name {
            "catalog" => return to.one(CatalogObject(self.served), field),
            "schema" => to.text(meta.schema()),
            "name" => to.maybe_text(meta.name()),
            "packageName" => to.maybe_text(meta.package_name()),
            "blob" => return to.raw(meta.blob().raw()),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<'a> Item<'a> for In<'a, Meta<'a>> {
    fn at(served: &'a Served, place: usize) -> Self {
        In { served, it: served.catalog.meta_at(place) }
    }

    /// Two blobs of one catalog are never compared: a catalog's own run is in order.
    fn order(self, other: Self) -> Ordering {
        self.served.name.cmp(&other.served.name)
    }

    fn find(served: &'a Served, cursor: &Key) -> Option<Found> {
        let [catalog, file, index] = cursor.parts(Tag::MetasInOrder)?;
        let (catalog, file, index) = (catalog?, file?, index?.parse().ok()?);
        Some(match served.name.as_str().cmp(catalog) {
            Ordering::Less => Found::Before(served.catalog.meta_count()),
            Ordering::Equal => Found::of(served.catalog.meta_position(file, index), served, catalog),
            Ordering::Greater => Found::Before(0),
        })
    }
}

impl<'a> Node<'a> for In<'a, Meta<'a>> {
    const CONNECTION: &'static str = "MetaConnection";
    const EDGE: &'static str = "MetaEdge";

    fn cursor(self, to: &mut Writer<'a>) {
        let index = self.it.index().to_string();
        to.key(Tag::MetasInOrder, [&self.served.name, &**self.it.file(), &index].map(Some));
    }
}
