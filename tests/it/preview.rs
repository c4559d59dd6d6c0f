//! `catalogql preview`: objects and refusals for programs, differences, and exit statuses.

use serde_json::{Value, json};

use crate::support::{Output, catalogql, run};

/// A catalog with inline manifests of two versions.
const CATALOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/preview");

fn preview(arguments: &[&str]) -> Output {
    run(catalogql()
        .args(["preview", CATALOG])
        .args(arguments)
        .args(["-n", "beacon"]))
}

fn json_of(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).expect("the output is JSON")
}

/// Kind, namespace and name of each object.
fn identities(output: &Output) -> Vec<String> {
    let document = json_of(output);
    let objects = document["objects"].as_array().expect("it has objects");
    let identity = |object: &Value| {
        let metadata = &object["metadata"];
        let namespace = metadata["namespace"].as_str().unwrap_or("-");
        format!(
            "{} {namespace} {}",
            object["kind"].as_str().unwrap(),
            metadata["name"].as_str().unwrap()
        )
    };
    objects.iter().map(identity).collect()
}

#[test]
fn the_head_of_the_default_channel_is_previewed_with_its_objects() {
    let output = preview(&["beacon", "-o", "json"]);
    assert_eq!((output.status, &*output.stderr), (Some(0), ""));
    let document = json_of(&output);
    assert_eq!(
        json!([
            document["bundle"],
            document["version"],
            document["targetNamespaces"],
            document["flags"]
        ]),
        json!(["beacon.v1.1.0", "1.1.0", [""], ["READS_SECRETS"]])
    );
    let role = "beacon.v1.1.0-beac-1mwbjg9mq62w8mh5nk7nprnyl3rrsfamafy9ikkubbel";
    assert_eq!(
        identities(&output),
        [
            "ServiceAccount beacon beacon",
            &format!("ClusterRole - {role}"),
            &format!("ClusterRoleBinding - {role}"),
            "CustomResourceDefinition - signals.beacon.example.com",
            "Deployment beacon beacon",
        ]
    );
}

#[test]
fn a_bundle_is_chosen_by_version_and_by_name() {
    for arguments in [
        &["beacon@1.0.0"][..],
        &["beacon", "--bundle-name", "beacon.v1.0.0"],
        &["beacon@1.0.0", "--bundle-name", "beacon.v1.0.0"],
    ] {
        let output = preview(&[arguments, &["-o", "json"]].concat());
        assert_eq!(json_of(&output)["bundle"], "beacon.v1.0.0", "{arguments:?}");
    }
}

#[test]
fn a_refusal_has_the_status_1_and_its_reasons() {
    let output = preview(&["beacon", "--watch-namespaces", "one,two", "-o", "json"]);
    assert_eq!(output.status, Some(1));
    let message = "invalid option(s): invalid target namespaces [one two]: supported install modes [AllNamespaces OwnNamespace SingleNamespace] do not support target namespaces [one two]";
    assert_eq!(
        json_of(&output),
        json!({"errors": [{"code": "INVALID_TARGET_NAMESPACES", "message": message}]})
    );
    let output = preview(&["beacon", "--watch-namespaces", "one,two"]);
    assert_eq!(
        (output.status, output.stdout, output.stderr),
        (Some(1), String::new(), format!("error: {message}\n"))
    );
}

#[test]
fn watched_namespaces_may_be_one_or_all() {
    let targets = |names: &str| {
        let output = preview(&["beacon", "--watch-namespaces", names, "-o", "json"]);
        json_of(&output)["targetNamespaces"].clone()
    };
    assert_eq!(targets("other"), json!(["other"]));
    assert_eq!(targets(""), json!([""]));
}

#[test]
fn differences_and_flags_decide_on_the_status() {
    for (arguments, status) in [
        (&["beacon", "--from", "1.0.0"][..], 0),
        (
            &[
                "beacon",
                "--from",
                "1.0.0",
                "--fail-on",
                "READS_SECRETS,EXEC",
            ],
            1,
        ),
        (&["beacon", "--from", "1.0.0", "--fail-on", "EXEC"], 0),
        (
            &["beacon", "--from", "1.1.0", "--fail-on", "READS_SECRETS"],
            0,
        ),
        (&["beacon", "--fail-on", "READS_SECRETS"], 1),
        (&["beacon@1.0.0", "--fail-on", "READS_SECRETS"], 0),
        (&["beacon", "--fail-on", "NONE"], 2),
    ] {
        assert_eq!(preview(arguments).status, Some(status), "{arguments:?}");
    }
    let output = preview(&["beacon", "--from", "1.0.0", "-o", "json"]);
    assert_eq!(
        json_of(&output)["difference"],
        json!({
            "from": "beacon.v1.0.0",
            "rightsGained": [{"scope": "CLUSTER", "apiGroup": "", "resource": "secrets", "verbs": ["get", "list", "watch"]}],
            "rightsLost": [],
            "flagsGained": ["READS_SECRETS"],
            "flagsLost": [],
            "imagesAdded": ["quay.io/example/beacon:v1.1.0"],
            "imagesRemoved": ["quay.io/example/beacon:v1.0.0"],
            "webhooksAdded": [],
            "webhooksRemoved": [],
            "crdChanges": [{
                "name": "signals.beacon.example.com",
                "check": "servedVersionRemoval",
                "message": "version v1beta1 is no longer served",
            }],
        })
    );
}

