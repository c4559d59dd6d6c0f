//! Finding things in one catalog: which packages, bundles and blobs meet given conditions, and how the packages that do
//! are spread over the values one can ask for.
//!
//! A condition that is `None`, or an empty list, is no condition; several conditions must all hold. Texts are compared
//! as they are, byte by byte; only [`PackageFilter::search`] folds them. What nothing has selects nothing. The answers
//! are places in the orders of the catalog, rising; ordering and paging them is for whoever asks.

mod apis;
mod bundles;
mod facets;
mod metas;
mod packages;
mod ranks;
mod search;
mod tables;

use super::{CapabilityLevel, InstallMode};
use crate::range::MastermindsRange;

pub use facets::{Facet, FacetCounts, FacetValue};
pub use packages::FoundPackages;
pub use search::{MAX_DESCRIPTION_BYTES, MAX_PACKAGE_WORDS, MAX_SEARCH_LETTERS, MAX_SEARCH_WORDS, MAX_WORD_LETTERS};

pub(super) use bundles::BundleIndex;
pub(super) use metas::MetaIndex;
pub(super) use ranks::BundleRanks;
pub(super) use search::SearchIndex;

/// Conditions on packages; without any, every package meets them.
///
/// Display metadata is that of [`Package::summary`](super::Package::summary).
#[derive(Clone, Debug, Default)]
pub struct PackageFilter<'f> {
    /// Words to search for, as [`Catalog::find_packages`](super::Catalog::find_packages) says; without a letter or a
    /// digit it is no condition.
    pub search: Option<&'f str>,
    /// Of one of these names.
    pub names: Vec<&'f str>,
    /// In one of these categories.
    pub categories: Vec<&'f str>,
    /// From one of these providers, by name.
    pub providers: Vec<&'f str>,
    /// With one of these keywords.
    pub keywords: Vec<&'f str>,
    /// At one of these capability levels.
    pub capability_levels: Vec<CapabilityLevel>,
    /// Installable in one of these modes.
    pub install_modes: Vec<InstallMode>,
    /// With every one of these platform features.
    pub infrastructure_features: Vec<&'f str>,
    /// The one head of the default channel has a bundle which provides this API.
    pub provides: Option<ApiFilter<'f>>,
    /// Whether the package itself is deprecated; deprecations of its channels and bundles do not count.
    pub deprecated: Option<bool>,
}

/// Conditions on bundles; without any, every bundle meets them.
#[derive(Clone, Debug, Default)]
pub struct BundleFilter<'f> {
    /// In one of these packages.
    pub packages: Vec<&'f str>,
    /// Of one of these names.
    pub names: Vec<&'f str>,
    /// With a property of one of these types.
    pub property_types: Vec<&'f str>,
    /// In one of these channels, by name.
    pub channels: Vec<&'f str>,
    /// With a version in this range; a bundle without a version is in none.
    pub version_range: Option<MastermindsRange>,
    /// Provides this API, by a property `olm.gvk`.
    pub provides: Option<ApiFilter<'f>>,
    /// Needs this API, by a property `olm.gvk.required`; what an `olm.constraint` demands does not count.
    pub requires: Option<ApiFilter<'f>>,
    /// Needs this package, by a property `olm.package.required`; what an `olm.constraint` demands does not count.
    pub requires_package: Option<&'f str>,
    /// Whether it heads a channel: is the one entry there that nothing replaces or skips.
    pub channel_head: Option<bool>,
    /// Whether the bundle itself is deprecated; deprecations of its package and channels do not count.
    pub deprecated: Option<bool>,
}

/// A Kubernetes API to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiFilter<'f> {
    /// API group, empty for the core group.
    pub group: &'f str,
    /// API version; any when absent.
    pub version: Option<&'f str>,
    /// Kind.
    pub kind: &'f str,
}

/// Conditions on blobs, as catalogd's `/metas` has them; without any, every blob meets them.
///
/// A blob without a schema meets no condition at all, and a field that is empty counts as absent. The `olm.package` of
/// a package has no field `package`: [`MetaFilter::package`] does not find it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetaFilter<'f> {
    /// Of this schema.
    pub schema: Option<&'f str>,
    /// Of this package.
    pub package: Option<&'f str>,
    /// Of this name.
    pub name: Option<&'f str>,
}
