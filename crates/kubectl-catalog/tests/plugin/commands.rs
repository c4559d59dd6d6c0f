//! What the commands print for programs, and how they end.

use std::io::Read as _;
use std::process::Stdio;

use apollo_compiler::{ExecutableDocument, Schema};
use serde_json::{Value, json};
use testing::fixture::{NEWER, OLDER};

use crate::support::{Server, example};

/// A server with two catalogs of these priorities.
fn two(old: i32, new: i32) -> Server {
    let server = Server::start();
    server.serve_fixture("old", OLDER, old);
    server.serve_fixture("new", NEWER, new);
    server
}

fn json_of(server: &Server, arguments: &[&str]) -> Value {
    let output = server.run(arguments);
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (Some(0), ""),
        "{arguments:?}"
    );
    serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", output.stdout))
}

#[test]
fn every_document_is_one_of_the_schema() {
    let schema = include_str!("../../../../schema.graphql");
    let schema = Schema::parse_and_validate(schema, "schema.graphql").expect("the schema is valid");
    for folder in ["documents", "../client/documents", "../commands/documents"] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in std::fs::read_dir(folder).expect("there are documents") {
            let path = entry.expect("it can be read").path();
            let text = std::fs::read_to_string(&path).expect("it is text");
            let document = ExecutableDocument::parse_and_validate(&schema, text, &path);
            let document = document.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(document.operations.len(), 1, "{}", path.display());
        }
    }
}

#[test]
fn formats_for_programs_hold_the_objects_of_the_api() {
    let server = two(0, 0);
    let list = json_of(&server, &["heads", "new/etcd", "-o", "json"]);
    let deprecation = Value::Null;
    let head = |name: &str, is_default: bool, count: u32| {
        json!({
            "name": name, "isDefault": is_default, "entryCount": count, "deprecation": deprecation,
            "head": { "name": "etcd.v1.2.0", "bundle": {
                "version": "1.2.0", "image": "quay.io/example/etcd:v1.2.0", "metadata": null,
            } },
            "package": { "name": "etcd", "catalog": { "name": "new" } },
        })
    };
    let items = [head("candidate", false, 1), head("stable", true, 3)];
    assert_eq!(
        list,
        json!({ "apiVersion": "catalogql.io/v1alpha1", "kind": "ChannelList", "items": items })
    );
    let template = "jsonpath={range .items[*]}{.name}={.head.bundle.version}{\"\\n\"}{end}";
    server.ends(
        &["heads", "new/etcd", "-o", template],
        0,
        "candidate=1.2.0\nstable=1.2.0\n",
        "",
    );
    server.ends(
        &["get", "packages", "-o", "name"],
        0,
        "package/new/etcd\npackage/old/etcd\npackage/old/zoo\n",
        "",
    );
    let yaml = server.run(&["get", "catalogs", "old", "-o", "yaml"]).stdout;
    assert!(
        yaml.contains("kind: CatalogList\n") && yaml.contains("packageCount: 2\n"),
        "{yaml}"
    );
    server.ends(
        &["images", "new/etcd", "--all", "-o", "lines"],
        0,
        "quay.io/example/etcd:v1.0.0\nquay.io/example/etcd:v1.1.0\nquay.io/example/etcd:v1.2.0\n",
        "",
    );
    let resolved = json_of(&server, &["resolve", "old/etcd", "-o", "json"]);
    assert_eq!(
        (&resolved["kind"], &resolved["bundle"]["name"]),
        (&json!("Resolution"), &json!("etcd.v1.1.0"))
    );
    server.ends(
        &[
            "query",
            "query A($n: String!) { catalog(name: $n) { packageCount } }",
            "--var",
            "n=old",
        ],
        0,
        "{\n  \"catalog\": {\n    \"packageCount\": 2\n  }\n}\n",
        "",
    );
}

