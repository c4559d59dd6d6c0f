//! `Package` and `Deprecation`.

use fbc::catalog::{Deprecation, JsonText, Package};
use serving::Served;

use super::catalog::CatalogObject;
use super::{Field, In, Object, Outcome, Writer, arguments};
use crate::key::Tag;

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
            "id" => to.key(Tag::PACKAGE, [&self.served.name, package.name()].map(Some)),
            "catalog" => return to.one(CatalogObject(self.served), field),
            "name" => to.text(package.name()),
            "description" => return to.maybe_raw(package.description().map(JsonText::raw)),
            "icon" => return to.maybe(package.icon(), field),
            "metadata" => return to.package_metadata(package, field),
            "defaultChannel" => return to.maybe(package.default_channel().map(|channel| self.with(channel)), field),
            "channels" => return to.many(package.channels().map(|channel| self.with(channel)), field),
            "channel" => {
                let channel = arguments(field).text("name").and_then(|name| package.channel(name));
                return to.maybe(channel.map(|channel| self.with(channel)), field);
            }
            "deprecation" => return to.maybe(package.deprecation(), field),
            "properties" => return to.properties(package.properties(), field),
            "bundles" => {
                return to.bundles(vec![self.served], Some(vec![package.name()]), field);
            }
            "updateGraph" => return to.update_graph(self, field),
            "successors" => return to.successors_of_installed(self, field),
            _ => return to.unknown(field),
        }
        Ok(())
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
