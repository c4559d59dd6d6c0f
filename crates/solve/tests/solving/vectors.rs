//! Recorded answers of upstream's resolver: `tests/testdata/README.md` says how.

use std::collections::BTreeMap;

use fbc::Catalog;
use fbc::work::Work;
use serde::Deserialize;
use serde_json::Value;
use solve::{Solution, SolveOutcome, SolveRequest, SourceCatalog, solve};

/// A recorded world.
#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    catalogs: Vec<CaseCatalog>,
    request: SolveRequest,
    expected: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct CaseCatalog {
    name: String,
    namespace: String,
    priority: i32,
    metas: Vec<Value>,
}

/// Cases that are answered differently on purpose.
const DIFFERENCES: [(&str, &str); 3] = [
    (
        "gvk/listed-twice",
        "a bundle that states an API twice provides it once; upstream lets it exclude itself",
    ),
    (
        "names/same-bundle-name-in-two-packages-one-wanted",
        "entries are told apart by their package",
    ),
    (
        "names/slash-in-channel",
        "entries are told apart without parsing their identifiers",
    ),
];

#[test]
fn every_recorded_world_is_solved_as_upstream_solves_it() {
    let mut faults = Vec::new();
    let mut count = 0;
    for line in include_str!("../testdata/resolver.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let is_different = DIFFERENCES.iter().any(|(name, _)| *name == case.name);
        let fault = check(&case);
        match (fault, is_different) {
            (Some(fault), false) => faults.push(format!("{}: {fault}", case.name)),
            (None, true) => faults.push(format!("{}: is no difference any more", case.name)),
            _ => {}
        }
        count += 1;
    }
    assert_eq!(count, 471);
    assert!(
        faults.is_empty(),
        "{} of {count}:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// Returns what is wrong with the answer to a case.
fn check(case: &Case) -> Option<String> {
    let contents: Vec<Catalog> = case
        .catalogs
        .iter()
        .map(|catalog| build(&catalog.metas))
        .collect();
    let catalogs: Vec<_> = case
        .catalogs
        .iter()
        .zip(&contents)
        .map(|(case, catalog)| source(case, catalog))
        .collect();
    let work = Work::unlimited();
    let outcome = solve(&case.request, &catalogs, u64::MAX, &work).unwrap();
    match (&outcome, case.expected.iter().next().unwrap()) {
        (SolveOutcome::Solution(solution), (kind, expected)) if kind == "operators" => {
            let found = Value::from(operators(solution, &catalogs));
            (found != *expected).then(|| format!("expected {expected}, found {found}"))
        }
        (SolveOutcome::Conflict(conflict), (kind, _)) if kind == "unsatisfiable" => conflict
            .reasons
            .is_empty()
            .then(|| "there are no reasons".to_owned()),
        (SolveOutcome::Refusal(refusal), (kind, expected)) if kind == "error" => {
            let expected = expected.as_str().unwrap();
            let is_equal = refusal.message == expected || begins_alike(&refusal.message, expected);
            (!is_equal).then(|| format!("expected {expected:?}, found {:?}", refusal.message))
        }
        (outcome, expected) => Some(format!(
            "expected {expected:?}, found {}",
            describe(outcome)
        )),
    }
}

/// The texts of CEL's parser and checker are those of another implementation.
fn begins_alike(found: &str, expected: &str) -> bool {
    let beginning = "convert olm.constraint to resolver predicate: ERROR: <input>:1:";
    found.starts_with(beginning) && expected.starts_with(beginning)
}

fn describe(outcome: &SolveOutcome<'_>) -> String {
    match outcome {
        SolveOutcome::Solution(solution) => format!("{solution:?}"),
        SolveOutcome::Conflict(conflict) => conflict.message.clone(),
        SolveOutcome::Refusal(refusal) => refusal.message.clone(),
    }
}

/// Worlds with a minimal set of reasons that upstream was not seen to give.
const OTHER_REASONS: [&str; 5] = [
    "random/129",
    "random/276",
    "random/430",
    "random/453",
    "random/458",
];

#[test]
fn reasons_are_in_upstreams_words() {
    let mut conflicts = 0;
    let mut others = Vec::new();
    for line in include_str!("../testdata/resolver.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let Some(seen) = case.expected.get("unsatisfiable") else {
            continue;
        };
        let contents: Vec<Catalog> = case
            .catalogs
            .iter()
            .map(|catalog| build(&catalog.metas))
            .collect();
        let catalogs: Vec<_> = case
            .catalogs
            .iter()
            .zip(&contents)
            .map(|(case, one)| source(case, one))
            .collect();
        let work = Work::unlimited();
        let outcome = solve(&case.request, &catalogs, u64::MAX, &work).unwrap();
        let SolveOutcome::Conflict(conflict) = outcome else {
            continue;
        };
        conflicts += 1;
        let seen: Vec<&str> = seen
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let is_seen = |text: &str| seen.iter().any(|message| message.contains(text));
        if !conflict
            .reasons
            .iter()
            .all(|reason| is_seen(&reason.text(&Work::unlimited()).unwrap()))
        {
            others.push(case.name);
        }
    }
    // There are other minimal sets than those that upstream happened upon.
    assert_eq!(
        (conflicts, &others[..]),
        (140, &OTHER_REASONS.map(str::to_owned)[..])
    );
}

fn source<'a>(case: &'a CaseCatalog, catalog: &'a Catalog) -> SourceCatalog<'a> {
    SourceCatalog {
        name: &case.name,
        namespace: &case.namespace,
        priority: case.priority,
        labels: None,
        catalog,
    }
}

fn build(metas: &[Value]) -> Catalog {
    let lines: String = metas.iter().map(|meta| meta.to_string() + "\n").collect();
    testing::fixture::catalog_of(&lines)
}

/// Returns what is installed, as the vectors have it.
pub(super) fn operators(solution: &Solution<'_>, catalogs: &[SourceCatalog<'_>]) -> Vec<Value> {
    let mut operators: Vec<(Vec<String>, Value)> = Vec::new();
    for step in &solution.steps {
        let catalog = catalogs[step.placed.catalog];
        let bundle = step.placed.bundle();
        let channel = step.placed.channel();
        let mut operator = serde_json::json!({
            "catalog": catalog.name, "namespace": catalog.namespace, "package": bundle.package().name(),
            "channel": channel.name(), "name": bundle.name(),
        });
        let more = [
            (
                "image",
                Some(bundle.image().decode().into_owned()).filter(|image| !image.is_empty()),
            ),
            ("replaces", step.replaces.map(str::to_owned)),
            ("startingCSV", step.starting_csv.map(str::to_owned)),
        ];
        for (key, value) in more {
            if let Some(value) = value {
                operator[key] = value.into();
            }
        }
        let key = [
            bundle.package().name(),
            bundle.name(),
            catalog.name,
            channel.name(),
        ]
        .map(str::to_owned);
        operators.push((key.to_vec(), operator));
    }
    operators.sort_by(|one, other| one.0.cmp(&other.0));
    operators
        .into_iter()
        .map(|(_, operator)| operator)
        .collect()
}
