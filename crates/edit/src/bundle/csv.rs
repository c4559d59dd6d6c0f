//! Reads the `ClusterServiceVersion` of a bundle for its blob: images, icon and metadata.

use std::collections::BTreeSet;

use fbc::go_types::{self, GoType};

use crate::value::{BlobValue, Members};

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
    for (key, go_type) in [
        ("installModes", go_types::INSTALL_MODES),
        ("links", go_types::LINKS),
        ("maintainers", go_types::MAINTAINERS),
        ("nativeAPIs", go_types::NATIVE_APIS),
    ] {
        add(key, spec(key).map(|value| known_fields(value, go_type)));
    }
    // They are there even when they are empty: Go's `omitempty` omits no structs.
    for (key, field, go_type) in [
        (
            "crdDescriptions",
            "customresourcedefinitions",
            go_types::CRDS,
        ),
        (
            "apiServiceDefinitions",
            "apiservicedefinitions",
            go_types::API_SERVICES,
        ),
        ("provider", "provider", go_types::LINK),
    ] {
        let value = spec(field).map(|value| known_fields(value, go_type));
        let value = value.unwrap_or(BlobValue::Object(Members::new()));
        members.insert(key.to_owned(), value);
    }
    BlobValue::Object(members)
}

/// Keeps the fields of a Go type, on every level, that are not empty.
fn known_fields(value: &BlobValue, go_type: GoType) -> BlobValue {
    match (value, go_type) {
        (BlobValue::Array(items), GoType::List(element, _)) => BlobValue::Array(
            items
                .iter()
                .map(|item| known_fields(item, *element))
                .collect(),
        ),
        (BlobValue::Object(members), GoType::Struct(go_struct)) => {
            let mut kept = Members::new();
            for (key, value) in members {
                let field = go_struct.fields.iter().find(|field| field.name == key);
                if let Some(field) = field.filter(|_| !is_empty(value)) {
                    kept.insert(key.clone(), known_fields(value, field.go_type));
                }
            }
            BlobValue::Object(kept)
        }
        _ => value.clone(),
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
