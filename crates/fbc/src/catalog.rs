//! An immutable catalog: canonical lines with an index over them.
//!
//! The lines stay where they are (usually in a memory map). The index holds interned names,
//! versions, edges, APIs and byte ranges into the lines: it grows with the number of objects, never
//! with their size. Descriptions, icons, images and raw values are read from the lines on demand.
//!
//! [`Package`], [`Channel`], [`ChannelEntry`], [`Bundle`], [`Property`], [`Deprecation`] and
//! [`Meta`] are handles: a reference to the catalog and a number, cheap to copy. A catalog does not
//! know its own name or source.
//!
//! The [`Summary`] and the icon of each package are decoded once, on first use; the other metadata
//! of a bundle ([`CsvMetadata`]) is decoded at each call.
//!
//! Of several packages, channels or bundles with the same key, the first in catalog order becomes
//! the typed object. The others, and objects of unknown packages, are reported as a [`Problem`] and
//! remain available as [`Meta`].

mod build;
mod bundle;
mod channel;
mod check;
mod constraint;
mod decode;
mod derived;
mod find;
mod go_types;
mod icon;
mod lifecycle;
mod link;
mod metadata;
mod names;
mod package;
mod platform;
mod pointer;
mod property;
mod record;
mod requirement;
mod summary;
mod value;
mod values;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

pub use bundle::{Bundle, BundleKey, BundleVersion, RelatedImage};
pub use constraint::{Constraint, ConstraintRule, MAX_CONSTRAINT_BYTES, MAX_CONSTRAINT_DEPTH};
pub use find::{
    ApiFilter, BundleFilter, BundleSort, Completion, CompletionKind, CompletionMatch, Facet,
    FacetCounts, FacetValue, FoundPackages, MAX_COMPLETED_LETTERS, MAX_DESCRIPTION_BYTES,
    MAX_PACKAGE_WORDS, MAX_SEARCH_LETTERS, MAX_SEARCH_WORDS, MAX_WORD_LETTERS, MetaFilter,
    PackageFilter, SearchField, SearchMatch, SortDirection,
};
pub use icon::{FoundIcon, Icon, Icons, detect_media_type};
pub use lifecycle::{
    LIFECYCLE_SCHEMA, PlatformSupport, SupportPhase, VersionLifecycle, parse_date,
};
pub use metadata::{
    ApiServiceDescription, CapabilityLevel, CrdDescription, CsvMetadata, FieldDescriptor,
    InstallMode, InstallModes, Link, Maintainer, PolicyRule, ResourceReference,
    ServiceAccountPermissions, WebhookDescription, WebhookRule, WebhookType, first_sentence,
    short_name,
};
pub use package::{Channel, ChannelEntry, Deprecation, Head, Package};
pub use platform::{Platform, PlatformVersion, PlatformVersionError};
pub use pointer::{JsonPointerError, resolve_pointer};
pub use property::{
    GroupVersionKind, PackageRequirement, Property, PropertyKind, RawGroupVersionKind,
};
pub use requirement::{REQUIREMENT_TYPES, Requirement, RequirementRule};
pub use summary::Summary;
pub use value::WrongType;
pub use values::{CUSTOM_NAME_RULE, TYPED_SCHEMAS, is_custom_name};

pub use crate::manifest::{MAX_MANIFEST_BYTES, MAX_MANIFEST_DEPTH, Manifests, read_manifest};

use crate::origin::Origins;
use crate::problem::{Problem, Problems, Severity};
use derived::Derived;
use names::{Name, NameTable};
use record::{
    BundleRecord, ChannelRecord, DeprecationRecord, EntryRecord, FileRecord, GvkRecord, MetaRecord,
    PackageRecord, PropertyRecord, RequirementRecord, Span,
};

