//! The operators that `solve` takes to be installed: bundles by name, and objects of a cluster as
//! kubectl prints them.

use std::io::Read as _;
use std::{fs, io};

use printing::text;
use serde_json::{Value, json};

use crate::args::parse_installed;
use crate::context::CommandContext;
use crate::documents::BUNDLE_PROPERTIES;
use crate::error::{CommandError, ExitStatus};

/// The argument that stands for standard input.
const STDIN: &str = "-";

/// The annotation with the properties of an operator's bundle.
const PROPERTIES: &str = "/metadata/annotations/operatorframework.io~1properties";

/// Properties that hold manifests, which OLM does not write to the annotation.
const MANIFESTS: [&str; 2] = ["olm.bundle.object", "olm.csv.metadata"];

/// What is installed, as objects of the API.
#[derive(Default)]
pub(super) struct InstalledOperators {
    pub(super) operators: Vec<Value>,
    /// The packages that Subscriptions name.
    pub(super) wanted: Vec<Value>,
}

impl InstalledOperators {
    /// Reads what each argument means: a file, the standard input, or NAME@VERSION.
    pub(super) async fn read(
        context: &CommandContext,
        arguments: &[String],
    ) -> Result<Self, CommandError> {
        let mut found = Self::default();
        let mut named = Vec::new();
        for argument in arguments {
            let failed = |reason: String| {
                let message =
                    format!("cannot read the installed operators in `{argument}`: {reason}");
                CommandError::new(ExitStatus::Usage, message)
            };
            let json = match argument.as_str() {
                STDIN => {
                    let mut json = Vec::new();
                    io::stdin()
                        .read_to_end(&mut json)
                        .map_err(|error| failed(error.to_string()))?;
                    json
                }
                path if fs::metadata(path).is_ok() => {
                    fs::read(path).map_err(|error| failed(error.to_string()))?
                }
                _ => {
                    let installed = parse_installed(argument);
                    named.push(
                        installed
                            .map_err(|reason| failed(format!("it is no file either: {reason}")))?,
                    );
                    continue;
                }
            };
            let list = serde_json::from_slice(&json).map_err(|error| failed(error.to_string()))?;
            found.add(&list);
        }
        if named.is_empty() {
            return Ok(found);
        }
        let bundles: Vec<_> = named.iter().map(|installed| &installed.name).collect();
        let data = context
            .data(
                BUNDLE_PROPERTIES,
                &json!({ "catalogs": context.catalogs, "names": bundles }),
            )
            .await?;
        for installed in named {
            let properties = properties_of(&data["bundles"]["nodes"], &installed.name);
            found.operators.push(json!({
                "name": installed.name, "version": installed.version, "properties": properties,
            }));
        }
        Ok(found)
    }

    /// Adds an object, or those of a list. Other kinds and copied operators are passed over.
    fn add(&mut self, object: &Value) {
        match object["kind"].as_str() {
            Some("ClusterServiceVersion")
                if object.pointer("/status/reason") == Some(&json!("Copied")) => {}
            Some("ClusterServiceVersion") => self.operators.push(operator(object)),
            Some("Subscription") => self.wanted.push(subscription(object)),
            _ => object["items"]
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|item| self.add(item)),
        }
    }
}

/// Whether an installed operator says that it is of a package.
pub(super) fn has_package(operator: &Value, package: &str) -> bool {
    let mut properties = operator["properties"].as_array().into_iter().flatten();
    properties.any(|property| {
        property["type"] == "olm.package" && property["value"]["packageName"] == *package
    })
}

/// The properties that OLM writes to the operator of a bundle: those of the bundle but its
/// manifests.
fn properties_of(bundles: &Value, name: &str) -> Vec<Value> {
    let bundles = bundles
        .as_array()
        .into_iter()
        .flatten()
        .filter(|bundle| bundle["name"] == *name);
    let found = bundles.max_by_key(|bundle| bundle["catalog"]["priority"].as_i64());
    let properties = found
        .and_then(|bundle| bundle["properties"].as_array())
        .into_iter()
        .flatten();
    properties
        .filter(|property| !MANIFESTS.iter().any(|kind| property["type"] == **kind))
        .cloned()
        .collect()
}

fn operator(object: &Value) -> Value {
    let annotation = object.pointer(PROPERTIES).and_then(Value::as_str);
    let stated = annotation.and_then(|json| serde_json::from_str::<Value>(json).ok());
    let properties = match stated.map(|mut annotation| annotation["properties"].take()) {
        Some(Value::Array(properties)) => properties,
        _ => derived(&object["spec"]),
    };
    json!({
        "name": object["metadata"]["name"], "version": text(object, "/spec/version"), "properties": properties,
    })
}

/// The properties that OLM derives for an operator without the annotation.
fn derived(spec: &Value) -> Vec<Value> {
    let apis = |list: &str, kind: &str| {
        let lists = ["customresourcedefinitions", "apiservicedefinitions"];
        let apis = lists
            .into_iter()
            .flat_map(|lists| spec[lists][list].as_array().into_iter().flatten());
        let property = |api: &Value| {
            // API services name their group; custom resource definitions have it in their name.
            let group = match api["group"].as_str() {
                Some(group) => group.to_owned(),
                None => text(api, "/name")
                    .split_once('.')
                    .map(|(_, group)| group.to_owned())
                    .unwrap_or_default(),
            };
            json!({ "type": kind, "value": { "group": group, "kind": api["kind"], "version": api["version"] } })
        };
        apis.map(property).collect::<Vec<_>>()
    };
    [
        apis("owned", "olm.gvk"),
        apis("required", "olm.gvk.required"),
    ]
    .concat()
}

fn subscription(object: &Value) -> Value {
    let mut wanted =
        json!({ "name": object["metadata"]["name"], "packageName": text(object, "/spec/name") });
    for (name, pointer) in [
        ("startingBundle", "/spec/startingCSV"),
        ("installed", "/status/installedCSV"),
    ] {
        let value = text(object, pointer);
        if !value.is_empty() {
            wanted[name] = value.into();
        }
    }
    let channel = text(object, "/spec/channel");
    if !channel.is_empty() {
        wanted["channels"] = json!([channel]);
    }
    wanted
}
