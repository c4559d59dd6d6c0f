//! Validation problems of a catalog: each has a stable code, a message and a location.
//!
//! A problem never stops a catalog from being served. This module knows neither how problems are
//! found (the [reader](crate::reader) and the crate `fbc` do that) nor how they are shown.

use std::sync::Arc;

mod list;

pub use fbc_grammar::quote::MAX_QUOTED_BYTES;

pub use list::{
    MAX_MESSAGE_BYTES, MAX_PROBLEM_BYTES_PER_CODE, MAX_PROBLEMS_PER_CODE, ProblemCollector,
    ProblemCounts, Problems,
};

/// A validation problem in the content of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable code for programs; it determines the severity.
    pub code: ProblemCode,
    /// Message for people: upstream's text where upstream has one.
    pub message: String,
    /// Name of the package concerned, if any.
    pub package: Option<Arc<str>>,
    /// Name of the channel concerned, if any.
    pub channel: Option<Arc<str>>,
    /// Name of the bundle concerned, if any.
    pub bundle: Option<Arc<str>>,
    /// Path of the file from the root of the catalog; `None` when the problem has no file.
    pub file: Option<Arc<str>>,
    /// Line of that file on which the blob begins, counted from 1.
    pub line: Option<u32>,
}

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// `opm validate` rejects the catalog.
    Error,
    /// Upstream accepts it, but it is probably a mistake.
    Warning,
}

impl Problem {
    /// Creates a problem without a location.
    pub fn new(code: ProblemCode, message: String) -> Self {
        Self {
            code,
            message,
            package: None,
            channel: None,
            bundle: None,
            file: None,
            line: None,
        }
    }

    /// Locates the problem in the blob that begins on a line of a file.
    #[must_use]
    pub fn at(mut self, file: &Arc<str>, line: u32) -> Self {
        self.file = Some(Arc::clone(file));
        self.line = Some(line);
        self
    }

    /// Returns the severity of its code.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// Returns the size of its message and its names, in bytes.
    fn text_bytes(&self) -> usize {
        let names = [&self.package, &self.channel, &self.bundle];
        self.message.len()
            + names
                .into_iter()
                .flatten()
                .map(|name| name.len())
                .sum::<usize>()
    }
}

/// Returns a name for a problem; `None` for an empty one, and for one above [`MAX_QUOTED_BYTES`]:
/// each problem has a copy, and a name of that size is of no use to a reader.
pub fn optional_name(name: &str) -> Option<Arc<str>> {
    (1..=MAX_QUOTED_BYTES)
        .contains(&name.len())
        .then(|| name.into())
}

/// Declares every code once: its name in Rust, its stable text and its severity.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $severity:ident;)+) => {
        /// Stable code of a problem. `docs/reference/problems.md` has the id of the rule that each
        /// code stands for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum ProblemCode {
            $($(#[$doc])* #[serde(rename = $text)] $name,)+
        }

        impl ProblemCode {
            /// Every code.
            pub const ALL: &'static [ProblemCode] = &[$(ProblemCode::$name),+];

            /// Returns the stable text, such as `CHANNEL_MULTIPLE_HEADS`.
            pub fn as_str(self) -> &'static str {
                match self { $(ProblemCode::$name => $text,)+ }
            }

            /// Returns the severity of problems with this code.
            pub fn severity(self) -> Severity {
                match self { $(ProblemCode::$name => Severity::$severity,)+ }
            }
        }
    };
}

