//! Update graphs, successors, paths and resolutions as queries.

use serde_json::{Value, json};

use super::fixture::{ask, ask_with, code, data, engine};
use crate::limits::Limits;

const ETCD: &str = r#"package(catalog: "alpha", name: "etcd")"#;

fn of_etcd(selection: &str) -> Value {
    data(&engine(Limits::default()), &format!("{{ {ETCD} {{ {selection} }} }}"))["package"].take()
}

#[test]
fn a_graph_has_bundles_and_the_steps_between_them() {
    let graph = "nodes { name } edges { from { name } to { name } channel { name } reason }";
    let answer = of_etcd(&format!(
        "all: updateGraph {{ {graph} }} beta: updateGraph(channels: [\"beta\", \"none\"]) {{ {graph} }}"
    ));
    let nodes = json!([{"name": "etcd.v1.1.0"}, {"name": "etcd.v1.0.0"}]);
    let edge = |reason: &str| {
        json!({
            "from": {"name": "etcd.v1.0.0"},
            "to": {"name": "etcd.v1.1.0"},
            "channel": {"name": "stable"},
            "reason": reason,
        })
    };
    assert_eq!(answer["all"], json!({"nodes": nodes, "edges": [edge("REPLACES"), edge("SKIP_RANGE")]}));
    assert_eq!(answer["beta"], json!({"nodes": nodes, "edges": []}));
}

#[test]
fn successors_of_a_bundle_and_of_what_is_installed_come_highest_first() {
    let answer = of_etcd(
        r#"named: successors(of: {name: "etcd.v0.9.0", version: "2.0.0"}) { name }
           in_range: successors(of: {name: "gone", version: "0.0.1"}) { name }
           beta: successors(of: {name: "etcd.v0.9.0", version: "0.9.0"}, channels: ["beta"]) { name }
           released: successors(of: {name: "gone", version: "1.1.0", release: "2"}) { name }
           bundles { nodes { name successors { name } upgradePath { name } none: upgradePath(to: "none") { name }
                             back: upgradePath(to: "etcd.v1.0.0") { name } } }"#,
    );
    let next = json!([{"name": "etcd.v1.1.0"}]);
    assert_eq!((&answer["named"], &answer["in_range"]), (&next, &next));
    assert_eq!((&answer["beta"], &answer["released"]), (&json!([]), &next));
    assert_eq!(
        answer["bundles"]["nodes"],
        json!([
            {"name": "etcd.v1.1.0", "successors": [], "upgradePath": next, "none": null, "back": null},
            {
                "name": "etcd.v1.0.0",
                "successors": next,
                "upgradePath": [{"name": "etcd.v1.0.0"}, {"name": "etcd.v1.1.0"}],
                "none": null,
                "back": [{"name": "etcd.v1.0.0"}],
            },
        ])
    );
}

#[test]
fn an_installed_version_that_is_none_is_bad_input() {
    let query = format!(r#"{{ {ETCD} {{ name successors(of: {{name: "a", version: "1.0"}}) {{ name }} }} }}"#);
    let body = ask(&engine(Limits::default()), &query);
    assert_eq!(body["data"], json!({"package": {"name": "etcd", "successors": null}}));
    assert_eq!(code(&body), "BAD_USER_INPUT");
    let message = "`of` is malformed: No Major.Minor.Patch elements found";
    assert_eq!(body["errors"][0]["message"], message);
}

/// What a request resolves to, as `catalog bundle` or `CODE message`, and why not the others.
fn resolve(request: &Value) -> (String, Vec<String>) {
    let query = "query($request: ResolveRequest!) { resolve(request: $request) {
        ... on Resolution { bundle { ...of } considered { ...why } deprecations { schema name } }
        ... on ResolutionFailure { code message considered { ...why } } } }
        fragment of on Bundle { name package { catalog { name } } }
        fragment why on ConsideredBundle { rejection bundle { ...of } }";
    let body = ask_with(&engine(Limits::default()), query, &json!({ "request": request }));
    assert_eq!(body.get("errors"), None, "{body}");
    let answer = &body["data"]["resolve"];
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let of = |bundle: &Value| format!("{} {}", text(&bundle["package"]["catalog"]["name"]), text(&bundle["name"]));
    let found = match &answer["bundle"] {
        Value::Null => format!("{} {}", text(&answer["code"]), text(&answer["message"])),
        bundle => of(bundle),
    };
    let why = |considered: &Value| format!("{} {}", of(&considered["bundle"]), text(&considered["rejection"]));
    (found, answer["considered"].as_array().unwrap().iter().map(why).collect())
}

#[test]
fn a_resolution_picks_a_bundle_and_says_why_not_the_others() {
    let (found, considered) = resolve(&json!({"packageName": "etcd"}));
    assert_eq!(found, "beta etcd.v1.1.0");
    let rest = ["alpha etcd.v1.1.0 LOWER_PRIORITY", "alpha etcd.v1.0.0 DEPRECATED"];
    assert_eq!(considered, [&["beta etcd.v1.1.0 -"][..], &rest].concat());
    for request in [
        json!({"packageName": "etcd", "catalogs": ["alpha"]}),
        json!({"packageName": "etcd", "selector": "tier in (one, two)"}),
        json!({"packageName": "etcd", "version": ">1.0.5"}),
    ] {
        assert_eq!(resolve(&request).0, "alpha etcd.v1.1.0", "{request}");
    }
    let installed = json!({"name": "etcd.v1.1.0", "version": "1.1.0"});
    let mut request = json!({"packageName": "etcd", "version": "1.0.0", "installed": installed});
    let failed = "NO_MATCHING_BUNDLE error upgrading from currently installed version \"1.1.0\": \
        no bundles found for package \"etcd\" matching version \"1.0.0\"";
    assert_eq!(resolve(&request).0, failed);
    request["upgradeConstraintPolicy"] = "SELF_CERTIFIED".into();
    let needy = "HAS_DEPENDENCIES validating bundle \"etcd.v1.0.0\": bundle \"etcd.v1.0.0\" has a dependency declared \
        via property \"olm.gvk.required\" which is currently not supported";
    assert_eq!(resolve(&request).0, needy);
}

#[test]
fn a_malformed_request_is_a_failure_and_no_error() {
    for (request, expected) in [
        (json!({"packageName": "none"}), "PACKAGE_NOT_FOUND no bundles found for package \"none\""),
        (
            json!({"packageName": "etcd", "channels": ["z", "a"]}),
            "NO_MATCHING_BUNDLE no bundles found for package \"etcd\" in channels [z a]",
        ),
        (
            json!({"packageName": "etcd", "version": "foobar"}),
            "INVALID_REQUEST desired version range \"foobar\" is invalid: improper constraint: \"foobar\"",
        ),
        (
            json!({"packageName": "etcd", "selector": "a in"}),
            "INVALID_REQUEST desired catalog selector is invalid: unable to parse requirement: found '' expected: '('",
        ),
        (
            json!({"packageName": "etcd", "installed": {"name": "a", "version": "x"}}),
            "INVALID_REQUEST error walking catalogs: error finding upgrade edges: \
             failed to get version and release of installed bundle: No Major.Minor.Patch elements found",
        ),
    ] {
        assert_eq!(resolve(&request).0, expected);
    }
}
