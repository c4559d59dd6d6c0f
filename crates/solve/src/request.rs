//! What to solve: subscriptions, installed operators and the catalogs to choose from.

use std::collections::BTreeMap;

use fbc::Catalog;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Maximum number of subscriptions in a request.
pub const MAX_SUBSCRIPTIONS: usize = 100;

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
    /// Priority: dependencies are taken from the catalog with the highest one.
    pub priority: i32,
    /// Labels that OLM v1 selects catalogs by.
    pub labels: Option<&'a BTreeMap<String, String>>,
    /// The content.
    pub catalog: &'a Catalog,
}

/// Rules to follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SolvePolicy {
    /// OLM v0: dependencies are installed together with what needs them, and its order of
    /// preference decides.
    #[default]
    OlmV0,
    /// OLM v1: a `ClusterExtension` gets the bundle that `fbc_graph::resolve` picks, whatever that needs;
    /// what it needs would have to be installed beforehand, in the highest versions that fit.
    OlmV1,
}

/// What should be installed, and what is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SolveRequest {
    /// Namespaces whose catalogs are looked at; the first is that of the subscriptions and the
    /// installed operators.
    pub namespaces: Vec<String>,
    /// What is wanted.
    pub subscriptions: Vec<Subscription>,
    /// What is installed.
    pub installed: Vec<InstalledOperator>,
    /// Rules to follow.
    pub policy: SolvePolicy,
    /// `TechPreviewUnsafeFailForward` allows upgrades from failed operators; other values change
    /// nothing.
    pub upgrade_strategy: Option<String>,
}

/// A package that should be installed and kept up to date. Empty texts are absent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Subscription {
    /// Name, unique in a request.
    pub name: String,
    /// Name of the package.
    pub package: String,
    /// Name of the channel; any channel when empty.
    pub channel: String,
    /// Names of channels, of OLM v1; any channel when `channel` is empty too.
    pub channels: Vec<String>,
    /// Range of versions, of OLM v1.
    pub version: String,
    /// Selector for the labels of catalogs, of OLM v1.
    pub selector: String,
    /// Name of the catalog; with the namespace also empty, any catalog.
    pub catalog: String,
    /// Namespace of the catalog.
    pub catalog_namespace: String,
    /// The bundle to begin with, if nothing is installed.
    #[serde(rename = "startingCSV")]
    pub starting_csv: String,
    /// Name of the installed operator that belongs to the subscription.
    #[serde(rename = "installedCSV")]
    pub installed_csv: String,
}

/// An installed operator: what counts of its `ClusterServiceVersion`.
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

impl Subscription {
    /// Names of the channels to choose from; empty for any.
    pub(crate) fn channels(&self) -> Vec<&str> {
        let one = Some(&*self.channel).filter(|name| !name.is_empty());
        one.into_iter()
            .chain(self.channels.iter().map(String::as_str))
            .collect()
    }

    /// Whether it may be served from a catalog.
    pub(crate) fn is_from(&self, catalog: SourceCatalog<'_>) -> bool {
        let is_any = self.catalog.is_empty() && self.catalog_namespace.is_empty();
        is_any || catalog.name == self.catalog && catalog.namespace == self.catalog_namespace
    }
}

impl SolveRequest {
    /// Namespace of the subscriptions and the installed operators.
    pub(crate) fn own_namespace(&self) -> &str {
        self.namespaces.first().map_or("", String::as_str)
    }

    /// Returns why the request is malformed or too large, if it is.
    pub(crate) fn fault(&self) -> Option<RequestFault> {
        if self.namespaces.is_empty() {
            return Some(RequestFault::NoNamespace);
        }
        if self.subscriptions.len() > MAX_SUBSCRIPTIONS {
            return Some(RequestFault::TooManySubscriptions);
        }
        if self.installed.len() > MAX_INSTALLED_OPERATORS {
            return Some(RequestFault::TooManyInstalled);
        }
        if let Some(name) = duplicate(
            self.subscriptions
                .iter()
                .map(|subscription| &*subscription.name),
        ) {
            return Some(RequestFault::DuplicateSubscription(name.to_owned()));
        }
        if let Some(name) = duplicate(self.installed.iter().map(|operator| &*operator.name)) {
            return Some(RequestFault::DuplicateInstalled(name.to_owned()));
        }
        let is_large =
            |operator: &&InstalledOperator| operator.property_bytes() > MAX_OPERATOR_PROPERTY_BYTES;
        self.installed
            .iter()
            .find(is_large)
            .map(|operator| RequestFault::OperatorTooLarge(operator.name.clone()))
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

/// Returns a text that occurs twice.
fn duplicate<'a>(texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = std::collections::HashSet::new();
    texts.into_iter().find(|text| !seen.insert(*text))
}

/// Why a request cannot be solved as it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestFault {
    #[error("at least one namespace must be provided to resolution")]
    NoNamespace,
    #[error(
        "cannot solve for more than {MAX_SUBSCRIPTIONS} wanted packages: ask for fewer at once"
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

impl RequestFault {
    /// Whether a limit was exceeded.
    pub(crate) fn is_limit(&self) -> bool {
        matches!(
            self,
            Self::TooManySubscriptions | Self::TooManyInstalled | Self::OperatorTooLarge(_)
        )
    }
}
