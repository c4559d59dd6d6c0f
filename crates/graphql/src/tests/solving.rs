//! Dependency solving as a query.

use serde_json::{Value, json};

use super::fixture::{ask_with, engine};
use crate::limits::Limits;

/// What a request is answered with.
fn solve(request: &Value) -> Value {
    let query = "query($request: SolveRequest!) { solve(request: $request) { __typename
        ... on Solution { unchanged steps {
            bundle { name package { catalog { name } } } channel { name } action replaces
            reasons { wanted requiredBy { name } requiredByInstalled requirement }
            passedOver { bundle { name } constraints { kind } } } }
        ... on SolveConflict { message relaxations { wanted isSolvable }
            constraints { kind text bundle { name } installed wanted constraint { failureMessage }
                candidates { name } } }
        ... on SolveRefusal { code message bundle { name } } } }";
    let mut body = ask_with(
        &engine(Limits::default()),
        query,
        &json!({ "request": request }),
    );
    assert_eq!(body.get("errors"), None, "{body}");
    body["data"]["solve"].take()
}

fn installed(name: &str, package: &str) -> Value {
    json!({"name": name, "version": "0.1.0", "packageName": package})
}

#[test]
fn a_solution_has_steps_with_reasons_and_what_was_passed_over() {
    let package = |name: &str| json!({"package": {"packageName": name, "versionRange": ">=1.0.0"}});
    let constraint = json!({"any": {"constraints": [package("etcd"), package("minio")]}});
    let needy = json!({"name": "needy", "version": "1.0.0",
        "properties": [{"type": "olm.constraint", "value": constraint}]});
    let request =
        json!({"wanted": [], "catalogs": ["beta"], "installed": [installed("old", "etcd"), needy]});
    let requirement = "with package: etcd and with version in range: >=1.0.0 or with package: minio and with version in \
                       range: >=1.0.0";
    let kinds = json!([{"kind": "ONE_OF_PACKAGE"}]);
    let step = json!({
        "bundle": {"name": "minio.v1", "package": {"catalog": {"name": "beta"}}},
        "channel": {"name": "stable"},
        "action": "INSTALL",
        "replaces": null,
        "reasons": [{"wanted": null, "requiredBy": null, "requiredByInstalled": "needy", "requirement": requirement}],
        "passedOver": [{"bundle": {"name": "etcd.v1.1.0"}, "constraints": kinds}],
    });
    let expected =
        json!({"__typename": "Solution", "unchanged": ["needy", "old"], "steps": [step]});
    assert_eq!(solve(&request), expected);
}

