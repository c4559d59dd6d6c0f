//! `catalogql mirror`: what it prints of a configuration, what it writes, and how it ends.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Folders, Output, Registry, catalogql, run};

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
        output.stdout.ends_with("1 package, 1 bundle, 1 image\n"),
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
    assert_eq!(again.status, Some(2));
    assert!(again.stderr.contains("must be empty"), "{}", again.stderr);
}

/// The names of the bundles of a catalog.
fn bundles(source: &str, registry: Option<&Registry>) -> Vec<String> {
    let mut command = catalogql();
    command.args([
        "list",
        "bundles",
        source,
        "-o",
        "jsonpath={range .items[*]}{.name} {end}",
    ]);
    if let Some(registry) = registry {
        command.args(["--insecure-registry", &registry.address.to_string()]);
    }
    let output = run(&mut command);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let mut names: Vec<_> = output
        .stdout
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn the_selected_part_is_written_as_an_image_to_a_layout_or_a_registry() {
    let folders = Folders::new();
    let packages = "[{name: etcd, minVersion: 1.1.0}]";
    let layout = format!("oci:{}:v1", folders.text("layout"));
    let written = mirror(&folders, packages, &["catalog", "-o", &layout]);
    assert_eq!(written.status, Some(0), "{}", written.stderr);
    assert!(
        written.stdout.starts_with("oci:@/layout@sha256:"),
        "{}",
        written.stdout
    );
    let expected = ["etcd.v1.1.0", "etcd.v1.2.0"];
    assert_eq!(bundles(&layout, None), expected);
    let valid = run(catalogql().args(["validate", &layout]));
    assert_eq!(valid.status, Some(0), "{}", valid.stdout);

    let registry = Registry::start();
    let address = registry.address.to_string();
    let target = format!("docker://{address}/olm/catalog:v1");
    let arguments = ["catalog", "-o", &target, "--insecure-registry", &address];
    let pushed = mirror(&folders, packages, &arguments);
    assert_eq!(pushed.status, Some(0), "{}", pushed.stderr);
    let pinned = pushed.stdout.trim_end();
    assert!(
        pinned.starts_with(&format!("{address}/olm/catalog")) && pinned.contains("@sha256:"),
        "{pinned}"
    );
    assert_eq!(bundles(pinned, Some(&registry)), expected);
    // The same files make the same image.
    let digest = |text: &str| text.trim_end().rsplit('@').next().map(str::to_owned);
    assert_eq!(digest(pinned), digest(&written.stdout));
}

#[test]
fn nothing_is_left_of_a_catalog_that_is_refused_or_cannot_be_written() {
    let folders = Folders::new();
    folders.write("file", "");
    let packages = "[{name: etcd, channels: [{name: beta}]}]";
    let refused = mirror(
        &folders,
        packages,
        &["catalog", "-o", &folders.text("small")],
    );
    assert_eq!(refused.status, Some(1));
    let below_a_file = folders.text("file/small");
    let failed = mirror(&folders, "[]", &["catalog", "-o", &below_a_file]);
    assert_eq!(failed.status, Some(2));
    let names = fs::read_dir(folders.path("")).expect("the folder is there");
    let mut names: Vec<_> = names
        .map(|entry| entry.expect("it can be read").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["config.yaml", "file", "main"]);
}

#[test]
fn packages_are_selected_by_what_a_cluster_needs() {
    let folders = Folders::new();
    folders.catalog("main", CATALOG);
    let plan = |arguments: &[&str]| {
        let main = folders.text("main");
        run(catalogql().args(["mirror", "plan", &main]).args(arguments))
    };
    let upgrades = plan(&["--package", "etcd", "--from", "1.0.0", "--up-to", "1.1.0"]);
    assert_eq!(
        upgrades.stdout,
        "PACKAGE  BUNDLE       VERSION  REASONS\n\
         etcd     etcd.v1.0.0  1.0.0    INSTALLED of stable\n\
         etcd     etcd.v1.1.0  1.1.0    ON_THE_WAY of stable\n\
         1 package, 2 bundles, 2 images\n"
    );
    let stranded = plan(&["--package", "etcd", "--channel", "beta", "--from", "1.2.0"]);
    assert_eq!(
        (stranded.status, &*stranded.stdout, &*stranded.stderr),
        (
            Some(1),
            "",
            "error: --channel: no upgrades of channel `beta` of package `etcd` lead from `1.2.0` to `etcd.v2.0.0-rc.1`: it has no upgrades there [STRANDED]\n"
        )
    );
    let several = plan(&["--package", "etcd", "--package", "vault", "--from", "1.0.0"]);
    assert_eq!(several.status, Some(2));
    assert!(
        several.stderr.contains("about one package"),
        "{}",
        several.stderr
    );
    let without_target = plan(&["--package", "etcd", "-o", "mapping"]);
    assert_eq!(without_target.status, Some(2));
    assert_eq!(plan(&[]).status, Some(2), "nothing is selected");
}
