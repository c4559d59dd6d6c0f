//! Installations as a query: what it says of made manifests. `tests/it/installation.rs` compares it
//! with the preview, and reads images.

use apollo_compiler::{Name, Schema};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use install_preview::RightsFlag;
use serde_json::{Value, json};

use super::fixture::{ask, code, engine_of, served};
use crate::limits::Limits;

/// A selection of every field but those of another installation.
pub(super) const EVERYTHING: &str = "{ __typename manifestsFrom targetNamespaces flags
    objects { __typename apiVersion kind namespace name manifest digest }
    crds { __typename name scope versions storageVersion conversion }
    webhooks { __typename type name rules failurePolicy namespaces }
    workloads { __typename name serviceAccount images privileged hostNetwork hostPid hostPaths }
    permissions { __typename serviceAccount scope namespaces foreignRole flags
        rules { __typename verbs apiGroups resources resourceNames nonResourceUrls } }
    errors { __typename code message }
    olmV1 { __typename installable judgedFrom blockers { __typename code hard } }
    difference(from: \"lamp.v1\") { __typename from flagsGained flagsLost imagesAdded imagesRemoved
        rightsGained { __typename scope namespace apiGroup resource resourceName verbs }
        rightsLost { __typename verbs }
        webhooksAdded { __typename name } webhooksRemoved { __typename name }
        crdChanges { __typename name version field check message } } }";

/// A version of the package `lamp`: with verbs of its account on Secrets, versions of its
/// definition, and a webhook.
fn bundle(version: u32, verb: &str, versions: &[&str], webhook: &str) -> String {
    let csv = json!({
        "kind": "ClusterServiceVersion",
        "metadata": {"name": format!("lamp.v{version}")},
        "spec": {
            "installModes": [{"type": "AllNamespaces", "supported": true}],
            "customresourcedefinitions": {"owned": [{"name": "lamps.lamp.io", "kind": "Lamp", "version": "v1"}]},
            "webhookdefinitions": [{
                "type": "ValidatingAdmissionWebhook", "generateName": webhook, "deploymentName": "lamp",
                "failurePolicy": "Fail", "rules": [{"apiGroups": ["lamp.io"], "apiVersions": ["v1"],
                    "operations": ["CREATE"], "resources": ["lamps"]}],
            }],
            "install": {"spec": {
                "clusterPermissions": [{"serviceAccountName": "lamp", "rules": [
                    {"apiGroups": [""], "resources": ["secrets"], "verbs": [verb]}]}],
                "deployments": [{"name": "lamp", "spec": {
                    "selector": {"matchLabels": {"app": "lamp"}},
                    "template": {"metadata": {"labels": {"app": "lamp"}}, "spec": {
                        "serviceAccountName": "lamp",
                        "containers": [{"name": "lamp", "image": format!("quay.io/lamp:{version}"),
                            "securityContext": {"privileged": true}}],
                        "volumes": [{"name": "root", "hostPath": {"path": "/"}}]}}}}],
            }},
        },
    });
    let versions: Vec<_> = versions
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let schema = json!({"openAPIV3Schema": {"type": "object"}});
            json!({"name": name, "served": true, "storage": at == 0, "schema": schema})
        })
        .collect();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.lamp.io"},
        "spec": {"group": "lamp.io", "scope": "Namespaced",
            "names": {"kind": "Lamp", "plural": "lamps"}, "versions": versions},
    });
    let object = |manifest: &Value| {
        let data = BASE64_STANDARD.encode(manifest.to_string());
        json!({"type": "olm.bundle.object", "value": {"data": data}})
    };
    json!({
        "schema": "olm.bundle", "package": "lamp", "name": format!("lamp.v{version}"),
        "image": format!("quay.io/lamp-bundle:{version}"),
        "properties": [
            {"type": "olm.package", "value": {"packageName": "lamp", "version": format!("{version}.0.0")}},
            object(&csv), object(&crd),
        ],
    })
    .to_string()
}

