//! `Bundle`, `RelatedImage`, `GroupVersionKind` and `PackageRequirement`.

use std::collections::BTreeSet;

use fbc::catalog::{Bundle, GroupVersionKind, PackageRequirement, RelatedImage};

use super::catalog::CatalogObject;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::{BundleField, GroupVersionKindField, PackageRequirementField, RelatedImageField};
use crate::opaque_key::KeyTag;

impl<'a> Object<'a> for InCatalog<'a, Bundle<'a>> {
    type Field = BundleField;

    fn write(self, name: BundleField, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        let bundle = self.item;
        match name {
            BundleField::Id => {
                let parts = [&self.served.name, bundle.package().name(), bundle.name()];
                writer.opaque_key(KeyTag::BUNDLE, parts.map(Some));
            }
            BundleField::Catalog => return writer.object(CatalogObject(self.served), field),
            BundleField::Package => return writer.object(self.with(bundle.package()), field),
            BundleField::Name => writer.string(bundle.name()),
            BundleField::Version => writer.optional_string(bundle.version()),
            BundleField::Release => writer.optional_string(bundle.release()),
            BundleField::Image => return writer.json(bundle.image().raw()),
            BundleField::ChannelEntries => {
                return writer.object_list(bundle.channel_entries().map(|entry| self.with(entry)), field);
            }
            BundleField::ChannelNames => {
                let names: BTreeSet<_> = bundle.channel_entries().map(|entry| entry.channel().name()).collect();
                writer.strings(names);
            }
            BundleField::Metadata => return writer.metadata(bundle, field),
            BundleField::Deprecation => return writer.optional_object(bundle.deprecation(), field),
            BundleField::ProvidedApis => return writer.object_list(bundle.provided_apis(), field),
            BundleField::RequiredApis => return writer.object_list(bundle.required_apis(), field),
            BundleField::RequiredPackages => return writer.object_list(bundle.required_packages(), field),
            BundleField::RelatedImages => return writer.object_list(bundle.related_images(), field),
            BundleField::Properties => return writer.properties(bundle.properties(), field),
            BundleField::Successors => return writer.successors_of_bundle(self, field),
            BundleField::Predecessors => return writer.predecessors_of_bundle(self, field),
            BundleField::UpgradePath => return writer.upgrade_path(self, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for RelatedImage<'_> {
    type Field = RelatedImageField;

    fn write(self, name: RelatedImageField, _: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        match name {
            RelatedImageField::Name => writer.json(self.name.raw()),
            RelatedImageField::Image => writer.json(self.image.raw()),
        }
    }
}

impl<'a> Object<'a> for GroupVersionKind<'_> {
    type Field = GroupVersionKindField;

    fn write(
        self,
        name: GroupVersionKindField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            GroupVersionKindField::Group => writer.string(self.group),
            GroupVersionKindField::Version => writer.string(self.version),
            GroupVersionKindField::Kind => writer.string(self.kind),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PackageRequirement<'_> {
    type Field = PackageRequirementField;

    fn write(
        self,
        name: PackageRequirementField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PackageRequirementField::PackageName => writer.string(self.package),
            PackageRequirementField::VersionRange => writer.string(self.version_range),
        }
        Ok(())
    }
}
