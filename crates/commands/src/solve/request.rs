//! Request of `solve` in the form of the API: `SolveRequest` of the schema as JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::{SolvePolicyArg, WantedArg};

/// Input `SolveRequest`.
#[derive(Debug, Default, Serialize)]
pub(super) struct SolveRequestInput {
    pub(super) wanted: Vec<WantedPackageInput>,
    pub(super) installed: Vec<InstalledOperatorInput>,
    pub(super) catalogs: Vec<String>,
    pub(super) policy: SolvePolicyInput,
}

/// Input `WantedPackage`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WantedPackageInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) package_name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) channels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) catalog: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) starting_bundle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) installed: Option<String>,
}

/// Input `InstalledOperator`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct InstalledOperatorInput {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) properties: Vec<PropertyInput>,
}

/// Input `PropertyInput`; also a property in an annotation and in a response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PropertyInput {
    #[serde(rename = "type")]
    pub(super) type_name: String,
    pub(super) value: Value,
}

/// Enum `SolvePolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) enum SolvePolicyInput {
    #[default]
    #[serde(rename = "OLM_V0")]
    OlmV0,
    #[serde(rename = "OLM_V1")]
    OlmV1,
}

impl From<SolvePolicyArg> for SolvePolicyInput {
    fn from(policy: SolvePolicyArg) -> Self {
        match policy {
            SolvePolicyArg::OlmV0 => Self::OlmV0,
            SolvePolicyArg::OlmV1 => Self::OlmV1,
        }
    }
}

impl SolveRequestInput {
    /// Adds a package that the command line names. It owns the installed operator of that package,
    /// and takes the place of a Subscription to it.
    pub(super) fn add_wanted(&mut self, wanted: &WantedArg) {
        let (catalog, package) = match wanted.package.split_once('/') {
            Some((catalog, package)) => (Some(catalog.to_owned()), package),
            None => (None, wanted.package.as_str()),
        };
        let owned = self
            .installed
            .iter()
            .find(|operator| operator.has_package(package));
        // An operator without properties is known by what the Subscription has installed.
        let installed = owned.map(|operator| operator.name.clone()).or_else(|| {
            let mut subscriptions = self.wanted.iter();
            let replaced = subscriptions.find(|one| one.package_name == package)?;
            replaced.installed.clone()
        });
        let version = wanted.version.clone();
        let (version, starting_bundle) = match self.policy {
            SolvePolicyInput::OlmV0 => (None, version),
            SolvePolicyInput::OlmV1 => (version, None),
        };
        let input = WantedPackageInput {
            name: None,
            package_name: package.to_owned(),
            channels: wanted.channel.clone().into_iter().collect(),
            catalog,
            version,
            starting_bundle,
            installed,
        };
        // The command line wins over a Subscription in a file, and a request takes a name once.
        self.wanted.retain(|one| one.package_name != package);
        self.wanted.push(input);
    }
}

impl InstalledOperatorInput {
    /// Returns whether the operator states that it is of a package.
    fn has_package(&self, package: &str) -> bool {
        self.properties.iter().any(|property| {
            property.type_name == "olm.package" && property.value["packageName"] == *package
        })
    }
}
