//! What real catalogs say of APIs, permissions and webhooks, against a second reading of their
//! files by `serde_json`. It shares no code with what it judges.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use graphql::Engine;
use serde_json::{Value, json};
use testing::corpus::find_catalog;

use crate::corpus::{of_whole_or_part, serve, serve_community, sorted};
use crate::served;

/// Bundles of a page: each may have hundreds of descriptors, and the cost assumes some.
const PAGE: usize = 20;

const BUNDLES: &str = "query($first: Int!, $after: String) {
    bundles(first: $first, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { name package { name } metadata {
            ownedCrds { ...C } requiredCrds { ...C }
            ownedApiServices { ...A } requiredApiServices { ...A }
            permissions { ...P } clusterPermissions { ...P }
            webhooks {
                name type deploymentName path failurePolicy conversionCrds
                rules { apiGroups apiVersions resources operations }
            }
        } }
    }
}
fragment C on CrdDescription {
    name version kind displayName description isInternal
    resources { name version kind } specDescriptors { ...D } statusDescriptors { ...D }
}
fragment D on FieldDescriptor { path displayName description xDescriptors }
fragment A on ApiServiceDescription { name group version kind displayName description deploymentName }
fragment P on ServiceAccountPermissions {
    serviceAccountName rules { apiGroups resources resourceNames verbs nonResourceUrls }
}";

/// What a whole catalog holds, counted.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    crds: usize,
    internal: usize,
    resources: usize,
    descriptors: usize,
    api_services: usize,
    /// Bundles with permissions, with permissions in the cluster, and with webhooks.
    installing: [usize; 3],
}

#[test]
fn descriptions_of_apis_are_those_of_the_files() {
    let served = serve_community();
    let catalog = Arc::clone(&served.content.catalog);
    let counts = agree(&served::engine([served]), &testing::corpus::community());
    let whole = Counts {
        crds: 32_815,
        internal: 2_723,
        resources: 17_198,
        descriptors: 90_568,
        api_services: 0,
        installing: [0, 0, 0],
    };
    let part = Counts {
        crds: 964,
        internal: 82,
        resources: 151,
        descriptors: 817,
        api_services: 0,
        installing: [0, 0, 0],
    };
    assert_eq!(counts, of_whole_or_part(&catalog, whole, part));
}

#[test]
fn permissions_and_webhooks_are_those_of_inline_manifests() {
    let Some(served) = serve("community-objects") else {
        return;
    };
    let counts = agree(
        &served::engine([served]),
        &find_catalog("community-objects").expect("it was there before"),
    );
    let expected = Counts {
        crds: 8_193,
        internal: 1_792,
        resources: 6_192,
        descriptors: 11_568,
        api_services: 0,
        installing: [707, 856, 278],
    };
    assert_eq!(counts, expected);
}