#[test]
fn a_conflict_has_minimal_constraints_and_says_what_to_leave_out() {
    let request = json!({"catalogs": ["beta"], "wanted": [{"packageName": "etcd"}, {"packageName": "minio"}],
        "installed": [installed("old", "etcd")]});
    let found = solve(&request);
    let kinds: Vec<_> = found["constraints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].clone())
        .collect();
    assert_eq!(kinds, ["INSTALLED", "WANTED", "WANTED", "ONE_OF_PACKAGE"]);
    let relaxations =
        json!([{"wanted": "etcd", "isSolvable": true}, {"wanted": "minio", "isSolvable": false}]);
    assert_eq!(found["relaxations"], relaxations);
    let message = "constraints not satisfiable: @existing/olm//old and beta/olm/stable/etcd.v1.1.0 originate from package \
                   etcd, clusterserviceversion old exists and is not referenced by a subscription, subscription etcd \
                   exists, subscription etcd requires beta/olm/stable/etcd.v1.1.0";
    assert_eq!(found["message"], message);
}

#[test]
fn a_request_that_cannot_be_solved_either_way_is_refused() {
    let refused = |request: Value| {
        let found = solve(&request);
        (found["code"].clone(), found["bundle"]["name"].clone())
    };
    let wanted = |more: Value| json!({"wanted": [more]});
    let unknown = wanted(json!({"packageName": "etcd", "catalog": "none"}));
    assert_eq!(refused(unknown), (json!("UNKNOWN_CATALOG"), Value::Null));
    let several = wanted(json!({"packageName": "etcd", "channels": ["stable", "beta"]}));
    assert_eq!(refused(several), (json!("INVALID_REQUEST"), Value::Null));
    let hidden =
        json!({"catalogs": ["beta"], "wanted": [{"packageName": "etcd", "catalog": "alpha"}]});
    assert_eq!(refused(hidden), (json!("UNKNOWN_CATALOG"), Value::Null));
    let property = json!({"type": "olm.constraint", "value": {"unknown": {}}});
    let operator = json!({"name": "bad", "version": "1.0.0", "properties": [property]});
    let malformed = json!({"catalogs": ["beta"], "wanted": [], "installed": [operator]});
    assert_eq!(refused(malformed), (json!("BAD_REQUIREMENT"), Value::Null));
    let unordered = wanted(json!({"packageName": "etcd", "catalog": "alpha"}));
    assert_eq!(refused(unordered), (json!("BAD_CHANNEL"), Value::Null));
}

#[test]
fn by_the_rules_of_olm_v1_a_package_is_what_resolve_picks_after_what_that_requires() {
    let wanted = |more: Value| {
        let mut one = json!({"packageName": "minio"});
        one.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        solve(&json!({"policy": "OLM_V1", "wanted": [one]}))
    };
    let names = |found: &Value| {
        let steps = found["steps"].as_array().cloned().unwrap_or_default();
        steps
            .iter()
            .map(|step| step["bundle"]["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&wanted(json!({}))), ["minio.v1"]);
    assert_eq!(
        names(&wanted(json!({"version": ">=1", "channels": ["stable"]}))),
        ["minio.v1"]
    );
    for none in [
        json!({"version": ">=2"}),
        json!({"channels": ["none"]}),
        json!({"selector": "tier=none"}),
    ] {
        let found = wanted(none);
        let constraint = &found["constraints"][0];
        assert_eq!(
            (&constraint["kind"], &constraint["wanted"]),
            (&json!("WANTED"), &json!("minio")),
            "{found}"
        );
        assert_eq!(constraint["text"], "ClusterExtension minio exists");
    }
    for malformed in [
        json!({"version": "nonsense"}),
        json!({"selector": "tier in gold"}),
    ] {
        let found = wanted(malformed);
        assert_eq!(
            (&found["__typename"], &found["code"]),
            (&json!("SolveRefusal"), &json!("INVALID_REQUEST")),
            "{found}"
        );
    }
    let refused = |policy: &str, more: &str| {
        let request = json!({"policy": policy, "wanted": [{"packageName": "minio", more: "x"}]});
        solve(&request)["message"].take()
    };
    assert_eq!(
        refused("OLM_V0", "version"),
        "cannot solve for `minio`: `version` is for the policy OLM_V1"
    );
    assert_eq!(
        refused("OLM_V0", "selector"),
        "cannot solve for `minio`: `selector` is for the policy OLM_V1"
    );
    assert_eq!(
        refused("OLM_V1", "startingBundle"),
        "cannot solve for `minio`: `startingBundle` is for the policy OLM_V0"
    );
}

#[test]
fn so_many_candidates_and_passed_over_bundles_can_be_listed_and_no_more() {
    let code = |selection: &str| {
        let query = format!(
            "query($request: SolveRequest!) {{ solve(request: $request) {{ {selection} }} }}"
        );
        let conflict = json!({"catalogs": ["beta"], "wanted": [{"packageName": "etcd"}, {"packageName": "minio"}],
            "installed": [installed("old", "etcd")]});
        let solved = json!({"catalogs": ["beta"], "wanted": [{"packageName": "minio"}]});
        let request = if selection.contains("SolveConflict") {
            conflict
        } else {
            solved
        };
        let body = ask_with(
            &engine(Limits::default()),
            &query,
            &json!({ "request": request }),
        );
        body["errors"][0]["extensions"]["code"].clone()
    };
    let candidates = |first: usize| {
        code(&format!(
            "... on SolveConflict {{ constraints {{ candidates(first: {first}) {{ name }} }} }}"
        ))
    };
    let passed_over = |first: usize| {
        code(&format!(
            "... on Solution {{ steps {{ passedOver(first: {first}) {{ bundle {{ name }} }} }} }}"
        ))
    };
    assert_eq!(
        [
            candidates(solve::MAX_CANDIDATES),
            passed_over(solve::MAX_PASSED_OVER)
        ],
        [Value::Null, Value::Null]
    );
    let refused = [
        candidates(solve::MAX_CANDIDATES + 1),
        passed_over(solve::MAX_PASSED_OVER + 1),
    ];
    assert_eq!(refused, [json!("BAD_USER_INPUT"), json!("BAD_USER_INPUT")]);
}
