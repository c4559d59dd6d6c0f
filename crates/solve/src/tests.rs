//! Seeded small worlds against brute force: the preferred solution, and that reasons are minimal.

use std::rc::Rc;

use fbc::work::Work;
use serde_json::{Value, json};

use crate::budget::SolveBudget;
use crate::choose::{Pick, choose};
use crate::explain::Explainer;
use crate::problem::{SolverConstraint, SolverProblem};
use crate::request::{SolveRequest, SourceCatalog};
use crate::universe::CandidateSearch;
use crate::{SolveOutcome, answer};

/// Names of packages and APIs.
const PACKAGES: [&str; 4] = ["apple", "berry", "cherry", "date"];

/// Number of worlds.
const WORLDS: u64 = 1_000;

/// Worlds with more variables than this are not tried by brute force.
const MAX_VARIABLES: usize = 16;

/// A catalog of up to four packages with requirements at random.
fn metas(random: &mut fastrand::Rng) -> Vec<Value> {
    let mut metas = Vec::new();
    for package in &PACKAGES[..random.usize(2..=4)] {
        let versions = random.usize(1..=3);
        let name = |version: usize| format!("{package}.v{version}.0.0");
        let entries: Vec<Value> = (1..=versions)
            .map(|version| {
                let replaces = (version > 1).then(|| name(version - 1));
                json!({"name": name(version), "replaces": replaces})
            })
            .collect();
        metas.push(json!({"schema": "olm.package", "name": package, "defaultChannel": "stable"}));
        metas.push(json!({"schema": "olm.channel", "package": package, "name": "stable", "entries": entries}));
        for version in 1..=versions {
            let mut properties = vec![property(package, version)];
            for _ in 0..random.usize(0..=2) {
                properties.push(requirement(random));
            }
            metas.push(
                json!({"schema": "olm.bundle", "package": package, "name": name(version),
                "image": name(version), "properties": properties}),
            );
        }
    }
    metas
}

fn property(package: &str, version: usize) -> Value {
    json!({"type": "olm.package", "value": {"packageName": package, "version": format!("{version}.0.0")}})
}

fn requirement(random: &mut fastrand::Rng) -> Value {
    let package = PACKAGES[random.usize(..4)];
    let versions =
        json!({"packageName": package, "versionRange": format!(">={}.0.0", random.usize(1..=3))});
    let api = json!({"group": "test", "version": "v1", "kind": package});
    match random.usize(..7) {
        0 => json!({"type": "olm.gvk", "value": api}),
        1 => json!({"type": "olm.gvk.required", "value": api}),
        2 => {
            json!({"type": "olm.constraint", "value": {"not": {"constraints": [{"package": versions}]}}})
        }
        3 => {
            json!({"type": "olm.constraint", "value": {"any": {"constraints": [{"package": versions}, {"gvk": api}]}}})
        }
        4 => json!({"type": "olm.deprecated", "value": {}}),
        5 => {
            let rule = format!(
                "properties.exists(p, p.type == 'olm.package' && p.value.packageName != '{package}')"
            );
            json!({"type": "olm.constraint", "value": {"failureMessage": "no", "cel": {"rule": rule}}})
        }
        _ => json!({"type": "olm.package.required", "value": versions}),
    }
}

/// A request for up to three packages, with perhaps one operator installed.
fn request(random: &mut fastrand::Rng) -> SolveRequest {
    let wanted = random.usize(1..=3);
    let installed = random.bool().then(|| {
        let package = PACKAGES[random.usize(..4)];
        let version = random.usize(1..=2);
        json!({"name": format!("{package}.v{version}.0.0"), "version": format!("{version}.0.0"),
            "properties": [property(package, version)]})
    });
    let subscriptions: Vec<Value> = PACKAGES[..wanted]
        .iter()
        .map(|package| {
            let name = installed
                .as_ref()
                .map(|operator| operator["name"].as_str().unwrap_or_default());
            let own = name
                .filter(|name| name.starts_with(package))
                .filter(|_| random.bool());
            json!({"name": package, "package": package, "channel": "stable", "catalog": "main",
                "catalogNamespace": "olm", "installedCSV": own.unwrap_or_default()})
        })
        .collect();
    let installed: Vec<Value> = installed.into_iter().collect();
    let request =
        json!({"namespaces": ["olm"], "subscriptions": subscriptions, "installed": installed});
    serde_json::from_value(request).unwrap()
}