/// Asks for a field of the second version.
fn asked(arguments: &str, selection: &str) -> Value {
    let lines = [
        r#"{"defaultChannel":"stable","name":"lamp","schema":"olm.package"}"#.to_owned(),
        r#"{"entries":[{"name":"lamp.v1"},{"name":"lamp.v2","replaces":"lamp.v1"}],"name":"stable","package":"lamp","schema":"olm.channel"}"#.to_owned(),
        bundle(1, "delete", &["v1", "v1beta1"], "old.lamp.io"),
        bundle(2, "get", &["v1"], "new.lamp.io"),
    ];
    let engine = engine_of([served("lamps", &lines, 1)], Limits::default());
    let query = format!(
        r#"{{ bundle(catalog: "lamps", package: "lamp", name: "lamp.v2") {{ installation(input: {{{arguments}}}) {selection} }} }}"#
    );
    ask(&engine, &query)
}

/// The installation of the second version, and a refused one, with every field.
pub(super) fn every_installation() -> [Value; 2] {
    let body = |arguments| {
        let body = asked(arguments, EVERYTHING);
        assert_eq!(body.get("errors"), None, "{body}");
        body["data"]["bundle"]["installation"].clone()
    };
    [
        body(r#"namespace: "lamps", certificates: CERT_MANAGER"#),
        body(r#"namespace: "lamps", watchNamespaces: ["one"]"#),
    ]
}

#[test]
fn an_installation_tells_objects_with_what_they_mean() {
    let [installation, refused] = every_installation();
    let kinds: Vec<_> = installation["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|object| object["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
            "CustomResourceDefinition",
            "Deployment",
            "ValidatingWebhookConfiguration",
            "Service",
            "Issuer",
            "Certificate",
        ]
    );
    let workload = &installation["workloads"][0];
    assert_eq!(
        [
            &workload["privileged"],
            &workload["hostPaths"],
            &workload["images"]
        ],
        [&json!(true), &json!(["/"]), &json!(["quay.io/lamp:2"])]
    );
    let webhook = &installation["webhooks"][0];
    assert_eq!(
        [&webhook["type"], &webhook["rules"]],
        [&json!("VALIDATING"), &json!(["CREATE lamps.lamp.io"])]
    );
    let difference = &installation["difference"];
    assert_eq!(
        [
            &difference["flagsGained"],
            &difference["crdChanges"][0]["check"]
        ],
        [&json!(["READS_SECRETS"]), &json!("servedVersionRemoval")]
    );
    assert_eq!(refused["objects"], json!([]));
    assert_eq!(refused["errors"][0]["code"], "INVALID_TARGET_NAMESPACES");
}

#[test]
fn arguments_that_no_install_can_have_are_refused() {
    let many: Vec<_> = (0..51).map(|at| format!("\"n{at}\"")).collect();
    let many = format!(r#"namespace: "n", watchNamespaces: [{}]"#, many.join(", "));
    for (arguments, message) in [
        (
            r#"namespace: """#,
            "`namespace` is malformed: write a DNS label",
        ),
        (
            r#"namespace: "A_b""#,
            "`namespace` is malformed: write a DNS label",
        ),
        (
            r#"namespace: "n", watchNamespaces: ["a.b"]"#,
            "`watchNamespaces` is malformed: write DNS labels",
        ),
        (
            &many,
            "`watchNamespaces` has 51 items; at most 50 are allowed",
        ),
    ] {
        let body = asked(arguments, "{ flags }");
        assert_eq!(
            (code(&body), body["errors"][0]["message"].as_str()),
            ("BAD_USER_INPUT", Some(message))
        );
        assert_eq!(body["data"]["bundle"]["installation"], Value::Null);
    }
}

#[test]
fn another_bundle_that_is_not_there_has_suggestions() {
    let body = asked(
        r#"namespace: "n""#,
        r#"{ difference(from: "lamp.v3") { from } }"#,
    );
    assert_eq!(
        body["data"]["bundle"]["installation"]["difference"],
        Value::Null
    );
    assert_eq!(
        body["extensions"]["suggestions"][0]["similar"],
        json!(["lamp.v1", "lamp.v2"])
    );
}

#[test]
fn the_schema_has_every_risk() {
    let schema = Schema::parse(crate::SDL, "schema.graphql").unwrap();
    let flags = schema.types["PermissionFlag"].as_enum().unwrap();
    let names: Vec<_> = flags.values.keys().map(Name::as_str).collect();
    assert_eq!(names, RightsFlag::ALL.map(RightsFlag::as_str));
}
