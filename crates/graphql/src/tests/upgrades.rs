//! Update graphs, successors, paths and resolutions as queries.

use serde_json::{Value, json};

use super::fixture::{ask, ask_with, code, data, engine};
use crate::limits::Limits;

const ETCD: &str = r#"package(catalog: "alpha", name: "etcd")"#;

fn of_etcd(selection: &str) -> Value {
    data(
        &engine(Limits::default()),
        &format!("{{ {ETCD} {{ {selection} }} }}"),
    )["package"]
        .take()
}

/// The upgrade of the fixture, with these reasons.
fn upgrade(reasons: &[&str]) -> Value {
    json!({
        "fromName": "etcd.v1.0.0",
        "from": {"name": "etcd.v1.0.0"},
        "toName": "etcd.v1.1.0",
        "to": {"name": "etcd.v1.1.0"},
        "reasons": reasons,
        "channelNames": ["stable"],
    })
}

const EDGE: &str = "{ fromName from { name } toName to { name } reasons channelNames }";

#[test]
fn a_graph_has_bundles_what_names_them_and_skip_ranges() {
    let ranges = "skipRanges { range isValid toName to { name } channelNames fromCount
        spans { highest { name } lowest { name } count } }";
    let graph = format!("nodes {{ name }} replaces {EDGE} skips {EDGE} {ranges}");
    let answer = of_etcd(&format!(
        "all: updateGraph {{ {graph} }} beta: updateGraph(channels: [\"beta\", \"none\"]) {{ {graph} }}"
    ));
    let nodes = json!([{"name": "etcd.v1.1.0"}, {"name": "etcd.v1.0.0"}]);
    let range = json!({
        "range": "<1.1.0",
        "isValid": true,
        "toName": "etcd.v1.1.0",
        "to": {"name": "etcd.v1.1.0"},
        "channelNames": ["stable"],
        "fromCount": 1,
        "spans": [{"highest": {"name": "etcd.v1.0.0"}, "lowest": {"name": "etcd.v1.0.0"}, "count": 1}],
    });
    let skipped = json!({
        "fromName": "etcd.v0.9.0",
        "from": null,
        "toName": "etcd.v1.1.0",
        "to": {"name": "etcd.v1.1.0"},
        "reasons": ["SKIPS"],
        "channelNames": ["stable"],
    });
    let expected = json!({"nodes": nodes, "replaces": [upgrade(&["REPLACES"])], "skips": [skipped], "skipRanges": [range]});
    assert_eq!(answer["all"], expected);
    assert_eq!(
        answer["beta"],
        json!({"nodes": nodes, "replaces": [], "skips": [], "skipRanges": []})
    );
}

#[test]
fn successors_of_a_bundle_and_of_what_is_installed_come_highest_first() {
    let answer = of_etcd(
        r#"named: successors(of: {name: "etcd.v0.9.0", version: "2.0.0"}) { fromName from { name } toName reasons }
           in_range: successors(of: {name: "gone", version: "0.0.1"}) { toName reasons channelNames }
           beta: successors(of: {name: "etcd.v0.9.0", version: "0.9.0"}, channels: ["beta"]) { toName }
           released: successors(of: {name: "gone", version: "1.1.0", release: "2"}) { toName reasons channelNames }"#,
    );
    let named = json!([{"fromName": "etcd.v0.9.0", "from": null, "toName": "etcd.v1.1.0", "reasons": ["SKIPS"]}]);
    assert_eq!(answer["named"], named);
    let in_range =
        json!([{"toName": "etcd.v1.1.0", "reasons": ["SKIP_RANGE"], "channelNames": ["stable"]}]);
    assert_eq!(answer["in_range"], in_range);
    assert_eq!(answer["beta"], json!([]));
    let released = json!([{"toName": "etcd.v1.1.0", "reasons": [], "channelNames": []}]);
    assert_eq!(
        answer["released"], released,
        "the same version and release under another name needs no entry"
    );
}