/// An immutable, indexed catalog.
///
/// ```
/// use fbc::origin::FileOrigin;
/// use fbc::{Catalog, Origins};
///
/// let lines = b"{\"defaultChannel\":\"stable\",\"name\":\"etcd\",\"schema\":\"olm.package\"}\n";
/// let file = FileOrigin { path: "etcd.json".to_owned(), lines: vec![1], ..FileOrigin::default() };
/// let catalog = Catalog::build(lines[..].into(), &Origins { files: vec![file], ..Origins::default() })?;
///
/// let package = catalog.package("etcd").ok_or("no such package")?;
/// assert_eq!(package.default_channel_name(), "stable");
/// assert!(package.default_channel().is_none());
/// assert_eq!(catalog.problems()[0].code.as_str(), "PACKAGE_DEFAULT_CHANNEL_UNKNOWN");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Catalog {
    index: Arc<ContentIndex>,
    files: Vec<FileRecord>,
    /// The line of its file on which each blob begins, counted from 1.
    lines: Vec<u32>,
    problems: Problems,
    /// Made when first asked for.
    problem_counts: OnceLock<Box<[PackageProblems]>>,
}

/// What the lines alone decide, so that catalogs of equal content share it: all but the files and
/// the problems in them.
struct ContentIndex {
    content: Bytes,
    names: NameTable,
    metas: Vec<MetaRecord>,
    /// Sorted by name.
    packages: Vec<PackageRecord>,
    /// Sorted by package, then by name.
    channels: Vec<ChannelRecord>,
    /// Sorted by channel, then in catalog order.
    entries: Vec<EntryRecord>,
    skips: Vec<Name>,
    /// Sorted by package, then highest version first, then by name; bundles without a version come
    /// last.
    bundles: Vec<BundleRecord>,
    /// Positions in `bundles`, sorted by package, then by name.
    bundles_by_name: Vec<u32>,
    /// Positions in `bundles`, sorted by image, then by position.
    bundles_by_image: Vec<u32>,
    /// Positions in `entries` of the entries of each bundle, sorted by bundle, then by position.
    placements: Vec<u32>,
    properties: Vec<PropertyRecord>,
    gvks: Vec<GvkRecord>,
    requirements: Vec<RequirementRecord>,
    deprecations: Vec<DeprecationRecord>,
    schemas: Vec<SchemaCount>,
    derived: Derived,
}

/// Number of blobs of one schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaCount {
    /// The schema, such as `olm.bundle`; empty for blobs without one.
    pub schema: Arc<str>,
    /// Number of blobs.
    pub count: u32,
    /// Whether this crate indexes the schema as typed objects.
    pub known: bool,
}

/// Numbers of the listed problems of a package: those that are only counted are not known by
/// package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackageProblems {
    errors: u32,
    warnings: u32,
}

/// Maximum size of a content, in bytes. Offsets into it are `u32`.
pub const MAX_CONTENT_BYTES: usize = u32::MAX as usize;

/// Number of objects that a catalog may have however small its files are: blobs, channel entries,
/// skips, properties and deprecations. Each takes up to 70 bytes of memory while the catalog is
/// indexed.
pub const FREE_OBJECTS: usize = 500_000;

/// Number of bytes of its files for which a catalog may have one object more than [`FREE_OBJECTS`].
/// The files of real catalogs have more than 1,000 bytes per object; the shortest entry with a name
/// has more than 8.
pub const BYTES_PER_OBJECT: u64 = 8;

/// An error that prevents lines from being indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// A line is not a canonical JSON object, or the origins are of another content. The stored
    /// content is damaged and must be loaded again.
    #[error("line {line} of the stored content is damaged")]
    Damaged {
        /// Line of the content, counted from 1.
        line: usize,
    },
    /// The catalog has more objects than its files justify; see [`FREE_OBJECTS`] and
    /// [`BYTES_PER_OBJECT`].
    #[error(
        "the first {line} blobs have more than {max} objects (blobs, channel entries, skips, properties and \
         deprecations), which is the most for files of this size: remove empty objects"
    )]
    TooManyObjects {
        /// Number of blobs up to the one with too many.
        line: usize,
        /// Maximum number of objects.
        max: usize,
    },
    /// The content is larger than [`MAX_CONTENT_BYTES`].
    #[error("the content has {bytes} bytes, and at most {MAX_CONTENT_BYTES} can be indexed")]
    TooLarge {
        /// Size of the content, in bytes.
        bytes: usize,
    },
}

/// The text of a JSON string with quotes and escapes, exactly as in the canonical line.
///
/// It can be copied verbatim into a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonText<'a>(&'a [u8]);

/// The text of a JSON value, exactly as in the canonical line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonValue<'a>(&'a [u8]);

/// A blob of any schema, with its origin.
#[derive(Clone, Copy)]
pub struct Meta<'a> {
    catalog: &'a Catalog,
    id: u32,
}

