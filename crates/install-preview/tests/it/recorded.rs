//! Renderings of real bundles, and of upstream's own regression cases.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use install_preview::{
    BundleManifestFile, CertificateProvider, DeploymentConfig, RegistryBundle, RenderOptions,
    RenderedObject, package_name, render,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testing::corpus::{find_catalog, inline_bundles};
use testing::golden::unpacked;

/// Folder of the recordings.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/golden");

fn parsed(name: &str) -> Value {
    serde_json::from_str(&unpacked(format!("{GOLDEN}/{name}.json.gz"))).unwrap()
}

/// The objects of a case, or its error, each object as its identity with its digest.
fn expected(case: &Value) -> Value {
    let Some(objects) = case["objects"].as_array() else {
        return case["error"].clone();
    };
    let mut identities: Vec<Value> = objects
        .iter()
        .map(|object| {
            json!([
                object["apiVersion"],
                object["kind"],
                object["namespace"],
                object["name"],
                object["sha256"]
            ])
        })
        .collect();
    identities.sort_by_key(Value::to_string);
    identities.into()
}

/// What is rendered, in the form of [`expected`].
fn rendered(bundle: &RegistryBundle, case: &Value) -> Value {
    let options = RenderOptions {
        install_namespace: case["installNamespace"].as_str().unwrap().to_owned(),
        watch_namespaces: serde_json::from_value(case["targetNamespaces"].clone())
            .unwrap_or_default(),
        certificates: match case["certificateProvider"].as_str() {
            Some("cert-manager") => Some(CertificateProvider::CertManager),
            Some("service-ca") => Some(CertificateProvider::ServiceCa),
            _ => None,
        },
        deployment_config: case
            .get("deploymentConfig")
            .map(|config| DeploymentConfig::read(config.to_string().as_bytes()).unwrap()),
    };
    match render(bundle, &options) {
        Err(errors) => {
            let messages: Vec<_> = errors.into_iter().map(|error| error.message).collect();
            messages.join("\n").into()
        }
        Ok(rendering) => {
            let mut identities: Vec<Value> = rendering.objects.iter().map(identity).collect();
            identities.sort_by_key(Value::to_string);
            identities.into()
        }
    }
}

fn identity(object: &RenderedObject<'_>) -> Value {
    let value = object.value();
    assert_eq!(value["metadata"]["name"], *object.name);
    json!([
        object.api_version,
        object.kind,
        object.namespace,
        object.name,
        go_digest(&value)
    ])
}

/// Digest of an object as Go writes a map.
fn go_digest(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(text, "\\u{:04x}", u32::from(letter)).unwrap();
            }
            _ => text.push(letter),
        }
    }
    let digest = Sha256::digest(text);
    digest.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// Asserts that a case is rendered as recorded; shows what differs of an object that is recorded
/// whole.
#[track_caller]
fn assert_rendered(bundle: &RegistryBundle, case: &Value) {
    let expected = expected(case);
    let actual = rendered(bundle, case);
    let shown = |one: &Value, other: &Value| -> Vec<Value> {
        let others = other.as_array().cloned().unwrap_or_default();
        let ones = one.as_array().cloned().unwrap_or_else(|| vec![one.clone()]);
        ones.into_iter()
            .filter(|item| !others.contains(item))
            .collect()
    };
    assert_eq!(
        shown(&actual, &expected),
        shown(&expected, &actual),
        "{} {:?} {:?}",
        case["bundle"],
        case["targetNamespaces"],
        case["certificateProvider"]
    );
}

#[test]
fn upstreams_regression_cases_are_rendered_as_upstream_renders_them() {
    for (name, cases) in [
        (
            "argocd-operator.v0.6.0",
            &[
                "all-namespaces",
                "single-namespace",
                "with-deploymentconfig-options",
                "with-empty-affinity",
            ][..],
        ),
        ("webhook-operator.v0.0.5", &["all-webhook-types"]),
    ] {
        let files: BTreeMap<String, String> = serde_json::from_value(parsed(name)).unwrap();
        let manifests: Vec<_> = files
            .iter()
            .filter_map(|(path, text)| {
                Some(BundleManifestFile {
                    name: path.strip_prefix("manifests/")?.into(),
                    bytes: text.as_bytes().into(),
                })
            })
            .collect();
        let package = package_name(files["metadata/annotations.yaml"].as_bytes()).unwrap();
        let mut bundle = RegistryBundle::read(&package, &manifests).unwrap();
        if let Some(properties) = files.get("metadata/properties.yaml") {
            bundle.add_properties(properties.as_bytes()).unwrap();
        }
        for case in cases {
            assert_rendered(&bundle, &parsed(&format!("{name}--{case}")));
        }
    }
}

#[test]
fn every_recorded_bundle_is_rendered_as_upstream_renders_it() {
    let Some(catalog) = find_catalog("community-objects") else {
        return;
    };
    let mut cases: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    for line in unpacked(format!("{GOLDEN}/recorded.jsonl.gz")).lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| case[key].as_str().unwrap().to_owned();
        cases
            .entry((text("package"), text("bundle")))
            .or_default()
            .push(case);
    }
    let key = |package: &str, bundle: &str| (package.to_owned(), bundle.to_owned());
    let is_recorded = |package: &str, bundle: &str| cases.contains_key(&key(package, bundle));
    let mut number = 0;
    for bundle in inline_bundles(&catalog, is_recorded).flatten() {
        let files = bundle.files.iter().enumerate();
        let files: Vec<_> = files
            .map(|(at, bytes)| BundleManifestFile {
                name: format!("{at:04}.yaml").into(),
                bytes: bytes.into(),
            })
            .collect();
        let read = RegistryBundle::read(&bundle.package, &files).unwrap();
        for case in &cases[&key(&bundle.package, &bundle.name)] {
            assert_rendered(&read, case);
            number += 1;
        }
    }
    assert_eq!(number, 428);
}
