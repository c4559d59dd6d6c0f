//! The request of a resolution, and the catalogs that it may choose from.

use std::collections::BTreeMap;

use fbc::{Catalog, Platform};
use fbc_grammar::selector::Selector;

use crate::graph::Releases;

/// A catalog that resolution may choose from.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// Name of the catalog.
    pub name: &'a str,
    /// Priority: of several catalogs with a matching bundle, the highest wins.
    pub priority: i32,
    /// Labels of the catalog.
    pub labels: &'a BTreeMap<String, String>,
    /// The catalog, or why it cannot be read, which fails the resolution.
    pub content: Result<&'a Catalog, &'a str>,
}

/// The package to install or upgrade, with constraints.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResolutionRequest<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Range of acceptable versions, a [`MastermindsRange`](fbc_grammar::range::MastermindsRange); any version when empty.
    pub version: &'a str,
    /// Channels whose bundles and edges are considered; all channels when empty.
    pub channels: &'a [&'a str],
    /// Selector for the labels of catalogs; `None` considers all catalogs.
    pub selector: Option<&'a Selector>,
    /// The installed bundle, if any.
    pub installed: Option<InstalledBundle<'a>>,
    /// Policy for upgrades.
    pub policy: UpgradePolicy,
    /// Source of the releases of bundles.
    pub releases: Releases,
    /// Cluster to install into, which the controller does not look at; `None` considers every
    /// bundle.
    pub platform: Option<Platform<'a>>,
}

/// The installed bundle as described by a client; it need not be in a catalog any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstalledBundle<'a> {
    /// Name of the bundle.
    pub name: &'a str,
    /// Version of the bundle.
    pub version: &'a str,
    /// Release of the bundle; when `None`, build metadata of the version counts as release.
    pub release: Option<&'a str>,
}

/// Policy for upgrades: whether they must follow the edges of the catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpgradePolicy {
    /// Upgrades must follow the edges of the catalog.
    #[default]
    CatalogProvided,
    /// Any version is allowed, also a downgrade.
    SelfCertified,
}
