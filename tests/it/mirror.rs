//! `catalogql mirror`: what it prints of a configuration, what it writes, and how it ends.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Folders, Output, catalogql, run};

/// A package with two channels.
const CATALOG: &str = "
    package etcd default=stable
    channel stable: v1.0.0 <- v1.1.0 <- v1.2.0
    channel beta: v1.1.0 <- v2.0.0-rc.1
    deprecated channel beta \"use stable\"
    package vault default=stable
    channel stable: v1.0.0";

/// Reference of the catalog in the configurations.
const REFERENCE: &str = "registry.example.com/catalog:v1";

/// Runs `mirror` over the catalog, with these packages in the configuration.
fn mirror(folders: &Folders, packages: &str, arguments: &[&str]) -> Output {
    folders.catalog("main", CATALOG);
    folders.write(
        "config.yaml",
        format!(
            "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\n\
             mirror: {{operators: [{{catalog: {REFERENCE}, packages: {packages}}}]}}\n"
        ),
    );
    let output = run(catalogql()
        .args(["mirror", arguments[0]])
        .arg(folders.text("main"))
        .args(["--config", &folders.text("config.yaml")])
        .arg(format!("--catalog=main={REFERENCE}"))
        .args(&arguments[1..]));
    Output {
        stdout: folders.shown(&output.stdout),
        stderr: folders.shown(&output.stderr),
        ..output
    }
}

/// The JSON of a plan, with its exit status.
fn plan(packages: &str, arguments: &[&str]) -> (Option<i32>, Value) {
    let arguments = [&["plan", "-o", "json"], arguments].concat();
    let output = mirror(&Folders::new(), packages, &arguments);
    assert_eq!(output.stderr, "");
    let value = serde_json::from_str(&output.stdout).expect("it is JSON");
    (output.status, value)
}

#[test]
fn a_plan_has_the_packages_bundles_images_and_problems_of_a_configuration() {
    let (status, plan) = plan(
        "[{name: etcd, minVersion: 1.1.0}]",
        &["--like", "oc-mirror"],
    );
    assert_eq!(status, Some(0));
    assert_eq!(
        plan["packages"],
        json!([{
            "name": "etcd",
            "defaultChannel": "stable",
            "channels": [
                { "name": "beta", "entries": ["etcd.v1.1.0"] },
                { "name": "stable", "entries": ["etcd.v1.1.0", "etcd.v1.2.0"] },
            ],
            "bundles": ["etcd.v1.1.0", "etcd.v1.2.0"],
            "deprecations": ["olm.channel/beta"],
        }])
    );
    assert_eq!(
        plan["bundles"][1]["reasons"],
        json!([{ "kind": "IN_RANGE", "channel": "stable" }])
    );
    assert_eq!(plan["problems"], json!([]));
}

#[test]
fn a_refused_configuration_is_printed_with_its_problems_and_ends_with_1() {
    let place = "mirror.operators[0].packages[0]";
    for (packages, code, path) in [
        (
            "[{name: etcd, minVersion: x}]",
            "CONFIG",
            format!("{place}.minVersion"),
        ),
        (
            "[{name: etcd, channels: [{name: beta}]}]",
            "DEFAULT_FILTERED",
            place.to_owned(),
        ),
        (
            "[{name: etcd, defaultChannel: alpha}]",
            "DEFAULT_UNKNOWN",
            format!("{place}.defaultChannel"),
        ),
        (
            "[{name: etcd, channels: [{name: stable, minVersion: 3.0.0}]}]",
            "EMPTY_DEFAULT",
            format!("{place}.channels[0]"),
        ),
    ] {
        for rules in [&[][..], &["--like", "oc-mirror"]] {
            let (status, plan) = plan(packages, rules);
            let problem = &plan["problems"][0];
            assert_eq!(status, Some(1), "{plan}");
            assert_eq!(
                (&problem["code"], &problem["path"]),
                (&json!(code), &json!(path))
            );
            assert_eq!(
                (&plan["packages"], &plan["images"]),
                (&json!([]), &json!([]))
            );
        }
    }
}

#[test]
fn a_catalog_that_no_source_is_is_refused_with_the_sources() {
    let folders = Folders::new();
    folders.catalog("main", CATALOG);
    folders.write(
        "config.yaml",
        "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v1alpha2\n\
         mirror: {operators: [{catalog: other.example.com/catalog:v1}]}\n",
    );
    let output = run(catalogql()
        .args(["mirror", "plan", "--config", &folders.text("config.yaml")])
        .arg(format!("main={}", folders.text("main"))));
    assert_eq!(
        (output.status, folders.shown(&output.stderr)),
        (
            Some(1),
            "error: line 3: mirror.operators[0].catalog: no source is the catalog `other.example.com/catalog:v1`: the sources are main (`@/main`); name one with --catalog main=other.example.com/catalog:v1 [UNKNOWN_CATALOG]\n".to_owned()
        )
    );
}

#[test]
fn warnings_say_what_oc_mirror_does_instead() {
    let output = mirror(
        &Folders::new(),
        "[{name: etcd, minVersion: 1.2.0, maxVersion: 1.2.0}]",
        &["plan"],
    );
    assert_eq!(output.status, Some(0));
    assert!(
        output.stdout.ends_with("1 packages, 1 bundles, 1 images\n"),
        "{}",
        output.stdout
    );
    assert!(
        output
            .stderr
            .contains("[CHANNEL_LEFT_OUT]\n  oc-mirror keeps the channel without entries"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_catalog_of_the_selected_part_is_written_and_valid() {
    let folders = Folders::new();
    let output = mirror(
        &folders,
        "[{name: etcd, defaultChannel: beta, channels: [{name: beta}]}]",
        &["catalog", "-o", &folders.text("small")],
    );
    assert_eq!((output.status, &*output.stdout), (Some(0), ""));
    let written = fs::read_to_string(folders.path("small/catalog.json")).expect("it is written");
    let heads: Vec<Value> = serde_json::Deserializer::from_str(&written)
        .into_iter()
        .map(|blob| blob.expect("it is JSON"))
        .collect();
    let names: Vec<_> = heads
        .iter()
        .map(|blob| format!("{} {}", blob["schema"], blob["name"]))
        .collect();
    assert_eq!(
        names,
        [
            r#""olm.package" "etcd""#,
            r#""olm.channel" "beta""#,
            r#""olm.bundle" "etcd.v2.0.0-rc.1""#,
            r#""olm.deprecations" null"#,
        ]
    );
    assert_eq!(heads[0]["defaultChannel"], "beta");
    assert_eq!(heads[1]["entries"].as_array().map(Vec::len), Some(1));
    let valid = run(catalogql().args(["validate", &folders.text("small")]));
    assert_eq!(valid.status, Some(0), "{}", valid.stdout);

    let again = mirror(&folders, "[]", &["catalog", "-o", &folders.text("small")]);
    assert_eq!(again.status, Some(1));
    assert!(again.stderr.contains("must be empty"), "{}", again.stderr);
}
