//! What a package says of itself in lists, and which of its bundles says it.

use base64::prelude::{BASE64_STANDARD, Engine};
use fbc::{Bundle, CapabilityLevel, Catalog, InstallMode, Package};
use serde_json::{Value, json};
use testing::fixture;

/// A line for a bundle of package `a` that shows this name, if any.
fn bundle(version: &str, display_name: Option<&str>) -> String {
    let metadata = display_name
        .map(|name| json!({"type": "olm.csv.metadata", "value": {"displayName": name}}));
    bundle_of(version, metadata)
}

fn bundle_of(version: &str, property: Option<Value>) -> String {
    let mut properties =
        vec![json!({"type": "olm.package", "value": {"packageName": "a", "version": version}})];
    properties.extend(property);
    let name = format!("a.v{version}");
    json!({"image": "a.io/a:1", "name": name, "package": "a", "properties": properties, "schema": "olm.bundle"})
        .to_string()
}

fn display_name(catalog: &Catalog) -> (Option<&str>, Option<&str>) {
    let package = catalog.package("a").unwrap();
    (
        package.metadata_bundle().map(Bundle::name),
        package.summary().display_name(),
    )
}

#[test]
fn the_head_of_the_default_channel_speaks_for_a_package_or_else_the_highest_version_that_can() {
    let one = bundle("1.0.0", Some("one"));
    let two = bundle("2.0.0", Some("two"));
    let three = bundle("3.0.0", Some("three"));
    let silent = bundle("3.0.0", None);
    let channels = "channel stable: v1.0.0? <- v2.0.0?\nchannel fast: v3.0.0?";
    let cases = [
        ("default=stable", channels, [&one, &two, &three], "two"),
        ("default=fast", channels, [&one, &two, &three], "three"),
        ("default=fast", channels, [&one, &two, &silent], "two"),
        ("default=none", channels, [&one, &two, &three], "three"),
        (
            "default=stable",
            "channel stable: v1.0.0? , v2.0.0?",
            [&one, &two, &three],
            "three",
        ),
        (
            "default=stable",
            "channel stable: v2.5.0?",
            [&one, &two, &silent],
            "two",
        ),
        (
            "default=stable",
            "channel stable: v1.0.0? <- v2.0.0?",
            [&one, &one, &silent],
            "one",
        ),
    ];
    for (default, channels, bundles, expected) in cases {
        let mut text = format!("package a {default}\n{channels}\n");
        for line in bundles {
            text.extend([line.as_str(), "\n"]);
        }
        assert_eq!(
            display_name(&fixture::catalog(&text)).1,
            Some(expected),
            "{default}; {channels}"
        );
    }
}

#[test]
fn a_package_that_no_bundle_speaks_for_is_silent() {
    let text = format!(
        "package a default=stable\nchannel stable: v1.0.0?\n{}\npackage b",
        bundle("1.0.0", None)
    );
    let catalog = fixture::catalog(&text);
    for package in catalog.packages() {
        assert!(package.metadata_bundle().is_none(), "{}", package.name());
        assert_eq!(
            all(package),
            json!([null, null, null, [], [], [], null, [], null, null])
        );
    }
}

#[test]
fn a_summary_says_what_the_metadata_says() {
    let value = json!({
        "annotations": {
            "capabilities": "Auto Pilot", "categories": "Database, Storage", "certified": "TRUE",
            "createdAt": "12/14/2021", "operators.openshift.io/infrastructure-features": "[fips, csi]",
        },
        "displayName": "A", "installModes": [{"supported": true, "type": "AllNamespaces"}],
        "keywords": ["b", "a", " ", "b", "", "B"], "provider": {"name": "Ä", "url": "https://a.io"},
    });
    let expected = json!([
        "A",
        "Ä",
        "https://a.io",
        ["b", "a", "B"],
        ["Database", "Storage"],
        ["csi", "fips-compliant"],
        "AutoPilot",
        ["AllNamespaces"],
        true,
        "2021-12-14T00:00:00Z",
    ]);
    let mut manifest = json!({"kind": "ClusterServiceVersion", "metadata": {}, "spec": value});
    manifest["metadata"]["annotations"] = value["annotations"].clone();
    let data = BASE64_STANDARD.encode(manifest.to_string());
    for property in [
        json!({"type": "olm.csv.metadata", "value": value}),
        json!({"type": "olm.bundle.object", "value": {"data": data}}),
    ] {
        let text = format!(
            "package a default=stable\nchannel stable: v1.0.0?\n{}",
            bundle_of("1.0.0", Some(property))
        );
        let catalog = fixture::catalog(&text);
        catalog.prepare();
        assert_eq!(all(catalog.package("a").unwrap()), expected);
    }
}

#[test]
fn capability_levels_and_install_modes_are_ordered_from_least_to_most() {
    assert!(CapabilityLevel::ALL.is_sorted());
    assert!(InstallMode::ALL.is_sorted());
}

fn all(package: Package<'_>) -> Value {
    let summary = package.summary();
    json!([
        summary.display_name(),
        summary.provider_name(),
        summary.provider_url(),
        summary.keywords().collect::<Vec<_>>(),
        summary.categories().collect::<Vec<_>>(),
        summary.infrastructure_features().collect::<Vec<_>>(),
        summary.capability_level().map(|level| format!("{level:?}")),
        summary
            .install_modes()
            .iter()
            .map(InstallMode::as_str)
            .collect::<Vec<_>>(),
        summary.certified(),
        summary.created_at().map(|at| at.to_string()),
    ])
}