#[test]
fn lists_show_the_phase_of_support_on_a_day() {
    let lifecycle = json!({
        "schema": "io.openshift.operators.lifecycles.v1alpha1", "package": "oil",
        "versions": [{ "name": "1.0", "phases": [
            { "name": "Full support", "startDate": "2026-01-01", "endDate": "2026-12-31" },
        ] }],
    });
    let server = Server::start();
    let fixture = format!("package oil default=a\nchannel a: v1.0.0 <- v2.0.0\n{lifecycle}");
    server.serve_fixture("oils", &fixture, 0);

    let versions = "VERSION  BUNDLE      CHANNELS  CREATED  DEPRECATED  SUPPORT\n\
                    2.0.0    oil.v2.0.0  a         <none>   false       <none>\n\
                    1.0.0    oil.v1.0.0  a         <none>   false       Full support until 2026-12-31\n";
    server.ends(
        &["versions", "oil", "--support-on", "2026-11-26"],
        0,
        versions,
        "",
    );
    let bundles = "BUNDLE      VERSION  CHANNELS  DEPRECATED  CREATED  SUPPORT\n\
                   oil.v2.0.0  2.0.0    a         false       <none>   <none>\n\
                   oil.v1.0.0  1.0.0    a         false       <none>   none\n";
    server.ends(
        &["get", "bundles", "--support-on", "2027-01-01"],
        0,
        bundles,
        "",
    );
    let packages = "NAME  DISPLAY-NAME  CATALOG  CHANNEL  VERSION  DEPRECATED  SUPPORT\n\
                    oil   oil           oils     a        2.0.0    false       <none>\n";
    server.ends(
        &["get", "packages", "--support-on", "2026-11-26"],
        0,
        packages,
        "",
    );
    let support_of = |object: &str| {
        let arguments = ["describe", object, "--support-on", "2026-11-26"];
        let printed = server.run(&arguments).stdout;
        let line = printed.lines().find(|line| line.starts_with("Support:"));
        line.map(str::to_owned)
    };
    assert_eq!(
        support_of("oil.v1.0.0").as_deref(),
        Some("Support:            Full support until 2026-12-31")
    );
    assert_eq!(
        support_of("package/oil").as_deref(),
        Some("Support:            unknown, the catalog has no life cycle of the version")
    );
    server.ends(
        &["get", "channels", "--support-on", "2026-11-26"],
        2,
        "",
        "error: --support-on shows the support of packages or bundles: list one of these\n",
    );
}

#[test]
fn the_status_says_how_a_command_ended() {
    let server = two(0, 0);
    let starts = |arguments: &[&str], status, stderr: &str| {
        let output = server.run(arguments);
        assert!(
            output.status == Some(status) && output.stderr.starts_with(stderr),
            "{arguments:?}: {output:?}"
        );
    };
    starts(
        &["path", "old/etcd", "1.1.0", "1.0.0"],
        1,
        "error: no path: ",
    );
    starts(&["diff", "old", "new", "--exit-code"], 1, "");
    starts(&["diff", "old", "new"], 0, "");
    starts(&["diff", "old", "old"], 0, "no differences\n");
    // The exit status says it.
    let equal = server.run(&["diff", "old", "old", "--exit-code"]);
    assert_eq!((equal.status, equal.stderr.as_str()), (Some(0), ""));
    starts(&["heads"], 2, "error: ");
    starts(
        &["heads", "etcd", "-o", "mermaid"],
        2,
        "error: invalid value 'mermaid' for '--output <FORMAT>': write table, wide, json, ",
    );
    starts(&["heads", "none"], 4, "error: package `none` not found\n");
    starts(
        &["heads", "ectd"],
        4,
        "error: package `ectd` not found\nhint: did you mean etcd?\n",
    );
    let tie = "error: package `etcd` is in several catalogs of one priority: new, old\nhint: write new/etcd\n";
    starts(&["path", "etcd", "1.0.0"], 4, tie);
    starts(
        &["versions", "old/etcd", "--range", "nonsense"],
        6,
        "error: the server refused the request: ",
    );
    // Without the URL of the request, which holds the document.
    let unreachable = "error: cannot reach http://127.0.0.1:1/graphql: error sending request: ";
    starts(
        &["search", "--server", "http://127.0.0.1:1"],
        3,
        unreachable,
    );
    starts(
        &["search", "--server", "nowhere"],
        3,
        "error: cannot set up the client: `nowhere` is not a URL",
    );
    server.refuse_next(
        403,
        &[],
        r#"{"kind": "Status", "message": "you cannot get"}"#,
    );
    starts(
        &["get", "packages"],
        3,
        &format!(
            "error: cannot query {}/graphql: you cannot get\n",
            server.url()
        ),
    );
}

