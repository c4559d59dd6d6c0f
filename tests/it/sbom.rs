//! `catalogql sbom images`: which images a document has, and what stops it.

use serde_json::{Value, json};

use crate::support::{Folders, Output, catalogql, run};

const FIRST: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
const SECOND: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

/// Two bundles with one image in common, of which the second is the head, and a package whose only
/// bundle has no image of its own.
fn catalog() -> String {
    let bundle = |package: &str, version: &str, image: &str, related: &[&str]| {
        json!({
            "schema": "olm.bundle",
            "package": package,
            "name": format!("{package}.v{version}"),
            "image": image,
            "properties": [{
                "type": "olm.package",
                "value": {"packageName": package, "version": version},
            }],
            "relatedImages": related
                .iter()
                .map(|image| json!({"name": "", "image": image}))
                .collect::<Vec<_>>(),
        })
    };
    let channel = |package: &str, name: &str, entries: Value| json!({"schema": "olm.channel", "package": package, "name": name, "entries": entries});
    let etcd = format!("quay.io/ns/etcd@{FIRST}");
    let own = format!("quay.io/ns/bundle@{SECOND}");
    let blobs = [
        json!({"schema": "olm.package", "name": "etcd", "defaultChannel": "stable"}),
        channel(
            "etcd",
            "stable",
            json!([{"name": "etcd.v1.0.0"}, {"name": "etcd.v2.0.0", "replaces": "etcd.v1.0.0"}]),
        ),
        channel("etcd", "old", json!([{"name": "etcd.v1.0.0"}])),
        bundle("etcd", "1.0.0", "quay.io/ns/bundle:v1", &[&etcd]),
        bundle("etcd", "2.0.0", &own, &[&own, &etcd, "not an image"]),
        json!({"schema": "olm.package", "name": "bare", "defaultChannel": "beta"}),
        channel("bare", "beta", json!([{"name": "bare.v1.0.0"}])),
        bundle("bare", "1.0.0", "", &[&etcd]),
    ];
    blobs.map(|blob| format!("{blob}\n")).concat()
}

fn images(folders: &Folders, arguments: &[&str]) -> Output {
    let source = folders.text("c");
    run(catalogql()
        .args(["sbom", "images", &source])
        .args(arguments))
}

fn document(folders: &Folders, arguments: &[&str]) -> Value {
    let output = images(folders, arguments);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    serde_json::from_str(&output.stdout).expect("a document")
}

/// The references of the images of a document.
fn references(document: &Value) -> Vec<&str> {
    let components = document["components"].as_array().expect("a list");
    let references = components.iter().map(|it| it["bom-ref"].as_str());
    references.map(|it| it.expect("a reference")).collect()
}

fn folders() -> Folders {
    let folders = Folders::new();
    folders.write("c/catalog.json", catalog());
    folders
}

#[test]
fn a_document_has_the_images_of_channel_heads_with_their_bundles() {
    let folders = folders();
    let document = document(&folders, &["etcd", "--channel", "stable"]);
    let own = format!("quay.io/ns/bundle@{SECOND}");
    let etcd = format!("quay.io/ns/etcd@{FIRST}");
    let used_by = json!([{"name": "catalogql:bundle", "value": "etcd/etcd.v2.0.0"}]);
    let hex = |digest: &str| digest.trim_start_matches("sha256:").to_owned();
    assert_eq!(
        document["components"],
        json!([
            {
                "type": "container",
                "bom-ref": "not an image",
                "name": "not an image",
                "properties": used_by,
            },
            {
                "type": "container",
                "bom-ref": own,
                "name": "quay.io/ns/bundle",
                "version": SECOND,
                "hashes": [{"alg": "SHA-256", "content": hex(SECOND)}],
                "purl": format!(
                    "pkg:oci/bundle@sha256:{}?repository_url=quay.io/ns/bundle",
                    hex(SECOND)
                ),
                "properties": used_by,
            },
            {
                "type": "container",
                "bom-ref": etcd,
                "name": "quay.io/ns/etcd",
                "version": FIRST,
                "hashes": [{"alg": "SHA-256", "content": hex(FIRST)}],
                "purl": format!(
                    "pkg:oci/etcd@sha256:{}?repository_url=quay.io/ns/etcd",
                    hex(FIRST)
                ),
                "properties": used_by,
            },
        ])
    );
    let catalog = &document["metadata"]["component"];
    let digest = catalog["version"].as_str().expect("a digest");
    assert!(digest.starts_with("sha256:"), "{digest}");
    let catalog_ref = format!("catalog@{digest}");
    assert_eq!(catalog["bom-ref"], catalog_ref);
    assert_eq!(
        document["dependencies"],
        json!([
            {"ref": catalog_ref, "dependsOn": [own]},
            {"ref": own, "dependsOn": ["not an image", etcd]},
        ])
    );
}

#[test]
fn a_selection_names_packages_channels_and_whether_only_heads_are_wanted() {
    let folders = folders();
    let own = format!("quay.io/ns/bundle@{SECOND}");
    let etcd = format!("quay.io/ns/etcd@{FIRST}");
    for (arguments, expected) in [
        (
            &["--all"][..],
            vec!["not an image", "quay.io/ns/bundle:v1", &own, &etcd],
        ),
        // Heads of every channel: version 1 is that of `old`.
        (
            &[],
            vec!["not an image", "quay.io/ns/bundle:v1", &own, &etcd],
        ),
        (
            &["etcd", "--channel", "old"],
            vec!["quay.io/ns/bundle:v1", &etcd],
        ),
        (
            &["--channel", "stable", "--all"],
            vec!["not an image", "quay.io/ns/bundle:v1", &own, &etcd],
        ),
        (&["bare", "bare"], vec![&etcd]),
    ] {
        assert_eq!(
            references(&document(&folders, arguments)),
            expected,
            "{arguments:?}"
        );
    }
    // An image that a bundle of the catalog's own files uses is the catalog's.
    let bare = document(&folders, &["bare"]);
    let catalog_ref = &bare["metadata"]["component"]["bom-ref"];
    assert_eq!(
        bare["dependencies"],
        json!([{"ref": catalog_ref, "dependsOn": [etcd]}])
    );
}

#[test]
fn the_same_selection_is_the_same_text_and_another_one_has_another_number() {
    let folders = folders();
    let all = images(&folders, &["--all"]).stdout;
    assert_eq!(images(&folders, &["--all"]).stdout, all);
    let number = |arguments: &[&str]| document(&folders, arguments)["serialNumber"].clone();
    assert_ne!(number(&["etcd"]), number(&["bare"]));
    let shape = number(&["etcd"]).as_str().expect("a text").to_owned();
    let parts: Vec<_> = shape
        .trim_start_matches("urn:uuid:")
        .split('-')
        .map(str::len)
        .collect();
    assert_eq!(parts, [8, 4, 4, 4, 12], "{shape}");
}

#[test]
fn what_does_not_exist_is_named() {
    let folders = folders();
    for (arguments, expected) in [
        (
            &["etdc"][..],
            "error: package `etdc` not found\nhint: did you mean etcd?\n",
        ),
        (
            &["bare", "--channel", "stable"],
            "error: no selected package has a channel `stable`\n",
        ),
    ] {
        let output = images(&folders, arguments);
        assert_eq!(
            (output.status, &*output.stderr, &*output.stdout),
            (Some(4), expected, "")
        );
    }
    let missing = run(catalogql().args(["sbom", "images", &folders.text("nothing")]));
    assert_eq!(missing.status, Some(2), "{}", missing.stderr);
}
