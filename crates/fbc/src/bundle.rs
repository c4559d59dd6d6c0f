//! Bundles: handles that read the index.

use fbc_read::json::{JsonCursor, JsonError, JsonText, is_field};

use crate::catalog::{Catalog, Meta};
use crate::deprecation::Deprecation;
use crate::gvk::GroupVersionKind;
use crate::ids::id;
use crate::key::BundleKey;
use crate::property::{PackageRequirement, Property, PropertyKind, properties};
use crate::record::BundleRecord;

/// One installable version of a package: an `olm.bundle`.
#[derive(Clone, Copy)]
pub struct Bundle<'a> {
    catalog: &'a Catalog,
    id: u32,
}

/// An entry of the `relatedImages` of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelatedImage<'a> {
    /// Name within the bundle.
    pub name: JsonText<'a>,
    /// Image reference.
    pub image: JsonText<'a>,
}

impl Catalog {
    /// Iterates over all bundles, sorted by package, then highest version first, then by name;
    /// bundles without a version come last.
    pub fn bundles(&self) -> impl DoubleEndedIterator<Item = Bundle<'_>> + ExactSizeIterator {
        (0..self.index.bundles.len()).map(|at| self.bundle_at(at))
    }

    /// Returns the bundle at an index in the order of [`Catalog::bundles`].
    ///
    /// # Panics
    /// Panics when the index is out of range.
    pub fn bundle_at(&self, at: usize) -> Bundle<'_> {
        assert!(
            at < self.index.bundles.len(),
            "bundle {at} of {}",
            self.index.bundles.len()
        );
        Bundle::new(self, id(at))
    }
}

impl<'a> Bundle<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Self {
        Self { catalog, id }
    }

    pub(super) fn catalog(self) -> &'a Catalog {
        self.catalog
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
            self.catalog
                .index
                .package_name(self.record().package as usize),
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
            JsonText::new(self.catalog.index.slice(self.record().meta, span))
        }
    }

    /// Returns its deprecation; `None` when the bundle itself is not deprecated.
    pub fn deprecation(self) -> Option<Deprecation<'a>> {
        Deprecation::new(self.catalog, self.record().deprecation)
    }

    /// Iterates over its properties, in catalog order.
    pub fn properties(self) -> impl ExactSizeIterator<Item = Property<'a>> {
        properties(self.catalog, self.record().meta, self.record().properties)
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
        Meta::new(self.catalog, self.record().meta)
    }

    pub(crate) fn record(self) -> &'a BundleRecord {
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
                    *field = text;
                }
                Ok(())
            })?;
        }
        images.push(related);
        Ok(())
    })
}
