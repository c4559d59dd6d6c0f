//! `catalogql validate`: its exit status, its text and its JSON.

use serde_json::{Value, json};

use crate::support::{ETCD, Folders, Output, catalogql, run};

/// Two packages with faults, one without a place in a package, and a warning.
const FAULTY: &str = r#"
    package etcd default=stable
    channel stable: v0.9.0 , v0.9.2
    package vault default=alpha
    channel alpha: v1.0.0?
    {"schema":"olm.unknown"}"#;

fn validate(folders: &Folders, arguments: &[&str]) -> Output {
    let output = run(catalogql().arg("validate").args(arguments));
    Output {
        stdout: folders.shown(&output.stdout),
        stderr: folders.shown(&output.stderr),
        ..output
    }
}

#[test]
fn a_catalog_without_errors_is_valid() {
    let folders = Folders::new();
    folders.catalog("good", ETCD);
    let output = validate(&folders, &[&folders.text("good")]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(0), "0 errors and 0 warnings in 1 package\n")
    );

    folders.catalog("warned", &format!("{ETCD}\n{{\"schema\":\"olm.unknown\"}}"));
    let output = validate(&folders, &[&folders.text("warned")]);
    assert_eq!(output.status, Some(0));
    assert!(
        output
            .stdout
            .ends_with("\n0 errors and 1 warning in 1 package\n"),
        "{}",
        output.stdout
    );
}

#[test]
fn what_opm_validate_accepts_is_valid_with_a_warning() {
    let folders = Folders::new();
    std::fs::create_dir(folders.path("empty")).expect("a folder can be made");
    folders.write(
        "unread/catalog.yaml",
        "schema: example.com.x\n...\nname: other\n",
    );
    folders.write("slash/catalog.yaml", "schema: example.com/x\n");
    let expected = [
        (
            "empty",
            "CATALOG_EMPTY",
            "0 errors and 1 warning in 0 packages\n",
        ),
        (
            "slash",
            "SCHEMA_NAME_INVALID",
            "0 errors and 1 warning in 0 packages\n",
        ),
        (
            "unread",
            "TEXT_NOT_READ",
            "0 errors and 1 warning in 0 packages\n",
        ),
    ];
    for (name, code, summary) in expected {
        let output = validate(&folders, &[&folders.text(name)]);
        assert_eq!(output.status, Some(0), "{}", output.stdout);
        let is_told =
            output.stdout.contains("  warning: ") && output.stdout.contains(&format!(" {code}\n"));
        assert!(
            is_told && output.stdout.ends_with(summary),
            "{}",
            output.stdout
        );
    }
}

#[test]
fn problems_are_printed_by_package_with_their_places() {
    let folders = Folders::new();
    folders.catalog("faulty", FAULTY);
    let output = validate(&folders, &[&folders.text("faulty")]);
    assert_eq!(output.status, Some(1));
    let expected = "(no package)\n  \
          warning: catalog.json:7: schema \"olm.unknown\" is not known here, and names that begin with \"olm.\" are reserved SCHEMA_RESERVED\n\n\
        etcd\n  \
          error: catalog.json:2: channel stable: multiple channel heads found in graph: etcd.v0.9.0, etcd.v0.9.2 CHANNEL_MULTIPLE_HEADS\n\n\
        vault\n  \
          error: catalog.json:6: channel alpha: no olm.bundle blobs found in package \"vault\" for olm.channel entries [vault.v1.0.0] CHANNEL_ENTRY_BUNDLE_MISSING\n\n\
        2 errors and 1 warning in 2 packages\n";
    assert_eq!(output.stdout, expected);
}

