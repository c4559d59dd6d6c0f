//! `Bundle`, and the small types that only bundles have.

use std::cmp::Ordering;

use fbc::catalog::{Bundle, BundleKey, GroupVersionKind, PackageRequirement, RelatedImage};

use super::connection::Node;
use super::{Field, In, Object, Outcome, Writer};
use crate::catalogs::Served;
use crate::views::graphql::connection::{Found, Item};
use crate::views::graphql::key::{Key, Tag};

impl<'a> Object<'a> for In<'a, Bundle<'a>> {
    fn type_name(self) -> &'static str {
        "Bundle"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let bundle = self.it;
        match field.name {
            "id" => {
                let parts = [&self.served.name, bundle.package().name(), bundle.name()];
                to.key(Tag::Bundle, parts.map(Some));
            }
            "package" => return to.one(self.with(bundle.package()), field),
            "name" => to.text(bundle.name()),
            "version" => to.maybe_text(bundle.version()),
            "release" => to.maybe_text(bundle.release()),
            "image" => return to.raw(bundle.image().raw()),
            "channelEntries" => return to.many(bundle.channel_entries().map(|entry| self.with(entry)), field),
            "deprecation" => return to.maybe(bundle.deprecation(), field),
            "providedApis" => return to.many(bundle.provided_apis(), field),
            "requiredApis" => return to.many(bundle.required_apis(), field),
            "requiredPackages" => return to.many(bundle.required_packages(), field),
            "relatedImages" => return to.many(bundle.related_images(), field),
            "properties" => return to.properties(bundle.properties(), field),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<'a> Item<'a> for In<'a, Bundle<'a>> {
    fn at(served: &'a Served, place: usize) -> Self {
        In { served, it: served.catalog.bundle_at(place) }
    }

    fn order(self, other: Self) -> Ordering {
        self.it.key().order(&other.it.key()).then_with(|| self.served.name.cmp(&other.served.name))
    }

    fn find(served: &'a Served, cursor: &Key) -> Option<Found> {
        let [package, version, release, name, catalog] = cursor.parts(Tag::BundlesByVersion)?;
        let key = BundleKey { package: package?, version, release, name: name? };
        Some(Found::of(served.catalog.bundle_position(&key), served, catalog?))
    }
}

impl<'a> Node<'a> for In<'a, Bundle<'a>> {
    const CONNECTION: &'static str = "BundleConnection";
    const EDGE: &'static str = "BundleEdge";

    fn cursor(self, to: &mut Writer<'a>) {
        let BundleKey { package, version, release, name } = self.it.key();
        let parts = [Some(package), version, release, Some(name), Some(&self.served.name)];
        to.key(Tag::BundlesByVersion, parts);
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
