//! One catalog: canonical lines with an index over them, immutable once built.
//!
//! The lines stay where they are (usually a memory map). The index holds interned names, versions, edges, APIs and
//! byte ranges into the lines: it grows with the number of objects, never with their size. Descriptions, icons, images
//! and raw values are cut from the lines when somebody asks.
//!
//! [`Package`], [`Channel`], [`ChannelEntry`], [`Bundle`], [`Property`], [`Deprecation`] and [`Meta`] are handles: a
//! reference to the catalog and a number, free to copy. A catalog does not know its own name, its source or its
//! readers.
//!
//! What lists need of each package ([`Summary`]) and its icon are decoded once, when they are first asked for; all else
//! that a bundle says of itself ([`CsvMetadata`]) whenever it is asked for.
//!
//! What wins: of two packages, channels or bundles with one key the first in catalog order is the typed object. The
//! other, and whatever belongs to a package that is not there, is a [`Problem`] and stays among [`Catalog::metas`].

mod build;
mod bundle;
mod check;
mod constraint;
mod decode;
mod derived;
mod find;
mod icon;
mod link;
mod metadata;
mod names;
mod package;
mod pointer;
mod property;
mod record;
mod shape;
mod summary;
mod values;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

pub use bundle::{Bundle, BundleKey, BundleVersion, RelatedImage};
pub use constraint::{Constraint, MAX_CONSTRAINT_BYTES, MAX_CONSTRAINT_DEPTH, Rule};
pub use find::{
    ApiFilter, BundleFilter, Facet, FacetCounts, FacetValue, FoundPackages, MAX_DESCRIPTION_BYTES, MAX_PACKAGE_WORDS,
    MAX_SEARCH_LETTERS, MAX_SEARCH_WORDS, MAX_WORD_LETTERS, MetaFilter, PackageFilter,
};
pub use icon::{FoundIcon, Icon, Icons};
pub use metadata::{
    CapabilityLevel, CrdDescription, CsvMetadata, InstallMode, InstallModes, Link, Maintainer, NativeApi,
};
pub use package::{Channel, ChannelEntry, Deprecation, Head, Package};
pub use pointer::{BadPointer, part_at};
pub use property::{GroupVersionKind, PackageRequirement, Property, PropertyKind};
pub use summary::Summary;

pub use crate::manifest::{MAX_MANIFEST_BYTES, MAX_MANIFEST_DEPTH, Manifests, read_manifest};

use crate::origin::Origins;
use crate::problem::Problem;
use derived::Derived;
use names::{Name, Names};
use record::{
    BundleRecord, ChannelRecord, DeprecationRecord, EntryRecord, FileRecord, GvkRecord, MetaRecord, PackageRecord,
    PropertyRecord, RequirementRecord, Span,
};

/// An immutable, indexed catalog.
pub struct Catalog {
    content: Bytes,
    names: Names,
    files: Vec<FileRecord>,
    metas: Vec<MetaRecord>,
    /// By name.
    packages: Vec<PackageRecord>,
    /// By package, then by name.
    channels: Vec<ChannelRecord>,
    /// By channel, then in catalog order.
    entries: Vec<EntryRecord>,
    skips: Vec<Name>,
    /// By package, then highest version first, then by name; without a version last.
    bundles: Vec<BundleRecord>,
    /// By package, then by name.
    bundles_by_name: Vec<u32>,
    /// By image, then in the order of `bundles`.
    bundles_by_image: Vec<u32>,
    /// The entries that name a bundle, by bundle, then in the order of `entries`.
    placements: Vec<u32>,
    properties: Vec<PropertyRecord>,
    gvks: Vec<GvkRecord>,
    requirements: Vec<RequirementRecord>,
    deprecations: Vec<DeprecationRecord>,
    schemas: Vec<SchemaCount>,
    problems: Vec<Problem>,
    derived: Derived,
}

/// How many blobs of one schema a catalog holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaCount {
    /// The schema, such as `olm.bundle`; empty for blobs without one.
    pub schema: Arc<str>,
    /// How many blobs have it.
    pub count: u32,
    /// Whether its blobs have typed objects here.
    pub known: bool,
}

/// Bytes of a content beyond which it is refused: places in it are `u32`.
pub const MAX_CONTENT_BYTES: usize = u32::MAX as usize;

/// Why lines cannot be indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// A line that is no canonical JSON object, or not where the origins say: what was stored is damaged and must be
    /// made anew.
    #[error("line {line} of the stored content is damaged")]
    Damaged {
        /// The line of the content, from 1.
        line: usize,
    },
    /// The content is larger than [`MAX_CONTENT_BYTES`].
    #[error("the content has {bytes} bytes, and at most {MAX_CONTENT_BYTES} can be indexed")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
}

/// The text of a JSON string, with quotes and escapes, exactly as it stands in the canonical line.
///
/// It can be copied into a JSON document as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonText<'a>(&'a [u8]);

/// The text of any JSON value, exactly as it stands in the canonical line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonValue<'a>(&'a [u8]);

/// A blob of any schema.
#[derive(Clone, Copy)]
pub struct Meta<'a> {
    catalog: &'a Catalog,
    id: u32,
}

impl Catalog {
    /// Indexes canonical lines and finds every problem in them.
    ///
    /// # Errors
    /// Where a line is no canonical JSON object, the origins are of other lines, or the content is too large.
    pub fn build(content: Bytes, origins: &Origins) -> Result<Self, IndexError> {
        build::build(content, origins)
    }

    /// Indexes canonical lines whose problems are known already: what [`Catalog::problems`] said when the same lines
    /// were built. It leaves out the checks, which take longer than the index.
    ///
    /// # Errors
    /// As [`Catalog::build`].
    pub fn reopen(content: Bytes, origins: &Origins, problems: Vec<Problem>) -> Result<Self, IndexError> {
        build::reopen(content, origins, problems)
    }