codes! {
    // Reading a file.
    /// An empty YAML document, such as `---` alone.
    DocumentEmpty = "DOCUMENT_EMPTY", Error;
    /// Text of a document that was not read, because a document ends with its first node.
    TextNotRead = "TEXT_NOT_READ", Warning;
    /// Keys of one mapping that are alike once they are text; the last one counts.
    KeysCollide = "KEYS_COLLIDE", Warning;

    // Layer A of validation: identity. The comment is the rule's id.
    /// A-META-1: a blob without a `schema`.
    SchemaMissing = "SCHEMA_MISSING", Error;
    /// A known schema whose fields have the wrong types: the blob stays, without a typed object.
    BlobMalformed = "BLOB_MALFORMED", Error;
    /// A-PKG-1.
    PackageNameMissing = "PACKAGE_NAME_MISSING", Error;
    /// A-PKG-2.
    PackageDuplicate = "PACKAGE_DUPLICATE", Error;
    /// A-PKG-3.
    PackageNameInvalid = "PACKAGE_NAME_INVALID", Error;
    /// A-CH-1.
    ChannelPackageUnknown = "CHANNEL_PACKAGE_UNKNOWN", Error;
    /// A-CH-2.
    ChannelNameMissing = "CHANNEL_NAME_MISSING", Error;
    /// A-CH-3.
    ChannelDuplicate = "CHANNEL_DUPLICATE", Error;
    /// A-CH-4.
    ChannelEntryDuplicate = "CHANNEL_ENTRY_DUPLICATE", Error;
    /// A-B-1.
    BundlePackageMissing = "BUNDLE_PACKAGE_MISSING", Error;
    /// A-B-2.
    BundlePackageUnknown = "BUNDLE_PACKAGE_UNKNOWN", Error;
    /// A-B-3.
    BundleDuplicate = "BUNDLE_DUPLICATE", Error;
    /// A-B-4.
    BundlePropertyMalformed = "BUNDLE_PROPERTY_MALFORMED", Error;
    /// A-B-5 and B-B-9.
    BundlePackagePropertyCount = "BUNDLE_PACKAGE_PROPERTY_COUNT", Error;
    /// A-B-6.
    BundlePackageMismatch = "BUNDLE_PACKAGE_MISMATCH", Error;
    /// A-B-7.
    BundleImageInvalid = "BUNDLE_IMAGE_INVALID", Error;
    /// A-B-8.
    BundleRelatedImageInvalid = "BUNDLE_RELATED_IMAGE_INVALID", Error;
    /// A-B-9.
    BundleVersionInvalid = "BUNDLE_VERSION_INVALID", Error;
    /// A-B-10.
    BundleReleaseInvalid = "BUNDLE_RELEASE_INVALID", Error;
    /// A-B-11.
    BundleNotInChannel = "BUNDLE_NOT_IN_CHANNEL", Error;
    /// A-E-1.
    ChannelEntryBundleMissing = "CHANNEL_ENTRY_BUNDLE_MISSING", Error;
    /// A-DEP-1.
    DeprecationPackageMissing = "DEPRECATION_PACKAGE_MISSING", Error;
    /// A-DEP-2.
    DeprecationPackageUnknown = "DEPRECATION_PACKAGE_UNKNOWN", Error;
    /// A-DEP-3.
    DeprecationDuplicate = "DEPRECATION_DUPLICATE", Error;
    /// A-DEP-4.
    DeprecationSchemaMissing = "DEPRECATION_SCHEMA_MISSING", Error;
    /// A-DEP-5.
    DeprecationEntryDuplicate = "DEPRECATION_ENTRY_DUPLICATE", Error;
    /// A-DEP-6.
    DeprecationBundleUnknown = "DEPRECATION_BUNDLE_UNKNOWN", Error;
    /// A-DEP-7.
    DeprecationChannelUnknown = "DEPRECATION_CHANNEL_UNKNOWN", Error;
    /// A-DEP-8.
    DeprecationPackageNamed = "DEPRECATION_PACKAGE_NAMED", Error;
    /// A-DEP-9.
    DeprecationSchemaUnknown = "DEPRECATION_SCHEMA_UNKNOWN", Error;

    // Layer B of validation: packages, channels and bundles.
    /// B-PKG-2.
    PackageDefaultChannelMissing = "PACKAGE_DEFAULT_CHANNEL_MISSING", Error;
    /// A-D-0: the default channel is none of the package's channels.
    PackageDefaultChannelUnknown = "PACKAGE_DEFAULT_CHANNEL_UNKNOWN", Error;
    /// B-PKG-3.
    PackageWithoutChannels = "PACKAGE_WITHOUT_CHANNELS", Error;
    /// B-PKG-5.
    PackageVersionsDuplicate = "PACKAGE_VERSIONS_DUPLICATE", Error;
    /// B-PKG-7.
    DeprecationMessageMissing = "DEPRECATION_MESSAGE_MISSING", Error;
    /// B-CH-3.
    ChannelEmpty = "CHANNEL_EMPTY", Error;
    /// B-CH-4.
    ChannelWithoutHead = "CHANNEL_WITHOUT_HEAD", Error;
    /// B-CH-5.
    ChannelMultipleHeads = "CHANNEL_MULTIPLE_HEADS", Error;
    /// B-CH-6.
    ChannelCycle = "CHANNEL_CYCLE", Error;
    /// B-CH-7.
    ChannelStranded = "CHANNEL_STRANDED", Error;
    /// B-B-1.
    BundleNameMissing = "BUNDLE_NAME_MISSING", Error;
    /// B-B-2.
    BundleNameNotNormalized = "BUNDLE_NAME_NOT_NORMALIZED", Error;
    /// B-B-7.
    EntrySkipEmpty = "ENTRY_SKIP_EMPTY", Error;
    /// B-B-8.
    EntrySkipRangeInvalid = "ENTRY_SKIP_RANGE_INVALID", Error;
    /// B-B-10.
    BundleImageMissing = "BUNDLE_IMAGE_MISSING", Error;
    /// B-B-11.
    BundleBuildAndRelease = "BUNDLE_BUILD_AND_RELEASE", Error;

    // What upstream allows.
    /// An install mode of an `olm.csv.metadata` that is none of the four.
    InstallModeUnknown = "INSTALL_MODE_UNKNOWN", Warning;
    /// A bundle with more than one `olm.csv.metadata`, which `opm serve` refuses.
    BundleMetadataDuplicate = "BUNDLE_METADATA_DUPLICATE", Warning;
    /// An unknown schema whose name begins with the reserved `olm.`.
    SchemaReserved = "SCHEMA_RESERVED", Warning;
    /// A template of `opm`, not a catalog's blob.
    SchemaTemplate = "SCHEMA_TEMPLATE", Warning;
    /// A custom schema, or the package of its blob, with a name that `opm serve` refuses.
    SchemaNameInvalid = "SCHEMA_NAME_INVALID", Warning;
    /// A catalog without any blob.
    CatalogEmpty = "CATALOG_EMPTY", Warning;
}
