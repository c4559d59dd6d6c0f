//! The policy of reviewed versions: on a real API server with the definition of OLM v1, what it
//! allows and refuses.

use serde_json::{Value, json};
use testing::fixture::{NEWER, OLDER};
use testing::{ControlPlane, KubectlOutput, eventually};

use crate::support::{Server, wait_for_definitions};

/// Definition of `ClusterExtension`.
const DEFINITION: &str = include_str!("../testdata/olm/cluster-extension-standard.json");

/// Label by which a `ClusterExtension` selects a catalog.
const LABEL: &str = "olm.operatorframework.io/metadata.name";

fn server() -> Server {
    let server = Server::start();
    server.serve_fixture("old", OLDER, 0);
    server.serve_fixture("new", NEWER, 1);
    server
}

/// Source of a `ClusterExtension`: package, version and selector.
fn source(package: &str, version: Option<&str>, selector: Value) -> Value {
    let mut catalog = json!({ "packageName": package });
    if let Some(version) = version {
        catalog["version"] = json!(version);
    }
    if !selector.is_null() {
        catalog["selector"] = selector;
    }
    json!({ "sourceType": "Catalog", "catalog": catalog })
}

fn of_catalog(name: &str) -> Value {
    json!({ "matchLabels": { LABEL: name } })
}

fn try_apply(
    plane: &ControlPlane,
    source: &Value,
    name: &str,
    arguments: &[&str],
) -> KubectlOutput {
    let object = json!({
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
        "metadata": { "name": name },
        "spec": {
            "namespace": "one", "serviceAccount": { "name": "installer" }, "source": source,
        },
    });
    let command = [&["apply", "--server-side", "-f", "-"], arguments].concat();
    plane.try_kubectl(&command, &object.to_string())
}

#[test]
fn a_policy_allows_reviewed_versions_alone() {
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    let definition: Value = serde_json::from_str(DEFINITION).expect("it is JSON");
    plane.apply(&[definition]);
    wait_for_definitions(&plane);
    let unreviewed = source("etcd", Some("1.1.0"), of_catalog("new"));
    let before = try_apply(&plane, &unreviewed, "one", &[]);
    assert!(before.success, "{before:?}");

    let server = server();
    let output = server.run(&["manifest", "--policy", "new/etcd@1.2.0", "old/zoo@0.1.0"]);
    assert_eq!((output.status, &*output.stderr), (Some(0), ""));
    let applied = plane.try_kubectl(&["apply", "-f", "-"], &output.stdout);
    assert!(applied.success && applied.stderr.is_empty(), "{applied:?}");

    // The API server learns of policies by a watch.
    let other = source("etcd", Some("1.0.0"), of_catalog("new"));
    let dry_run = ["--dry-run=server"];
    let refusal = eventually(|| {
        let output = try_apply(&plane, &other, "two", &dry_run);
        (!output.success).then_some(output.stderr)
    });
    let message = "is not a reviewed one of the catalog that the label olm.operatorframework.io/metadata.name selects";
    assert_eq!(
        refusal,
        format!(
            "Error from server (Forbidden): clusterextensions.olm.operatorframework.io \"two\" is forbidden: ValidatingAdmissionPolicy 'reviewed-cluster-extensions' with binding 'reviewed-cluster-extensions' denied request: version '1.0.0' of package 'etcd' {message}\n"
        )
    );

    for (allowed, source) in [
        (true, source("etcd", Some("1.2.0"), of_catalog("new"))),
        (true, source("zoo", Some("0.1.0"), of_catalog("old"))),
        // Another package, version, range, or catalog.
        (false, source("zoo", Some("1.2.0"), of_catalog("old"))),
        (false, source("etcd", Some(">=1.2.0"), of_catalog("new"))),
        (false, source("etcd", None, of_catalog("new"))),
        (false, source("etcd", Some("1.2.0"), of_catalog("old"))),
        (false, source("etcd", Some("1.2.0"), Value::Null)),
        (
            false,
            source(
                "etcd",
                Some("1.2.0"),
                json!({ "matchLabels": { "other": "new" } }),
            ),
        ),
    ] {
        let output = try_apply(&plane, &source, "two", &dry_run);
        assert_eq!(output.success, allowed, "{source} {output:?}");
    }

    // What is installed stays, and may be deleted.
    let label = ["label", "clusterextension", "one", "team=a"];
    let labelled = plane.try_kubectl(&label, "");
    assert!(labelled.success, "{labelled:?}");
    let patch = r#"{"spec":{"source":{"catalog":{"version":"1.2.0"}}}}"#;
    let patched = plane.try_kubectl(
        &[
            "patch",
            "clusterextension",
            "one",
            "--type=merge",
            "-p",
            patch,
        ],
        "",
    );
    assert!(patched.success, "{patched:?}");
    plane.kubectl(&["delete", "clusterextension", "one"]);
}

#[test]
fn a_policy_needs_versions_that_exist() {
    let server = server();
    for (arguments, status, stderr) in [
        (
            &["etcd"][..],
            2,
            "error: package `etcd` has no reviewed version\nhint: name one: PACKAGE@VERSION\n",
        ),
        (
            &["new/etcd@9.0.0"],
            4,
            "error: package `etcd` has no version 9.0.0\n",
        ),
        (
            &["new/etcd@1.2.0", "old/etcd@1.2.0"],
            4,
            "error: package `etcd` has no version 1.2.0\n",
        ),
    ] {
        let command = [&["manifest", "--policy"], arguments].concat();
        server.ends(&command, status, "", stderr);
    }
    let several = "error: `manifest` installs one package: only `--policy` takes several\n";
    server.ends(&["manifest", "etcd", "zoo"], 2, "", several);
}

#[test]
fn names_of_a_catalog_are_quoted_in_the_policy() {
    let name = r#"a"b\c"#;
    let package = json!({ "schema": "olm.package", "name": name, "defaultChannel": "stable" });
    let channel = json!({
        "schema": "olm.channel", "package": name, "name": "stable", "entries": [{ "name": "b" }],
    });
    let version = json!({ "packageName": name, "version": "1.0.0" });
    let bundle = json!({
        "schema": "olm.bundle", "package": name, "name": "b", "image": "example.com/b:1",
        "properties": [{ "type": "olm.package", "value": version }],
    });
    let server = Server::start();
    server.serve_fixture("one", &format!("{package}\n{channel}\n{bundle}"), 0);
    let reviewed = format!("{name}@1.0.0");
    let output = server.run(&["manifest", "--policy", "-o", "json", &reviewed]);
    assert_eq!((output.status, &*output.stderr), (Some(0), ""));
    let list: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    assert_eq!(
        list["items"][0]["spec"]["variables"][0]["expression"],
        r#"[{"catalog": "one", "package": "a\"b\\c", "version": "1.0.0"}]"#
    );
    assert_eq!(list["items"][1]["kind"], "ValidatingAdmissionPolicyBinding");
}
