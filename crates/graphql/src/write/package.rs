//! `Package` and `Deprecation`.

use fbc::catalog::{Deprecation, JsonText, Package};
use serving::Served;

use super::catalog::CatalogObject;
use super::graph::default_head;
use super::icon::IconObject;
use super::property::PropertyOwner;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{DeprecationField, PackageField};
use crate::opaque_key::KeyTag;

impl<'a> InCatalog<'a, Package<'a>> {
    /// Returns the package of a name.
    pub(super) fn package(served: &'a Served, name: &str) -> Option<Self> {
        Some(InCatalog { served, item: served.content.catalog.package(name)? })
    }
}

impl<'a> Object<'a> for InCatalog<'a, Package<'a>> {
    type Field = PackageField;

    fn write(self, name: PackageField, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        let package = self.item;
        match name {
            PackageField::Id => writer.opaque_key(KeyTag::PACKAGE, [&self.served.name, package.name()].map(Some)),
            PackageField::Catalog => return writer.object(CatalogObject(self.served), field),
            PackageField::Name => writer.string(package.name()),
            PackageField::DisplayName => writer.string(package.summary().display_name().unwrap_or(package.name())),
            PackageField::Summary => writer.optional_string(package.summary().summary()),
            PackageField::Description => return writer.optional_json(package.description().map(JsonText::raw)),
            PackageField::Icon => return writer.optional_object(IconObject::of_package(self), field),
            PackageField::Metadata => return writer.package_metadata(self, field),
            PackageField::DefaultChannel => {
                return writer.optional_object(package.default_channel().map(|channel| self.with(channel)), field);
            }
            PackageField::Latest => {
                return writer.optional_object(default_head(package).map(|bundle| self.with(bundle)), field);
            }
            PackageField::Channels => {
                return writer.channels(self, field);
            }
            PackageField::Channel => {
                let channel = arguments(field).string("name").and_then(|name| package.channel(name));
                return writer.optional_object(channel.map(|channel| self.with(channel)), field);
            }
            PackageField::ProblemCounts => {
                let counts = package.problem_counts();
                return writer.problem_counts(|severity| counts.of_severity(severity).into(), field);
            }
            PackageField::Deprecation => return writer.optional_object(package.deprecation(), field),
            PackageField::Lifecycle => {
                let versions = package.lifecycle(writer.work)?;
                return writer.object_list(&versions, field);
            }
            PackageField::Properties => return writer.properties(self.with(PropertyOwner::Package(package)), field),
            PackageField::Bundles => {
                return writer.bundles(vec![self.served], Some(vec![package.name()]), field);
            }
            PackageField::Bundle => {
                let bundle = arguments(field).string("name").and_then(|name| package.bundle(name));
                return writer.optional_object(bundle.map(|bundle| self.with(bundle)), field);
            }
            PackageField::RequiredBy => {
                let places = package.required_by(writer.work)?;
                return writer.bundles_at(self.served, places, field);
            }
            PackageField::UpdateGraph => return writer.update_graph(self, field),
            PackageField::Successors => return writer.successors_of_installed(self, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for Deprecation<'a> {
    type Field = DeprecationField;

    fn write(self, name: DeprecationField, _: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        match name {
            DeprecationField::Schema => writer.string(self.schema()),
            DeprecationField::Name => writer.string(self.name()),
            DeprecationField::Message => return writer.json(self.message().map_or(b"\"\"", JsonText::raw)),
        }
        Ok(())
    }
}