#[test]
fn code_scanning_gets_the_flags_and_those_that_fail_as_errors() {
    let output = preview(&[
        "beacon",
        "--from",
        "1.0.0",
        "--fail-on",
        "READS_SECRETS",
        "-o",
        "sarif",
    ]);
    assert_eq!(output.status, Some(1));
    let run = json_of(&output)["runs"][0].take();
    let result = &run["results"][0];
    assert_eq!(
        json!([
            result["ruleId"],
            result["level"],
            run["results"].as_array().map(Vec::len)
        ]),
        json!(["READS_SECRETS", "error", 1])
    );
}

#[test]
fn what_is_not_there_is_named() {
    for (arguments, message) in [
        (
            &["beakon"][..],
            "error: package `beakon` not found\nhint: did you mean beacon?\n",
        ),
        (
            &["beacon@2.0.0"],
            "error: package `beacon` has no version 2.0.0\n",
        ),
        (
            &["beacon", "--bundle-name", "none"],
            "error: package `beacon` has no bundle `none`\n",
        ),
        (
            &["beacon@1.1.0", "--bundle-name", "beacon.v1.0.0"],
            "error: bundle `beacon.v1.0.0` has version 1.0.0, not 1.1.0\n",
        ),
    ] {
        let output = preview(arguments);
        assert_eq!((output.status, &*output.stderr), (Some(4), message));
    }
}

#[test]
fn a_bundle_without_inline_manifests_is_refused_if_its_image_may_not_be_read() {
    let catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/catalog");
    let output = run(catalogql()
        .args(["preview", catalog, "quillstore", "-n", "quillstore"])
        .args(["--bundle-images=false", "-o", "json"]));
    assert_eq!(output.status, Some(1));
    assert_eq!(json_of(&output)["errors"][0]["code"], "NO_MANIFESTS");
}

#[test]
fn the_rights_of_an_installer_are_printed_as_objects() {
    let output = preview(&[
        "beacon",
        "--installer-rbac",
        "beacon-installer",
        "-o",
        "json",
    ]);
    assert_eq!((output.status, &*output.stderr), (Some(0), ""));
    let list = json_of(&output);
    let role = "beacon.v1.1.0-beac-1mwbjg9mq62w8mh5nk7nprnyl3rrsfamafy9ikkubbel";
    let managed = |group: &str, resource: &str, name: &str| {
        [
            json!({"apiGroups": [group], "resources": [resource], "verbs": ["create", "list", "watch"]}),
            json!({"apiGroups": [group], "resources": [resource], "verbs": ["get", "update", "patch", "delete"], "resourceNames": [name]}),
        ]
    };
    let rbac = "rbac.authorization.k8s.io";
    let cluster = [
        managed(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "signals.beacon.example.com",
        ),
        managed(rbac, "clusterrolebindings", role),
        managed(rbac, "clusterroles", role),
    ];
    let rules = list["items"][0]["rules"].as_array().expect("it has rules");
    assert_eq!(rules[..6], cluster.concat());
    assert_eq!(
        rules[6],
        json!({"apiGroups": ["olm.operatorframework.io"], "resources": ["clusterextensions/finalizers"], "verbs": ["update"], "resourceNames": ["beacon"]})
    );
    // The rest is what the operator gets.
    assert!(rules[7..].contains(
        &json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]})
    ));
    let subjects =
        json!([{"kind": "ServiceAccount", "name": "beacon-installer", "namespace": "beacon"}]);
    let own = [
        managed("", "serviceaccounts", "beacon"),
        managed("apps", "deployments", "beacon"),
    ];
    let api = format!("{rbac}/v1");
    assert_eq!(
        list["items"].as_array().expect("it is a list")[1..],
        [
            json!({
                "apiVersion": api, "kind": "ClusterRoleBinding",
                "metadata": {"name": "beacon-beacon-installer"},
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "beacon-beacon-installer"},
                "subjects": subjects,
            }),
            json!({
                "apiVersion": api, "kind": "Role",
                "metadata": {"name": "beacon-installer", "namespace": "beacon"},
                "rules": own.concat(),
            }),
            json!({
                "apiVersion": api, "kind": "RoleBinding",
                "metadata": {"name": "beacon-installer", "namespace": "beacon"},
                "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "beacon-installer"},
                "subjects": subjects,
            }),
        ]
    );
    for arguments in [
        &["beacon", "--installer-rbac", "Not_a_name"][..],
        &["beacon", "--installer-rbac", "a", "-o", "sarif"],
        &["beacon", "--installer-rbac", "a", "--from", "1.0.0"],
    ] {
        assert_eq!(preview(arguments).status, Some(2), "{arguments:?}");
    }
}
