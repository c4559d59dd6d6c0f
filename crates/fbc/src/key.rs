//! The order of bundles: package, then highest version first, then name.

use std::cmp::Ordering;

use fbc_grammar::version::{Release, Version};

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

impl<'a> BundleKey<'a> {
    /// Creates a sort key from texts; a malformed version or release counts as absent.
    pub fn new(
        package: &'a str,
        version: Option<&'a str>,
        release: Option<&'a str>,
        name: &'a str,
    ) -> Self {
        Self {
            package,
            version: BundleVersion::parse(version, release),
            name,
        }
    }

    /// Compares two bundles in the order of [`Catalog::bundles`](crate::Catalog::bundles).
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

impl<'a> BundleVersion<'a> {
    /// Parses a version and its release; `None` without a well-formed version.
    pub(crate) fn parse(version: Option<&'a str>, release: Option<&'a str>) -> Option<Self> {
        Some(Self {
            version: Version::parse(version?).ok()?,
            release: release.and_then(|text| Release::parse(text).ok()),
        })
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