#[test]
fn a_bundle_knows_its_upgrades_those_to_it_and_the_way_to_the_head() {
    let answer = of_etcd(&format!(
        "bundles(first: 9) {{ nodes {{ name successors {EDGE} predecessors {EDGE} upgradePath {EDGE}
         none: upgradePath(to: \"none\") {EDGE} back: upgradePath(to: \"etcd.v1.0.0\") {EDGE} }} }}"
    ));
    let step = [upgrade(&["REPLACES", "SKIP_RANGE"])];
    assert_eq!(
        answer["bundles"]["nodes"],
        json!([
            {
                "name": "etcd.v1.1.0",
                "successors": [],
                "predecessors": step,
                "upgradePath": [],
                "none": null,
                "back": null,
            },
            {
                "name": "etcd.v1.0.0",
                "successors": step,
                "predecessors": [],
                "upgradePath": step,
                "none": null,
                "back": [],
            },
        ])
    );
}

#[test]
fn an_installed_version_that_is_none_is_bad_input() {
    let query = format!(
        r#"{{ {ETCD} {{ name successors(of: {{name: "a", version: "1.0"}}) {{ toName }} }} }}"#
    );
    let body = ask(&engine(Limits::default()), &query);
    assert_eq!(
        body["data"],
        json!({"package": {"name": "etcd", "successors": null}})
    );
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
    let body = ask_with(
        &engine(Limits::default()),
        query,
        &json!({ "request": request }),
    );
    assert_eq!(body.get("errors"), None, "{body}");
    let answer = &body["data"]["resolve"];
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let of = |bundle: &Value| {
        format!(
            "{} {}",
            text(&bundle["package"]["catalog"]["name"]),
            text(&bundle["name"])
        )
    };
    let found = match &answer["bundle"] {
        Value::Null => format!("{} {}", text(&answer["code"]), text(&answer["message"])),
        bundle => of(bundle),
    };
    let why = |considered: &Value| {
        format!(
            "{} {}",
            of(&considered["bundle"]),
            text(&considered["rejection"])
        )
    };
    (
        found,
        answer["considered"]
            .as_array()
            .unwrap()
            .iter()
            .map(why)
            .collect(),
    )
}

#[test]
fn a_resolution_picks_a_bundle_and_says_why_not_the_others() {
    let (found, considered) = resolve(&json!({"packageName": "etcd"}));
    assert_eq!(found, "beta etcd.v1.1.0");
    let rest = [
        "alpha etcd.v1.1.0 LOWER_PRIORITY",
        "alpha etcd.v1.0.0 DEPRECATED",
    ];
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
        (
            json!({"packageName": "none"}),
            "PACKAGE_NOT_FOUND no bundles found for package \"none\"",
        ),
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

#[test]
fn installed_bundles_are_looked_up_in_each_catalog_by_priority() {
    let engine = engine(Limits::default());
    let query = "query($installed: [InstalledPackage!]!, $catalogs: [String!]) {
        availableUpgrades(installed: $installed, catalogs: $catalogs) {
            index package { catalog { name } } bundle { name } successors { toName } deprecations { schema name }
        }
    }";
    let etcd =
        json!({"packageName": "etcd", "bundle": {"name": "etcd.v1.0.0", "version": "1.0.0"}});
    let gone = json!({"packageName": "gone", "bundle": {"name": "gone.v1", "version": "1.0.0"}});
    let mut in_beta = etcd.clone();
    in_beta["catalog"] = json!("beta");
    let mut with_channel = etcd.clone();
    (with_channel["catalog"], with_channel["channels"]) = (json!("alpha"), json!(["beta", "none"]));
    let ask = |installed: serde_json::Value, catalogs: serde_json::Value| {
        let body = ask_with(
            &engine,
            query,
            &json!({"installed": installed, "catalogs": catalogs}),
        );
        assert_eq!(body.get("errors"), None);
        body["data"]["availableUpgrades"].clone()
    };
    let package = json!({"schema": "olm.package", "name": "etcd"});
    let bundle = json!({"schema": "olm.bundle", "name": "etcd.v1.0.0"});
    let alpha = json!({"index": 1, "package": {"catalog": {"name": "alpha"}}, "bundle": {"name": "etcd.v1.0.0"},
        "successors": [{"toName": "etcd.v1.1.0"}], "deprecations": [package, bundle]});
    let beta = |index: usize| {
        json!({"index": index, "package": {"catalog": {"name": "beta"}}, "bundle": null, "successors": [],
            "deprecations": []})
    };
    let none =
        json!({"index": 0, "package": null, "bundle": null, "successors": [], "deprecations": []});
    assert_eq!(
        ask(json!([gone, etcd]), json!(null)),
        json!([none, beta(1), alpha])
    );
    assert_eq!(ask(json!([in_beta]), json!([])), json!([beta(0)]));
    assert_eq!(ask(json!([gone]), json!(["alpha"])), json!([none]));
    let channel = &ask(json!([with_channel]), json!(["alpha"]))[0];
    let schemas: Vec<_> = channel["deprecations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["schema"].clone())
        .collect();
    assert_eq!(schemas, ["olm.package", "olm.channel", "olm.bundle"]);
}

#[test]
fn installed_bundles_have_a_limit_and_well_formed_versions() {
    let engine = engine(Limits::default());
    let query = "query($installed: [InstalledPackage!]!) { availableUpgrades(installed: $installed) { index } }";
    let ask = |count: usize, version: &str| {
        let one =
            json!({"packageName": "etcd", "bundle": {"name": "etcd.v1.0.0", "version": version}});
        let body = ask_with(&engine, query, &json!({"installed": vec![one; count]}));
        (
            body["data"]["availableUpgrades"].as_array().map(Vec::len),
            code(&body).to_owned(),
        )
    };
    assert_eq!(ask(200, "1.0.0"), (Some(400), "none".to_owned()));
    assert_eq!(ask(201, "1.0.0"), (None, "BAD_USER_INPUT".to_owned()));
    assert_eq!(ask(1, "one"), (None, "BAD_USER_INPUT".to_owned()));
}

#[test]
fn upgrades_and_resolutions_look_at_the_cluster_if_it_is_given() {
    let engine = engine(Limits::default());
    // `etcd.v1.0.0` has a minimum of 1.30.0; that of its successor is not known.
    let document = r#"query($cluster: PlatformInput) {
        package(catalog: "alpha", name: "etcd") {
            successors(of: {name: "etcd.v1.0.0", version: "1.0.0"}, compatibleWith: $cluster) { toName }
            bundle(name: "etcd.v1.0.0") { successors(compatibleWith: $cluster) { toName } }
            bundles(filter: {compatibleWith: $cluster}) { nodes { name } }
        }
        packages(filter: {names: ["etcd"], compatibleWith: $cluster}) { totalCount }
        availableUpgrades(installed: [{packageName: "etcd", bundle: {name: "etcd.v1.0.0", version: "1.0.0"}}]) {
            successors(compatibleWith: $cluster) { toName }
        }
        resolve(request: {packageName: "zoo", compatibleWith: $cluster}) {
            ... on Resolution { bundle { name } }
            ... on ResolutionFailure { code message considered { bundle { name } rejection } }
        }
    }"#;
    let answer = |cluster: Value| ask_with(&engine, document, &json!({ "cluster": cluster }));
    let all = answer(json!({}));
    assert_eq!(all, answer(Value::Null));
    assert_eq!(all.get("errors"), None);
    let edge = json!([{"toName": "etcd.v1.1.0"}]);
    let of = |successors: &Value, bundles: &[&str]| {
        let nodes: Vec<_> = bundles.iter().map(|name| json!({ "name": name })).collect();
        json!({"successors": successors, "bundle": {"successors": successors}, "bundles": {"nodes": nodes}})
    };
    assert_eq!(
        all["data"]["package"],
        of(&edge, &["etcd.v1.1.0", "etcd.v1.0.0"])
    );
    let old = answer(json!({"kubernetes": "1.29"}));
    assert_eq!(old["data"]["package"], of(&edge, &["etcd.v1.1.0"]));
    let other = answer(json!({"architecture": "arm64"}));
    assert_eq!(other["data"]["package"], of(&json!([]), &[]));
    assert_eq!(other["data"]["packages"]["totalCount"], 0);
    assert_eq!(
        other["data"]["availableUpgrades"],
        json!([{"successors": []}, {"successors": []}])
    );
    let failure = json!({
        "code": "NO_MATCHING_BUNDLE",
        "message": "no bundles found for package \"zoo\" compatible with architecture arm64",
        "considered": [{"bundle": {"name": "zoo.v1"}, "rejection": "INCOMPATIBLE"}],
    });
    assert_eq!(other["data"]["resolve"], failure);
}

#[test]
fn a_cluster_without_a_version_fails_the_field_that_it_is_given_to() {
    let engine = engine(Limits::default());
    let document = r#"{
        package(catalog: "alpha", name: "etcd") {
            name
            successors(of: {name: "etcd.v1.0.0", version: "1.0.0"}, compatibleWith: {openshift: "4"}) { toName }
            bundle(name: "etcd.v1.0.0") { name successors(compatibleWith: {openshift: "4"}) { toName } }
            bundles(filter: {compatibleWith: {openshift: "4"}}) { totalCount }
        }
        packages(filter: {compatibleWith: {kubernetes: ""}}) { totalCount }
        resolve(request: {packageName: "zoo", compatibleWith: {kubernetes: "x"}}) {
            ... on ResolutionFailure { code message }
        }
    }"#;
    let answer = ask(&engine, document);
    let bundle = json!({"name": "etcd.v1.0.0", "successors": null});
    let package = json!({"name": "etcd", "successors": null, "bundle": bundle, "bundles": null});
    let expected =
        "is not a version: expected MAJOR.MINOR or MAJOR.MINOR.PATCH, such as 1.31 or 1.31.4";
    let message = format!("desired platform is invalid: \"x\" {expected}");
    let resolve = json!({"code": "INVALID_REQUEST", "message": message});
    assert_eq!(
        answer["data"],
        json!({"package": package, "packages": null, "resolve": resolve})
    );
    let errors: Vec<_> = answer["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| &error["message"])
        .collect();
    let malformed = |text: &str| format!("`compatibleWith` is malformed: {text:?} {expected}");
    assert_eq!(
        errors,
        [
            &malformed("4"),
            &malformed("4"),
            &malformed("4"),
            &malformed("")
        ]
    );
    assert_eq!(code(&answer), "BAD_USER_INPUT");
}
