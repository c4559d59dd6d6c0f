//! Installed operators: arguments, objects of a cluster as kubectl prints them, and the input of the
//! API in a file.

use std::collections::BTreeMap;
use std::path::Path;

use printing::text;
use serde_json::{Map, Value, json};

use crate::args::UpgradePlanArgs;
use crate::file_argument::read_bytes;
use crate::{CommandError, ExitStatus};

/// Annotation with the properties of an operator's bundle.
const PROPERTIES: &str = "operatorframework.io/properties";

/// Type of the only property that a plan reads.
const MAX_OPENSHIFT: &str = "olm.maxOpenShiftVersion";

/// Annotation of a Subscription that OLM made for a dependency.
const GENERATED_BY: &str = "olm.generated-by";

/// Label of a copied operator.
const COPIED_FROM: &str = "olm.copiedFrom";

/// Objects of a cluster that say what is installed.
#[derive(Clone, Debug, Default)]
pub struct InstalledObjects {
    /// Inputs `ClusterBundleInput` that were given as such.
    inputs: Vec<Value>,
    subscriptions: Vec<Value>,
    extensions: Vec<Value>,
    /// By namespace and name.
    operators: BTreeMap<(String, String), Value>,
}

impl InstalledObjects {
    /// Adds what the command line names, and the objects of its files.
    pub(super) fn add_arguments(&mut self, args: &UpgradePlanArgs) -> Result<(), CommandError> {
        for installed in &args.installed {
            self.inputs.push(json!({
                "packageName": installed.package,
                "version": installed.version,
                "channels": installed.channel.iter().collect::<Vec<_>>(),
            }));
        }
        for file in &args.file {
            let failed = |reason: String| {
                let message = format!("cannot read what is installed in `{file}`: {reason}");
                CommandError::new(ExitStatus::Usage, message)
            };
            let json = read_bytes(Path::new(file)).map_err(|error| failed(error.to_string()))?;
            let value = serde_json::from_slice(&json).map_err(|error| failed(error.to_string()))?;
            if !self.add(value) {
                let expected = "expected ClusterServiceVersions, Subscriptions and ClusterExtensions as kubectl prints them, or an object with the list `installed`";
                return Err(failed(expected.to_owned()));
            }
        }
        Ok(())
    }

    /// Adds an object, or those of a list; returns whether anything in it says what is installed.
    /// Other kinds and copied operators are skipped.
    pub fn add(&mut self, mut object: Value) -> bool {
        if let Some(Value::Array(inputs)) = object.get_mut("installed").map(Value::take) {
            self.inputs.extend(inputs);
            return true;
        }
        match object["kind"].as_str() {
            Some("Subscription") => self.subscriptions.push(object),
            Some("ClusterExtension") => self.extensions.push(object),
            Some("ClusterServiceVersion") => {
                // OLM copies operators to the namespaces that they watch.
                let is_copied = object["metadata"]["labels"].get(COPIED_FROM).is_some()
                    || object.pointer("/status/reason") == Some(&json!("Copied"));
                if !is_copied {
                    let [namespace, name] = ["/metadata/namespace", "/metadata/name"]
                        .map(|pointer| text(&object, pointer));
                    self.operators.insert((namespace, name), object);
                }
            }
            _ => {
                let Some(Value::Array(items)) = object.get_mut("items").map(Value::take) else {
                    return false;
                };
                for item in items {
                    self.add(item);
                }
            }
        }
        true
    }

    /// Returns the inputs `ClusterBundleInput`, and hints for the user. A Subscription names its
    /// catalog if that is one of these.
    pub(super) fn into_input(self, catalogs: &[String]) -> (Vec<Value>, Vec<String>) {
        let mut hints = Vec::new();
        let mut inputs = self.inputs;
        let mut operators = self.operators;
        for subscription in &self.subscriptions {
            let namespace = text(subscription, "/metadata/namespace");
            let bundle = text(subscription, "/status/installedCSV");
            if bundle.is_empty() {
                continue;
            }
            let name = text(subscription, "/metadata/name");
            let current = text(subscription, "/status/currentCSV");
            let is_manual = text(subscription, "/spec/installPlanApproval") == "Manual";
            if is_manual && !current.is_empty() && current != bundle {
                hints.push(format!(
                    "the InstallPlan for {current} of Subscription {namespace}/{name} waits for approval"
                ));
            }
            let operator = operators.remove(&(namespace, bundle));
            inputs.push(of_subscription(subscription, operator.as_ref(), catalogs));
        }
        inputs.extend(self.extensions.iter().filter_map(of_extension));
        if !operators.is_empty() {
            let names = operators
                .keys()
                .map(|(namespace, name)| format!("{namespace}/{name}"));
            hints.push(format!(
                "no Subscription has installed these ClusterServiceVersions, which are left out: {}",
                names.collect::<Vec<_>>().join(", ")
            ));
        }
        (inputs, hints)
    }
}

fn of_subscription(subscription: &Value, operator: Option<&Value>, catalogs: &[String]) -> Value {
    let metadata = &subscription["metadata"];
    let is_dependency = ["annotations", "labels"]
        .iter()
        .any(|member| metadata[member].get(GENERATED_BY).is_some());
    let channel = text(subscription, "/spec/channel");
    let is_manual = text(subscription, "/spec/installPlanApproval") == "Manual";
    let mut input = Map::from_iter([
        (
            "packageName".to_owned(),
            json!(text(subscription, "/spec/name")),
        ),
        (
            "name".to_owned(),
            json!(text(subscription, "/status/installedCSV")),
        ),
        (
            "namespace".to_owned(),
            json!(text(subscription, "/metadata/namespace")),
        ),
        (
            "approval".to_owned(),
            json!(if is_manual { "MANUAL" } else { "AUTOMATIC" }),
        ),
        ("dependency".to_owned(), json!(is_dependency)),
    ]);
    if !channel.is_empty() {
        input.insert("channels".to_owned(), json!([channel]));
    }
    let source = text(subscription, "/spec/source");
    if catalogs.contains(&source) {
        input.insert("catalog".to_owned(), json!(source));
    }
    if let Some(operator) = operator {
        let version = text(operator, "/spec/version");
        if !version.is_empty() {
            input.insert("version".to_owned(), json!(version));
        }
        let annotation = operator["metadata"]["annotations"][PROPERTIES].as_str();
        let properties: Option<Value> =
            annotation.and_then(|annotation| serde_json::from_str(annotation).ok());
        let properties = properties
            .as_ref()
            .and_then(|all| all["properties"].as_array());
        if let Some(properties) = properties {
            let limits = properties
                .iter()
                .filter(|property| property["type"] == MAX_OPENSHIFT);
            input.insert("properties".to_owned(), limits.cloned().collect());
        }
    }
    Value::Object(input)
}

/// Returns the input of a `ClusterExtension`; `None` for one that has installed nothing yet.
fn of_extension(extension: &Value) -> Option<Value> {
    let bundle = extension.pointer("/status/install/bundle")?;
    let source = extension.pointer("/spec/source/catalog")?;
    Some(json!({
        "packageName": text(source, "/packageName"),
        "name": text(bundle, "/name"),
        "version": text(bundle, "/version"),
        "namespace": text(extension, "/spec/namespace"),
        "channels": source.get("channels"),
        "versionRange": source.get("version"),
        "olm": "V1",
    }))
}
