//! `Package` and `Deprecation`.

use fbc::catalog::{Deprecation, JsonText, Package};
use serving::Served;

use super::catalog::CatalogObject;
use super::{Field, In, Object, Outcome, Writer, arguments};
use crate::fields::{DeprecationField, PackageField};
use crate::key::Tag;

impl<'a> In<'a, Package<'a>> {
    /// The package of a name.
    pub(super) fn package(served: &'a Served, name: &str) -> Option<Self> {
        Some(In { served, it: served.content.catalog.package(name)? })
    }
}

impl<'a> Object<'a> for In<'a, Package<'a>> {
    type Field = PackageField;

    fn write(self, name: PackageField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let package = self.it;
        match name {
            PackageField::Id => to.key(Tag::PACKAGE, [&self.served.name, package.name()].map(Some)),
            PackageField::Catalog => return to.one(CatalogObject(self.served), field),
            PackageField::Name => to.text(package.name()),
            PackageField::Description => return to.maybe_raw(package.description().map(JsonText::raw)),
            PackageField::Icon => return to.maybe(package.icon(), field),
            PackageField::Metadata => return to.package_metadata(package, field),
            PackageField::DefaultChannel => {
                return to.maybe(package.default_channel().map(|channel| self.with(channel)), field);
            }
            PackageField::Channels => return to.many(package.channels().map(|channel| self.with(channel)), field),
            PackageField::Channel => {
                let channel = arguments(field).text("name").and_then(|name| package.channel(name));
                return to.maybe(channel.map(|channel| self.with(channel)), field);
            }
            PackageField::Deprecation => return to.maybe(package.deprecation(), field),
            PackageField::Properties => return to.properties(package.properties(), field),
            PackageField::Bundles => {
                return to.bundles(vec![self.served], Some(vec![package.name()]), field);
            }
            PackageField::UpdateGraph => return to.update_graph(self, field),
            PackageField::Successors => return to.successors_of_installed(self, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for Deprecation<'a> {
    type Field = DeprecationField;

    fn write(self, name: DeprecationField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            DeprecationField::Schema => to.text(self.schema()),
            DeprecationField::Name => to.text(self.name()),
            DeprecationField::Message => return to.raw(self.message().map_or(b"\"\"", JsonText::raw)),
        }
        Ok(())
    }
}
