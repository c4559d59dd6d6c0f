//! Bundles: handles that read the index, and their sort key.

use std::cmp::Ordering;

use super::package::ids;
use super::property::{GroupVersionKind, PackageRequirement, Property, PropertyKind, properties};
use super::record::BundleRecord;
use super::{Catalog, ChannelEntry, Deprecation, JsonText, Meta, Package};
use crate::json::{JsonCursor, JsonError, is_field};
use crate::version::{Release, Version};

/// One installable version of a package: an `olm.bundle`.
#[derive(Clone, Copy)]
pub struct Bundle<'a> {
    catalog: &'a Catalog,
    id: u32,
}

/// Sort key of bundles: package, then highest version first, then name; bundles without a version
/// come last.
#[derive(Clone, Copy, Debug)]
pub struct BundleKey<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Version and release; `None` without a well-formed version.
    pub version: Option<BundleVersion<'a>>,
    /// Name of the bundle.
    pub name: &'a str,
}

/// Version and release, by which bundles are compared.
#[derive(Clone, Copy, Debug)]
pub struct BundleVersion<'a> {
    /// The version, strict semver.
    pub version: Version<'a>,
    /// The release; `None` without a well-formed one.
    pub release: Option<Release<'a>>,
}

/// An entry of the `relatedImages` of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelatedImage<'a> {
    /// Name within the bundle.
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

    /// Returns the package that the bundle belongs to.
    pub fn package(self) -> Package<'a> {
        Package::new(self.catalog, self.record().package)
    }

    /// Returns the name, unique in its package.
    pub fn name(self) -> &'a str {
        self.catalog.index.names.get(self.record().name)
    }

    /// Returns the semantic version, from its `olm.package` property; `None` when that is missing
    /// or malformed.
    pub fn version(self) -> Option<&'a str> {
        self.catalog.index.names.get_optional(self.record().version)
    }

    /// Returns the release of that version, if it has a well-formed one.
    pub fn release(self) -> Option<&'a str> {
        self.catalog.index.names.get_optional(self.record().release)
    }

    /// Returns its sort key.
    pub fn key(self) -> BundleKey<'a> {
        BundleKey::new(
            self.package().name(),
            self.version(),
            self.release(),
            self.name(),
        )
    }

    /// Returns its index in the order of [`Catalog::bundles`].
    pub fn place(self) -> usize {
        self.id as usize
    }

    /// Returns the image reference of the bundle; empty when the blob has none.
    pub fn image(self) -> JsonText<'a> {
        let span = self.record().image;
        if span.is_none() {
            JsonText::EMPTY
        } else {
            JsonText(self.catalog.index.slice(self.record().meta, span))
        }
    }

    /// Iterates over its entries in the channels of its package, by channel, then in catalog order.
    pub fn channel_entries(self) -> impl ExactSizeIterator<Item = ChannelEntry<'a>> {
        ids(&self.record().placements).map(move |at| {
            ChannelEntry::new(self.catalog, self.catalog.index.placements[at as usize])
        })
    }

    /// Returns its deprecation; `None` when the bundle itself is not deprecated.
    pub fn deprecation(self) -> Option<Deprecation<'a>> {
        Deprecation::new(self.catalog, self.record().deprecation)
    }

    /// Iterates over its properties, in catalog order.
    pub fn properties(self) -> impl ExactSizeIterator<Item = Property<'a>> {
        properties(self.catalog, self.record().meta, &self.record().properties)
    }

    /// Iterates over the APIs that it provides, in catalog order.
    pub fn provided_apis(self) -> impl Iterator<Item = GroupVersionKind<'a>> {
        self.properties()
            .filter_map(|property| match property.kind() {
                PropertyKind::Gvk(gvk) => Some(gvk),
                _ => None,
            })
    }

    /// Iterates over the APIs that it requires from other bundles, in catalog order.
    pub fn required_apis(self) -> impl Iterator<Item = GroupVersionKind<'a>> {
        self.properties()
            .filter_map(|property| match property.kind() {
                PropertyKind::GvkRequired(gvk) => Some(gvk),
                _ => None,
            })
    }

    /// Iterates over the packages that it requires, in catalog order.
    pub fn required_packages(self) -> impl Iterator<Item = PackageRequirement<'a>> {
        self.properties()
            .filter_map(|property| match property.kind() {
                PropertyKind::PackageRequired(requirement) => Some(requirement),
                _ => None,
            })
    }

    /// Reads its related images from the line, in catalog order.
    pub fn related_images(self) -> Vec<RelatedImage<'a>> {
        let span = self.record().related_images;
        let mut images = Vec::new();
        if !span.is_none() {
            // Building the catalog rejects lists of another type, so reading cannot fail.
            let _: Result<(), JsonError> = read_images(
                self.catalog.index.slice(self.record().meta, span),
                &mut images,
            );
        }
        images
    }

    /// Returns its blob.
    pub fn meta(self) -> Meta<'a> {
        Meta {
            catalog: self.catalog,
            id: self.record().meta,
        }
    }

    fn record(self) -> &'a BundleRecord {
        &self.catalog.index.bundles[self.id as usize]
    }
}

fn read_images<'a>(text: &'a [u8], images: &mut Vec<RelatedImage<'a>>) -> Result<(), JsonError> {
    JsonCursor::new(text).array(|cursor| {
        let mut related = RelatedImage {
            name: JsonText::EMPTY,
            image: JsonText::EMPTY,
        };
        if !cursor.null()? {
            cursor.object(|cursor, key| {
                let field = if is_field(key, "name") {
                    &mut related.name
                } else if is_field(key, "image") {
                    &mut related.image
                } else {
                    return cursor.value().map(drop);
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
    /// Creates a sort key from texts; a malformed version or release counts as absent.
    pub fn new(
        package: &'a str,
        version: Option<&'a str>,
        release: Option<&'a str>,
        name: &'a str,
    ) -> Self {
        let version = version
            .and_then(|text| Version::parse(text).ok())
            .map(|version| {
                let release = release.and_then(|text| Release::parse(text).ok());
                BundleVersion { version, release }
            });
        Self {
            package,
            version,
            name,
        }
    }

    /// Compares two bundles in the order of [`Catalog::bundles`].
    pub fn order(&self, other: &BundleKey<'_>) -> Ordering {
        let highest_first = || match (&self.version, &other.version) {
            (Some(a), Some(b)) => b.precedence(a),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        self.package
            .cmp(other.package)
            .then_with(highest_first)
            .then_with(|| self.name.cmp(other.name))
    }
}

impl BundleVersion<'_> {
    /// Compares by precedence, lowest first; of equal versions the one without a release is the
    /// lowest.
    pub fn precedence(&self, other: &BundleVersion<'_>) -> Ordering {
        self.version.precedence(&other.version).then_with(|| {
            match (&self.release, &other.release) {
                (Some(a), Some(b)) => a.precedence(b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            }
        })
    }
}
