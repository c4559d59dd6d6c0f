//! The parts of a `ClusterServiceVersion` that an install depends on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A CSV, as Go writes it: every field has its type.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct BundleCsv {
    #[serde(default)]
    pub(crate) metadata: BundleCsvMetadata,
    #[serde(default)]
    pub(crate) spec: CsvSpec,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct BundleCsvMetadata {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct CsvSpec {
    #[serde(default)]
    pub(crate) install: CsvInstall,
    #[serde(default, rename = "installModes")]
    pub(crate) install_modes: Vec<CsvInstallMode>,
    #[serde(default)]
    pub(crate) webhookdefinitions: Vec<CsvWebhook>,
    #[serde(default)]
    pub(crate) customresourcedefinitions: CsvDefinitions,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct CsvInstallMode {
    #[serde(rename = "type")]
    pub(crate) name: String,
    pub(crate) supported: bool,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct CsvDefinitions {
    #[serde(default)]
    pub(crate) owned: Vec<CsvDefinition>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct CsvDefinition {
    pub(crate) name: String,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct CsvInstall {
    #[serde(default)]
    pub(crate) spec: CsvStrategy,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CsvStrategy {
    deployments: Option<Vec<CsvDeployment>>,
    #[serde(default)]
    pub(crate) permissions: Vec<CsvPermission>,
    #[serde(default)]
    pub(crate) cluster_permissions: Vec<CsvPermission>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CsvDeployment {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) label: BTreeMap<String, String>,
    /// JSON of a `DeploymentSpec` with a field for whatever Go writes.
    spec: Box<RawValue>,
}

/// Rights of a service account. Its JSON is that of Go, from which names are made: fields in this
/// order, `verbs` also where there are none.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct CsvPermission {
    #[serde(rename = "serviceAccountName")]
    pub(crate) service_account: String,
    pub(crate) rules: Option<Vec<RbacRule>>,
}

/// A rule of RBAC: what may be done to which resources. Fields are in the order of Go's struct.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RbacRule {
    /// Verbs; `*` stands for all.
    #[serde(default)]
    pub verbs: Option<Vec<String>>,
    /// API groups; the core group is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Resources, with subresources as `pods/exec`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Names of objects; empty stands for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Paths of the API server that are no resources.
    #[serde(
        default,
        rename = "nonResourceURLs",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub non_resource_urls: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CsvWebhook {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) generate_name: String,
    #[serde(default)]
    pub(crate) deployment_name: String,
    #[serde(default)]
    pub(crate) container_port: i32,
    pub(crate) target_port: Option<Value>,
    #[serde(rename = "conversionCRDs", default)]
    pub(crate) conversion_crds: Vec<String>,
    pub(crate) webhook_path: Option<String>,
    #[serde(default)]
    pub(crate) rules: Vec<Box<RawValue>>,
    pub(crate) failure_policy: Option<String>,
    pub(crate) match_policy: Option<String>,
    pub(crate) object_selector: Option<Value>,
    pub(crate) side_effects: Option<String>,
    pub(crate) timeout_seconds: Option<i32>,
    pub(crate) admission_review_versions: Option<Vec<String>>,
    pub(crate) reinvocation_policy: Option<String>,
}

impl BundleCsv {
    /// Returns the deployments of the install strategy.
    pub(crate) fn deployments(&self) -> &[CsvDeployment] {
        self.spec.install.spec.deployments.as_deref().unwrap_or(&[])
    }

    /// Iterates over the webhooks of a type.
    pub(crate) fn webhooks_of(&self, kind: &str) -> impl Iterator<Item = &CsvWebhook> {
        self.spec
            .webhookdefinitions
            .iter()
            .filter(move |webhook| webhook.kind == kind)
    }
}

impl CsvDeployment {
    /// Parses the spec.
    pub(crate) fn spec(&self) -> Value {
        parsed(&self.spec)
    }
}

/// Parses a part of a CSV.
fn parsed(json: &RawValue) -> Value {
    serde_json::from_str(json.get()).expect("a part of a CSV is JSON")
}

impl CsvWebhook {
    /// Parses the rules.
    pub(crate) fn rules(&self) -> impl Iterator<Item = Value> {
        self.rules.iter().map(|rule| parsed(rule))
    }

    /// Types of webhooks.
    pub(crate) const VALIDATING: &str = "ValidatingAdmissionWebhook";
    pub(crate) const MUTATING: &str = "MutatingAdmissionWebhook";
    pub(crate) const CONVERSION: &str = "ConversionWebhook";
}
