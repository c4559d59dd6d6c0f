//! `catalogql graph` and `catalogql resolve`: what they print, for people and for programs, and how
//! they end.

use serde_json::{Value, json};

use crate::support::{ETCD, Folders, Output, catalogql, run};

/// A package with a deprecated bundle, a stranded one and an entry without a bundle.
const MARKED: &str = "
    package etcd default=stable
    channel stable: v0.9.0 <- v0.9.2 <- v0.9.4 skips=v0.9.1,v0.9.3,v0.8.0 , v1.0.0? , \
        v1.1.0 replaces=v0.9.4 skips=v1.0.0 range=\">=0.9.2 <1.1.0\" , v0.8.5
    channel old: v0.9.0
    deprecated bundle v0.9.0 \"too old\"
    deprecated channel old \"use stable\"";

/// Runs the program; an argument that begins with `@` is a folder of the test.
fn ask(folders: &Folders, arguments: &[&str]) -> Output {
    let argument = |argument: &&str| match argument.strip_prefix('@') {
        Some(folder) => folders.text(folder),
        None => (*argument).to_owned(),
    };
    let arguments: Vec<_> = arguments.iter().map(argument).collect();
    let output = run(catalogql().args(arguments));
    Output {
        stdout: folders.shown(&output.stdout),
        stderr: folders.shown(&output.stderr),
        ..output
    }
}

#[test]
fn a_graph_is_printed_as_a_table_with_heads_and_deprecated_and_stranded_bundles_marked() {
    let folders = Folders::new();
    folders.catalog("marked", MARKED);
    let output = ask(&folders, &["graph", "@marked", "etcd"]);
    let expected = "\
package etcd

channel old (deprecated)
BUNDLE       VERSION  MARKS             REPLACES  SKIP-RANGE  SKIPS
etcd.v0.9.0  0.9.0    head, deprecated

channel stable (default)
BUNDLE       VERSION  MARKS       REPLACES     SKIP-RANGE      SKIPS
etcd.v1.1.0  1.1.0    head        etcd.v0.9.4  >=0.9.2 <1.1.0  etcd.v1.0.0
etcd.v0.9.4  0.9.4                etcd.v0.9.2                  etcd.v0.9.1, etcd.v0.9.3 and 1 more
etcd.v0.9.2  0.9.2                etcd.v0.9.0
etcd.v0.9.0  0.9.0    deprecated
etcd.v0.8.5  0.8.5    head
etcd.v1.0.0           no bundle
";
    assert_eq!(
        (
            output.status,
            output.stdout.as_str(),
            output.stderr.as_str()
        ),
        (Some(0), expected, "")
    );

    folders.catalog(
        "lost",
        "package p default=a\nchannel a: v1.0.0 replaces=v2.0.0 , v2.0.0 replaces=v1.0.0",
    );
    let output = ask(&folders, &["graph", "@lost", "p"]);
    assert_eq!(
        output.stdout.matches("  stranded  ").count(),
        2,
        "{}",
        output.stdout
    );
}

#[test]
fn a_graph_is_json_where_nobody_looks() {
    let folders = Folders::new();
    folders.catalog("marked", MARKED);
    let output = ask(
        &folders,
        &[
            "graph",
            "@marked",
            "etcd",
            "--channel",
            "old",
            "--channel",
            "stable",
            "-o",
            "json",
        ],
    );
    let answer: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    assert_eq!(answer["kind"], "UpdateGraph");
    let graph = &answer["updateGraph"];
    assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(5));
    let stable = answer["channels"]
        .as_array()
        .and_then(|channels| channels.iter().find(|channel| channel["name"] == "stable"))
        .expect("it is a channel");
    assert_eq!(
        (
            &stable["isDefault"],
            &stable["deprecation"],
            &stable["head"]
        ),
        (&json!(true), &Value::Null, &Value::Null)
    );
    let edge =
        |from| json!({"fromName": from, "toName": "etcd.v1.1.0", "channelNames": ["stable"]});
    let last = |list: &str| {
        graph[list]
            .as_array()
            .and_then(|edges| edges.last())
            .cloned()
    };
    assert_eq!(last("replaces"), Some(edge("etcd.v0.9.4")));
    assert_eq!(last("skips"), Some(edge("etcd.v1.0.0")));
    let range = json!({
        "range": ">=0.9.2 <1.1.0", "isValid": true, "toName": "etcd.v1.1.0", "channelNames": ["stable"],
        "fromCount": 2,
        "spans": [{"highest": {"name": "etcd.v0.9.4"}, "lowest": {"name": "etcd.v0.9.2"}}],
    });
    assert_eq!(graph["skipRanges"], json!([range]));
}

#[test]
fn an_unknown_package_or_channel_is_named() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let error = |arguments: &[&str]| {
        let output = ask(&folders, arguments);
        (output.status, output.stdout, output.stderr)
    };
    let failed = |message: &str| (Some(4), String::new(), format!("error: {message}\n"));
    assert_eq!(
        error(&["graph", "@etcd", "argo"]),
        failed("package `argo` not found")
    );
    let arguments = ["graph", "@etcd", "etcd", "--channel", "alpha"];
    assert_eq!(
        error(&arguments),
        failed("package `etcd` has no channel `alpha`\nhint: its channels are stable")
    );
}

