//! Bundles and their order.

use std::cmp::{Ordering, Reverse};

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

/// What a bundle is ordered by: package, then highest version and release first, then name.
///
/// A version counts only if it is strict semver; what has none comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleKey<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Version, when there is one.
    pub version: Option<&'a str>,
    /// Release of the version, when there is one.
    pub release: Option<&'a str>,
    /// Name of the bundle.
    pub name: &'a str,
}

/// A [`BundleKey`] whose version is read, so that it compares quickly.
#[derive(Clone, Copy)]
pub(super) struct ParsedKey<'a> {
    package: &'a str,
    version: Option<Version<'a>>,
    release: Option<Release<'a>>,
    pub(super) name: &'a str,
}

/// An image that a bundle needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelatedImage<'a> {
    /// What the bundle calls it.
    pub name: JsonText<'a>,
    /// Image reference.
    pub image: JsonText<'a>,
}

const EMPTY: JsonText<'static> = JsonText(b"\"\"");

impl<'a> Bundle<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Self {
        Self { catalog, id }
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
        self.catalog.bundle_key(self.record())
    }

    /// Its place in the order of [`Catalog::bundles`].
    pub fn place(self) -> usize {
        self.id as usize
    }

    /// Image reference of its content; empty when the blob has none.
    pub fn image(self) -> JsonText<'a> {
        let span = self.record().image;
        if span.is_none() { EMPTY } else { JsonText(self.catalog.slice(self.record().meta, span)) }
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
        let mut related = RelatedImage { name: EMPTY, image: EMPTY };
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
    pub(super) fn parse(&self) -> ParsedKey<'a> {
        ParsedKey {
            package: self.package,
            version: self.version.and_then(|text| Version::parse(text).ok()),
            release: self.release.and_then(|text| Release::parse(text).ok()),
            name: self.name,
        }
    }

    /// The order of [`Catalog::bundles`].
    pub fn order(&self, other: &BundleKey<'_>) -> Ordering {
        self.package.cmp(other.package).then_with(|| self.parse().order(&other.parse()))
    }
}

impl ParsedKey<'_> {
    pub(super) fn order(&self, other: &ParsedKey<'_>) -> Ordering {
        self.package
            .cmp(other.package)
            .then_with(|| highest_first(self.version.as_ref(), other.version.as_ref(), Version::precedence))
            .then_with(|| highest_first(self.release.as_ref(), other.release.as_ref(), Release::precedence))
            .then_with(|| self.name.cmp(other.name))
    }
}

/// Highest first, and what is absent last.
fn highest_first<T>(a: Option<&T>, b: Option<&T>, compare: impl Fn(&T, &T) -> Ordering) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare(b, a),
        (a, b) => Reverse(a.is_some()).cmp(&Reverse(b.is_some())),
    }
}