#[test]
fn a_server_without_tls_is_told_from_one_that_is_not_there() {
    let server = Server::start();
    let url = server.url().replace("http://", "https://");
    let output = server.run(&["search", "--server", &url, "--insecure-skip-tls-verify"]);
    let hint = "\nhint: the server seems to speak plain HTTP: write its URL with http:// instead of https://\n";
    assert!(
        output.status == Some(3) && output.stderr.ends_with(hint),
        "{output:?}"
    );
}

#[test]
fn an_unknown_channel_is_refused_with_those_that_the_package_has() {
    let server = two(0, 0);
    let refusal =
        "error: package `etcd` has no channel `nope`\nhint: its channels are candidate, stable\n";
    for arguments in [
        &["versions", "new/etcd"][..],
        &["versions", "new/etcd", "--channel", "stable"],
        &["images", "new/etcd", "-o", "lines"],
        &["images", "new/etcd", "--channel", "stable"],
        &["successors", "new/etcd", "etcd.v1.0.0@1.0.0"],
        &["path", "new/etcd", "1.0.0"],
        &["path", "new/etcd", "1.0.0", "--channel", "stable"],
        &["graph", "new/etcd"],
        &["manifest", "new/etcd"],
        &["manifest", "new/etcd", "--version", "1.0.0"],
        &["manifest", "new/etcd", "--kind", "Subscription"],
    ] {
        server.ends(
            &[arguments, &["--channel", "nope"]].concat(),
            4,
            "",
            refusal,
        );
    }
    // One that is known costs no request.
    let sent = server.statuses().len();
    assert_eq!(
        server
            .run(&["versions", "new/etcd", "--channel", "stable"])
            .status,
        Some(0)
    );
    assert_eq!(server.statuses().len(), sent + 1);
    let nothing = [
        "images",
        "new/etcd",
        "--channel",
        "stable",
        "--version",
        ">=99",
        "-o",
        "lines",
    ];
    server.ends(&nothing, 0, "", "nothing found\n");
    server.ends(
        &["versions", "new/etcd", "--range", ">=99", "-o", "name"],
        0,
        "",
        "nothing found\n",
    );
    let no_path = "\
error: no path: no sequence of upgrades leads from etcd.v1.0.0 to the head of the default channel by entries of channel candidate alone
hint: etcd.v1.0.0 can be upgraded to nothing in one step
";
    server.ends(
        &["path", "new/etcd", "1.0.0", "--channel", "candidate"],
        1,
        "",
        no_path,
    );
}

#[test]
fn an_unknown_catalog_is_refused_with_those_that_are_served() {
    let server = two(0, 0);
    let refusal = "error: no catalog `nope` is served\nhint: the served catalogs are new, old\n";
    for arguments in [
        &["search"][..],
        &["search", "--catalog", "old"],
        &["get", "catalogs"],
        &["get", "packages"],
        &["get", "channels"],
        &["get", "problems"],
        &["heads", "etcd"],
        &["versions", "etcd"],
        &["images", "etcd", "-o", "lines"],
        &["providers", "example.com/None"],
        &["describe", "package", "etcd"],
        &["describe", "bundle", "etcd.v1.0.0"],
        &["path", "etcd", "1.0.0"],
        &["resolve", "etcd"],
        &["manifest", "etcd"],
        &["watch"],
    ] {
        server.ends(
            &[arguments, &["--catalog", "nope"]].concat(),
            4,
            "",
            refusal,
        );
    }
    server.ends(&["heads", "nope/etcd"], 4, "", refusal);
    // One that is known costs no request.
    let sent = server.statuses().len();
    assert_eq!(server.run(&["search", "--catalog", "old"]).status, Some(0));
    assert_eq!(server.statuses().len(), sent + 1);
}

#[test]
fn a_manifest_says_what_it_will_not_do() {
    let server = two(0, 0);
    let told = |arguments: &[&str]| {
        let output = server.run(&[&["manifest", "new/etcd"], arguments].concat());
        assert!(
            output.status == Some(0) && output.stdout.starts_with("apiVersion: "),
            "{output:?}"
        );
        output.stderr
    };
    assert_eq!(told(&["--version", ">=1.0.0"]), "");
    let none = "error: package `etcd` has no bundle with a version in `>=99`\n";
    server.ends(&["manifest", "new/etcd", "--version", ">=99"], 4, "", none);
    let none =
        "error: package `etcd` has no bundle in channel `candidate` with a version in `1.0.0`\n";
    let candidate = [
        "manifest",
        "new/etcd",
        "--channel",
        "candidate",
        "--version",
        "1.0.0",
    ];
    server.ends(&candidate, 4, "", none);
    let left_out = "a Subscription has no range of versions: --version is left out\n";
    assert_eq!(
        told(&["--kind", "Subscription", "--version", "1.0.0"]),
        left_out
    );
}

