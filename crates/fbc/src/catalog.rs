//! An immutable catalog: an index over canonical lines, the files that they come from, and their
//! problems.
//!
//! Of several packages, channels or bundles with the same key, the first in catalog order becomes
//! the typed object. The others, and objects of unknown packages, are reported as a [`Problem`] and
//! remain available as [`Meta`]. A catalog does not know its own name or source.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use fbc_read::json::JsonValue;
use fbc_read::problem::{Problem, Problems, Severity};

use crate::array::Array;
use crate::ids::id;
use crate::index::ContentIndex;
use crate::record::{FileRecord, MetaRecord};
use crate::schema::SchemaCount;
use crate::tables::Tables;
use crate::tables::bundles::BundleIndex;
use crate::tables::channel_order::channel_order;
use crate::tables::csv_positions::CsvPositions;
use crate::tables::icons::Icons;
use crate::tables::lifecycles::LifecycleBlobs;
use crate::tables::metas::MetaIndex;
use crate::tables::order::BundleRanks;

/// An immutable, indexed catalog.
///
/// ```
/// use fbc_read::origin::FileOrigin;
/// use fbc::Catalog;
/// use fbc_read::Origins;
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
    pub(crate) index: Arc<ContentIndex>,
    /// Tables beyond the index, shared with it.
    pub(crate) tables: Arc<Tables>,
    files: Vec<FileRecord>,
    /// The line of its file on which each blob begins, counted from 1.
    lines: Vec<u32>,
    problems: Problems,
    /// Made when first asked for.
    problem_counts: OnceLock<Box<[PackageProblems]>>,
}

/// Numbers of the listed problems of a package: those that are only counted are not known by
/// package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackageProblems {
    errors: u32,
    warnings: u32,
}

/// A blob of any schema, with its origin.
#[derive(Clone, Copy)]
pub struct Meta<'a> {
    catalog: &'a Catalog,
    id: u32,
}

impl Catalog {
    /// Creates a catalog without problems.
    pub(crate) fn new(index: ContentIndex, files: Vec<FileRecord>, lines: Vec<u32>) -> Self {
        Self {
            index: Arc::new(index),
            tables: Arc::default(),
            files,
            lines,
            problems: Problems::default(),
            problem_counts: OnceLock::new(),
        }
    }

    /// Sets the problems of a catalog that is being built.
    pub(crate) fn set_problems(&mut self, problems: Problems) {
        self.problems = problems;
    }

    /// Returns the same catalog with another index of its content.
    pub(crate) fn with_index(&self, index: Arc<ContentIndex>, tables: Arc<Tables>) -> Self {
        Self {
            index,
            tables,
            files: self.files.clone(),
            lines: self.lines.clone(),
            problems: self.problems.clone(),
            problem_counts: OnceLock::new(),
        }
    }

    /// Shares the index of another catalog of the same content, in place of its own.
    ///
    /// # Panics
    /// Panics when the contents differ in length.
    #[must_use]
    pub fn with_index_of(&self, other: &Self) -> Self {
        // Not a comparison of the bytes, which would read both contents from disk: the caller found
        // equal digests.
        assert_eq!(
            self.index.content.len(),
            other.index.content.len(),
            "only equal contents share an index"
        );
        self.with_index(Arc::clone(&other.index), Arc::clone(&other.tables))
    }

    /// Returns whether its blobs come from the same files and lines as those of another catalog of the
    /// same content, and have the same problems.
    pub fn has_origins_of(&self, other: &Self) -> bool {
        self.lines == other.lines
            && self.files().eq(other.files())
            && self.problems == other.problems
    }

    /// Returns whether both share one index.
    pub fn shares_index_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.index, &other.index)
    }

    /// Returns the address of the index, the same for all catalogs that share it: a key for results
    /// that depend on the content alone. Valid while one of these catalogs exists.
    pub fn index_address(&self) -> usize {
        Arc::as_ptr(&self.index).addr()
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
            .get_or_init(|| PackageProblems::count_by_package(self));
        counts[package]
    }

    /// Returns the index of the package of a name, or as error the index where it would be
    /// inserted.
    pub fn package_position(&self, name: &str) -> Result<usize, usize> {
        self.index.package_position(name)
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
        Meta::new(self, id(at))
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
    fn count_by_package(catalog: &Catalog) -> Box<[Self]> {
        let mut counts = vec![Self::default(); catalog.index.packages.len()].into_boxed_slice();
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

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("packages", &self.index.packages.len())
            .field("bundles", &self.index.bundles.len())
            .field("metas", &self.index.metas.len())
            .finish_non_exhaustive()
    }
}

impl<'a> Meta<'a> {
    pub(crate) fn new(catalog: &'a Catalog, id: u32) -> Self {
        Self { catalog, id }
    }

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
        JsonValue::new(self.catalog.index.line(self.id))
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

/// Tables that are made of records alone. Those that need decoded metadata are made where that is
/// decoded.
impl Catalog {
    /// Returns the icons of its packages; the result may outlive the catalog.
    pub fn icons(&self) -> &Arc<Icons> {
        self.tables
            .icons
            .get_or_init(|| Arc::new(Icons::new(&self.index)))
    }

    pub(crate) fn bundle_index(&self) -> &BundleIndex {
        self.tables
            .bundles
            .get_or_init(|| BundleIndex::new(&self.index))
    }

    pub(crate) fn bundle_ranks(&self) -> &BundleRanks {
        self.tables
            .ranks
            .get_or_init(|| BundleRanks::new(&self.index))
    }

    /// Returns the ids of all channels, by package, then in the order of their names with numbers.
    pub(crate) fn channel_order(&self) -> &Array<u32> {
        self.tables
            .channels
            .get_or_init(|| channel_order(&self.index))
    }

    pub(crate) fn lifecycle_blobs(&self) -> &LifecycleBlobs {
        self.tables
            .lifecycles
            .get_or_init(|| LifecycleBlobs::new(&self.index))
    }

    pub(crate) fn meta_index(&self) -> &MetaIndex {
        self.tables
            .metas
            .get_or_init(|| MetaIndex::new(&self.index.metas, &self.index.names))
    }

    pub(crate) fn csv_positions(&self) -> &CsvPositions {
        self.tables
            .csv_positions
            .get_or_init(|| CsvPositions::new(self.index.bundles.len()))
    }
}
