//! Reads what a cluster prints for `ClusterServiceVersion` and `Subscription` objects as JSON.

use serde::Deserialize;
use solve::{InstalledOperator, OperatorApi, OperatorProperty, PackageSubscription};

/// The operators and subscriptions of a cluster.
#[derive(Debug, Default)]
pub(super) struct ClusterObjects {
    pub(super) installed: Vec<InstalledOperator>,
    pub(super) subscriptions: Vec<PackageSubscription>,
}

/// The annotation with the properties of an operator's bundle.
const PROPERTIES: &str = "operatorframework.io/properties";

#[derive(Default, Deserialize)]
#[serde(default)]
struct OlmObject {
    kind: String,
    metadata: OlmMetadata,
    spec: OlmSpec,
    status: OlmStatus,
    /// The objects of a list.
    items: Vec<OlmObject>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OlmMetadata {
    name: String,
    annotations: std::collections::BTreeMap<String, String>,
}

/// The fields of both kinds: they have none in common.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OlmSpec {
    version: String,
    replaces: String,
    customresourcedefinitions: OlmApis,
    apiservicedefinitions: OlmApis,
    name: String,
    channel: String,
    source: String,
    #[serde(rename = "startingCSV")]
    starting_csv: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OlmApis {
    owned: Vec<OlmApi>,
    required: Vec<OlmApi>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OlmApi {
    name: String,
    /// API services name their group; custom resource definitions have it in their name.
    group: String,
    version: String,
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OlmStatus {
    phase: String,
    reason: String,
    #[serde(rename = "installedCSV")]
    installed_csv: String,
}

#[derive(Deserialize)]
struct Properties {
    #[serde(default)]
    properties: Vec<OperatorProperty>,
}

impl ClusterObjects {
    /// Reads a list, or a single object. Other kinds and copied operators are passed over.
    pub(super) fn read(json: &[u8]) -> anyhow::Result<Self> {
        let mut objects = Self::default();
        objects.add(serde_json::from_slice(json)?)?;
        Ok(objects)
    }

    fn add(&mut self, object: OlmObject) -> anyhow::Result<()> {
        match &*object.kind {
            "ClusterServiceVersion" if object.status.reason != "Copied" => {
                self.installed.push(operator(object)?);
            }
            "Subscription" => self.subscriptions.push(subscription(object)),
            _ => object
                .items
                .into_iter()
                .try_for_each(|item| self.add(item))?,
        }
        Ok(())
    }
}

fn operator(object: OlmObject) -> anyhow::Result<InstalledOperator> {
    let OlmObject {
        metadata,
        spec,
        status,
        ..
    } = object;
    let properties = metadata
        .annotations
        .get(PROPERTIES)
        .map(|text| serde_json::from_str::<Properties>(text));
    let OlmSpec {
        version,
        replaces,
        customresourcedefinitions,
        apiservicedefinitions,
        ..
    } = spec;
    let OlmApis { owned, required } = customresourcedefinitions;
    Ok(InstalledOperator {
        name: metadata.name,
        version,
        properties: properties
            .transpose()?
            .map(|annotation| annotation.properties),
        owned: owned
            .into_iter()
            .chain(apiservicedefinitions.owned)
            .map(api)
            .collect(),
        required: required
            .into_iter()
            .chain(apiservicedefinitions.required)
            .map(api)
            .collect(),
        replaces,
        phase: status.phase,
    })
}

fn api(
    OlmApi {
        name,
        group,
        version,
        kind,
    }: OlmApi,
) -> OperatorApi {
    let name = if group.is_empty() {
        name
    } else {
        format!("{name}.{group}")
    };
    OperatorApi {
        name,
        version,
        kind,
    }
}

fn subscription(object: OlmObject) -> PackageSubscription {
    let OlmObject {
        metadata,
        spec,
        status,
        ..
    } = object;
    PackageSubscription {
        name: metadata.name,
        package: spec.name,
        channel: spec.channel,
        catalog: spec.source,
        starting_csv: spec.starting_csv,
        installed_csv: status.installed_csv,
        ..PackageSubscription::default()
    }
}
