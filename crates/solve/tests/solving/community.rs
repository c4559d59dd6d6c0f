//! Requests to a real catalog, as upstream answered them.

use serde::Deserialize;
use serde_json::Value;
use solve::{SolveOutcome, SolveRequest, SourceCatalog, solve};
use testing::corpus::{REFUSED, load};

use crate::vectors::operators;

#[derive(Deserialize)]
struct Case {
    name: String,
    request: SolveRequest,
    expected: Value,
}

#[test]
fn requests_to_a_real_catalog_are_solved_as_upstream_solves_them() {
    let Some(directory) = testing::corpus::find_catalog("community") else {
        return;
    };
    // opm served the recorded catalog without them.
    let catalog = load(&directory, &REFUSED).unwrap();
    let catalogs = [SourceCatalog {
        name: "community",
        namespace: "olm",
        priority: 0,
        labels: None,
        catalog: &catalog,
    }];
    let mut count = 0;
    let mut faults = Vec::new();
    for line in include_str!("../testdata/community.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let work = fbc::work::Work::unlimited();
        let outcome = solve(&case.request, &catalogs, u64::MAX, &work).unwrap();
        let is_equal = match &outcome {
            SolveOutcome::Solution(solution) => {
                let mut found = Value::from(operators(solution, &catalogs));
                // The vectors leave images out.
                for operator in found.as_array_mut().unwrap() {
                    operator.as_object_mut().unwrap().remove("image");
                }
                case.expected.get("operators") == Some(&found)
            }
            SolveOutcome::Conflict(_) => case.expected.get("unsatisfiable").is_some(),
            SolveOutcome::Refusal(refusal) => {
                case.expected.get("error") == Some(&Value::from(&*refusal.message))
            }
        };
        count += 1;
        if !is_equal {
            faults.push(case.name);
        }
    }
    assert_eq!(count, 289);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The budget of a `solve` over HTTP, in nanoseconds.
const BUDGET: u64 = 50_000_000;

#[test]
fn rules_are_answered_over_a_real_catalog_within_the_budget() {
    let Some(directory) = testing::corpus::find_catalog("community") else {
        return;
    };
    let catalog = load(&directory, &[]).unwrap();
    let catalogs = [SourceCatalog {
        name: "community",
        namespace: "olm",
        priority: 0,
        labels: None,
        catalog: &catalog,
    }];
    let newer = "properties.exists(p, p.type == 'olm.package' && p.value.packageName == 'strimzi-kafka-operator' && \
                 semver_compare(p.value.version, '0.30.0') >= 0)";
    let kafka = "properties.exists(p, p.type == 'olm.gvk' && p.value.group == 'kafka.strimzi.io')";
    for (rule, installs) in [
        // The installed operator meets it.
        ("true", Some(0)),
        ("properties.all(p, p.type != 'olm.gvk')", Some(0)),
        ("properties.exists(p, p.type == 'olm.gvk')", Some(1)),
        (newer, Some(1)),
        (kafka, Some(1)),
        ("properties.exists(p, p.type == 'certified')", None),
        ("false", None),
    ] {
        let constraint = serde_json::json!({"failureMessage": "no", "cel": {"rule": rule}});
        let request: SolveRequest = serde_json::from_value(serde_json::json!({
            "namespaces": ["olm"],
            "installed": [{"name": "mine", "version": "1.0.0",
                "properties": [{"type": "olm.constraint", "value": constraint}]}],
        }))
        .unwrap();
        let work = fbc::work::Work::unlimited();

        let found = match solve(&request, &catalogs, BUDGET, &work).unwrap() {
            SolveOutcome::Solution(solution) => Some(solution.steps.len()),
            SolveOutcome::Conflict(_) => None,
            SolveOutcome::Refusal(refusal) => panic!("{rule}: {}", refusal.message),
        };
        assert_eq!(found, installs, "{rule}");
    }
}
