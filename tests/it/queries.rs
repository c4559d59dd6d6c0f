//! `catalogql query`, `list`, `search` and `diff`: what they print, for people and for programs,
//! and how they end.

use serde_json::{Value, json};
use testing::fixture::{NEWER, OLDER};

use crate::support::{Folders, Output, catalogql, run};

/// Runs the program in a folder with the catalogs `old` and `new`.
fn ask(arguments: &[&str]) -> Output {
    let folders = Folders::new();
    folders.catalog("old", OLDER);
    folders.catalog("new", NEWER);
    let path = |argument: &&str| match argument.strip_prefix('@') {
        Some(folder) => folders.text(folder),
        None => (*argument).to_owned(),
    };
    let output = run(catalogql().args(arguments.iter().map(path)));
    Output {
        stdout: folders.shown(&output.stdout),
        stderr: folders.shown(&output.stderr),
        ..output
    }
}

#[track_caller]
fn prints(arguments: &[&str], expected: &str) {
    let output = ask(arguments);
    assert_eq!(
        (
            output.status,
            output.stdout.as_str(),
            output.stderr.as_str()
        ),
        (Some(0), expected, "")
    );
}

#[test]
fn catalogs_packages_channels_and_bundles_are_listed() {
    let all = ["@old", "@new"];
    let list = |kind, more: &[&'static str]| [&["list", kind][..], &all, more].concat();
    prints(
        &list("catalogs", &[]),
        "\
NAME  PACKAGES  BUNDLES  PRIORITY  IMAGE
new   1         3        0
old   2         3        0
",
    );
    prints(
        &list("packages", &[]),
        "\
NAME  HEAD   CHANNEL  CATALOG  DISPLAY NAME
etcd  1.2.0  stable   new      etcd
etcd  1.1.0  stable   old      etcd
zoo   0.1.0  beta     old      zoo
",
    );
    prints(
        &list("channels", &["--package", "etcd"]),
        "\
PACKAGE  CHANNEL    HEAD   ENTRIES  DEFAULT  CATALOG
etcd     candidate  1.2.0  1                 new
etcd     stable     1.2.0  3        yes      new
etcd     stable     1.1.0  2        yes      old
",
    );
    prints(
        &list("bundles", &["--package", "etcd"]),
        "\
NAME         VERSION  PACKAGE  CATALOG  CHANNELS
etcd.v1.2.0  1.2.0    etcd     new      candidate, stable
etcd.v1.1.0  1.1.0    etcd     new      stable
etcd.v1.1.0  1.1.0    etcd     old      stable
etcd.v1.0.0  1.0.0    etcd     new      stable
etcd.v1.0.0  1.0.0    etcd     old      stable
",
    );
}

#[test]
fn a_package_and_a_bundle_are_shown_for_each_catalog_that_has_them() {
    let output = ask(&["show", "@old", "@new", "etcd"]);
    let expected = "\
etcd (package etcd of catalog new)
Default channel:    stable
Its head:           etcd.v1.2.0
Version:            1.2.0
Image:              quay.io/example/etcd:v1.2.0
Channels:           candidate 1.2.0
                    stable 1.2.0 (default)

etcd (package etcd of catalog old)
Default channel:    stable
Its head:           etcd.v1.1.0
Version:            1.1.0
Image:              quay.io/example/etcd:v1.1.0
Channels:           stable 1.1.0 (default)
";
    assert_eq!((output.status, output.stdout.as_str()), (Some(0), expected));
    // Of the one catalog that has it.
    let output = ask(&[
        "show",
        "@old",
        "@new",
        "etcd",
        "--bundle",
        "etcd.v1.2.0",
        "-o",
        "json",
    ]);
    let shown: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    let names: Vec<_> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|item| [&item["catalog"]["name"], &item["bundle"]["name"]])
        .collect();
    assert_eq!(names, [["new", "etcd.v1.2.0"]]);
    for (arguments, expected) in [
        (
            &["show", "@old", "none"][..],
            "error: package \"none\" not found\n",
        ),
        (
            &["show", "@old", "etcd", "--bundle", "none"],
            "error: package \"etcd\", bundle \"none\" not found\n",
        ),
        (
            &["show", "@old", "ectd"],
            "error: package \"ectd\" not found; did you mean \"etcd\"?\n",
        ),
        (
            &["list", "bundles", "@old", "--package", "zo"],
            "error: package \"zo\" not found; did you mean \"zoo\"?\n",
        ),
        (
            &["show", "@old", "etcd", "--bundle", "etcd.v1.0"],
            "error: package \"etcd\", bundle \"etcd.v1.0\" not found; did you mean \"etcd.v1.0.0\" or \"etcd.v1.1.0\"?\n",
        ),
    ] {
        let output = ask(arguments);
        assert_eq!(
            (
                output.status,
                output.stdout.as_str(),
                output.stderr.as_str()
            ),
            (Some(1), "", expected)
        );
    }
}

