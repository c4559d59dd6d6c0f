//! `Bundle`, `RelatedImage`, `GroupVersionKind` and `PackageRequirement`.

use std::collections::BTreeSet;

use fbc::{Bundle, GroupVersionKind, PackageRequirement, RelatedImage};

use super::catalog::CatalogObject;
use super::property::PropertyOwner;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::{
    BundleField, GroupVersionKindField, PackageRequirementField, RelatedImageField,
};
use crate::opaque_key::KeyTag;

impl<'a> Object<'a> for InCatalog<'a, Bundle<'a>> {
    type Field = BundleField;

    fn write(
        self,
        name: BundleField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
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
                return writer.object_list(
                    bundle.channel_entries().map(|entry| self.with(entry)),
                    field,
                );
            }
            BundleField::ChannelNames => {
                let names: BTreeSet<_> = bundle
                    .channel_entries()
                    .map(|entry| entry.channel().name())
                    .collect();
                writer.strings(names);
            }
            BundleField::Metadata => return writer.metadata(self, field),
            BundleField::Deprecation => return writer.optional_object(bundle.deprecation(), field),
            BundleField::ProvidedApis => {
                return writer.object_list(bundle.provided_apis().map(|api| self.with(api)), field);
            }
            BundleField::RequiredApis => {
                return writer.object_list(bundle.required_apis().map(|api| self.with(api)), field);
            }
            BundleField::RequiredPackages => {
                return writer.object_list(
                    bundle
                        .required_packages()
                        .map(|required| self.with(required)),
                    field,
                );
            }
            BundleField::Requirements => {
                let requirements = bundle.requirements();
                return writer.object_list(
                    requirements
                        .iter()
                        .map(|requirement| self.with(requirement)),
                    field,
                );
            }
            BundleField::RequiredBy => {
                let places = bundle.required_by(writer.work)?;
                return writer.bundles_at(self.served, places, field);
            }
            BundleField::MaxOpenShiftVersion => {
                writer.optional_string(bundle.max_openshift_version());
            }
            BundleField::Lifecycle => {
                let lifecycle = bundle.lifecycle(writer.work)?;
                return writer.optional_object(lifecycle.as_ref(), field);
            }
            BundleField::OlmV1 => {
                let judgement = bundle.olm_v1(&mut writer.manifests, writer.work)?;
                return writer.object(&judgement, field);
            }
            BundleField::Installation => return writer.installation(self, field),
            BundleField::RelatedImages => {
                return writer.object_list(bundle.related_images(), field);
            }
            BundleField::Properties => {
                return writer.properties(self.with(PropertyOwner::Bundle(bundle)), field);
            }
            BundleField::Successors => return writer.bundle_successors(self, field),
            BundleField::Predecessors => return writer.bundle_predecessors(self, field),
            BundleField::UpgradePath => return writer.upgrade_path(self, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for RelatedImage<'_> {
    type Field = RelatedImageField;

    fn write(
        self,
        name: RelatedImageField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            RelatedImageField::Name => writer.json(self.name.raw()),
            RelatedImageField::Image => writer.json(self.image.raw()),
        }
    }
}

impl<'a> Object<'a> for InCatalog<'a, GroupVersionKind<'_>> {
    type Field = GroupVersionKindField;

    fn write(
        self,
        name: GroupVersionKindField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            GroupVersionKindField::Group => writer.string(self.item.group),
            GroupVersionKindField::Version => writer.string(self.item.version),
            GroupVersionKindField::Kind => writer.string(self.item.kind),
            GroupVersionKindField::Providers => return writer.providers_of_api(self, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InCatalog<'a, PackageRequirement<'_>> {
    type Field = PackageRequirementField;

    fn write(
        self,
        name: PackageRequirementField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PackageRequirementField::PackageName => writer.string(self.item.package),
            PackageRequirementField::VersionRange => writer.string(self.item.version_range),
            PackageRequirementField::Package => {
                return writer
                    .optional_object(InCatalog::package(self.served, self.item.package), field);
            }
            PackageRequirementField::Providers => return writer.providers_of_package(self, field),
        }
        Ok(())
    }
}