    /// The canonical lines, each with its line feed.
    pub fn content(&self) -> &Bytes {
        &self.content
    }

    /// How many blobs there are of each schema, by schema.
    pub fn schemas(&self) -> &[SchemaCount] {
        &self.schemas
    }

    /// What is odd in the content, in catalog order.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Every package, by name.
    pub fn packages(&self) -> impl DoubleEndedIterator<Item = Package<'_>> + ExactSizeIterator {
        (0..self.packages.len()).map(|at| self.package_at(at))
    }

    /// The package at this place in the order of [`Catalog::packages`].
    ///
    /// # Panics
    /// When there are not that many.
    pub fn package_at(&self, at: usize) -> Package<'_> {
        assert!(at < self.packages.len(), "package {at} of {}", self.packages.len());
        Package::new(self, id(at))
    }

    /// Where the package of this name stands, or else where it would stand.
    pub fn package_position(&self, name: &str) -> Result<usize, usize> {
        self.packages.binary_search_by(|package| self.names.get(package.name).cmp(name))
    }

    /// One package, by name.
    pub fn package(&self, name: &str) -> Option<Package<'_>> {
        self.package_position(name).ok().map(|at| self.package_at(at))
    }

    /// Every bundle: by package, then highest version first, then by name; those without a version come last.
    pub fn bundles(&self) -> impl DoubleEndedIterator<Item = Bundle<'_>> + ExactSizeIterator {
        (0..self.bundles.len()).map(|at| self.bundle_at(at))
    }

    /// The bundle at this place in the order of [`Catalog::bundles`].
    ///
    /// # Panics
    /// When there are not that many.
    pub fn bundle_at(&self, at: usize) -> Bundle<'_> {
        assert!(at < self.bundles.len(), "bundle {at} of {}", self.bundles.len());
        Bundle::new(self, id(at))
    }

    /// The first bundle with this image, in the order of [`Catalog::bundles`].
    pub fn bundle_by_image(&self, image: &str) -> Option<Bundle<'_>> {
        // What needs escapes in JSON is no image reference, so the quoted text is what stands in the line.
        let quoted = format!("\"{image}\"");
        let image = |&at: &u32| Bundle::new(self, at).image().raw();
        let at = self.bundles_by_image.partition_point(|at| image(at) < quoted.as_bytes());
        self.bundles_by_image.get(at).filter(|at| image(at) == quoted.as_bytes()).map(|&at| Bundle::new(self, at))
    }

    /// How many blobs there are.
    pub fn meta_count(&self) -> usize {
        self.metas.len()
    }

    /// The blob at this place in catalog order.
    ///
    /// # Panics
    /// When there are not that many.
    pub fn meta_at(&self, at: usize) -> Meta<'_> {
        assert!(at < self.metas.len(), "blob {at} of {}", self.metas.len());
        Meta { catalog: self, id: id(at) }
    }

    /// The value at a span of a blob's line.
    fn slice(&self, meta: u32, span: Span) -> &[u8] {
        let start = self.metas[meta as usize].start as usize + span.start as usize;
        &self.content[start..start + span.len as usize]
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("packages", &self.packages.len())
            .field("bundles", &self.bundles.len())
            .field("metas", &self.metas.len())
            .finish_non_exhaustive()
    }
}

/// Places and ids are `u32`: there are fewer objects than bytes, and [`MAX_CONTENT_BYTES`] bounds those.
fn id(at: usize) -> u32 {
    u32::try_from(at).expect("a catalog has fewer than 2^32 objects")
}

impl<'a> Meta<'a> {
    /// Its schema; empty when it has none.
    pub fn schema(self) -> &'a str {
        self.catalog.names.get(self.record().schema)
    }

    /// Its `name`, when it has one.
    pub fn name(self) -> Option<&'a str> {
        self.catalog.names.get_optional(self.record().name)
    }

    /// Its `package`, when it has one.
    pub fn package_name(self) -> Option<&'a str> {
        self.catalog.names.get_optional(self.record().package)
    }

    /// The whole blob, without its line feed.
    pub fn blob(self) -> JsonValue<'a> {
        JsonValue(self.catalog.slice(self.id, Span { start: 0, len: self.record().len }))
    }

    /// Where its line is in [`Catalog::content`], its line feed included.
    pub fn line_span(self) -> Range<usize> {
        let MetaRecord { start, len, .. } = *self.record();
        start as usize..start as usize + len as usize + 1
    }

    /// The file it is in, from the root of the catalog.
    pub fn file(self) -> &'a Arc<str> {
        &self.file_record().path
    }

    /// Its place among the blobs of its file, from 0.
    pub fn index(self) -> u32 {
        self.id - self.file_record().first
    }

    /// The line of its file on which it begins, from 1.
    pub fn line(self) -> u32 {
        self.record().line
    }

    fn record(self) -> &'a MetaRecord {
        &self.catalog.metas[self.id as usize]
    }

    fn file_record(self) -> &'a FileRecord {
        let after = self.catalog.files.partition_point(|file| file.first <= self.id);
        &self.catalog.files[after - 1]
    }
}

impl<'a> JsonText<'a> {
    pub(crate) const EMPTY: JsonText<'static> = JsonText(b"\"\"");

    /// The text with its quotes and escapes.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Whether it has no characters.
    pub fn is_empty(self) -> bool {
        self.0.len() <= Self::EMPTY.0.len()
    }

    /// The characters.
    pub fn decode(self) -> std::borrow::Cow<'a, str> {
        crate::json::Text(self.0).decode().unwrap_or_default()
    }
}

impl<'a> JsonValue<'a> {
    /// The text of the value.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }
}