impl Catalog {
    /// Indexes canonical lines and finds every problem in them.
    ///
    /// # Errors
    /// Fails when a line is not a canonical JSON object, the origins belong to another content, or
    /// the content is too large.
    pub fn build(content: Bytes, origins: &Origins) -> Result<Self, IndexError> {
        build::build(content, origins)
    }

    /// Indexes canonical lines whose problems are known: those that [`Catalog::all_problems`]
    /// returned for the same lines. Skips validation, which takes longer than indexing.
    ///
    /// # Errors
    /// Fails as [`Catalog::build`] does.
    pub fn reopen(
        content: Bytes,
        origins: &Origins,
        problems: Problems,
    ) -> Result<Self, IndexError> {
        build::reopen(content, origins, problems)
    }

    /// Shares the index of another catalog of the same content, in place of its own.
    ///
    /// # Panics
    /// Panics when the contents differ in length.
    #[must_use]
    pub fn with_index_of(self, other: &Self) -> Self {
        assert_eq!(
            self.index.content.len(),
            other.index.content.len(),
            "only equal contents share an index"
        );
        Self {
            index: Arc::clone(&other.index),
            ..self
        }
    }

    /// Returns whether both share one index.
    pub fn shares_index_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.index, &other.index)
    }

    /// Returns the canonical lines, each with its line feed.
    pub fn content(&self) -> &Bytes {
        &self.index.content
    }

    /// Returns the number of blobs of each schema, sorted by schema.
    pub fn schemas(&self) -> &[SchemaCount] {
        &self.index.schemas
    }

    /// Returns the path of each file with blobs, and the index of its first blob in the order of
    /// the catalog.
    pub fn files(&self) -> impl Iterator<Item = (&str, usize)> {
        self.files
            .iter()
            .map(|file| (&*file.path, file.first as usize))
    }

    /// Returns the listed validation problems of the content, in catalog order.
    /// [`Catalog::all_problems`] also has the number of those that are only counted.
    pub fn problems(&self) -> &[Problem] {
        &self.problems.listed
    }

    /// Returns the validation problems of the content: the first of each code, and how many there
    /// are.
    pub fn all_problems(&self) -> &Problems {
        &self.problems
    }

    /// Returns the numbers of the listed problems of a package.
    pub(crate) fn problem_counts(&self, package: usize) -> PackageProblems {
        let counts = self
            .problem_counts
            .get_or_init(|| PackageProblems::of_packages(self));
        counts[package]
    }

    /// Iterates over all packages, sorted by name.
    pub fn packages(&self) -> impl DoubleEndedIterator<Item = Package<'_>> + ExactSizeIterator {
        (0..self.index.packages.len()).map(|at| self.package_at(at))
    }

    /// Returns the package at an index in the order of [`Catalog::packages`].
    ///
    /// # Panics
    /// Panics when the index is out of range.
    pub fn package_at(&self, at: usize) -> Package<'_> {
        assert!(
            at < self.index.packages.len(),
            "package {at} of {}",
            self.index.packages.len()
        );
        Package::new(self, id(at))
    }

    /// Returns the index of the package of a name, or as error the index where it would be
    /// inserted.
    pub fn package_position(&self, name: &str) -> Result<usize, usize> {
        self.index
            .packages
            .binary_search_by(|package| self.index.names.get(package.name).cmp(name))
    }

    /// Finds a package by name, in logarithmic time.
    pub fn package(&self, name: &str) -> Option<Package<'_>> {
        self.package_position(name)
            .ok()
            .map(|at| self.package_at(at))
    }

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

    /// Returns the entry at an index in the order of the packages, their channels and the entries
    /// of these.
    ///
    /// # Panics
    /// Panics when the index is out of range.
    pub fn entry_at(&self, at: usize) -> ChannelEntry<'_> {
        assert!(
            at < self.index.entries.len(),
            "entry {at} of {}",
            self.index.entries.len()
        );
        ChannelEntry::new(self, id(at))
    }

    /// Returns the number of blobs.
    pub fn meta_count(&self) -> usize {
        self.index.metas.len()
    }

    /// Returns the blob at an index in catalog order.
    ///
    /// # Panics
    /// Panics when the index is out of range.
    pub fn meta_at(&self, at: usize) -> Meta<'_> {
        assert!(
            at < self.index.metas.len(),
            "blob {at} of {}",
            self.index.metas.len()
        );
        Meta {
            catalog: self,
            id: id(at),
        }
    }
}

