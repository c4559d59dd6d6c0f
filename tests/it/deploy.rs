//! What is applied to a cluster is what the code says.

use std::fs;
use std::path::Path;

/// The command that makes the manifests true again.
const REWRITE: &str = "UPDATE_EXPECT=1 cargo test --test it deploy";

#[test]
fn the_manifest_of_the_custom_resource_is_what_its_types_say() {
    let crd = serde_saphyr::to_string(&olm_api::cluster_catalog_crd()).expect("a definition can be written");
    holds("deploy/base/crds.yaml", &format!("# Generated from crates/olm-api: {REWRITE}\n{crd}"));
}

/// Asserts that a file has this text, or with `UPDATE_EXPECT=1` writes it.
#[track_caller]
fn holds(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, expected).expect("the file can be written");
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    let lines = text.lines().zip(expected.lines()).enumerate();
    let first = lines.filter(|(_, (is, should))| is != should).map(|(at, (is, should))| (at + 1, is, should)).next();
    assert!(text == expected, "{file} is not what the code says, first at {first:?}; run {REWRITE}");
}