#[test]
fn problems_are_printed_as_json_for_programs() {
    let folders = Folders::new();
    folders.catalog(
        "faulty",
        "package etcd default=stable\n channel stable: v0.9.0 , v0.9.2",
    );
    let output = validate(&folders, &["-o", "json", &folders.text("faulty")]);
    assert_eq!(output.status, Some(1));
    let problem = json!({
        "code": "CHANNEL_MULTIPLE_HEADS",
        "severity": "ERROR",
        "message": "multiple channel heads found in graph: etcd.v0.9.0, etcd.v0.9.2",
        "package": "etcd",
        "channel": "stable",
        "bundle": null,
        "file": "catalog.json",
        "line": 2,
    });
    let expected = json!({ "valid": false, "error": null, "packages": 1, "bundles": 2, "problems": [problem], "unlistedProblems": {} });
    assert_eq!(
        serde_json::from_str::<Value>(&output.stdout).unwrap(),
        expected
    );
}

#[test]
fn problems_beyond_the_first_thousand_of_a_code_are_counted() {
    let folders = Folders::new();
    folders.write(
        "faulty/catalog.yaml",
        "schema: olm.package\nname: etcd\ndefaultChannel: a\n---\nx: 1\n".to_owned()
            + &"---\n---\n".repeat(1_234),
    );
    let output = validate(&folders, &[&folders.text("faulty")]);
    assert_eq!(output.status, Some(1));
    assert_eq!(output.stdout.matches(" DOCUMENT_EMPTY").count(), 1_001);
    let end = "\n\nerror: 234 more DOCUMENT_EMPTY\n\n1236 errors and 0 warnings in 1 package\n";
    assert!(
        output.stdout.ends_with(end),
        "{}",
        &output.stdout[output.stdout.len() - 200..]
    );

    let output = validate(&folders, &["-o", "json", &folders.text("faulty")]);
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(answer["problems"].as_array().unwrap().len(), 1_002);
    assert_eq!(answer["unlistedProblems"], json!({ "DOCUMENT_EMPTY": 234 }));
}

#[test]
fn problems_are_printed_for_workflows_and_for_code_scanning() {
    let folders = Folders::new();
    folders.catalog("faulty", FAULTY);
    let validate = |format: &str, source: &str| {
        let output = run(catalogql()
            .args(["validate", "--output", format, source])
            .current_dir(folders.path("")));
        assert_eq!(output.status, Some(1));
        output.stdout
    };
    let expected = "\
        ::error file=./faulty/catalog.json,line=2,title=CHANNEL_MULTIPLE_HEADS::package etcd: channel stable: multiple \
        channel heads found in graph: etcd.v0.9.0, etcd.v0.9.2\n";
    let expected = expected.replace("./", "");
    for source in ["faulty", "./faulty", "dir:faulty", &folders.text("faulty")] {
        let annotations = validate("github", source);
        assert!(annotations.contains(&expected), "{source}: {annotations}");
    }
    let log: Value = serde_json::from_str(&validate("sarif", "faulty")).unwrap();
    let run = &log["runs"][0];
    let rules = json!([
        { "id": "CHANNEL_ENTRY_BUNDLE_MISSING", "defaultConfiguration": { "level": "error" } },
        { "id": "CHANNEL_MULTIPLE_HEADS", "defaultConfiguration": { "level": "error" } },
        { "id": "SCHEMA_RESERVED", "defaultConfiguration": { "level": "warning" } },
    ]);
    assert_eq!(
        (&log["version"], &run["tool"]["driver"]["rules"]),
        (&json!("2.1.0"), &rules)
    );
    let results = run["results"].as_array().unwrap();
    let heads = results
        .iter()
        .find(|result| result["ruleId"] == "CHANNEL_MULTIPLE_HEADS")
        .unwrap();
    let location = json!([{
        "physicalLocation": { "artifactLocation": { "uri": "faulty/catalog.json" }, "region": { "startLine": 2 } },
        "logicalLocations": [{ "name": "etcd", "kind": "package" }, { "name": "stable", "kind": "channel" }],
    }]);
    assert_eq!(
        (results.len(), &heads["level"], &heads["locations"]),
        (3, &json!("error"), &location)
    );

    folders.write("br ok,en/c.yaml", "schema: olm.package\nname: [a\n");
    let annotation = validate("github", "br ok,en");
    assert!(
        annotation
            .starts_with("::error file=br ok%2Cen/c.yaml,line=3,title=UNREADABLE::c.yaml:3: "),
        "{annotation}"
    );
    let log: Value = serde_json::from_str(&validate("sarif", "br ok,en")).unwrap();
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "br%20ok%2Cen/c.yaml");
}