#[test]
fn a_manifest_names_a_service_account_for_releases_of_olm_v1_that_want_one() {
    let server = two(0, 0);
    let manifest = |account: &str| {
        format!(
            "\
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata:
  name: etcd
spec:
  namespace: etcd
{account}  source:
    catalog:
      packageName: etcd
      selector:
        matchLabels:
          olm.operatorframework.io/metadata.name: new
    sourceType: Catalog
"
        )
    };
    let account = "  serviceAccount:\n    name: etcd-installer\n";
    let told = "the ServiceAccount `etcd-installer` needs the rights to install the package\n";
    let command = ["manifest", "new/etcd"];
    server.ends(&command, 0, &manifest(""), "");
    for (release, account, told) in [
        ("1.11", "", ""),
        ("v1.12.3", "", ""),
        ("1.10", account, told),
        ("v1.2.0", account, told),
    ] {
        let arguments = [&command[..], &["--olm-v1-release", release]].concat();
        server.ends(&arguments, 0, &manifest(account), told);
    }
    for wrong in ["", "1", "0.18", "2.0", "1.x"] {
        let output = server.run(&[&command[..], &["--olm-v1-release", wrong]].concat());
        assert_eq!(output.status, Some(2), "{wrong}");
        let reason = "expected a release of OLM v1, such as 1.10";
        assert!(output.stderr.contains(reason), "{output:?}");
    }
}

#[test]
fn rows_of_several_catalogs_name_their_catalogs() {
    let server = two(0, 0);
    let rows = "\
VERSION  BUNDLE       CHANNELS  CREATED  DEPRECATED  CATALOG
1.1.0    etcd.v1.1.0  stable    <none>   false       new
1.1.0    etcd.v1.1.0  stable    <none>   false       old
";
    server.ends(&["versions", "etcd", "--range", "1.1.0"], 0, rows, "");
    let row = "\
VERSION  BUNDLE       CHANNELS  CREATED  DEPRECATED
1.1.0    etcd.v1.1.0  stable    <none>   false
";
    server.ends(&["versions", "old/etcd", "--range", "1.1.0"], 0, row, "");
}

#[test]
fn a_misspelled_package_is_resolved_to_an_error_alone() {
    let output = two(0, 0).run(&["resolve", "ectd"]);
    assert_eq!((output.status, output.stdout.as_str()), (Some(1), ""));
    assert!(
        output.stderr.ends_with("hint: did you mean etcd?\n"),
        "{output:?}"
    );
}

#[test]
fn of_several_catalogs_the_one_with_the_highest_priority_is_chosen_and_it_is_said() {
    let server = two(0, 5);
    let output = server.run(&["path", "etcd", "1.0.0", "--no-headers"]);
    assert_eq!(
        output.stderr,
        "package `etcd` of catalog new, which has the highest priority; also in old\n"
    );
    assert_eq!(output.status, Some(0));
    // Of its default channel's head, by replaces.
    let versions: Vec<_> = output
        .stdout
        .lines()
        .map(|line| line.split_whitespace().nth(1))
        .collect();
    assert_eq!(versions, [Some("1.1.0"), Some("1.2.0")]);
}

#[test]
fn catalogs_are_selected_by_name_by_label_and_by_digest() {
    let server = two(0, 0);
    let labelled = serving::CatalogMetadata {
        labels: [("tier".to_owned(), "demo".to_owned())].into(),
        ..serving::CatalogMetadata::default()
    };
    server.serve(
        "example",
        std::path::Path::new(crate::support::EXAMPLE),
        labelled,
    );
    let names =
        |arguments: &[&str]| server.run(&[&["get", "catalogs", "-o", "name"], arguments].concat());
    assert_eq!(
        names(&["--catalog", "old", "--catalog", "new"]).stdout,
        "catalog/new\ncatalog/old\n"
    );
    assert_eq!(names(&["-l", "tier=demo"]).stdout, "catalog/example\n");
    assert_eq!(names(&["-l", "tier=none"]).status, Some(4));
    let catalogs = json_of(&server, &["get", "catalogs", "old", "-o", "json"]);
    let digest = catalogs["items"][0]["digest"]
        .as_str()
        .expect("it has one")
        .to_owned();
    assert_eq!(names(&["--digest", &digest]).stdout, "catalog/old\n");
    server.serve_fixture("old", NEWER, 0);
    let output = names(&["--digest", &digest]);
    assert_eq!(output.status, Some(5), "{output:?}");
    assert!(
        output.stderr.starts_with(&format!(
            "error: no catalog serves the content `{digest}`\nhint: "
        )),
        "{output:?}"
    );
}

