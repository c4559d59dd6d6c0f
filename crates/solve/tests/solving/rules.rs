//! CEL rules, as upstream's environment evaluates them.

use serde::Deserialize;
use solve::{OperatorProperty, evaluate_rule};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    rule: String,
    properties: Vec<OperatorProperty>,
    compile_error: Option<String>,
    result: Option<bool>,
}

/// Rules that are treated differently on purpose.
const DIFFERENCES: [(&str, &str); 1] = [(
    "google.protobuf.Struct{} == {}",
    "the interpreter has no messages, so what makes one is refused",
)];

#[test]
fn every_recorded_rule_is_refused_or_evaluated_as_upstream_does_it() {
    let mut count = 0;
    let mut faults = Vec::new();
    for line in include_str!("../testdata/cel.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let found = evaluate_rule(&case.rule, &case.properties);
        let is_equal = match (&found, &case.compile_error, case.result) {
            (Ok(found), None, Some(expected)) => *found == expected,
            (Err(_), Some(_), _) => true,
            _ => false,
        };
        count += 1;
        let is_different = DIFFERENCES.iter().any(|(rule, _)| *rule == case.rule);
        if is_equal == is_different {
            faults.push(format!(
                "{}: {found:?}, expected {:?} {:?}",
                case.rule, case.compile_error, case.result
            ));
        }
    }
    assert_eq!(count, 152);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