#[test]
fn a_catalog_that_cannot_be_read_is_not_valid() {
    let folders = Folders::new();
    folders.write("broken/sub/catalog.yaml", "schema: olm.package\nname: [a\n");
    let output = validate(&folders, &[&folders.text("broken")]);
    assert_eq!(output.status, Some(1));
    assert!(
        output.stdout.starts_with("error: sub/catalog.yaml:"),
        "{}",
        output.stdout
    );

    let output = validate(&folders, &["--output=json", &folders.text("broken")]);
    assert_eq!(output.status, Some(1));
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        (&answer["valid"], &answer["error"]["file"]),
        (&json!(false), &json!("sub/catalog.yaml"))
    );
    assert!(answer["error"]["line"].is_u64(), "{answer}");

    let output = validate(&folders, &[&folders.text("nowhere")]);
    let expected = "error: `@/nowhere` is not a source: write the path of a directory that exists, dir:PATH, oci:PATH, or an \
                    image with its registry such as quay.io/operatorhubio/catalog:latest\n";
    assert_eq!(
        (
            output.status,
            output.stdout.as_str(),
            output.stderr.as_str()
        ),
        (Some(2), "", expected)
    );
}

#[test]
fn the_version_names_the_commit_and_completions_the_commands() {
    let folders = Folders::new();
    let version = run(catalogql().arg("--version"));
    assert_eq!(
        (version.status, version.stdout.trim_end()),
        (Some(0), &*format!("catalogql {}", build_info::VERSION))
    );
    let output = run(catalogql().args(["version", "-o", "json"]));
    let version: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let commit = build_info::COMMIT;
    let commit = if commit.is_empty() {
        serde_json::Value::Null
    } else {
        commit.into()
    };
    assert_eq!(
        (&version["version"], &version["commit"]),
        (&env!("CARGO_PKG_VERSION").into(), &commit)
    );
    assert!(
        run(catalogql().arg("version"))
            .stdout
            .contains(version["platform"].as_str().unwrap())
    );
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(catalogql().args(["completion", shell]));
        assert_eq!(script.status, Some(0));
        assert!(script.stdout.contains("validate"), "{shell}");
    }
    assert_eq!(
        validate(&folders, &[]).status,
        Some(2),
        "a wrong command line has its own status"
    );
}

#[test]
fn each_command_has_a_manual_page_that_names_its_flags() {
    let page = run(catalogql().arg("man"));
    assert_eq!((page.status, page.stderr.as_str()), (Some(0), ""));
    assert!(
        page.stdout.starts_with(".ie") && page.stdout.contains("catalogql\\-controller(1)"),
        "{}",
        page.stdout
    );
    let page = run(catalogql().args(["man", "controller"])).stdout;
    for text in [
        ".TH catalogql-controller 1",
        "catalogql\\-controller",
        "\\-\\-store\\-quota",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let page = run(catalogql().args(["man", "edit-add"])).stdout;
    assert!(
        page.contains(".TH catalogql-edit-add 1") && page.contains("\\-\\-overwrite\\-latest"),
        "{page}"
    );
    let missing = run(catalogql().args(["man", "nothing"]));
    let expected = "error: cannot print a manual page: there is no command `nothing`\n";
    assert_eq!(
        (missing.status, missing.stderr.as_str()),
        (Some(2), expected)
    );
}

#[test]
fn a_directory_that_cannot_be_loaded_is_named() {
    let folders = Folders::new();
    folders.catalog("good", ETCD);
    folders.write("bad/catalog.yaml", "a: [");
    let [good, bad] = ["good", "bad"].map(|name| folders.text(name));
    let output = run(catalogql().args(["diff", &good, &bad]));
    let stderr = folders.shown(&output.stderr);
    assert!(
        stderr.starts_with("error: cannot load the catalog `@/bad`: "),
        "{stderr}"
    );
}
