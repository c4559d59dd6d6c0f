//! The deployment configuration of a `ClusterExtension`: what OLM v0 calls the configuration of a
//! Subscription.

use serde_json::{Map, Value};

use super::member;
use crate::bundle::first_document;
use crate::error::{PreviewError, PreviewErrorCode};
use crate::go_struct::{DEPLOYMENT_CONFIG, GoStructs};

/// Changes to the deployments of a bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct DeploymentConfig {
    config: Value,
    /// The node selector may be empty, which removes the one of the bundle.
    node_selector: Option<Value>,
    /// Names of fields that have no effect.
    unknown_fields: Vec<String>,
}

/// A list of named objects in an object.
pub(super) struct NamedList<'v>(pub(super) &'v mut Vec<Value>);

/// Kinds of affinity, each with the fields that make it more than empty.
const AFFINITIES: [&str; 3] = ["nodeAffinity", "podAffinity", "podAntiAffinity"];
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

impl DeploymentConfig {
    /// Reads a configuration, JSON or YAML: `spec.config.inline.deploymentConfig` of a
    /// `ClusterExtension`.
    ///
    /// # Errors
    /// Fails when a field has another type.
    pub fn read(text: &[u8]) -> Result<Self, PreviewError> {
        let invalid = |reason: &dyn ToString| {
            let message = format!("cannot read the deployment config: {}", reason.to_string());
            PreviewError::new(PreviewErrorCode::InvalidDeploymentConfig, message)
        };
        let line = first_document(text).map_err(|error| invalid(&error))?;
        let line = line.unwrap_or_else(|| "{}".to_owned());
        let converted = GoStructs::get()
            .convert(DEPLOYMENT_CONFIG, line.as_bytes())
            .map_err(|error| invalid(&error))?;
        let parse = |text: &str| serde_json::from_str(text).map_err(|error| invalid(&error));
        let config = parse(&converted)?;
        let given: Value = parse(&line)?;
        let node_selector = given["nodeSelector"].as_object().cloned();
        Ok(Self {
            config,
            node_selector: node_selector.map(Value::Object),
            unknown_fields: unknown_fields(&given),
        })
    }

    /// Returns the names of the fields that a deployment configuration does not have.
    pub fn unknown_fields(&self) -> &[String] {
        &self.unknown_fields
    }
}

fn unknown_fields(config: &Value) -> Vec<String> {
    let known = GoStructs::get().field_names(DEPLOYMENT_CONFIG);
    let names = config.as_object().into_iter().flatten();
    let names = names.map(|(name, _)| name.clone());
    names
        .filter(|name| !known.contains(&name.as_str()))
        .collect()
}

/// Applies a configuration to the specification and the annotations of a deployment.
pub(super) fn apply(
    config: &DeploymentConfig,
    spec: &mut Value,
    annotations: &mut Map<String, Value>,
) {
    let given = &config.config;
    let list = |name: &str| given[name].as_array().map_or(&[][..], Vec::as_slice);
    let pod = &mut spec["template"]["spec"];
    for container in pod["containers"].as_array_mut().into_iter().flatten() {
        NamedList::of(container, "env").replace_by_name(list("env"));
        NamedList::of(container, "envFrom").add_new(list("envFrom"));
        NamedList::of(container, "volumeMounts").replace_by_name(list("volumeMounts"));
        if let Some(resources) = given.get("resources") {
            container["resources"] = resources.clone();
        }
    }
    NamedList::of(pod, "volumes").replace_by_name(list("volumes"));
    NamedList::of(pod, "tolerations").add_new(list("tolerations"));
    if let Some(selector) = &config.node_selector {
        pod["nodeSelector"] = selector.clone();
    }
    apply_affinity(&given["affinity"], pod);

    let template = member(&mut spec["template"]["metadata"], "annotations");
    for (key, value) in given["annotations"].as_object().into_iter().flatten() {
        for into in [&mut *annotations, &mut *template] {
            into.entry(key).or_insert_with(|| value.clone());
        }
    }
    remove_empty_lists(spec);
}

/// Merges an affinity. One without fields removes the affinity of the bundle, and so does an empty
/// field with the one of its kind.
fn apply_affinity(given: &Value, pod: &mut Value) {
    let Some(given) = given.as_object() else {
        return;
    };
    let fields = pod.as_object_mut().expect("a pod was written as an object");
    let Some(old) = (!given.is_empty()).then(|| fields.remove("affinity")) else {
        fields.remove("affinity");
        return;
    };
    let mut affinity = match old {
        Some(Value::Object(affinity)) => affinity,
        _ => Map::new(),
    };
    for kind in AFFINITIES {
        match given.get(kind) {
            None => {}
            Some(one) if is_affinity_empty(one) => {
                affinity.remove(kind);
            }
            Some(one) => {
                affinity.insert(kind.to_owned(), one.clone());
            }
        }
    }
    if affinity.values().any(|one| !is_affinity_empty(one)) {
        fields.insert("affinity".to_owned(), Value::Object(affinity));
    }
}

/// Tells whether an affinity requires and prefers nothing.
fn is_affinity_empty(affinity: &Value) -> bool {
    let is_list_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    let required = match &affinity[REQUIRED] {
        Value::Object(terms) => terms.get("nodeSelectorTerms").unwrap_or(&Value::Null),
        terms => terms,
    };
    is_list_empty(required) && is_list_empty(&affinity[PREFERRED])
}

/// Removes the lists that were looked at and stayed empty, as Go leaves them out.
fn remove_empty_lists(spec: &mut Value) {
    let remove = |object: &mut Value, names: &[&str]| {
        let members = object.as_object_mut().into_iter();
        members.for_each(|members| {
            members.retain(|name, value| {
                !names.contains(&&**name) || value.as_array().is_none_or(|list| !list.is_empty())
            });
        });
    };
    let pod = &mut spec["template"]["spec"];
    for container in pod["containers"].as_array_mut().into_iter().flatten() {
        remove(container, &["env", "envFrom", "volumeMounts"]);
    }
    remove(pod, &["volumes", "tolerations"]);
}

impl<'v> NamedList<'v> {
    /// Returns a member of an object that is a list, which is created where it is none.
    pub(super) fn of(object: &'v mut Value, name: &str) -> Self {
        let value = &mut object[name];
        if !value.is_array() {
            *value = Value::Array(Vec::new());
        }
        Self(value.as_array_mut().expect("it was made a list"))
    }

    /// Replaces the last item of the same name, as it was before, or else appends.
    fn replace_by_name(self, items: &[Value]) {
        let before = self.0.len();
        for item in items {
            let same = self.0[..before]
                .iter()
                .rposition(|old| old["name"] == item["name"]);
            match same {
                Some(at) => self.0[at] = item.clone(),
                None => self.0.push(item.clone()),
            }
        }
    }

    /// Appends items that are not there.
    fn add_new(self, items: &[Value]) {
        for item in items {
            if !self.0.contains(item) {
                self.0.push(item.clone());
            }
        }
    }
}
