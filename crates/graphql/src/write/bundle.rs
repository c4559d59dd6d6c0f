//! `Bundle`, and the small types that only bundles have.

use fbc::catalog::{Bundle, GroupVersionKind, PackageRequirement, RelatedImage};

use super::{Field, In, Object, Outcome, Writer};
use crate::fields::{BundleField, GroupVersionKindField, PackageRequirementField, RelatedImageField};
use crate::key::Tag;

impl<'a> Object<'a> for In<'a, Bundle<'a>> {
    type Field = BundleField;

    fn write(self, name: BundleField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let bundle = self.it;
        match name {
            BundleField::Id => {
                let parts = [&self.served.name, bundle.package().name(), bundle.name()];
                to.key(Tag::BUNDLE, parts.map(Some));
            }
            BundleField::Package => return to.one(self.with(bundle.package()), field),
            BundleField::Name => to.text(bundle.name()),
            BundleField::Version => to.maybe_text(bundle.version()),
            BundleField::Release => to.maybe_text(bundle.release()),
            BundleField::Image => return to.raw(bundle.image().raw()),
            BundleField::ChannelEntries => {
                return to.many(bundle.channel_entries().map(|entry| self.with(entry)), field);
            }
            BundleField::Metadata => return to.metadata(bundle, field),
            BundleField::Deprecation => return to.maybe(bundle.deprecation(), field),
            BundleField::ProvidedApis => return to.many(bundle.provided_apis(), field),
            BundleField::RequiredApis => return to.many(bundle.required_apis(), field),
            BundleField::RequiredPackages => return to.many(bundle.required_packages(), field),
            BundleField::RelatedImages => return to.many(bundle.related_images(), field),
            BundleField::Properties => return to.properties(bundle.properties(), field),
            BundleField::Successors => return to.successors_of_bundle(self, field),
            BundleField::UpgradePath => return to.upgrade_path(self, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for RelatedImage<'_> {
    type Field = RelatedImageField;

    fn write(self, name: RelatedImageField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            RelatedImageField::Name => to.raw(self.name.raw()),
            RelatedImageField::Image => to.raw(self.image.raw()),
        }
    }
}

impl<'a> Object<'a> for GroupVersionKind<'_> {
    type Field = GroupVersionKindField;

    fn write(self, name: GroupVersionKindField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            GroupVersionKindField::Group => to.text(self.group),
            GroupVersionKindField::Version => to.text(self.version),
            GroupVersionKindField::Kind => to.text(self.kind),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PackageRequirement<'_> {
    type Field = PackageRequirementField;

    fn write(self, name: PackageRequirementField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            PackageRequirementField::PackageName => to.text(self.package),
            PackageRequirementField::VersionRange => to.text(self.version_range),
        }
        Ok(())
    }
}
