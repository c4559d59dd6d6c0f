//! Bundles and their order.

use std::cmp::Ordering;

use super::package::ids;
use super::property::{GroupVersionKind, PackageRequirement, Property, PropertyKind, properties};
use super::record::BundleRecord;
use super::{Catalog, ChannelEntry, Deprecation, JsonText, Meta, Package};
use crate::json::{Cursor, Fault, is_field};
use crate::version::{Release, Version};

/// One installable version of a package: an `olm.bundle`.
#[derive(Clone, Copy)]
pub struct Bundle<'a> {
    catalog: &'a Catalog,
    id: u32,
}

/// What a bundle is ordered by: package, then highest version first, then name; what has no version comes last.
#[derive(Clone, Copy, Debug)]
pub struct BundleKey<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Version, when there is a well-formed one.
    pub version: Option<BundleVersion<'a>>,
    /// Name of the bundle.
    pub name: &'a str,
}

/// A version with its release, as bundles are compared by them.
#[derive(Clone, Copy, Debug)]
pub struct BundleVersion<'a> {
    /// The version, which is strict semver.
    pub version: Version<'a>,
    /// The release of that version, when there is a well-formed one.
    pub release: Option<Release<'a>>,
}

/// An image that a bundle needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelatedImage<'a> {
    /// What the bundle calls it.
    pub name: JsonText<'a>,
    /// Image reference.
    pub image: JsonText<'a>,
}

impl<'a> Bundle<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Self {
        Self { catalog, id }
    }

    pub(super) fn catalog(self) -> &'a Catalog {
        self.catalog
    }

    /// The package it belongs to.
    pub fn package(self) -> Package<'a> {
        Package::new(self.catalog, self.record().package)
    }

    /// Its name, unique in its package.
    pub fn name(self) -> &'a str {
        self.catalog.names.get(self.record().name)
    }

    /// Semantic version, from its `olm.package` property; `None` when that is missing or malformed.
    pub fn version(self) -> Option<&'a str> {
        self.catalog.names.get_optional(self.record().version)
    }

    /// Release of that version, when it has a well-formed one.
    pub fn release(self) -> Option<&'a str> {
        self.catalog.names.get_optional(self.record().release)
    }

    /// What it is ordered by.
    pub fn key(self) -> BundleKey<'a> {
        BundleKey::new(self.package().name(), self.version(), self.release(), self.name())
    }

    /// Its place in the order of [`Catalog::bundles`].
    pub fn place(self) -> usize {
        self.id as usize
    }

    /// Image reference of its content; empty when the blob has none.
    pub fn image(self) -> JsonText<'a> {
        let span = self.record().image;
        if span.is_none() { JsonText::EMPTY } else { JsonText(self.catalog.slice(self.record().meta, span)) }
    }

    /// Its places in the channels of its package, by channel, then in catalog order.
    pub fn channel_entries(self) -> impl ExactSizeIterator<Item = ChannelEntry<'a>> {
        ids(&self.record().placements)
            .map(move |at| ChannelEntry::new(self.catalog, self.catalog.placements[at as usize]))
    }

    /// Why not to use it any more; `None` when it is not deprecated.
    pub fn deprecation(self) -> Option<Deprecation<'a>> {
        Deprecation::new(self.catalog, self.record().deprecation)
    }

    /// Every property, in catalog order.
    pub fn properties(self) -> impl ExactSizeIterator<Item = Property<'a>> {
        properties(self.catalog, self.record().meta, &self.record().properties)
    }

    /// APIs it provides, in catalog order.
    pub fn provided_apis(self) -> impl Iterator<Item = GroupVersionKind<'a>> {
        self.properties().filter_map(|property| match property.kind() {
            PropertyKind::Gvk(gvk) => Some(gvk),
            _ => None,
        })
    }

    /// APIs it needs some other bundle to provide, in catalog order.
    pub fn required_apis(self) -> impl Iterator<Item = GroupVersionKind<'a>> {
        self.properties().filter_map(|property| match property.kind() {
            PropertyKind::GvkRequired(gvk) => Some(gvk),
            _ => None,
        })
    }

    /// Packages it needs, in catalog order.
    pub fn required_packages(self) -> impl Iterator<Item = PackageRequirement<'a>> {
        self.properties().filter_map(|property| match property.kind() {
            PropertyKind::PackageRequired(requirement) => Some(requirement),
            _ => None,
        })
    }

    /// Images it needs, in catalog order, read from its line.
    pub fn related_images(self) -> Vec<RelatedImage<'a>> {
        let span = self.record().related_images;
        let mut images = Vec::new();
        if !span.is_none() {
            // A list of another shape was refused when the catalog was built, so this has no fault.
            let _: Result<(), Fault> = read_images(self.catalog.slice(self.record().meta, span), &mut images);
        }
        images
    }

    /// Its blob.
    pub fn meta(self) -> Meta<'a> {
        Meta { catalog: self.catalog, id: self.record().meta }
    }

    fn record(self) -> &'a BundleRecord {
        &self.catalog.bundles[self.id as usize]
    }
}

fn read_images<'a>(text: &'a [u8], images: &mut Vec<RelatedImage<'a>>) -> Result<(), Fault> {
    Cursor::new(text).array(|cursor| {
        let mut related = RelatedImage { name: JsonText::EMPTY, image: JsonText::EMPTY };
        if !cursor.null()? {
            cursor.object(|cursor, key| {
                let field = match () {
                    () if is_field(key, "name") => &mut related.name,
                    () if is_field(key, "image") => &mut related.image,
                    () => return cursor.value().map(drop),
                };
                if let Some(text) = cursor.optional_text()? {
                    *field = JsonText(text.0);
                }
                Ok(())
            })?;
        }
        images.push(related);
        Ok(())
    })
}

impl<'a> BundleKey<'a> {
    /// The key of a bundle from texts; what is malformed in them is absent.
    pub fn new(package: &'a str, version: Option<&'a str>, release: Option<&'a str>, name: &'a str) -> Self {
        let version = version.and_then(|text| Version::parse(text).ok()).map(|version| {
            let release = release.and_then(|text| Release::parse(text).ok());
            BundleVersion { version, release }
        });
        Self { package, version, name }
    }

    /// The order of [`Catalog::bundles`].
    pub fn order(&self, other: &BundleKey<'_>) -> Ordering {
        let highest_first = || match (&self.version, &other.version) {
            (Some(a), Some(b)) => b.precedence(a),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        self.package.cmp(other.package).then_with(highest_first).then_with(|| self.name.cmp(other.name))
    }
}

impl BundleVersion<'_> {
    /// The order of versions, lowest first; of equal ones the one without a release is the lowest.
    pub fn precedence(&self, other: &BundleVersion<'_>) -> Ordering {
        self.version.precedence(&other.version).then_with(|| match (&self.release, &other.release) {
            (Some(a), Some(b)) => a.precedence(b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        })
    }
}
