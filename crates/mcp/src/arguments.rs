//! Arguments of the tools. They are the variables of the documents; doc comments become the
//! descriptions in their JSON schemas.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of packages in one answer of a search.
pub(crate) const MAX_PAGE: u8 = 20;

/// Arguments of a tool that has none.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoArguments {}

/// Arguments of a search.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchArguments {
    /// Words that must all be found, such as `message broker`.
    pub(crate) text: String,
    /// Names of the catalogs to search; every catalog when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) catalogs: Option<Vec<String>>,
    /// Number of packages to return, 1 to 20; 10 when absent.
    #[schemars(range(min = 1, max = 20))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<PageSize>,
    /// The `endCursor` of the previous answer, for the packages behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// Number of items of a page, 1 to [`MAX_PAGE`].
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(try_from = "u8", into = "u8")]
#[schemars(inline)]
pub(crate) struct PageSize(u8);

impl TryFrom<u8> for PageSize {
    type Error = String;

    fn try_from(count: u8) -> Result<Self, String> {
        if (1..=MAX_PAGE).contains(&count) {
            Ok(Self(count))
        } else {
            Err(format!("`first` is {count}: write 1 to {MAX_PAGE}"))
        }
    }
}

impl From<PageSize> for u8 {
    fn from(size: PageSize) -> Self {
        size.0
    }
}

/// Package to describe.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PackageArguments {
    /// Name of the package, such as `etcd`.
    pub(crate) package: String,
    /// Names of the catalogs to read; every catalog when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) catalogs: Option<Vec<String>>,
}

/// Bundle to describe.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BundleArguments {
    /// Name of the package, such as `etcd`.
    pub(crate) package: String,
    /// Name of the bundle, such as `etcdoperator.v0.9.4`.
    pub(crate) bundle: String,
    /// Names of the catalogs to read; every catalog when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) catalogs: Option<Vec<String>>,
}

/// Installed bundle whose upgrades are listed.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpgradesArguments {
    /// Name of the package, such as `etcd`.
    pub(crate) package: String,
    /// Name of the installed bundle, such as `etcdoperator.v0.9.2`.
    pub(crate) bundle: String,
    /// Version of the installed bundle, such as `0.9.2`.
    pub(crate) version: String,
    /// Only upgrades in these channels; in every channel when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) channels: Option<Vec<String>>,
    /// Names of the catalogs to read; every catalog when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) catalogs: Option<Vec<String>>,
    /// Only upgrades to bundles that run on this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<Platform>,
}

/// Install or upgrade of one package.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolveArguments {
    /// Name of the package, such as `etcd`.
    pub(crate) package: String,
    /// Range of versions, such as `>=1.2.0 <2.0.0`; every version when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// Only bundles in these channels; in every channel when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) channels: Option<Vec<String>>,
    /// Names of the catalogs to read; every catalog when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) catalogs: Option<Vec<String>>,
    /// Bundle that is installed now; none for an install.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) installed: Option<InstalledBundle>,
    /// Only bundles that run on this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<Platform>,
}

/// Packages to resolve together.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SolveArguments {
    /// Packages to install or to keep up to date.
    pub(crate) wanted: Vec<WantedPackage>,
    /// Operators that are installed; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) installed: Option<Vec<InstalledOperatorArgument>>,
    /// Names of the catalogs to read; every catalog when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) catalogs: Option<Vec<String>>,
    /// Rules to follow; those of OLM v0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<SolveRules>,
}

/// Part of a catalog to mirror.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MirrorArguments {
    /// Name of the catalog.
    pub(crate) catalog: String,
    /// Packages to mirror, at least one.
    pub(crate) packages: Vec<MirrorPackage>,
}

/// Upgrade of a platform.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlatformUpgradeArguments {
    /// Versions of the platform, each in the same or the next minor version; the first is where the
    /// cluster is.
    pub(crate) steps: Vec<PlatformStep>,
    /// Operators that are installed.
    pub(crate) installed: Vec<ClusterBundle>,
}

/// Version of a cluster; give at least one member.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Platform {
    /// Version of Kubernetes, such as `1.31`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kubernetes: Option<String>,
    /// Version of `OpenShift`, such as `4.18`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) openshift: Option<String>,
    /// CPU architecture of the nodes, such as `arm64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) architecture: Option<String>,
}

/// Bundle that is installed.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct InstalledBundle {
    /// Name of the bundle.
    pub(crate) name: String,
    /// Version of the bundle.
    pub(crate) version: String,
}

/// Package that is wanted.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct WantedPackage {
    /// Name of the package.
    pub(crate) package_name: String,
    /// Only these channels, one at most for OLM v0; every channel when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) channels: Option<Vec<String>>,
    /// Range of versions; for OLM v1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// Name of the operator in `installed` that it installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) installed: Option<String>,
}

/// Operator that is installed.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct InstalledOperatorArgument {
    /// Name of its `ClusterServiceVersion`, which is the name of its bundle.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Name of its package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) package_name: Option<String>,
}

/// Rules of a solution.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) enum SolveRules {
    /// OLM v0 installs dependencies.
    #[serde(rename = "OLM_V0")]
    OlmV0,
    /// OLM v1 installs no dependencies.
    #[serde(rename = "OLM_V1")]
    OlmV1,
}

/// Package to mirror.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct MirrorPackage {
    /// Name of the package.
    pub(crate) name: String,
    /// Channels; every channel when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) channels: Option<Vec<MirrorChannel>>,
    /// Lowest version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_version: Option<String>,
    /// Highest version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_version: Option<String>,
    /// Also what the selected bundles require; only they when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dependencies: Option<bool>,
}

/// Channel to mirror.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct MirrorChannel {
    /// Name of the channel.
    pub(crate) name: String,
}

/// Version of the platform with its catalogs.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct PlatformStep {
    /// The version.
    pub(crate) platform: Platform,
    /// Names of the catalogs that clusters of this version read.
    pub(crate) catalogs: Vec<String>,
}

/// Operator of a cluster; give its name or its version.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct ClusterBundle {
    /// Name of its package.
    pub(crate) package_name: String,
    /// Name of its bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// Channel of its subscription; the default channel when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) channels: Option<Vec<String>>,
}
