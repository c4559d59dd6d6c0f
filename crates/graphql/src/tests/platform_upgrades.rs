//! Plans across versions of the platform as a query.

use serde_json::{Value, json};

use super::fixture::{ask_with, engine};
use crate::limits::Limits;

const PLAN: &str = "query($input: PlatformUpgradeInput!) { platformUpgrade(input: $input) {
    verdict reachableStep
    steps { platform catalogs condition }
    packages { index packageName namespace verdict message finalName finalVersion finalChannel
        unconfirmedSteps requiredBy
        finalBundle { package { catalog { name } } }
        block { cause step bundleName version }
        moves { kind time platformStep step fromName fromVersion to { name image } channel approval
            reasons cause message } }
    order { platformStep package move { kind } } } }";

/// What a request is answered with.
fn body(input: &Value) -> Value {
    ask_with(&engine(Limits::default()), PLAN, &json!({ "input": input }))
}

fn steps(versions: &[&str]) -> Value {
    let step = |version: &&str| json!({"platform": {"openshift": version}, "catalogs": ["alpha"]});
    versions.iter().map(step).collect()
}

#[test]
fn a_plan_has_verdicts_moves_and_what_olm_says_at_each_step() {
    let input = json!({
        "steps": steps(&["4.18", "4.19"]),
        "installed": [{"packageName": "etcd", "name": "etcd.v1.0.0", "namespace": "stores",
            "channels": ["stable"], "approval": "MANUAL"}],
    });
    let mut body = body(&input);
    assert_eq!(body.get("errors"), None, "{body}");
    let message = "etcd.v1.0.0 supports OpenShift up to 4.18, not OpenShift 4.19";
    let moved = json!({
        "kind": "UPGRADE", "time": "BEFORE", "platformStep": 1, "step": 0,
        "fromName": "etcd.v1.0.0", "fromVersion": "1.0.0",
        "to": {"name": "etcd.v1.1.0", "image": "quay.io/etcd@sha256:2"},
        "channel": "stable", "approval": "MANUAL", "reasons": ["REPLACES", "SKIP_RANGE"],
        "cause": "MAX_OPENSHIFT", "message": message,
    });
    let expected = json!({
        "verdict": "FOLLOWS",
        "reachableStep": 1,
        "steps": [
            {"platform": "OpenShift 4.18", "catalogs": ["alpha"], "condition":
                "ClusterServiceVersions blocking minor version upgrades to 4.19.0 or higher:\n\
                 - maximum supported OCP version for stores/etcd.v1.0.0 is 4.18"},
            {"platform": "OpenShift 4.19", "catalogs": ["alpha"], "condition": null},
        ],
        "packages": [{
            "index": 0, "packageName": "etcd", "namespace": "stores", "verdict": "FOLLOWS",
            "message": null, "finalName": "etcd.v1.1.0", "finalVersion": "1.1.0",
            "finalChannel": "stable", "unconfirmedSteps": [1], "requiredBy": [],
            "finalBundle": {"package": {"catalog": {"name": "alpha"}}},
            "block": null, "moves": [moved],
        }],
        "order": [
            {"platformStep": null, "package": 0, "move": {"kind": "UPGRADE"}},
            {"platformStep": 1, "package": null, "move": null},
        ],
    });
    assert_eq!(body["data"]["platformUpgrade"].take(), expected);
}

#[test]
fn the_properties_of_the_cluster_count_and_a_catalog_that_is_not_served_is_unknown() {
    let mut input = json!({
        "steps": steps(&["4.18", "4.19"]),
        "installed": [{"packageName": "zoo", "name": "zoo.v1",
            "properties": [{"type": "olm.maxOpenShiftVersion", "value": "4.18"}]}],
    });
    let blocked = &body(&input)["data"]["platformUpgrade"];
    assert_eq!(
        blocked["packages"][0]["block"],
        json!({"cause": "MAX_OPENSHIFT", "step": 1, "bundleName": "zoo.v1", "version": "1.0.0"})
    );
    assert_eq!(blocked["reachableStep"], 0);

    input["steps"][1]["catalogs"] = json!(["none"]);
    let unknown = &body(&input)["data"]["platformUpgrade"];
    assert_eq!(unknown["verdict"], "UNKNOWN");
    assert_eq!(
        unknown["packages"][0]["message"],
        "cannot plan `zoo`: catalog `none` of OpenShift 4.19 is not served"
    );
}

#[test]
fn requests_are_refused_by_name() {
    let message = |input: &Value| body(input)["errors"][0]["message"].clone();
    let input = |versions: &[&str]| json!({"steps": steps(versions), "installed": []});
    assert_eq!(
        message(&input(&["4.18", "4.20"])),
        "`steps[1]` skips a minor version between 4.18 and 4.20: the control plane takes one at a time"
    );
    assert_eq!(
        message(&input(&["4.18", "next"])),
        "`steps[1].platform` is malformed: \"next\" is not a version: expected MAJOR.MINOR or \
         MAJOR.MINOR.PATCH, such as 1.31 or 1.31.4"
    );
}

#[test]
fn the_matrix_compares_channels_of_catalogs() {
    let query =
        "{ platformMatrix(catalogs: [\"alpha\", \"none\", \"beta\"], packages: [\"etcd\"]) {
        name commonChannels catalogs { catalog defaultChannel isDefaultChannelChanged otherChannels
            package { name } channels { name headName headVersion maxOpenShiftVersion } } } }";
    let mut body = ask_with(&engine(Limits::default()), query, &json!({}));
    assert_eq!(body.get("errors"), None, "{body}");
    let channel = |name: &str, head: Option<&str>, version: Option<&str>| json!({"name": name, "headName": head, "headVersion": version, "maxOpenShiftVersion": null});
    let expected = json!([{"name": "etcd", "commonChannels": ["stable"], "catalogs": [
        {"catalog": "alpha", "defaultChannel": "stable", "isDefaultChannelChanged": false,
            "otherChannels": ["beta"], "package": {"name": "etcd"}, "channels": [
                channel("beta", None, None),
                channel("stable", Some("etcd.v1.1.0"), Some("1.1.0")),
            ]},
        {"catalog": "beta", "defaultChannel": "stable", "isDefaultChannelChanged": false,
            "otherChannels": [], "package": {"name": "etcd"}, "channels": [
                channel("stable", Some("etcd.v1.1.0"), Some("1.0.5")),
            ]},
    ]}]);
    assert_eq!(body["data"]["platformMatrix"].take(), expected);

    let query = "{ platformMatrix(catalogs: [\"beta\", \"alpha\"], packages: [\"etcd\"]) { catalogs { catalog } } }";
    let body = ask_with(&engine(Limits::default()), query, &json!({}));
    let expected = json!([{"catalogs": [{"catalog": "beta"}, {"catalog": "alpha"}]}]);
    assert_eq!(body["data"]["platformMatrix"], expected, "the order counts");

    let names: Vec<_> = (0..11).map(|at| format!("\"c{at}\"")).collect();
    let query = format!(
        "{{ platformMatrix(catalogs: [{}]) {{ name }} }}",
        names.join(",")
    );
    let body = ask_with(&engine(Limits::default()), &query, &json!({}));
    assert_eq!(
        body["errors"][0]["message"],
        "`catalogs` has 11 names; at most 10 are allowed"
    );
}