#[test]
fn a_resolution_is_printed_with_the_choice_and_why_not_the_others() {
    let folders = Folders::new();
    folders.catalog("marked", MARKED);
    let arguments = [
        "resolve",
        "@marked",
        "etcd",
        "--installed",
        "etcd.v0.9.0@0.9.0",
    ];
    let output = ask(&folders, &arguments);
    let expected = "\
etcd.v0.9.2 of catalog marked
quay.io/example/etcd:v0.9.2

BUNDLE       VERSION  CATALOG  RESULT
etcd.v0.9.2  0.9.2    marked   chosen
etcd.v0.9.0  0.9.0    marked   installed now
etcd.v1.1.0  1.1.0    marked   no upgrade from the installed bundle
etcd.v0.9.4  0.9.4    marked   no upgrade from the installed bundle
etcd.v0.8.5  0.8.5    marked   no upgrade from the installed bundle
";
    assert_eq!(
        (
            output.status,
            output.stdout.as_str(),
            output.stderr.as_str()
        ),
        (Some(0), expected, "")
    );

    let output = ask(
        &folders,
        &["resolve", "@marked", "etcd", "--channel", "old"],
    );
    let start = "etcd.v0.9.0 of catalog marked\nquay.io/example/etcd:v0.9.0\n\
        deprecated: olm.bundle etcd.v0.9.0: too old\ndeprecated: olm.channel old: use stable\n";
    assert!(output.stdout.starts_with(start), "{}", output.stdout);
}

#[test]
fn a_resolution_that_fails_says_so_in_upstreams_words_and_by_its_status() {
    let folders = Folders::new();
    folders.catalog("one", ETCD);
    folders.catalog("two", ETCD);
    let output = ask(&folders, &["resolve", "@two", "@one", "etcd", "-o", "json"]);
    let answer: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    assert_eq!(output.status, Some(1));
    let message =
        "found bundles for package \"etcd\" in multiple catalogs with the same priority [one two]";
    assert_eq!(
        (&answer["kind"], &answer["code"], &answer["message"]),
        (
            &json!("ResolutionFailure"),
            &json!("AMBIGUOUS"),
            &json!(message)
        )
    );
    let bundle = json!({"name": "etcd.v0.9.4", "version": "0.9.4", "catalog": {"name": "one"}});
    assert_eq!(
        answer["considered"][0],
        json!({"rejection": "AMBIGUOUS", "bundle": bundle})
    );

    let output = ask(&folders, &["resolve", "@one", "etcd", "--version", "9.x"]);
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (
            Some(1),
            "error: no bundles found for package \"etcd\" matching version \"9.x\"\n"
        )
    );
    assert!(output.stdout.starts_with("BUNDLE "), "{}", output.stdout);

    folders.write("broken/catalog.json", "{");
    let output = ask(&folders, &["resolve", "@broken", "@one", "etcd"]);
    let start = "error: cannot load the catalog `@/broken`: ";
    assert!(
        output.status == Some(2) && output.stderr.starts_with(start),
        "{}",
        output.stderr
    );
}

#[test]
fn a_cluster_rejects_what_does_not_run_on_it() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let output = ask(
        &folders,
        &[
            "resolve",
            "@etcd",
            "etcd",
            "--kubernetes",
            "1.30",
            "--architecture",
            "arm64",
        ],
    );
    assert_eq!(output.status, Some(1));
    let start = "error: no bundles found for package \"etcd\" compatible with Kubernetes 1.30, architecture arm64\n";
    assert!(output.stderr.starts_with(start), "{}", output.stderr);
    assert!(
        output.stdout.contains("does not run on this platform"),
        "{}",
        output.stdout
    );
    let output = ask(
        &folders,
        &["resolve", "@etcd", "etcd", "--architecture", "amd64"],
    );
    assert_eq!(output.status, Some(0), "{}", output.stdout);
    let output = ask(
        &folders,
        &["resolve", "@etcd", "etcd", "--openshift", "four"],
    );
    assert_eq!(output.status, Some(2));
    assert!(
        output.stderr.contains("expected MAJOR.MINOR"),
        "{}",
        output.stderr
    );
}

#[test]
fn what_is_installed_is_a_bundle_of_the_catalog_or_a_name_and_a_version() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let output = ask(
        &folders,
        &["resolve", "@etcd", "etcd", "--installed", "etcd.v0.9.0"],
    );
    let with_version = ask(
        &folders,
        &[
            "resolve",
            "@etcd",
            "etcd",
            "--installed",
            "etcd.v0.9.0@0.9.0",
        ],
    );
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout, with_version.stdout);
    let output = ask(
        &folders,
        &["resolve", "@etcd", "etcd", "--installed", "a@b@1.0"],
    );
    assert_eq!(output.status, Some(2));
    assert!(
        output
            .stderr
            .contains("version and release of installed bundle"),
        "{}",
        output.stderr
    );
    let output = ask(
        &folders,
        &[
            "resolve",
            "@etcd",
            "etcd",
            "--installed",
            "etcd.v0.9.4@0.9.4",
        ],
    );
    let start = "no upgrade: the installed bundle is the one that would be chosen\netcd.v0.9.4 of catalog etcd\n";
    assert!(output.stdout.starts_with(start), "{}", output.stdout);
    assert!(
        output.stdout.contains("chosen: installed already"),
        "{}",
        output.stdout
    );
}
