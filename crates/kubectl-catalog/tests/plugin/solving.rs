//! `solve`: the words of `catalogql solve` over what the API answers, and what is taken to be
//! installed.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::Server;

/// Packages that need one another's APIs or versions.
const CATALOG: &str = "
    package etcd default=stable
    channel stable: v1.0.0 <- v1.1.0
    bundle v1.0.0 provides=etcd.test/v1/Etcd
    bundle v1.1.0 provides=etcd.test/v1/Etcd needs=vault@>=2.0.0
    package vault default=stable
    channel stable: v1.0.0 <- v1.1.0
    package web default=stable
    channel stable: v1.0.0
    bundle v1.0.0 requires=etcd.test/v1/Etcd
    package high default=stable
    channel stable: v1.0.0
    bundle v1.0.0 needs=vault@>=2.0.0";

fn server() -> Server {
    let server = Server::start();
    server.serve_fixture("main", CATALOG, 0);
    server
}

#[test]
fn a_solution_and_a_conflict_are_told_in_the_words_of_the_server_s_command() {
    let server = server();
    let expected = "\
ACTION   BUNDLE        CHANNEL  CATALOG  REPLACES  BECAUSE
install  vault.v1.0.0  stable   main               vault is wanted
install  etcd.v1.0.0   stable   main               web.v1.0.0 requires an operator providing an API with group: etcd.test, version: v1, kind: Etcd
install  web.v1.0.0    stable   main               web is wanted

etcd.v1.0.0
  etcd.v1.1.0 (main) would be preferred, but cannot be installed:
    - etcd.v1.1.0 (main) requires an operator with package: vault and with version in range: >=2.0.0; no bundle meets that
";
    let arguments = [
        "solve",
        "--want",
        "web",
        "--want",
        "main/vault:stable@vault.v1.0.0",
        "--explain",
    ];
    server.ends(&arguments, 0, expected, "");
    let expected = "\
error: There is no solution. These contradict one another:
  - subscription high exists
  - high can be high.v1.0.0 (main)
  - high.v1.0.0 (main) requires an operator with package: vault and with version in range: >=2.0.0; no bundle meets that
There is a solution without high.
";
    server.ends(
        &["solve", "--want", "high", "--want", "web"],
        1,
        expected,
        "",
    );
    let structured = server.run(&["solve", "--want", "high", "-o", "json"]);
    let found: Value = serde_json::from_str(&structured.stdout).expect("it is JSON");
    assert_eq!(
        (structured.status, &found["kind"]),
        (Some(1), &json!("SolveConflict"))
    );
    assert_eq!(found["constraints"][0]["kind"], "WANTED");
    let refused = server.run(&["solve", "--want", "vault", "--catalog", "none"]);
    assert!(
        refused.status == Some(6) && refused.stderr.starts_with("error: "),
        "{refused:?}"
    );
    let wrong = server.run(&["solve", "--want", "etcd", "-o", "dot"]);
    assert!(
        wrong.status == Some(2) && wrong.stderr.contains("write table, wide, json"),
        "{wrong:?}"
    );
}

#[test]
fn what_is_installed_is_a_bundle_of_the_catalogs_or_what_kubectl_prints() {
    let server = server();
    let upgrade = |because: &str| {
        format!(
            "ACTION   BUNDLE        CHANNEL  CATALOG  REPLACES      BECAUSE\n\
             upgrade  vault.v1.1.0  stable   main     vault.v1.0.0  {because} is wanted\n"
        )
    };
    server.ends(
        &[
            "solve",
            "--want",
            "vault",
            "--installed",
            "vault.v1.0.0@1.0.0",
        ],
        0,
        &upgrade("vault"),
        "",
    );
    let properties = r#"{"properties":[{"type":"olm.package","value":{"packageName":"vault","version":"1.0.0"}}]}"#;
    let objects = json!({"kind": "List", "items": [
        {"kind": "ClusterServiceVersion", "spec": {"version": "1.0.0"}, "status": {"phase": "Succeeded"},
            "metadata": {"name": "vault.v1.0.0", "annotations": {"operatorframework.io/properties": properties}}},
        {"kind": "ClusterServiceVersion", "metadata": {"name": "copied.v1.0.0"}, "status": {"reason": "Copied"}},
        {"kind": "ClusterServiceVersion", "metadata": {"name": "own.v1.0.0"}, "spec": {"version": "1.0.0",
            "customresourcedefinitions": {"owned": [{"name": "etcds.etcd.test", "version": "v1", "kind": "Etcd"}]}}},
        {"kind": "Subscription", "metadata": {"name": "my-vault"}, "status": {"installedCSV": "vault.v1.0.0"},
            "spec": {"name": "vault", "channel": "stable", "source": "main", "sourceNamespace": "marketplace"}}]});
    server.folders.write("cluster.json", objects.to_string());
    let file = server.folders.text("cluster.json");
    server.ends(
        &["solve", "--installed", &file],
        0,
        &upgrade("my-vault"),
        "",
    );
    // What is installed has the API that is needed, by what its ClusterServiceVersion owns.
    let output = server.run(&[
        "solve",
        "--installed",
        &file,
        "--want",
        "web",
        "--want",
        "vault",
        "--no-headers",
    ]);
    let bundles: Vec<_> = output
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    assert_eq!(bundles, ["vault.v1.1.0", "web.v1.0.0"], "{output:?}");

    let mut child = server.plugin(&["solve", "--installed", "-"]);
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let text = objects.to_string();
    child
        .stdin
        .take()
        .expect("it is a pipe")
        .write_all(text.as_bytes())
        .expect("it reads");
    let output = child.wait_with_output().expect("it is a child");
    assert_eq!(String::from_utf8_lossy(&output.stdout), upgrade("my-vault"));

    let unread = server.run(&["solve", "--want", "web", "--installed", "nothing"]);
    let message = "error: cannot read the installed operators in `nothing`: write NAME@VERSION, such as \
                   etcd.v0.9.4@0.9.4, or the name of a file\n";
    assert!(
        unread.status == Some(2) && unread.stderr == message,
        "{unread:?}"
    );
}
