//! Chooses the solution that OLM v0 prefers. Each choice takes the first candidate that the SAT solver
//! finds possible together with all choices before it, so that there is no backtracking.

use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

use crate::budget::SolveBudget;
use crate::error::SolveError;
use crate::problem::{SolverConstraint, SolverProblem};
use crate::sat::{Sat, no, yes};

/// A chosen variable.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    pub(crate) variable: u32,
    /// The dependency that it was chosen for; `None` if it is mandatory.
    pub(crate) dependency: Option<usize>,
    /// Number of better candidates, all of which are impossible.
    pub(crate) passed_over: usize,
    /// Further dependencies that it serves.
    pub(crate) serves: Vec<usize>,
}

/// Returns the chosen variables in order; `None` if there is no solution.
//
// Upstream guesses and backtracks, and takes a guess back exactly when nothing completes it. Taking
// the first possible candidate therefore ends with the same solution.
pub(crate) fn choose(
    problem: &SolverProblem<'_>,
    budget: &Rc<SolveBudget<'_>>,
) -> Result<Option<Vec<Pick>>, SolveError<'static>> {
    let mut sat = encode(problem, budget);
    if !sat.is_satisfiable(&[])? {
        return Ok(None);
    }
    let mut picked: Vec<Option<usize>> = vec![None; problem.variables.len()];
    let mut picks: Vec<Pick> = Vec::new();
    let mut queue: VecDeque<PendingChoice> = problem
        .mandatory
        .iter()
        .map(|&variable| PendingChoice::Mandatory(variable))
        .collect();
    while let Some(choice) = queue.pop_front() {
        let (dependency, candidates) = match choice {
            PendingChoice::Mandatory(ref variable) => (None, std::slice::from_ref(variable)),
            PendingChoice::Dependency(at) => (Some(at), problem.candidates(at)),
        };
        // Like upstream, an earlier choice serves a dependency even if it is not the preferred one.
        if let Some(pick) = candidates
            .iter()
            .find_map(|&candidate| picked[candidate as usize])
        {
            picks[pick].serves.extend(dependency);
            continue;
        }
        let Some(passed_over) = first_possible(&mut sat, candidates)? else {
            continue;
        };
        let variable = candidates[passed_over];
        sat.add([yes(variable)]);
        picked[variable as usize] = Some(picks.len());
        picks.push(Pick {
            variable,
            dependency,
            passed_over,
            serves: Vec::new(),
        });
        queue.extend(
            problem.dependencies[variable as usize]
                .iter()
                .map(|&at| PendingChoice::Dependency(at)),
        );
    }
    Ok(Some(picks))
}

/// A variable to choose.
enum PendingChoice {
    Mandatory(u32),
    Dependency(usize),
}

/// Returns the position of the first possible candidate.
//
// The last model has one of the candidates, so that only those before it are open. One call asks for
// all of these together, and each new model leaves fewer: far fewer calls than one per candidate.
fn first_possible(
    sat: &mut Sat<'_>,
    candidates: &[u32],
) -> Result<Option<usize>, SolveError<'static>> {
    let Some(mut possible) = candidates
        .iter()
        .position(|&candidate| sat.is_true(candidate))
    else {
        return Ok(None);
    };
    while possible > 0 {
        let question = sat.variable();
        sat.add(
            candidates[..possible]
                .iter()
                .map(|&candidate| yes(candidate))
                .chain([no(question)]),
        );
        let is_possible = sat.is_satisfiable(&[yes(question)])?;
        let better = candidates[..possible]
            .iter()
            .position(|&candidate| is_possible && sat.is_true(candidate));
        sat.add([no(question)]);
        match better {
            Some(better) => possible = better,
            None => break,
        }
    }
    Ok(Some(possible))
}

/// Encodes the constraints as clauses.
fn encode<'w>(problem: &SolverProblem<'_>, budget: &Rc<SolveBudget<'w>>) -> Sat<'w> {
    let mut sat = Sat::new(problem.variables.len(), budget);
    let mut stated = HashSet::new();
    for constraint in &problem.constraints {
        match constraint {
            // The providers of an API are often the members of a package. Equal sets are encoded once.
            SolverConstraint::OneOfPackage { members, .. }
            | SolverConstraint::OneOfApi { members, .. } => {
                if stated.insert(members) {
                    sat.at_most_one(members, None);
                }
            }
            other => state(&mut sat, other, None),
        }
    }
    sat
}

/// Encodes one constraint, which applies if the condition holds.
pub(crate) fn state(sat: &mut Sat<'_>, constraint: &SolverConstraint<'_>, condition: Option<u32>) {
    let unless = condition.map(no);
    match constraint {
        SolverConstraint::Mandatory(variable) => {
            sat.add([yes(*variable)].into_iter().chain(unless));
        }
        SolverConstraint::Nothing(variable, _) | SolverConstraint::Deprecated(variable) => {
            sat.add([no(*variable)].into_iter().chain(unless));
        }
        SolverConstraint::Dependency {
            variable,
            candidates,
            ..
        } => {
            let candidates = candidates.iter().map(|&candidate| yes(candidate));
            sat.add([no(*variable)].into_iter().chain(candidates).chain(unless));
        }
        SolverConstraint::Replaces {
            variable,
            installed,
        } => {
            sat.add([no(*variable), no(*installed)].into_iter().chain(unless));
        }
        SolverConstraint::OneOfPackage { members, .. }
        | SolverConstraint::OneOfApi { members, .. } => {
            sat.at_most_one(members, condition);
        }
    }
}