/// Returns whether a set of variables, as bits, meets a constraint.
fn holds(constraint: &SolverConstraint<'_>, chosen: u32) -> bool {
    let is_in = |variable: &u32| chosen & 1 << variable != 0;
    match constraint {
        SolverConstraint::Mandatory(variable) => is_in(variable),
        SolverConstraint::Nothing(variable, _) | SolverConstraint::Deprecated(variable) => {
            !is_in(variable)
        }
        SolverConstraint::Dependency {
            variable,
            candidates,
            ..
        } => !is_in(variable) || candidates.iter().any(is_in),
        SolverConstraint::Replaces {
            variable,
            installed,
        } => !is_in(variable) || !is_in(installed),
        SolverConstraint::OneOfPackage { members, .. }
        | SolverConstraint::OneOfApi { members, .. } => {
            members.iter().filter(|member| is_in(member)).count() <= 1
        }
    }
}

/// Returns the sets that meet these constraints.
fn solutions(problem: &SolverProblem<'_>, constraints: &[usize]) -> Vec<u32> {
    let all = 0..1u32 << problem.variables.len();
    all.filter(|&set| {
        constraints
            .iter()
            .all(|&at| holds(&problem.constraints[at], set))
    })
    .collect()
}

/// Upstream's search: guesses, goes on with what a guess requires, and backtracks where nothing can
/// be completed.
fn search(
    problem: &SolverProblem<'_>,
    solutions: &[u32],
    queue: &[Vec<u32>],
    guessed: u32,
) -> Option<u32> {
    if !solutions.iter().any(|set| set & guessed == guessed) {
        return None;
    }
    let Some((choice, rest)) = queue.split_first() else {
        return Some(guessed);
    };
    if choice.iter().any(|candidate| guessed & 1 << candidate != 0) {
        return search(problem, solutions, rest, guessed);
    }
    choice.iter().find_map(|&candidate| {
        let mut queue = rest.to_vec();
        for &at in &problem.dependencies[candidate as usize] {
            if let SolverConstraint::Dependency { candidates, .. } = &problem.constraints[at] {
                queue.push(candidates.to_vec());
            }
        }
        search(problem, solutions, &queue, guessed | 1 << candidate)
    })
}

/// A random catalog.
fn universe(random: &mut fastrand::Rng) -> fbc::Catalog {
    let lines: String = metas(random)
        .iter()
        .map(|meta| meta.to_string() + "\n")
        .collect();
    testing::fixture::catalog_of(&lines)
}

fn source(catalog: &fbc::Catalog) -> SourceCatalog<'_> {
    SourceCatalog {
        name: "main",
        namespace: "olm",
        priority: 0,
        labels: None,
        catalog,
    }
}

fn check(seed: u64) -> Option<bool> {
    let mut random = fastrand::Rng::with_seed(seed);
    let content = universe(&mut random);
    let catalogs = [source(&content)];
    let request = request(&mut random);
    let work = Work::unlimited();
    let budget = Rc::new(SolveBudget::new(&work, u64::MAX));
    let problem = SolverProblem::build(&request, &catalogs, CandidateSearch::All, &budget)
        .unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    if problem.variables.len() > MAX_VARIABLES {
        return None;
    }
    let every: Vec<usize> = (0..problem.constraints.len()).collect();
    let solutions_of_all = solutions(&problem, &every);
    let found = choose(&problem, &budget).unwrap();
    let queue: Vec<Vec<u32>> = problem
        .mandatory
        .iter()
        .map(|&variable| vec![variable])
        .collect();
    let expected = search(&problem, &solutions_of_all, &queue, 0);
    let chosen = found
        .as_deref()
        .map(|picks| picks.iter().fold(0, |set, pick| set | 1 << pick.variable));
    assert_eq!(chosen, expected, "seed {seed}");
    match found {
        Some(picks) => check_passed_over(&problem, &picks, &solutions_of_all, &budget, seed),
        None => check_minimal(&problem, &[], &budget, seed),
    }
    Some(expected.is_some())
}

