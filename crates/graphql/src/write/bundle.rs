//! `Bundle`, and the small types that only bundles have.

use fbc::catalog::{Bundle, GroupVersionKind, PackageRequirement, RelatedImage};

use super::{Field, In, Object, Outcome, Writer};
use crate::key::Tag;

impl<'a> Object<'a> for In<'a, Bundle<'a>> {
    fn type_name(self) -> &'static str {
        "Bundle"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let bundle = self.it;
        match field.name {
            "id" => {
                let parts = [&self.served.name, bundle.package().name(), bundle.name()];
                to.key(Tag::BUNDLE, parts.map(Some));
            }
            "package" => return to.one(self.with(bundle.package()), field),
            "name" => to.text(bundle.name()),
            "version" => to.maybe_text(bundle.version()),
            "release" => to.maybe_text(bundle.release()),
            "image" => return to.raw(bundle.image().raw()),
            "channelEntries" => return to.many(bundle.channel_entries().map(|entry| self.with(entry)), field),
            "metadata" => return to.metadata(bundle, field),
            "deprecation" => return to.maybe(bundle.deprecation(), field),
            "providedApis" => return to.many(bundle.provided_apis(), field),
            "requiredApis" => return to.many(bundle.required_apis(), field),
            "requiredPackages" => return to.many(bundle.required_packages(), field),
            "relatedImages" => return to.many(bundle.related_images(), field),
            "properties" => return to.properties(bundle.properties(), field),
            "successors" => return to.successors_of_bundle(self, field),
            "upgradePath" => return to.upgrade_path(self, field),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for RelatedImage<'_> {
    fn type_name(self) -> &'static str {
        "RelatedImage"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "name" => to.raw(self.name.raw()),
            "image" => to.raw(self.image.raw()),
            _ => to.unknown(field),
        }
    }
}

impl<'a> Object<'a> for GroupVersionKind<'_> {
    fn type_name(self) -> &'static str {
        "GroupVersionKind"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "group" => to.text(self.group),
            "version" => to.text(self.version),
            "kind" => to.text(self.kind),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for PackageRequirement<'_> {
    fn type_name(self) -> &'static str {
        "PackageRequirement"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "packageName" => to.text(self.package),
            "versionRange" => to.text(self.version_range),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}
