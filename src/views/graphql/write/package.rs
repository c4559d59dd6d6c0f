//! `Package` and `Deprecation`.

use std::cmp::Ordering;

use fbc::catalog::{Bundle, Deprecation, JsonText, Package};

use super::catalog::CatalogObject;
use super::connection::Node;
use super::{Field, In, Object, Outcome, Writer, arguments};
use crate::catalogs::Served;
use crate::views::graphql::connection::{Found, Item, Source};
use crate::views::graphql::key::{Key, Tag};

impl<'a> In<'a, Package<'a>> {
    /// The package of a name.
    pub(super) fn package(served: &'a Served, name: &str) -> Option<Self> {
        Some(In { served, it: served.catalog.package(name)? })
    }
}

impl<'a> Object<'a> for In<'a, Package<'a>> {
    fn type_name(self) -> &'static str {
        "Package"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let package = self.it;
        match field.name {
            "id" => to.key(Tag::Package, [&self.served.name, package.name()].map(Some)),
            "catalog" => return to.one(CatalogObject(self.served), field),
            "name" => to.text(package.name()),
            "description" => return to.maybe_raw(package.description().map(JsonText::raw)),
            "defaultChannel" => return to.maybe(package.default_channel().map(|channel| self.with(channel)), field),
            "channels" => return to.many(package.channels().map(|channel| self.with(channel)), field),
            "channel" => {
                let channel = arguments(field).text("name").and_then(|name| package.channel(name));
                return to.maybe(channel.map(|channel| self.with(channel)), field);
            }
            "deprecation" => return to.maybe(package.deprecation(), field),
            "properties" => return to.properties(package.properties(), field),
            "bundles" => {
                let places = std::iter::once(package.bundle_places()).collect();
                return to.connection::<In<'_, Bundle<'_>>>(&[Source { served: self.served, places }], field);
            }
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<'a> Item<'a> for In<'a, Package<'a>> {
    fn at(served: &'a Served, place: usize) -> Self {
        In { served, it: served.catalog.package_at(place) }
    }

    fn order(self, other: Self) -> Ordering {
        (self.it.name(), &self.served.name).cmp(&(other.it.name(), &other.served.name))
    }

    fn find(served: &'a Served, cursor: &Key) -> Option<Found> {
        let [name, catalog] = cursor.parts(Tag::PackagesByName)?;
        Some(Found::of(served.catalog.package_position(name?), served, catalog?))
    }
}

impl<'a> Node<'a> for In<'a, Package<'a>> {
    const CONNECTION: &'static str = "PackageConnection";
    const EDGE: &'static str = "PackageEdge";

    fn cursor(self, to: &mut Writer<'a>) {
        to.key(Tag::PackagesByName, [self.it.name(), &self.served.name].map(Some));
    }
}

impl<'a> Object<'a> for Deprecation<'a> {
    fn type_name(self) -> &'static str {
        "Deprecation"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "schema" => to.text(self.schema()),
            "name" => to.text(self.name()),
            "message" => return to.raw(self.message().map_or(b"\"\"", JsonText::raw)),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}