/// A core cannot be met with what is chosen, and can be without any one of its constraints.
fn check_minimal(
    problem: &SolverProblem<'_>,
    chosen: &[u32],
    budget: &Rc<SolveBudget<'_>>,
    seed: u64,
) {
    let core = Explainer::new(problem, budget)
        .unwrap()
        .core(chosen)
        .unwrap();
    let wanted = chosen.iter().fold(0, |set, variable| set | 1 << variable);
    let is_met = |constraints: &[usize]| {
        solutions(problem, constraints)
            .iter()
            .any(|set| set & wanted == wanted)
    };
    assert!(
        !core.is_empty() && !is_met(&core),
        "seed {seed}: {core:?} can be met"
    );
    for at in 0..core.len() {
        let fewer: Vec<usize> = core
            .iter()
            .enumerate()
            .filter(|(one, _)| *one != at)
            .map(|(_, one)| *one)
            .collect();
        assert!(is_met(&fewer), "seed {seed}: {core:?} is not minimal");
    }
}

/// Each better candidate is impossible with what was chosen before, for a minimal reason.
fn check_passed_over(
    problem: &SolverProblem<'_>,
    picks: &[Pick],
    solutions: &[u32],
    budget: &Rc<SolveBudget<'_>>,
    seed: u64,
) {
    for (at, pick) in picks
        .iter()
        .enumerate()
        .filter(|(_, pick)| pick.passed_over > 0)
    {
        let Some(SolverConstraint::Dependency { candidates, .. }) =
            pick.dependency.map(|at| &problem.constraints[at])
        else {
            panic!("seed {seed}: only dependencies have several candidates")
        };
        for &better in &candidates[..pick.passed_over] {
            let chosen: Vec<u32> = picks[..at]
                .iter()
                .map(|pick| pick.variable)
                .chain([better])
                .collect();
            let wanted = chosen.iter().fold(0, |set, variable| set | 1 << variable);
            assert!(
                !solutions.iter().any(|set| set & wanted == wanted),
                "seed {seed}: {better} is possible"
            );
            check_minimal(problem, &chosen, budget, seed);
        }
    }
}

#[test]
fn solutions_and_reasons_of_a_thousand_small_worlds_are_those_of_brute_force() {
    let outcomes: Vec<bool> = (0..)
        .filter_map(check)
        .take(usize::try_from(WORLDS).unwrap())
        .collect();
    let solved = outcomes.iter().filter(|is_solved| **is_solved).count();
    assert!(
        (200..=900).contains(&solved),
        "{solved} of {WORLDS} have a solution: they show little"
    );
}

/// Formats an answer, with the number of bundles that each step passes over.
fn answered(seed: u64, search: CandidateSearch) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let content = universe(&mut random);
    let catalogs = [source(&content)];
    let request = request(&mut random);
    let work = Work::unlimited();

    match answer(&request, &catalogs, search, u64::MAX, &work) {
        Ok(SolveOutcome::Solution(solution)) => {
            let steps = solution
                .steps
                .iter()
                .map(|step| (step.placed, step.passed_over, step.reasons.len()));
            format!("{:?}", steps.collect::<Vec<_>>())
        }
        Ok(SolveOutcome::Conflict(conflict)) => conflict.message,
        other => panic!("seed {seed}: {other:?}"),
    }
}

#[test]
fn looking_at_the_first_candidates_first_changes_no_answer() {
    for seed in 0..WORLDS {
        let of_all = answered(seed, CandidateSearch::All);
        for limit in 1..=3 {
            assert_eq!(
                answered(seed, CandidateSearch::First(limit)),
                of_all,
                "seed {seed}, limit {limit}"
            );
        }
    }
}
