//! What is applied to a cluster is what the code says.

use std::fs;
use std::path::Path;

/// The command that makes the manifests true again.
const REWRITE: &str = "UPDATE_EXPECT=1 cargo test --test it deploy";

/// The object of the Prometheus Operator, up to its groups of rules.
const PROMETHEUS_RULE: &str = "\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: catalogql
  namespace: catalogql
  labels:
    app.kubernetes.io/name: catalogql
spec:
";

#[test]
fn the_manifest_of_the_custom_resource_is_what_its_types_say() {
    let crd = serde_saphyr::to_string(&olm_api::cluster_catalog_crd())
        .expect("a definition can be written");
    holds(
        "deploy/base/crds.yaml",
        &format!("# Generated from crates/olm-api: {REWRITE}\n{crd}"),
    );
}

#[test]
fn the_rules_of_the_prometheus_operator_are_those_of_prometheus() {
    let rules = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/monitoring/rules.yaml"),
    );
    let rules = rules.expect("the file can be read");
    let mut text = format!("# Generated from rules.yaml: {REWRITE}\n{PROMETHEUS_RULE}");
    for line in rules.lines().filter(|line| !line.starts_with('#')) {
        text.extend(["  ", line, "\n"]);
    }
    holds("deploy/monitoring/prometheusrule.yaml", &text);
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
    let first = lines
        .filter(|(_, (is, should))| is != should)
        .map(|(at, (is, should))| (at + 1, is, should))
        .next();
    assert!(
        text == expected,
        "{file} is not what the code says, first at {first:?}; run {REWRITE}"
    );
}