/// Compares each bundle that an engine serves with what the oracle makes of its file.
#[track_caller]
fn agree(engine: &Engine, directory: &Path) -> Counts {
    let mut expected = bundles(directory);
    let mut counts = Counts::default();
    let mut after = Value::Null;
    loop {
        let data = served::data(engine, BUNDLES, &json!({ "first": PAGE, "after": after }));
        let page = &data["bundles"];
        for node in page["nodes"].as_array().expect("a list") {
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            let key = (text(&node["package"]["name"]), text(&node["name"]));
            let metadata = expected.remove(&key).expect("the bundle is in the files");
            assert_eq!(node["metadata"], metadata, "{key:?}");
            count(&metadata, &mut counts);
        }
        if page["pageInfo"]["hasNextPage"] == false {
            assert_eq!(expected.len(), 0);
            return counts;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

fn count(metadata: &Value, counts: &mut Counts) {
    let len = |value: &Value| value.as_array().map_or(0, Vec::len);
    for crd in ["ownedCrds", "requiredCrds"]
        .iter()
        .flat_map(|list| metadata[*list].as_array().expect("a list"))
    {
        counts.crds += 1;
        counts.internal += usize::from(crd["isInternal"] == true);
        counts.resources += len(&crd["resources"]);
        counts.descriptors += len(&crd["specDescriptors"]) + len(&crd["statusDescriptors"]);
    }
    counts.api_services +=
        len(&metadata["ownedApiServices"]) + len(&metadata["requiredApiServices"]);
    for (at, list) in ["permissions", "clusterPermissions", "webhooks"]
        .into_iter()
        .enumerate()
    {
        counts.installing[at] += usize::from(len(&metadata[list]) > 0);
    }
}

/// What is expected of every bundle, by package and name.
fn bundles(directory: &Path) -> BTreeMap<(String, String), Value> {
    let mut found = BTreeMap::new();
    for package in sorted(directory) {
        for file in sorted(&package) {
            let text = fs::read_to_string(&file).expect("a readable file");
            let blobs = text
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
            for blob in blobs.filter(|blob| blob["schema"] == "olm.bundle") {
                let text = |key: &str| blob[key].as_str().expect("a string").to_owned();
                found.insert((text("package"), text("name")), expected(&blob));
            }
        }
    }
    found
}

fn expected(bundle: &Value) -> Value {
    let properties = bundle["properties"].as_array().expect("a list");
    let of_type = |wanted: &'static str| {
        properties
            .iter()
            .filter(move |it| it["type"] == wanted)
            .map(|it| &it["value"])
    };
    if let Some(metadata) = of_type("olm.csv.metadata").next() {
        let crds = &metadata["crdDescriptions"];
        let apis = &metadata["apiServiceDefinitions"];
        return described(crds, apis, &metadata["annotations"], &Value::Null);
    }
    let manifests = of_type("olm.bundle.object").map(|value| {
        let manifest = BASE64_STANDARD
            .decode(value["data"].as_str().expect("base64"))
            .expect("base64");
        serde_json::from_slice::<Value>(&manifest).expect("a manifest is JSON here")
    });
    let mut manifests = manifests.filter(|manifest| manifest["kind"] == "ClusterServiceVersion");
    let manifest = manifests.next().expect("every bundle has metadata");
    let spec = &manifest["spec"];
    let crds = &spec["customresourcedefinitions"];
    let apis = &spec["apiservicedefinitions"];
    described(crds, apis, &manifest["metadata"]["annotations"], spec)
}

fn described(crds: &Value, apis: &Value, annotations: &Value, spec: &Value) -> Value {
    let internal = annotations["operators.operatorframework.io/internal-objects"]
        .as_str()
        .unwrap_or_default();
    let internal: Vec<String> = serde_json::from_str(internal).unwrap_or_default();
    let install = &spec["install"]["spec"];
    let of_manifest = |list: Value| if spec.is_null() { Value::Null } else { list };
    json!({
        "ownedCrds": each(&crds["owned"], |it| crd(it, &internal)),
        "requiredCrds": each(&crds["required"], |it| crd(it, &internal)),
        "ownedApiServices": each(&apis["owned"], api_service),
        "requiredApiServices": each(&apis["required"], api_service),
        "permissions": of_manifest(each(&install["permissions"], account)),
        "clusterPermissions": of_manifest(each(&install["clusterPermissions"], account)),
        "webhooks": of_manifest(each(&spec["webhookdefinitions"], webhook)),
    })
}

fn each(list: &Value, expected: impl Fn(&Value) -> Value) -> Value {
    list.as_array()
        .into_iter()
        .flatten()
        .map(expected)
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A text that is not empty.
fn optional(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn crd(crd: &Value, internal: &[String]) -> Value {
    let resource = |it: &Value| json!({"name": text(&it["name"]), "version": text(&it["version"]), "kind": text(&it["kind"])});
    json!({
        "name": text(&crd["name"]),
        "version": text(&crd["version"]),
        "kind": text(&crd["kind"]),
        "displayName": optional(&crd["displayName"]),
        "description": optional(&crd["description"]),
        "isInternal": internal.iter().any(|name| name == text(&crd["name"])),
        "resources": each(&crd["resources"], resource),
        "specDescriptors": each(&crd["specDescriptors"], descriptor),
        "statusDescriptors": each(&crd["statusDescriptors"], descriptor),
    })
}

fn descriptor(descriptor: &Value) -> Value {
    json!({
        "path": text(&descriptor["path"]),
        "displayName": optional(&descriptor["displayName"]),
        "description": optional(&descriptor["description"]),
        "xDescriptors": each(&descriptor["x-descriptors"], Value::clone),
    })
}

fn api_service(api: &Value) -> Value {
    json!({
        "name": text(&api["name"]),
        "group": text(&api["group"]),
        "version": text(&api["version"]),
        "kind": text(&api["kind"]),
        "displayName": optional(&api["displayName"]),
        "description": optional(&api["description"]),
        "deploymentName": optional(&api["deploymentName"]),
    })
}

fn account(account: &Value) -> Value {
    let rule = |rule: &Value| {
        json!({
            "apiGroups": each(&rule["apiGroups"], Value::clone),
            "resources": each(&rule["resources"], Value::clone),
            "resourceNames": each(&rule["resourceNames"], Value::clone),
            "verbs": each(&rule["verbs"], Value::clone),
            "nonResourceUrls": each(&rule["nonResourceURLs"], Value::clone),
        })
    };
    json!({"serviceAccountName": text(&account["serviceAccountName"]), "rules": each(&account["rules"], rule)})
}

fn webhook(webhook: &Value) -> Value {
    let rule = |rule: &Value| {
        json!({
            "apiGroups": each(&rule["apiGroups"], Value::clone),
            "apiVersions": each(&rule["apiVersions"], Value::clone),
            "resources": each(&rule["resources"], Value::clone),
            "operations": each(&rule["operations"], Value::clone),
        })
    };
    let kinds = [
        ("ValidatingAdmissionWebhook", "VALIDATING"),
        ("MutatingAdmissionWebhook", "MUTATING"),
        ("ConversionWebhook", "CONVERSION"),
    ];
    json!({
        "name": text(&webhook["generateName"]),
        "type": kinds.iter().find(|(kind, _)| webhook["type"] == *kind).map(|(_, name)| name),
        "deploymentName": optional(&webhook["deploymentName"]),
        "path": optional(&webhook["webhookPath"]),
        "failurePolicy": optional(&webhook["failurePolicy"]),
        "conversionCrds": each(&webhook["conversionCRDs"], Value::clone),
        "rules": each(&webhook["rules"], rule),
    })
}
