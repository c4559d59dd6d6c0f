//! What a blob has of the `ClusterServiceVersion` of a bundle: its images, its icon, its metadata.

use std::collections::BTreeSet;

use crate::value::{Members, Value};

/// Fields of descriptions of custom resource definitions and of API services, with the descriptors
/// among them.
const DESCRIPTION: [&str; 12] = [
    "name",
    "version",
    "kind",
    "group",
    "deploymentName",
    "containerPort",
    "displayName",
    "description",
    "resources",
    "statusDescriptors",
    "specDescriptors",
    "actionDescriptors",
];

/// Lists the images that a bundle uses, sorted by image: those that the CSV names, the bundle's
/// own, and those of its deployments that the CSV does not name.
pub(super) fn related_images(csv: &Value, bundle_image: &str) -> Vec<Value> {
    let related = |name: &str, image: &str| {
        Value::object([("name", Value::text(name)), ("image", Value::text(image))])
    };
    let named = csv.list(&["spec", "relatedImages"]);
    let mut images: Vec<Value> = named
        .iter()
        .map(|image| related(image.str("name"), image.str("image")))
        .collect();
    let mut known: BTreeSet<&str> = named.iter().map(|image| image.str("image")).collect();
    if !bundle_image.is_empty() && known.insert(bundle_image) {
        images.push(related("", bundle_image));
    }
    for deployment in csv.list(&["spec", "install", "spec", "deployments"]) {
        for containers in ["containers", "initContainers"] {
            for container in deployment.list(&["spec", "template", "spec", containers]) {
                if known.insert(container.str("image")) {
                    images.push(related("", container.str("image")));
                }
            }
        }
    }
    images.sort_by(|a, b| a.str("image").cmp(b.str("image")));
    images
}

/// Makes the icon of a package of the icon of a CSV, whose base64 may have spaces.
pub(super) fn icon(icon: &Value) -> Option<Value> {
    let data: String = icon.str("base64data").split_whitespace().collect();
    let members = [
        ("base64data", Value::text(data)),
        ("mediatype", Value::text(icon.str("mediatype"))),
    ];
    (!icon.str("base64data").is_empty()).then(|| Value::object(members))
}

/// Makes the value of an `olm.csv.metadata` of a CSV.
pub(super) fn csv_metadata(csv: &Value) -> Value {
    let spec = |key: &str| csv.at(&["spec", key]);
    let mut members = Members::new();
    let mut add = |key: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|value| !is_empty(value)) {
            members.insert(key.to_owned(), value);
        }
    };
    add("annotations", csv.at(&["metadata", "annotations"]).cloned());
    add("labels", csv.at(&["metadata", "labels"]).cloned());
    for key in [
        "description",
        "displayName",
        "maturity",
        "minKubeVersion",
        "keywords",
    ] {
        add(key, spec(key).cloned());
    }
    for (key, fields) in [
        ("installModes", &["type", "supported"][..]),
        ("links", &["name", "url"]),
        ("maintainers", &["name", "email"]),
    ] {
        add(key, spec(key).map(|value| with_fields(value, fields)));
    }
    add(
        "nativeAPIs",
        spec("nativeAPIs").map(|value| with_fields(value, &["group", "version", "kind"])),
    );
    // These three are there even when they are empty.
    for (key, field) in [
        ("crdDescriptions", "customresourcedefinitions"),
        ("apiServiceDefinitions", "apiservicedefinitions"),
    ] {
        members.insert(key.to_owned(), descriptions(spec(field)));
    }
    let provider = spec("provider").map(|value| with_fields(value, &["name", "url"]));
    members.insert(
        "provider".to_owned(),
        provider.unwrap_or(Value::Object(Members::new())),
    );
    Value::Object(members)
}

fn descriptions(definitions: Option<&Value>) -> Value {
    let mut members = Members::new();
    for which in ["owned", "required"] {
        let list = definitions
            .map(|definitions| definitions.list(&[which]))
            .unwrap_or_default();
        if !list.is_empty() {
            let kept = list
                .iter()
                .map(|description| with_fields(description, &DESCRIPTION))
                .collect();
            members.insert(which.to_owned(), Value::Array(kept));
        }
    }
    Value::Object(members)
}

/// Keeps these fields of an object, or of each object of an array.
fn with_fields(value: &Value, fields: &[&str]) -> Value {
    match value {
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| with_fields(item, fields)).collect())
        }
        Value::Object(members) => {
            let kept = members
                .iter()
                .filter(|(key, value)| fields.contains(&key.as_str()) && !is_empty(value));
            Value::Object(
                kept.map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            )
        }
        plain => plain.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
