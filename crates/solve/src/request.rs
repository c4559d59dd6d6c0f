//! The request: subscriptions, installed operators, and the catalogs to choose from.

use std::collections::BTreeMap;

use fbc::Catalog;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Maximum number of wanted packages in a request.
pub const MAX_WANTED_PACKAGES: usize = 100;

/// Maximum number of installed operators in a request.
pub const MAX_INSTALLED_OPERATORS: usize = 1_000;

/// Maximum size of the properties of one installed operator, in bytes.
pub const MAX_OPERATOR_PROPERTY_BYTES: usize = 64 * 1024;

/// A catalog that bundles can be taken from, as a `CatalogSource` of OLM v0 offers it.
#[derive(Clone, Copy, Debug)]
pub struct SourceCatalog<'a> {
    /// Name, unique in its namespace.
    pub name: &'a str,
    /// Namespace.
    pub namespace: &'a str,
    /// Priority. Dependencies are taken from the catalog with the highest one.
    pub priority: i32,
    /// Labels that OLM v1 selects catalogs by.
    pub labels: Option<&'a BTreeMap<String, String>>,
    /// The content.
    pub catalog: &'a Catalog,
}

/// Rules of preference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SolvePolicy {
    /// OLM v0: dependencies are installed together with the bundles that require them, by its order
    /// of preference.
    #[default]
    OlmV0,
    /// OLM v1: a `ClusterExtension` gets the bundle that `fbc_graph::resolve` picks, whatever it requires.
    /// Its dependencies would have to be installed before it, in the highest versions that fit.
    OlmV1,
}

/// A request to solve.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SolveRequest {
    /// Namespaces of the catalogs to choose from. The first one is also that of the subscriptions and
    /// the installed operators.
    pub namespaces: Vec<String>,
    /// Packages to install and to keep up to date.
    pub subscriptions: Vec<PackageSubscription>,
    /// Operators that are installed.
    pub installed: Vec<InstalledOperator>,
    /// Rules of preference.
    pub policy: SolvePolicy,
    /// `TechPreviewUnsafeFailForward` allows upgrades from failed operators. Other values are ignored.
    pub upgrade_strategy: Option<String>,
}

/// A package to install and to keep up to date. Empty strings count as absent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageSubscription {
    /// Name, unique in a request.
    pub name: String,
    /// Name of the package.
    pub package: String,
    /// Name of the channel; any channel when empty.
    pub channel: String,
    /// Names of channels (OLM v1 only); any channel when `channel` is empty too.
    pub channels: Vec<String>,
    /// Range of versions (OLM v1 only).
    pub version: String,
    /// Selector for the labels of catalogs (OLM v1 only).
    pub selector: String,
    /// Name of the catalog; any catalog when both this and the namespace are empty.
    pub catalog: String,
    /// Namespace of the catalog.
    pub catalog_namespace: String,
    /// Name of the first bundle to install, if nothing is installed.
    #[serde(rename = "startingCSV")]
    pub starting_csv: String,
    /// Name of the installed operator that belongs to the subscription.
    #[serde(rename = "installedCSV")]
    pub installed_csv: String,
}

/// An installed operator: the fields of its `ClusterServiceVersion` that matter.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InstalledOperator {
    /// Name of its `ClusterServiceVersion`, unique in a request.
    pub name: String,
    /// Version.
    pub version: String,
    /// Its annotation `operatorframework.io/properties`; `None` derives properties from `owned` and
    /// `required`.
    pub properties: Option<Vec<OperatorProperty>>,
    /// Custom resource definitions and API services that it owns.
    pub owned: Vec<OperatorApi>,
    /// Custom resource definitions and API services that it requires.
    pub required: Vec<OperatorApi>,
    /// Name of the operator that it replaces; empty when absent.
    pub replaces: String,
    /// Phase of its installation, such as `Failed`; empty when unknown.
    pub phase: String,
}

/// A property of an installed operator.
#[derive(Clone, Debug, Deserialize)]
pub struct OperatorProperty {
    /// Type, such as `olm.gvk`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Value, as JSON.
    pub value: Box<RawValue>,
}

