//! Chooses the solution that OLM v0 prefers, without backtracking: each choice takes its first
//! candidate that is possible together with all choices before it, and whether it is, the SAT
//! solver says.

use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

use crate::meter::{Halt, Meter};
use crate::problem::{SolverConstraint, SolverProblem};
use crate::sat::{Sat, no, yes};

/// A variable that was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    pub(crate) variable: u32,
    /// The dependency that it was chosen for; `None` where it is mandatory.
    pub(crate) dependency: Option<usize>,
    /// Number of better candidates, which were impossible.
    pub(crate) passed_over: usize,
    /// Further dependencies that it serves, which were looked at later.
    pub(crate) serves: Vec<usize>,
}

/// Returns what is chosen, in order; `None` if there is no solution.
pub(crate) fn choose(
    problem: &SolverProblem<'_>,
    meter: &Rc<Meter<'_>>,
) -> Result<Option<Vec<Pick>>, Halt<'static>> {
    let mut sat = encode(problem, meter);
    if !sat.is_satisfiable(&[])? {
        return Ok(None);
    }
    let mut picked: Vec<Option<usize>> = vec![None; problem.variables.len()];
    let mut picks: Vec<Pick> = Vec::new();
    let mut queue: VecDeque<Choice> = problem
        .mandatory
        .iter()
        .map(|&variable| Choice::Mandatory(variable))
        .collect();
    while let Some(choice) = queue.pop_front() {
        let (dependency, candidates) = match choice {
            Choice::Mandatory(ref variable) => (None, std::slice::from_ref(variable)),
            Choice::Dependency(at) => (Some(at), problem.candidates(at)),
        };
        // An earlier choice serves, preferred or not.
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
                .map(|&at| Choice::Dependency(at)),
        );
    }
    Ok(Some(picks))
}

enum Choice {
    Mandatory(u32),
    Dependency(usize),
}

/// Returns the first candidate that is possible. The last solution has one of them, so only those
/// before it are in question: one question asks for all of them, and each yes leaves fewer.
fn first_possible(sat: &mut Sat<'_>, candidates: &[u32]) -> Result<Option<usize>, Halt<'static>> {
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

/// States the constraints.
fn encode<'w>(problem: &SolverProblem<'_>, meter: &Rc<Meter<'w>>) -> Sat<'w> {
    let mut sat = Sat::new(problem.variables.len(), meter);
    let mut stated = HashSet::new();
    for constraint in &problem.constraints {
        match constraint {
            // What provides an API is often all of a package.
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

/// States one constraint, if the condition holds.
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
