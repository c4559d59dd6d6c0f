//! Reads the `ClusterServiceVersion` of a bundle for its blob: images, icon and metadata.

use std::collections::BTreeSet;

use crate::value::{BlobValue, Members};

/// Fields of descriptions of custom resource definitions and of API services, with the descriptors
/// among them.
const DESCRIPTION_FIELDS: [&str; 12] = [
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
pub(super) fn related_images(csv: &BlobValue, bundle_image: &str) -> Vec<BlobValue> {
    let related = |name: &str, image: &str| {
        BlobValue::object([
            ("name", BlobValue::text(name)),
            ("image", BlobValue::text(image)),
        ])
    };
    let named = csv.list(&["spec", "relatedImages"]);
    let mut images: Vec<BlobValue> = named
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
pub(super) fn icon(icon: &BlobValue) -> Option<BlobValue> {
    // The base64 of a CSV may have line breaks, which Go's decoder skips.
    let data: String = icon.str("base64data").split_whitespace().collect();
    let members = [
        ("base64data", BlobValue::text(data)),
        ("mediatype", BlobValue::text(icon.str("mediatype"))),
    ];
    (!icon.str("base64data").is_empty()).then(|| BlobValue::object(members))
}

/// Makes the value of an `olm.csv.metadata` of a CSV.
pub(super) fn csv_metadata(csv: &BlobValue) -> BlobValue {
    let spec = |key: &str| csv.at(&["spec", key]);
    let mut members = Members::new();
    let mut add = |key: &str, value: Option<BlobValue>| {
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
    // They are there even when they are empty: Go's `omitempty` omits no structs.
    for (key, field) in [
        ("crdDescriptions", "customresourcedefinitions"),
        ("apiServiceDefinitions", "apiservicedefinitions"),
    ] {
        members.insert(key.to_owned(), descriptions(spec(field)));
    }
    let provider = spec("provider").map(|value| with_fields(value, &["name", "url"]));
    members.insert(
        "provider".to_owned(),
        provider.unwrap_or(BlobValue::Object(Members::new())),
    );
    BlobValue::Object(members)
}

fn descriptions(definitions: Option<&BlobValue>) -> BlobValue {
    let mut members = Members::new();
    for which in ["owned", "required"] {
        let list = definitions
            .map(|definitions| definitions.list(&[which]))
            .unwrap_or_default();
        if !list.is_empty() {
            let kept = list
                .iter()
                .map(|description| with_fields(description, &DESCRIPTION_FIELDS))
                .collect();
            members.insert(which.to_owned(), BlobValue::Array(kept));
        }
    }
    BlobValue::Object(members)
}

/// Keeps these fields of an object, or of each object of an array.
fn with_fields(value: &BlobValue, fields: &[&str]) -> BlobValue {
    match value {
        BlobValue::Array(items) => {
            BlobValue::Array(items.iter().map(|item| with_fields(item, fields)).collect())
        }
        BlobValue::Object(members) => {
            let kept = members
                .iter()
                .filter(|(key, value)| fields.contains(&key.as_str()) && !is_empty(value));
            BlobValue::Object(
                kept.map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            )
        }
        plain => plain.clone(),
    }
}

fn is_empty(value: &BlobValue) -> bool {
    match value {
        BlobValue::Null => true,
        BlobValue::String(text) => text.is_empty(),
        BlobValue::Array(items) => items.is_empty(),
        BlobValue::Object(members) => members.is_empty(),
        BlobValue::Bool(_) | BlobValue::Number(_) => false,
    }
}