/// An API that an installed operator owns or requires.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct OperatorApi {
    /// Plural name and group, such as `etcdclusters.etcd.database.coreos.com`.
    pub name: String,
    /// API version, such as `v1`.
    pub version: String,
    /// Kind, such as `EtcdCluster`.
    pub kind: String,
}

impl PackageSubscription {
    /// Returns the names of the channels to choose from; empty for any.
    pub(crate) fn channels(&self) -> Vec<&str> {
        let one = Some(&*self.channel).filter(|name| !name.is_empty());
        one.into_iter()
            .chain(self.channels.iter().map(String::as_str))
            .collect()
    }

    /// Returns whether the package may come from this catalog.
    pub(crate) fn allows(&self, catalog: SourceCatalog<'_>) -> bool {
        let is_any = self.catalog.is_empty() && self.catalog_namespace.is_empty();
        is_any || catalog.name == self.catalog && catalog.namespace == self.catalog_namespace
    }
}

impl SolveRequest {
    /// Returns the namespace of the subscriptions and the installed operators.
    pub(crate) fn own_namespace(&self) -> &str {
        self.namespaces.first().map_or("", String::as_str)
    }

    /// Checks the request's form and size.
    pub(crate) fn validate(&self) -> Result<(), RequestError> {
        if self.namespaces.is_empty() {
            return Err(RequestError::NoNamespace);
        }
        if self.subscriptions.len() > MAX_WANTED_PACKAGES {
            return Err(RequestError::TooManySubscriptions);
        }
        if self.installed.len() > MAX_INSTALLED_OPERATORS {
            return Err(RequestError::TooManyInstalled);
        }

        let mut names = self.subscriptions.iter().map(|one| &*one.name);
        if let Some(name) = find_duplicate(&mut names) {
            return Err(RequestError::DuplicateSubscription(name.to_owned()));
        }
        let mut names = self.installed.iter().map(|operator| &*operator.name);
        if let Some(name) = find_duplicate(&mut names) {
            return Err(RequestError::DuplicateInstalled(name.to_owned()));
        }

        for operator in &self.installed {
            if operator.property_bytes() > MAX_OPERATOR_PROPERTY_BYTES {
                return Err(RequestError::OperatorTooLarge(operator.name.clone()));
            }
        }
        Ok(())
    }
}

impl InstalledOperator {
    fn property_bytes(&self) -> usize {
        let given = self
            .properties
            .iter()
            .flatten()
            .map(|one| one.type_name.len() + one.value.get().len());
        let derived = self.owned.iter().chain(&self.required);
        given.sum::<usize>()
            + derived
                .map(|api| api.name.len() + api.version.len() + api.kind.len())
                .sum::<usize>()
    }
}

/// Returns the first string that occurs for the second time.
fn find_duplicate<'a>(texts: &mut impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = std::collections::HashSet::new();
    texts.find(|text| !seen.insert(*text))
}

/// A request that is malformed or too large.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("at least one namespace must be provided to resolution")]
    NoNamespace,
    #[error(
        "cannot solve for more than {MAX_WANTED_PACKAGES} wanted packages: ask for fewer at once"
    )]
    TooManySubscriptions,
    #[error(
        "cannot solve with more than {MAX_INSTALLED_OPERATORS} installed operators: leave out those without APIs"
    )]
    TooManyInstalled,
    #[error("two wanted packages are named `{0}`: give each a name of its own")]
    DuplicateSubscription(String),
    #[error("two installed operators are named `{0}`: name each once")]
    DuplicateInstalled(String),
    #[error(
        "the operator `{0}` has more than {MAX_OPERATOR_PROPERTY_BYTES} bytes of properties: leave some out"
    )]
    OperatorTooLarge(String),
}

impl RequestError {
    /// Returns whether a limit is exceeded.
    pub(crate) fn is_limit(&self) -> bool {
        matches!(
            self,
            Self::TooManySubscriptions | Self::TooManyInstalled | Self::OperatorTooLarge(_)
        )
    }
}
