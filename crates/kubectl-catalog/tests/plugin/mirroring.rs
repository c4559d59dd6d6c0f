//! `mirror`: what it prints of the mirror sets that the server answers.

use serde_json::{Value, json};

use crate::support::Server;

/// A package that requires another one.
const MAIN: &str = "
    package etcd default=stable
    channel stable: v1.0.0 <- v1.1.0 <- v1.2.0
    channel beta: v1.1.0 <- v2.0.0
    bundle v1.2.0 needs=vault@>=1.0.0
    package vault default=stable
    channel stable: v1.0.0 <- v1.1.0";

const OTHER: &str = "
    package lamp default=stable
    channel stable: v1.0.0";

fn server() -> Server {
    let server = Server::start();
    server.serve_fixture("main", MAIN, 1);
    server.serve_fixture("other", OTHER, 0);
    server
}

/// Writes a configuration with these items; returns its path.
fn configuration(server: &Server, items: &str) -> String {
    let text = format!(
        "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\n\
         mirror: {{operators: [{items}]}}\n"
    );
    server.folders.write("config.yaml", text);
    server.folders.text("config.yaml")
}

#[test]
fn packages_are_selected_in_the_catalogs_that_have_them() {
    let server = server();
    let output = server.run(&[
        "mirror",
        "--package",
        "etcd",
        "--from",
        "1.1.0",
        "--dependencies",
    ]);
    let expected = "\
PACKAGE  BUNDLE        VERSION  REASONS
etcd     etcd.v1.1.0   1.1.0    INSTALLED of stable
etcd     etcd.v1.2.0   1.2.0    HEAD of stable
vault    vault.v1.1.0  1.1.0    REQUIRED_BY etcd.v1.2.0
2 packages, 3 bundles, 3 images
";
    assert_eq!((output.status, &*output.stdout), (Some(0), expected));
    server.ends(
        &[
            "mirror",
            "--package",
            "lamp",
            "--package",
            "vault",
            "-o",
            "jsonpath={.bundles[*].catalog}",
        ],
        0,
        "main other",
        "",
    );
    let unknown = server.run(&["mirror", "--package", "lampp"]);
    assert_eq!(unknown.status, Some(4));
    assert!(
        unknown
            .stderr
            .starts_with("error: package `lampp` not found\n"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn a_configuration_names_served_catalogs() {
    let server = server();
    let file = configuration(
        &server,
        "{catalog: main, packages: [{name: vault}]}, {catalog: \"docker://a.io/lamps:v1\"}",
    );
    let lines = server.run(&[
        "mirror",
        "-c",
        &file,
        "--reference",
        "other=a.io/lamps:v1",
        "-o",
        "lines",
    ]);
    assert_eq!(
        (lines.status, &*lines.stdout),
        (
            Some(0),
            "quay.io/example/lamp:v1.0.0\nquay.io/example/vault:v1.1.0\n"
        )
    );

    let unknown = server.run(&["mirror", "-c", &file, "-o", "json"]);
    let plan: Value = serde_json::from_str(&unknown.stdout).expect("it is JSON");
    assert_eq!(
        (unknown.status, &plan["problems"][0]["code"]),
        (Some(1), &json!("UNKNOWN_CATALOG"))
    );
    let message = "error: mirror.operators[1].catalog: no served catalog is `docker://a.io/lamps:v1`: the served catalogs are main, other; name one with --reference main=docker://a.io/lamps:v1 [UNKNOWN_CATALOG]\n";
    server.ends(&["mirror", "-c", &file], 1, "", message);
}

#[test]
fn a_refused_configuration_is_told_with_the_lines_of_the_file() {
    let server = server();
    let file = configuration(
        &server,
        "{catalog: main, packages: [{name: etcd, channels: [{name: beta}]}]}",
    );
    let message = "error: line 3: mirror.operators[0].packages[0]: the default channel `stable` of package `etcd` is not selected: add it to `channels`, or set `defaultChannel` to one of `beta` [DEFAULT_FILTERED]\n";
    server.ends(&["mirror", "-c", &file], 1, "", message);

    let file = configuration(&server, "");
    let message =
        "error: line 3: mirror.operators: no catalog is named in `mirror.operators` [CONFIG]\n";
    server.ends(&["mirror", "-c", &file], 1, "", message);
}

#[test]
fn files_for_other_tools_are_of_all_catalogs() {
    let server = server();
    let file = configuration(
        &server,
        "{catalog: main, packages: [{name: vault}]}, {catalog: other}",
    );
    let with = |output: &str| {
        let output = server.run(&["mirror", "-c", &file, "-o", output, "--to", "m.io"]);
        assert_eq!(output.status, Some(0), "{}", output.stderr);
        output.stdout
    };
    assert_eq!(
        with("mapping"),
        "docker://quay.io/example/lamp:v1.0.0=docker://m.io/example/lamp:v1.0.0\n\
         docker://quay.io/example/vault:v1.1.0=docker://m.io/example/vault:v1.1.0\n"
    );
    let sets = with("idms");
    assert!(
        sets.contains("name: itms-operator-0\n") && sets.contains("name: itms-operator-1\n"),
        "{sets}"
    );
    assert_eq!(
        with("imageset"),
        "apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n  operators:\n  - catalog: \"main\"\n    packages:\n    - name: \"vault\"\n  - catalog: \"other\"\n"
    );
    let without = server.run(&["mirror", "-c", &file, "-o", "skopeo"]);
    assert_eq!(without.status, Some(2), "{}", without.stderr);
}
