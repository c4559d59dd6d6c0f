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
    // Not the table, which says when the sources were read.
    let template = "jsonpath={range .items[*]}{.name} {.packageCount} {.bundleCount}{\"\\n\"}{end}";
    prints(&list("catalogs", &["-o", template]), "new 1 3\nold 2 3\n");
    prints(
        &list("packages", &[]),
        "\
NAME  DISPLAY-NAME  CATALOG  CHANNEL  VERSION  DEPRECATED
etcd  etcd          new      stable   1.2.0    false
etcd  etcd          old      stable   1.1.0    false
zoo   zoo           old      beta     0.1.0    false
",
    );
    prints(
        &list("channels", &["--package", "etcd"]),
        "\
PACKAGE  CHANNEL    DEFAULT  HEAD         VERSION  ENTRIES  DEPRECATED  CATALOG
etcd     candidate  false    etcd.v1.2.0  1.2.0    1        false       new
etcd     stable     true     etcd.v1.2.0  1.2.0    3        false       new
etcd     stable     true     etcd.v1.1.0  1.1.0    2        false       old
",
    );
    prints(
        &list("bundles", &["--package", "etcd"]),
        "\
BUNDLE       VERSION  CHANNELS           DEPRECATED  CREATED  CATALOG
etcd.v1.2.0  1.2.0    candidate, stable  false       <none>   new
etcd.v1.1.0  1.1.0    stable             false       <none>   new
etcd.v1.1.0  1.1.0    stable             false       <none>   old
etcd.v1.0.0  1.0.0    stable             false       <none>   new
etcd.v1.0.0  1.0.0    stable             false       <none>   old
",
    );
}

#[test]
fn a_package_and_a_bundle_are_shown_for_each_catalog_that_has_them() {
    let output = ask(&["show", "@old", "@new", "etcd"]);
    let expected = "\
Name:               etcd
Catalog:            new
Display name:       etcd
Default channel:    stable
Head:               etcd.v1.2.0
Version:            1.2.0
Image:              quay.io/example/etcd:v1.2.0
Channels:           candidate 1.2.0
                    stable 1.2.0 (default)

Name:               etcd
Catalog:            old
Display name:       etcd
Default channel:    stable
Head:               etcd.v1.1.0
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
    let names: Vec<_> = shown["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| [&item["catalog"]["name"], &item["name"]])
        .collect();
    assert_eq!(names, [["new", "etcd.v1.2.0"]]);
    let list =
        "hint: `catalogql list bundles SOURCE --package etcd` lists the bundles of the package\n";
    let no_bundle = format!("error: bundle `none` not found\n{list}");
    for (arguments, expected) in [
        (
            &["show", "@old", "none"][..],
            "error: package `none` not found\n",
        ),
        (&["show", "@old", "etcd", "--bundle", "none"], &no_bundle),
        (
            &["show", "@old", "ectd"],
            "error: package `ectd` not found\nhint: did you mean etcd?\n",
        ),
        (
            &["show", "@old", "ectd", "--bundle", "etcd.v1.0.0"],
            "error: package `ectd` not found\nhint: did you mean etcd?\n",
        ),
        (
            &["list", "bundles", "@old", "--package", "zo"],
            "error: package `zo` not found\nhint: did you mean zoo?\n",
        ),
    ] {
        let output = ask(arguments);
        assert_eq!(
            (
                output.status,
                output.stdout.as_str(),
                output.stderr.as_str()
            ),
            (Some(4), "", expected)
        );
    }
}

#[test]
fn lists_are_json_when_asked() {
    let output = ask(&["search", "@old", "@new", "zoo", "-o", "json"]);
    let found: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    let items = found["items"].as_array();
    assert_eq!(
        (
            &found["kind"],
            items.map(Vec::len),
            &found["items"][0]["catalog"]["name"]
        ),
        (&json!("PackageList"), Some(1), &json!("old"))
    );
    prints(
        &["list", "packages", "@old", "-o", "name"],
        "package/old/etcd\npackage/old/zoo\n",
    );
}

#[test]
fn a_difference_is_a_line_for_each_package_channel_and_bundle() {
    prints(
        &["diff", "@old", "@new"],
        "   KIND     PACKAGE  NAME         BEFORE       AFTER
~  package  etcd     etcd         <none>       <none>
+  channel  etcd     candidate    <none>       etcd.v1.2.0
~  channel  etcd     stable       etcd.v1.1.0  etcd.v1.2.0
+  bundle   etcd     etcd.v1.2.0  <none>       <none>
-  package  zoo      zoo          beta         <none>
-  channel  zoo      beta         zoo.v0.1.0   <none>
-  bundle   zoo      zoo.v0.1.0   <none>       <none>
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
    let same = ask(&["diff", "@old", "@old"]);
    assert_eq!(
        (same.status, &*same.stdout, &*same.stderr),
        (Some(0), "", "no differences\n")
    );
    prints(
        &["diff", "@old", "@old", "-o", "markdown", "--exit-code"],
        "The catalogs do not differ.\n",
    );
    let status = |new: &str| ask(&["diff", "@old", new, "--exit-code"]).status;
    assert_eq!((status("@old"), status("@new")), (Some(0), Some(1)));
    let same = ask(&["diff", "@old", "@old", "-o", "json"]);
    let same: Value = serde_json::from_str(&same.stdout).expect("it is JSON");
    assert_eq!(
        (&same["kind"], &same["packages"]),
        (&json!("CatalogDiff"), &json!([]))
    );
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
    let named = ask(&[
        "query",
        "@new",
        document,
        "--operation",
        "A",
        "--var",
        "name=new",
    ]);
    assert!(
        named.stdout.contains("\"totalCount\": 1"),
        "{}",
        named.stdout
    );
    let wrong = ask(&["query", "@new", "{ none }"]);
    assert_eq!((wrong.status, wrong.stderr.as_str()), (Some(1), ""));
    assert!(
        wrong.stdout.contains("GRAPHQL_VALIDATION_FAILED"),
        "{}",
        wrong.stdout
    );
    let wrong = ask(&["query", "@new", "{ __typename }", "--variables", "1"]);
    assert_eq!(wrong.status, Some(2));
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
    assert_eq!((output.status, output.stdout.as_str()), (Some(2), ""));
    assert!(output.stderr.starts_with("error: "), "{}", output.stderr);
}
