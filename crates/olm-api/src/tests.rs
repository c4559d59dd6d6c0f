//! The definition of `ClusterCatalog` against what catalogd's says, and objects of other versions.

use serde_json::{Value, json};

use super::*;

/// The schema of version v1.
fn schema() -> Value {
    let crd = serde_json::to_value(cluster_catalog_crd()).unwrap();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Everything that a schema demands but not how it describes that: descriptions are ours.
fn demands(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            // A property may be called so; a description is a text.
            let fields = fields
                .iter()
                .filter(|(name, value)| *name != "description" || !value.is_string());
            fields
                .map(|(name, value)| (name.clone(), demands(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(demands).collect(),
        other => other.clone(),
    }
}

/// The value at a path of properties.
fn property<'a>(schema: &'a Value, path: &[&str]) -> &'a Value {
    path.iter()
        .fold(schema, |schema, name| &schema["properties"][name])
}

#[test]
fn the_definition_has_the_names_and_columns_of_catalogd() {
    let crd = serde_json::to_value(cluster_catalog_crd()).unwrap();
    assert_eq!(
        crd["metadata"]["name"],
        "clustercatalogs.olm.operatorframework.io"
    );
    assert_eq!(crd["spec"]["scope"], "Cluster");
    let version = &crd["spec"]["versions"][0];
    assert_eq!(
        (&version["name"], &version["subresources"]),
        (&json!("v1"), &json!({ "status": {} }))
    );
    assert_eq!(
        version["additionalPrinterColumns"],
        json!([
            { "name": "LastUnpacked", "type": "date", "jsonPath": ".status.lastUnpacked" },
            { "name": "Serving", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Serving\")].status" },
            { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
        ])
    );
}

#[test]
fn fields_have_the_types_limits_and_defaults_of_catalogd() {
    let schema = demands(&schema());
    assert_eq!(schema["required"], json!(["metadata", "spec"]));
    let spec = property(&schema, &["spec"]);
    assert_eq!(spec["required"], json!(["source"]));
    let of = |path: &[&str]| {
        let mut found = property(&schema, path).clone();
        for nested in ["properties", "x-kubernetes-validations", "items"] {
            found.as_object_mut().unwrap().remove(nested);
        }
        found
    };
    let (image, resolved) = (
        ["spec", "source", "image"],
        ["status", "resolvedSource", "image"],
    );
    let expected: [(&[&str], Value); 13] = [
        (
            &["spec", "priority"],
            json!({ "type": "integer", "format": "int32", "default": 0, "minimum": f64::from(i32::MIN), "maximum": f64::from(i32::MAX) }),
        ),
        (
            &["spec", "availabilityMode"],
            json!({ "type": "string", "default": "Available", "enum": ["Unavailable", "Available"] }),
        ),
        (
            &["spec", "source"],
            json!({ "type": "object", "required": ["type"] }),
        ),
        (
            &["spec", "source", "type"],
            json!({ "type": "string", "enum": ["Image"] }),
        ),
        (&image, json!({ "type": "object", "required": ["ref"] })),
        (
            &[image[0], image[1], image[2], "ref"],
            json!({ "type": "string", "maxLength": 1000 }),
        ),
        (
            &[image[0], image[1], image[2], "pollIntervalMinutes"],
            json!({ "type": "integer", "minimum": 1.0 }),
        ),
        (&["status"], json!({ "type": "object" })),
        (
            &["status", "lastUnpacked"],
            json!({ "type": "string", "format": "date-time" }),
        ),
        (
            &["status", "resolvedSource"],
            json!({ "type": "object", "required": ["image", "type"] }),
        ),
        (
            &[resolved[0], resolved[1], resolved[2], "ref"],
            json!({ "type": "string", "maxLength": 1000 }),
        ),
        (
            &["status", "urls"],
            json!({ "type": "object", "required": ["base"] }),
        ),
        (
            &["status", "urls", "base"],
            json!({ "type": "string", "maxLength": 525 }),
        ),
    ];
    for (path, expected) in expected {
        assert_eq!(of(path), expected, "{path:?}");
    }
    assert_eq!(
        of(&["status", "conditions"]),
        json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] })
    );
}

#[test]
fn every_rule_has_its_message_in_the_order_of_catalogd() {
    let schema = schema();
    let messages = |path: &[&str]| -> Vec<String> {
        let rules = property(&schema, path)["x-kubernetes-validations"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let beginning = |rule: &Value| {
            rule["message"]
                .as_str()
                .unwrap()
                .split(['.', ','])
                .next()
                .unwrap()
                .to_owned()
        };
        rules.iter().map(beginning).collect()
    };
    let image = "image is required when source type is Image";
    assert_eq!(messages(&["spec", "source"]), [image]);
    assert_eq!(messages(&["status", "resolvedSource"]), [image]);
    let polled = "cannot specify pollIntervalMinutes while using digest-based image";
    assert_eq!(messages(&["spec", "source", "image"]), [polled]);
    let domain = "must start with a valid domain";
    let name = "a valid name is required";
    let digest = [
        "digest algorithm is not valid",
        "digest is not valid",
        "digest is not valid",
    ];
    let tag = [
        "must end with a digest or a tag",
        "tag is invalid",
        "tag is invalid",
    ];
    assert_eq!(
        messages(&["spec", "source", "image", "ref"]),
        [&[domain, name][..], &tag, &digest].concat()
    );
    let resolved = [&[domain, name, "must end with a digest"][..], &digest].concat();
    assert_eq!(
        messages(&["status", "resolvedSource", "image", "ref"]),
        resolved
    );
    assert_eq!(
        messages(&["status", "urls", "base"]),
        ["must be a valid URL", "scheme must be either http or https"]
    );
}

#[test]
fn an_object_of_a_newer_version_can_be_read() {
    let object = json!({
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterCatalog",
        "metadata": { "name": "a" },
        "spec": { "source": { "type": "Git", "git": {} }, "availabilityMode": "Sometimes", "new": 1 },
        "status": { "conditions": [{ "type": "New", "status": "Perhaps", "lastTransitionTime": "2026-01-01T00:00:00Z" }], "new": {} },
    });
    let read: ClusterCatalog = serde_json::from_value(object).unwrap();
    assert_eq!(
        read.spec.source,
        CatalogSourceUnion {
            source_type: SourceType::Unknown,
            image: None
        }
    );
    assert_eq!(
        (read.spec.availability_mode, read.spec.priority),
        (AvailabilityMode::Unknown, 0)
    );
    assert_eq!(read.status.unwrap().conditions[0].type_, "New");
}

#[test]
fn a_catalog_source_is_read_as_far_as_it_matters() {
    let object = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": { "name": "a", "namespace": "b" },
        "spec": {
            "sourceType": "grpc",
            "image": "quay.io/a/b:c",
            "displayName": "A",
            "priority": -3,
            "updateStrategy": { "registryPoll": { "interval": "45m" } },
        },
        "status": { "connectionState": {} },
    });
    let CatalogSource { spec, .. } = serde_json::from_value(object).unwrap();
    let poll = spec
        .update_strategy
        .and_then(|strategy| strategy.registry_poll);
    assert_eq!(
        (spec.image.as_deref(), spec.priority),
        (Some("quay.io/a/b:c"), -3)
    );
    assert_eq!(
        (spec.display_name.as_str(), spec.publisher.as_str()),
        ("A", "")
    );
    assert_eq!(
        poll,
        Some(RegistryPoll {
            interval: "45m".to_owned()
        })
    );
}
