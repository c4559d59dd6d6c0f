//! `Package` and `Deprecation`.

use fbc::{Bundle, Channel, Deprecation, Package};
use fbc_read::json::JsonText;
use serving::Served;

use super::catalog::CatalogObject;
use super::graph::default_head;
use super::icon::IconObject;
use super::property::PropertyOwner;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteError, WriteResult, arguments};
use crate::fields::{DeprecationField, PackageField};
use crate::opaque_key::KeyTag;

impl<'a> InCatalog<'a, Package<'a>> {
    /// Returns the package of a name.
    pub(super) fn package(served: &'a Served, name: &str) -> Option<Self> {
        Some(InCatalog {
            served,
            item: served.content.catalog.package(name)?,
        })
    }
}

/// Packages, channels and bundles by the names that arguments give, with suggestions where there
/// are none of these names.
impl<'a> ResponseWriter<'a> {
    /// Finds the package of a catalog that an argument of a field names.
    pub(super) fn package_by_name(
        &mut self,
        served: &'a Served,
        argument: &'static str,
        field: &'a PlannedField<'a>,
    ) -> Result<Option<InCatalog<'a, Package<'a>>>, WriteError> {
        let found = InCatalog::package(
            served,
            arguments(field).string(argument).unwrap_or_default(),
        );
        if found.is_none() {
            self.suggest_names(
                field,
                argument,
                served.content.catalog.packages().map(Package::name),
            )?;
        }
        Ok(found)
    }

    /// Writes the channel of a package that the argument `name` of a field names.
    pub(super) fn channel_by_name(
        &mut self,
        package: InCatalog<'a, Package<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let channel = package
            .item
            .channel(arguments(field).string("name").unwrap_or_default());
        if channel.is_none() {
            self.suggest_names(field, "name", package.item.channels().map(Channel::name))?;
        }
        self.optional_object(channel.map(|channel| package.with(channel)), field)
    }

    /// Writes the bundle of a package that the argument `name` of a field names.
    pub(super) fn bundle_by_name(
        &mut self,
        package: InCatalog<'a, Package<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let bundle = package
            .item
            .bundle(arguments(field).string("name").unwrap_or_default());
        if bundle.is_none() {
            self.suggest_names(field, "name", package.item.bundles().map(Bundle::name))?;
        }
        self.optional_object(bundle.map(|bundle| package.with(bundle)), field)
    }
}

impl<'a> Object<'a> for InCatalog<'a, Package<'a>> {
    type Field = PackageField;

    fn write(
        self,
        name: PackageField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let package = self.item;
        match name {
            PackageField::Id => writer.opaque_key(
                KeyTag::PACKAGE,
                [&self.served.name, package.name()].map(Some),
            ),
            PackageField::Catalog => return writer.object(CatalogObject(self.served), field),
            PackageField::Name => writer.string(package.name()),
            PackageField::DisplayName => {
                writer.string(package.summary().display_name().unwrap_or(package.name()));
            }
            PackageField::Summary => writer.optional_string(package.summary().summary()),
            PackageField::Description => {
                return writer.optional_json(package.description().map(JsonText::raw));
            }
            PackageField::Icon => {
                return writer.optional_object(IconObject::from_package(self), field);
            }
            PackageField::Metadata => return writer.package_metadata(self, field),
            PackageField::DefaultChannel => {
                return writer.optional_object(
                    package.default_channel().map(|channel| self.with(channel)),
                    field,
                );
            }
            PackageField::Latest => {
                return writer
                    .optional_object(default_head(package).map(|bundle| self.with(bundle)), field);
            }
            PackageField::Channels => {
                return writer.channels(self, field);
            }
            PackageField::Channel => {
                return writer.channel_by_name(self, field);
            }
            PackageField::ProblemCounts => {
                let counts = package.problem_counts();
                return writer
                    .problem_counts(|severity| counts.of_severity(severity).into(), field);
            }
            PackageField::Deprecation => {
                return writer.optional_object(package.deprecation(), field);
            }
            PackageField::Lifecycle => {
                let versions = package.lifecycle(writer.work)?;
                return writer.object_list(&versions, field);
            }
            PackageField::Properties => {
                return writer.properties(self.with(PropertyOwner::Package(package)), field);
            }
            PackageField::Bundles => {
                return writer.bundles(&[self.served], Some(vec![package.name()]), field);
            }
            PackageField::Bundle => {
                return writer.bundle_by_name(self, field);
            }
            PackageField::RequiredBy => {
                let places = package.required_by(writer.work)?;
                return writer.bundles_at(self.served, places, field);
            }
            PackageField::History => return writer.package_history(self, field),
            PackageField::UpdateGraph => return writer.update_graph(self, field),
            PackageField::Successors => return writer.successors_of_installed(self, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for Deprecation<'a> {
    type Field = DeprecationField;

    fn write(
        self,
        name: DeprecationField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            DeprecationField::Schema => writer.string(self.schema()),
            DeprecationField::Name => writer.string(self.name()),
            DeprecationField::Message => {
                return writer.json(self.message().map_or(b"\"\"", JsonText::raw));
            }
        }
        Ok(())
    }
}
