//! Requests to a real catalog, as upstream answered them.

use fbc::Catalog;
use serde::Deserialize;
use serde_json::Value;
use solve::{SolveOutcome, SolveRequest, SourceCatalog, solve};
use testing::corpus::{REFUSED, community, load, whole_or_part};

use crate::vectors::operators;

#[derive(Deserialize)]
struct Case {
    name: String,
    request: SolveRequest,
    expected: Value,
}

#[test]
fn requests_to_a_real_catalog_are_solved_as_upstream_solves_them() {
    let directory = community();
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
        // Of the part, the answers that need no package outside of it can be expected.
        if whole_or_part(&directory, false, true) && !is_within(&case, &catalog) {
            continue;
        }
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
    assert_eq!(count, whole_or_part(&directory, 289, 22));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Whether a catalog has each package that a case wants and that its answer has.
fn is_within(case: &Case, catalog: &Catalog) -> bool {
    let wanted = case.request.subscriptions.iter();
    let wanted = wanted.map(|subscription| subscription.package.as_str());
    let operators = case.expected["operators"].as_array().into_iter().flatten();
    let operators = operators.filter_map(|operator| operator["package"].as_str());
    wanted
        .chain(operators)
        .all(|package| catalog.package(package).is_some())
}

/// The budget of a `solve` over HTTP, in nanoseconds.
const BUDGET: u64 = 50_000_000;

#[test]
fn rules_are_answered_over_a_real_catalog_within_the_budget() {
    let directory = community();
    let catalog = load(&directory, &[]).unwrap();
    let catalogs = [SourceCatalog {
        name: "community",
        namespace: "olm",
        priority: 0,
        labels: None,
        catalog: &catalog,
    }];
    let (package, version, group) = whole_or_part(
        &directory,
        ("strimzi-kafka-operator", "0.30.0", "kafka.strimzi.io"),
        ("cert-manager", "1.10.0", "cert-manager.io"),
    );
    let newer = &*format!(
        "properties.exists(p, p.type == 'olm.package' && p.value.packageName == '{package}' && \
         semver_compare(p.value.version, '{version}') >= 0)"
    );
    let of_group =
        &*format!("properties.exists(p, p.type == 'olm.gvk' && p.value.group == '{group}')");
    for (rule, installs) in [
        // The installed operator meets it.
        ("true", Some(0)),
        ("properties.all(p, p.type != 'olm.gvk')", Some(0)),
        ("properties.exists(p, p.type == 'olm.gvk')", Some(1)),
        (newer, Some(1)),
        (of_group, Some(1)),
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