#[test]
fn lists_are_json_when_asked() {
    let output = ask(&["search", "@old", "@new", "zoo", "-o", "json"]);
    let found: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    assert_eq!(
        (found.as_array().map(Vec::len), &found[0]["catalog"]),
        (Some(1), &json!({"name": "old"}))
    );
}

#[test]
fn a_difference_is_a_line_for_each_package_channel_and_bundle() {
    prints(
        &["diff", "@old", "@new"],
        "\
CHANGE   KIND     NAME         PACKAGE  HEADS
changed  package  etcd         etcd
added    channel  candidate    etcd      -> etcd.v1.2.0
changed  channel  stable       etcd     etcd.v1.1.0 -> etcd.v1.2.0
added    bundle   etcd.v1.2.0  etcd
removed  package  zoo          zoo
removed  channel  beta         zoo      zoo.v0.1.0 ->
removed  bundle   zoo.v0.1.0   zoo
",
    );
    prints(
        &["diff", "@old", "@new", "-o", "markdown"],
        "\
Packages: 0 added, 1 removed, 1 changed.

### `etcd` changed

| | | what |
|---|---|---|
| channel | `candidate` | added; head none → `etcd.v1.2.0`; adds `etcd.v1.2.0` |
| channel | `stable` | changed; head `etcd.v1.1.0` → `etcd.v1.2.0`; adds `etcd.v1.2.0` |
| bundle | `etcd.v1.2.0` | added |

### `zoo` removed

| | | what |
|---|---|---|
| channel | `beta` | removed; head `zoo.v0.1.0` → none; removes `zoo.v0.1.0` |
| bundle | `zoo.v0.1.0` | removed |
",
    );
    prints(&["diff", "@old", "@old"], "no differences\n");
    prints(
        &["diff", "@old", "@old", "-o", "markdown", "--exit-code"],
        "The catalogs do not differ.\n",
    );
    let status = |new: &str| ask(&["diff", "@old", new, "--exit-code"]).status;
    assert_eq!((status("@old"), status("@new")), (Some(0), Some(1)));
    prints(&["diff", "@old", "@old", "-o", "json"], "[]\n");
}

#[test]
fn a_query_is_executed_without_a_server_and_errors_are_an_exit_status() {
    let document = "query A($name: String!) { catalog(name: $name) { name packages { totalCount nodes { name } } } } \
                    query B { catalogs { name labels { key } } }";
    let query = ["query", "c=@new", document].map(|word| word.replace("c=@new", "@new"));
    let query: Vec<_> = query.iter().map(String::as_str).collect();
    let selected = ["--operation", "A", "--variables", r#"{"name": "new"}"#];
    prints(
        &[&query[..], &selected].concat(),
        "\
{
  \"data\": {
    \"catalog\": {
      \"name\": \"new\",
      \"packages\": {
        \"totalCount\": 1,
        \"nodes\": [
          {
            \"name\": \"etcd\"
          }
        ]
      }
    }
  }
}
",
    );
    let empty = [&query[..], &["--operation", "B"]].concat();
    assert!(ask(&empty).stdout.contains("\"labels\": []\n"));
    let wrong = ask(&["query", "@new", "{ none }"]);
    assert_eq!((wrong.status, wrong.stderr.as_str()), (Some(1), ""));
    assert!(
        wrong.stdout.contains("GRAPHQL_VALIDATION_FAILED"),
        "{}",
        wrong.stdout
    );
    let wrong = ask(&["query", "@new", "{ __typename }", "--variables", "1"]);
    assert_eq!(wrong.status, Some(1));
    assert!(
        wrong
            .stderr
            .starts_with("error: cannot use --variables: write a JSON object"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_source_that_cannot_be_read_is_an_error() {
    let output = ask(&["list", "packages", "@none"]);
    assert_eq!((output.status, output.stdout.as_str()), (Some(1), ""));
    assert!(output.stderr.starts_with("error: "), "{}", output.stderr);
}
