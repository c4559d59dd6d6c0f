//! Requests to a real catalog, as upstream answered them.

use serde::Deserialize;
use serde_json::Value;
use solve::{SolveOutcome, SolveRequest, SourceCatalog, solve};
use testing::corpus::REFUSED;

use crate::corpus::load;
use crate::vectors::operators;

#[derive(Deserialize)]
struct Case {
    name: String,
    request: SolveRequest,
    expected: Value,
}

#[test]
fn requests_to_a_real_catalog_are_solved_as_upstream_solves_them() {
    let Some(directory) = testing::corpus::find_catalog("community") else { return };
    // opm served the recorded catalog without them.
    let catalog = load(&directory, &REFUSED);
    let catalogs =
        [SourceCatalog { name: "community", namespace: "olm", priority: 0, labels: None, catalog: &catalog }];
    let (mut count, mut faults) = (0, Vec::new());
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
            SolveOutcome::Refusal(refusal) => case.expected.get("error") == Some(&Value::from(&*refusal.message)),
        };
        count += 1;
        if !is_equal {
            faults.push(case.name);
        }
    }
    assert_eq!(count, 289);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