impl PackageProblems {
    /// Returns the number of problems of a severity.
    pub fn of_severity(self, severity: Severity) -> u32 {
        match severity {
            Severity::Error => self.errors,
            Severity::Warning => self.warnings,
        }
    }

    /// Returns whether there is a problem of at least a severity.
    pub fn has_at_least(self, severity: Severity) -> bool {
        self.errors > 0 || (severity == Severity::Warning && self.warnings > 0)
    }

    /// Counts the listed problems of each package, in package order.
    fn of_packages(catalog: &Catalog) -> Box<[Self]> {
        let mut counts = vec![Self::default(); catalog.packages().len()].into_boxed_slice();
        for problem in catalog.problems() {
            let package = problem
                .package
                .as_deref()
                .and_then(|name| catalog.package_position(name).ok());
            let Some(counts) = package.map(|at| &mut counts[at]) else {
                continue;
            };
            match problem.severity() {
                Severity::Error => counts.errors += 1,
                Severity::Warning => counts.warnings += 1,
            }
        }
        counts
    }
}

impl ContentIndex {
    /// Returns the text at a span of a blob's line.
    fn slice(&self, meta: u32, span: Span) -> &[u8] {
        let start = self.metas[meta as usize].start as usize + span.start as usize;
        &self.content[start..start + span.len as usize]
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("packages", &self.index.packages.len())
            .field("bundles", &self.index.bundles.len())
            .field("metas", &self.index.metas.len())
            .finish_non_exhaustive()
    }
}

/// Converts an index or offset to an id. [`MAX_CONTENT_BYTES`] bounds the bytes, and there are
/// fewer objects than bytes.
fn id(at: usize) -> u32 {
    u32::try_from(at).expect("a catalog has fewer than 2^32 objects")
}

impl<'a> Meta<'a> {
    /// Returns the `schema`; empty when the blob has none.
    pub fn schema(self) -> &'a str {
        self.catalog.index.names.get(self.record().schema)
    }

    /// Returns the `name`, if the blob has one.
    pub fn name(self) -> Option<&'a str> {
        self.catalog.index.names.get_optional(self.record().name)
    }

    /// Returns the `package`, if the blob has one.
    pub fn package_name(self) -> Option<&'a str> {
        self.catalog.index.names.get_optional(self.record().package)
    }

    /// Returns the whole blob, without its line feed.
    pub fn blob(self) -> JsonValue<'a> {
        JsonValue(self.catalog.index.slice(
            self.id,
            Span {
                start: 0,
                len: self.record().len,
            },
        ))
    }

    /// Returns the byte range of its line in [`Catalog::content`], including the line feed.
    pub fn line_span(self) -> Range<usize> {
        let MetaRecord { start, len, .. } = *self.record();
        start as usize..start as usize + len as usize + 1
    }

    /// Returns the path of its file from the root of the catalog.
    pub fn file(self) -> &'a Arc<str> {
        &self.file_record().path
    }

    /// Returns its index among the blobs of its file.
    pub fn index(self) -> u32 {
        self.id - self.file_record().first
    }

    /// Returns the line of its file on which it begins, counted from 1.
    pub fn line(self) -> u32 {
        self.catalog.lines[self.id as usize]
    }

    fn record(self) -> &'a MetaRecord {
        &self.catalog.index.metas[self.id as usize]
    }

    fn file_record(self) -> &'a FileRecord {
        let after = self
            .catalog
            .files
            .partition_point(|file| file.first <= self.id);
        &self.catalog.files[after - 1]
    }
}

impl<'a> JsonText<'a> {
    pub(crate) const EMPTY: JsonText<'static> = JsonText(b"\"\"");

    /// Returns the text with its quotes and escapes.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Tells whether the string is empty.
    pub fn is_empty(self) -> bool {
        self.0.len() <= Self::EMPTY.0.len()
    }

    /// Decodes the string; borrows where it has no escapes.
    pub fn decode(self) -> std::borrow::Cow<'a, str> {
        crate::json::RawText(self.0).decode().unwrap_or_default()
    }
}

impl<'a> JsonValue<'a> {
    /// Returns the text of the value.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }
}