#[test]
fn a_second_request_costs_no_body_and_offline_none_is_sent() {
    let server = two(0, 0);
    let first = server.run(&["heads", "new/etcd"]);
    assert_eq!(server.statuses(), [200]);
    assert_eq!(server.run(&["heads", "new/etcd"]), first);
    assert_eq!(server.statuses(), [200, 304]);
    let offline = server.run(&["heads", "new/etcd", "--offline"]);
    assert_eq!((offline.status, &offline.stdout), (Some(0), &first.stdout));
    let never = server.run(&["heads", "zoo", "--offline"]);
    let refusal = "error: cannot answer offline: no response to this request is in the cache\n";
    assert!(
        never.status == Some(3) && never.stderr.starts_with(refusal),
        "{never:?}"
    );
    assert_eq!(server.statuses().len(), 2);
    // Of another caller nothing is in the cache.
    let other = server.run(&["heads", "new/etcd", "--offline", "--token", "another"]);
    assert_eq!(other.status, Some(3));
}

#[test]
fn offline_a_command_says_once_how_old_its_data_is() {
    let server = two(0, 0);
    for arguments in [
        &["search"][..],
        &["heads", "new/etcd"],
        &["get", "packages"],
        &["describe", "package", "etcd"],
        &["path", "new/etcd", "1.0.0"],
    ] {
        let online = server.run(arguments);
        assert_eq!(
            (online.status, online.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
        let offline = server.run(&[arguments, &["--offline"]].concat());
        assert_eq!(
            (offline.status, &offline.stdout),
            (Some(0), &online.stdout),
            "{arguments:?}"
        );
        let lines: Vec<_> = offline.stderr.lines().collect();
        let [line] = lines[..] else {
            panic!("{arguments:?}: {offline:?}")
        };
        assert!(
            line.starts_with("from the cache, ") && line.ends_with(" s old"),
            "{arguments:?}: {line}"
        );
    }
}

#[test]
fn long_lists_end_at_the_limit_and_say_so() {
    let server = two(0, 0);
    let output = server.run(&["get", "packages", "--limit", "1", "--no-headers"]);
    assert_eq!(
        output.stderr,
        "these are the first 1: --limit 0 prints all\n"
    );
    assert_eq!(output.stdout.lines().count(), 1);
    assert_eq!(server.run(&["get", "packages", "--limit", "3"]).stderr, "");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let server = example();
    let mut child = server.plugin(&["get", "metas", "-o", "json"]);
    let mut child = child
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut byte = [0];
    child
        .stdout
        .take()
        .expect("it is a pipe")
        .read_exact(&mut byte)
        .expect("it prints");
    let output = child.wait_with_output().expect("it is a child");
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).as_ref()
        ),
        (Some(0), "")
    );
}

#[test]
fn versions_and_completions_are_printed() {
    let server = two(0, 0);
    let shown = server.run(&["version"]).stdout;
    let client = concat!("client  ", env!("CARGO_PKG_VERSION"), "\n");
    assert!(
        shown.starts_with(&format!("{client}server  ")) && shown.contains(&server.url()),
        "{shown}"
    );
    let alone = server.run(&["version", "--server", "http://127.0.0.1:1"]);
    assert_eq!((alone.status, alone.stdout.as_str()), (Some(3), client));
    let version = json_of(&server, &["version", "-o", "json"]);
    assert_eq!(version["client"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        version["server"]["schemaDigest"].as_str().map(str::len),
        Some(64)
    );
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let output = server.run(&["completion", shell]);
        assert!(
            output.status == Some(0) && output.stdout.contains("heads"),
            "{shell}"
        );
    }
}
