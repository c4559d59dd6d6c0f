//! Types of requests and results, written by hand: they stay as they are when documents grow.

/// Conditions on packages; all must be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageQuery {
    /// Only these catalogs; every catalog when empty.
    pub catalogs: Vec<String>,
    /// Words that must all be found in names, keywords, providers or descriptions; the best match
    /// comes first.
    pub search: Option<String>,
    /// Only packages with these names; every package when empty.
    pub names: Vec<String>,
    /// Only packages of one of these categories; every package when empty.
    pub categories: Vec<String>,
    /// Only packages of one of these providers; every package when empty.
    pub providers: Vec<String>,
    /// Only deprecated packages, or only those that are not.
    pub deprecated: Option<bool>,
}

/// A package of one catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPackage {
    /// Name of its catalog.
    pub catalog: String,
    /// Its name, unique in the catalog.
    pub name: String,
    /// Name to show.
    pub display_name: String,
    /// One or two sentences.
    pub summary: Option<String>,
    /// Short name of its provider.
    pub provider: Option<String>,
    /// Name of its default channel.
    pub default_channel: Option<String>,
    /// Version at the head of its default channel.
    pub version: Option<String>,
    /// Message of its deprecation; `None` if it is not deprecated.
    pub deprecation: Option<String>,
}

/// A channel with its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelHead {
    /// Name of the catalog.
    pub catalog: String,
    /// Name of the package.
    pub package: String,
    /// Name of the channel.
    pub channel: String,
    /// `true` for the default channel of the package.
    pub is_default: bool,
    /// Name of the bundle at its head; `None` unless it has exactly one head.
    pub bundle: Option<String>,
    /// Version of that bundle.
    pub version: Option<String>,
    /// Message of the deprecation of the channel; `None` if it is not deprecated.
    pub deprecation: Option<String>,
}

/// Conditions on bundles; all must be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleQuery {
    /// Only these catalogs; every catalog when empty.
    pub catalogs: Vec<String>,
    /// Only these packages; every package when empty.
    pub packages: Vec<String>,
    /// Only bundles of these channels; every bundle when empty.
    pub channels: Vec<String>,
    /// Only versions in this range, such as `>=1.0.0 <2.0.0`.
    pub version_range: Option<String>,
    /// Only bundles that provide this API in any version: its group, which may be empty, and its
    /// kind.
    pub provides: Option<(String, String)>,
    /// Only bundles that are the head of a channel.
    pub only_heads: bool,
}

/// A bundle of one catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedBundle {
    /// Name of its catalog.
    pub catalog: String,
    /// Name of its package.
    pub package: String,
    /// Its name, unique in the package.
    pub name: String,
    /// Its version; `None` when it is missing or malformed.
    pub version: Option<String>,
    /// Reference of its image; empty when the catalog gives none.
    pub image: String,
    /// Names of the channels with an entry for it.
    pub channels: Vec<String>,
    /// References of the images that it uses.
    pub related_images: Vec<String>,
    /// Message of its deprecation; `None` if it is not deprecated.
    pub deprecation: Option<String>,
}

/// Fields of a `ClusterExtension` that a resolution depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolveRequest {
    /// Name of the package.
    pub package: String,
    /// Only versions in this range; every version when `None`.
    pub version: Option<String>,
    /// Only bundles of these channels; every channel when empty.
    pub channels: Vec<String>,
    /// Only these catalogs; every catalog when empty.
    pub catalogs: Vec<String>,
    /// Only catalogs with labels that match, in the syntax of `kubectl -l`.
    pub selector: Option<String>,
    /// Installed bundle, if the resolution is an upgrade.
    pub installed: Option<InstalledVersion>,
    /// Allows upgrades that do not follow the update graph.
    pub self_certified: bool,
    /// Only catalogs whose image is signed as the signature policy of the server requires.
    pub require_verified: bool,
}

/// An installed bundle, which need not be in a catalog any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstalledVersion {
    /// Name of the bundle.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Result of a resolution. A resolution that finds no bundle is a result, not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveResult {
    /// The bundle to install.
    Resolution(BundleResolution),
    /// Reason why no bundle would be installed.
    ResolutionFailure(BundleResolutionFailure),
}

/// The bundle to install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleResolution {
    /// Name of its catalog.
    pub catalog: String,
    /// Name of its package.
    pub package: String,
    /// Its name.
    pub bundle: String,
    /// Its version; `None` when it is missing or malformed.
    pub version: Option<String>,
    /// Reference of its image.
    pub image: String,
    /// Messages of the deprecations of the bundle, its package and its channels.
    pub deprecations: Vec<String>,
}

/// Reason why no bundle would be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleResolutionFailure {
    /// Stable code, such as `PACKAGE_NOT_FOUND`.
    pub code: String,
    /// Description in English.
    pub message: String,
    /// Names of packages that are spelled similarly.
    pub similar_names: Vec<String>,
}

/// One step of a sequence of upgrades.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeStep {
    /// Name of the bundle upgraded from.
    pub from: String,
    /// Name of the bundle upgraded to.
    pub to: String,
    /// Its version.
    pub version: Option<String>,
    /// Reasons that allow it: `REPLACES`, `SKIPS`, `SKIP_RANGE`, or a name of a newer server.
    pub reasons: Vec<String>,
    /// Names of the channels that allow it.
    pub channels: Vec<String>,
}

/// A content of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentRef {
    /// Current content of the catalog of this name.
    Name(String),
    /// The content with this digest, served or remembered.
    Digest(String),
}

/// Differences between two contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentDiff {
    /// Digest of the older side.
    pub from_digest: String,
    /// Digest of the newer side.
    pub to_digest: String,
    /// Packages that differ, by name, each with the bundles that do.
    pub packages: Vec<(ObjectChange, Vec<ObjectChange>)>,
}

/// A package or a bundle that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange {
    /// Its name.
    pub name: String,
    /// Kind of change.
    pub change: ContentChange,
}

/// Kind of change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentChange {
    /// It is new.
    Added,
    /// It no longer exists.
    Removed,
    /// It is different.
    Changed,
    /// Name that only a newer server knows.
    Other(String),
}

/// A catalog that was added, was removed, or has new content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeEvent {
    /// Name of the catalog.
    pub catalog: String,
    /// Kind of change.
    pub change: ContentChange,
    /// Digest before; `None` when it was added.
    pub from_digest: Option<String>,
    /// Digest now; `None` when it was removed.
    pub to_digest: Option<String>,
}
