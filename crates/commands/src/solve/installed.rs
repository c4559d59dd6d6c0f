//! Installed operators of a `solve` request: bundles by name, and objects of a cluster as kubectl
//! prints them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::json;

use super::request::{
    InstalledOperatorInput, PropertyInput, SolveRequestInput, WantedPackageInput,
};
use crate::args::{InstalledArg, parse_installed};
use crate::documents::BUNDLE_PROPERTIES;
use crate::file_argument::{STDIN, read_bytes};
use crate::output::hint;
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport};

/// Annotation with the properties of an operator's bundle.
const PROPERTIES: &str = "operatorframework.io/properties";

/// Properties with manifests, which OLM does not write to the annotation.
const MANIFESTS: [&str; 2] = ["olm.bundle.object", "olm.csv.metadata"];

/// `ClusterServiceVersion`, `Subscription`, or list of objects.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OlmObject {
    kind: String,
    metadata: OlmMetadata,
    spec: OlmSpec,
    status: OlmStatus,
    /// Objects of a list; `None` for another object.
    items: Option<Vec<OlmObject>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OlmMetadata {
    name: String,
    annotations: BTreeMap<String, String>,
}

/// Fields of both kinds, which have none in common.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OlmSpec {
    version: String,
    customresourcedefinitions: OlmApis,
    apiservicedefinitions: OlmApis,
    name: String,
    channel: String,
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
    /// Group of an API service; a custom resource definition has it in its name.
    group: Option<String>,
    version: String,
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OlmStatus {
    reason: String,
    #[serde(rename = "installedCSV")]
    installed_csv: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PropertiesAnnotation {
    properties: Option<Vec<PropertyInput>>,
}

/// Bundle in the response to [`BUNDLE_PROPERTIES`].
#[derive(Default, Deserialize)]
#[serde(default)]
struct BundleWithProperties {
    name: String,
    properties: Vec<PropertyInput>,
    catalog: PrioritizedCatalog,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PrioritizedCatalog {
    priority: i64,
}

/// Adds the operators of each argument to a request: of a file, of the standard input, or the
/// bundle of NAME@VERSION. Subscriptions in files become wanted packages.
pub(super) async fn add_installed<T: GraphqlTransport>(
    session: &CommandSession<T>,
    request: &mut SolveRequestInput,
    arguments: &[String],
) -> Result<(), CommandError> {
    let mut named = Vec::new();
    for argument in arguments {
        let failed = |reason: String| {
            let message = format!("cannot read the installed operators in `{argument}`: {reason}");
            CommandError::new(ExitStatus::Usage, message)
        };
        let json = match argument.as_str() {
            path if path == STDIN || fs::metadata(path).is_ok() => {
                read_bytes(Path::new(path)).map_err(|error| failed(error.to_string()))?
            }
            _ => {
                let installed = parse_installed(argument).ok_or_else(|| {
                    let form =
                        "write NAME@VERSION, such as etcd.v0.9.4@0.9.4, or the name of a file";
                    failed(form.to_owned())
                })?;
                named.push(installed);
                continue;
            }
        };
        let object = serde_json::from_slice(&json).map_err(|error| failed(error.to_string()))?;
        let before = request.installed.len() + request.wanted.len();
        if !add_object(request, object) {
            let expected = "expected ClusterServiceVersions and Subscriptions as `kubectl get csv,subscription -o json` prints them";
            return Err(failed(expected.to_owned()));
        }
        if request.installed.len() + request.wanted.len() == before {
            hint(&format!("hint: nothing is installed in `{argument}`"));
        }
    }
    add_bundles(session, request, named).await
}

/// Adds installed bundles with the properties that catalogs give them.
async fn add_bundles<T: GraphqlTransport>(
    session: &CommandSession<T>,
    request: &mut SolveRequestInput,
    bundles: Vec<InstalledArg>,
) -> Result<(), CommandError> {
    if bundles.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = bundles.iter().map(|bundle| &bundle.name).collect();
    let variables = json!({ "catalogs": session.catalogs, "names": names });
    let data = session.data(BUNDLE_PROPERTIES, &variables).await?;
    let nodes = &data["bundles"]["nodes"];
    let known = Vec::<BundleWithProperties>::deserialize(nodes).unwrap_or_default();

    for installed in bundles {
        let found = known
            .iter()
            .filter(|bundle| bundle.name == installed.name)
            .max_by_key(|bundle| bundle.catalog.priority);
        let properties = found.map(|bundle| bundle.properties.as_slice());
        let properties = properties.unwrap_or_default().iter();
        request.installed.push(InstalledOperatorInput {
            name: installed.name,
            version: installed.version,
            properties: properties
                .filter(|property| !MANIFESTS.contains(&property.type_name.as_str()))
                .cloned()
                .collect(),
        });
    }
    Ok(())
}

/// Adds an object, or those of a list; returns `false` for another object. Other kinds in a list and
/// copied operators are skipped.
fn add_object(request: &mut SolveRequestInput, object: OlmObject) -> bool {
    match object.kind.as_str() {
        // OLM copies operators to the namespaces that they watch.
        "ClusterServiceVersion" if object.status.reason == "Copied" => {}
        "ClusterServiceVersion" => request.installed.push(operator(object)),
        "Subscription" => request.wanted.push(subscription(object)),
        _ => {
            let Some(items) = object.items else {
                return false;
            };
            for item in items {
                add_object(request, item);
            }
        }
    }
    true
}

fn operator(object: OlmObject) -> InstalledOperatorInput {
    let annotation = object.metadata.annotations.get(PROPERTIES);
    let stated = annotation
        .and_then(|json| serde_json::from_str::<PropertiesAnnotation>(json).ok())
        .and_then(|annotation| annotation.properties);
    InstalledOperatorInput {
        name: object.metadata.name,
        properties: stated.unwrap_or_else(|| derived_properties(&object.spec)),
        version: object.spec.version,
    }
}

/// Returns the properties that OLM derives for an operator without the annotation.
fn derived_properties(spec: &OlmSpec) -> Vec<PropertyInput> {
    let lists = [&spec.customresourcedefinitions, &spec.apiservicedefinitions];
    let owned = lists.iter().flat_map(|apis| &apis.owned);
    let required = lists.iter().flat_map(|apis| &apis.required);
    let owned = owned.map(|api| api.property("olm.gvk"));
    let required = required.map(|api| api.property("olm.gvk.required"));
    owned.chain(required).collect()
}

impl OlmApi {
    fn property(&self, type_name: &str) -> PropertyInput {
        let group = match &self.group {
            Some(group) => group.as_str(),
            None => self.name.split_once('.').map_or("", |(_, group)| group),
        };
        PropertyInput {
            type_name: type_name.to_owned(),
            value: json!({ "group": group, "kind": self.kind, "version": self.version }),
        }
    }
}

fn subscription(object: OlmObject) -> WantedPackageInput {
    let stated = |text: String| Some(text).filter(|text| !text.is_empty());
    WantedPackageInput {
        name: Some(object.metadata.name),
        package_name: object.spec.name,
        channels: stated(object.spec.channel).into_iter().collect(),
        starting_bundle: stated(object.spec.starting_csv),
        installed: stated(object.status.installed_csv),
        ..WantedPackageInput::default()
    }
}
