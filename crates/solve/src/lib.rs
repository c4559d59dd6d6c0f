//! Resolves dependencies over file-based catalogs like OLM v0 in a cluster, and explains the result.
//!
//! A request has subscriptions and installed operators. The answer is a [`Solution`] (bundles to
//! install together, in order, each with its reasons), a [`Conflict`] (a minimal set of reasons that
//! contradict one another, in upstream's words), or a [`SolveRefusal`]. The solution is the one that
//! OLM v0 prefers. It does not depend on the order of the catalogs, of their blobs, or of the
//! request. OLM v1 installs no dependencies: by its policy, a solution is what would have to be
//! installed before a `ClusterExtension`.
//!
//! Where upstream's answer is random or an accident, this crate has rules of its own:
//!
//! - An entry is identified by catalog, package, channel and name.
//! - A bundle with two properties for the same API provides it once.
//! - Of several installed operators with the same package and subscription, the first by name can
//!   meet a requirement.
//! - Of several channels of a bundle, the default one counts.
//!
//! | module | duty |
//! |---|---|
//! | `request` | the request |
//! | `property`, `entry_properties`, `requirement`, `rule` | decoded properties of bundles, requirements, and rules in CEL |
//! | `universe` | the entries that can be chosen, in order of preference |
//! | `problem` | variables and constraints |
//! | `sat`, `choose`, `explain` | the SAT solver, the preferred solution, minimal contradictions |
//! | `answer`, `error` | solutions, conflicts and refusals |
//! | `budget` | limits |

#![deny(missing_docs)]

mod answer;
mod budget;
mod channel_bundle;
mod choose;
mod entry_properties;
mod error;
mod explain;
mod problem;
mod property;
mod request;
mod requirement;
mod rule;
mod sat;
mod universe;

pub use answer::{
    Conflict, ConflictReason, MAX_CANDIDATES, MAX_PASSED_OVER, PassedOverBundle, ReasonKind,
    Relaxation, Solution, SolutionStep, SolveOutcome, StepReason,
};
pub use budget::{
    MAX_EVALUATION_STEPS, MAX_LITERALS, MAX_QUESTIONS, MAX_RULE_STEPS, MAX_VARIABLES,
};
pub use channel_bundle::ChannelBundle;
pub use error::{SolveRefusal, SolveRefusalCode};
pub use request::{
    InstalledOperator, MAX_INSTALLED_OPERATORS, MAX_OPERATOR_PROPERTY_BYTES, MAX_WANTED_PACKAGES,
    OperatorApi, OperatorProperty, PackageSubscription, SolvePolicy, SolveRequest, SourceCatalog,
};
pub use rule::{
    MAX_PATTERN_BYTES, MAX_RULE_BYTES, MAX_RULE_DEPTH, MAX_RULE_OPERATORS, MAX_RULE_VALUES,
};

use std::rc::Rc;

use fbc::work::{Work, WorkStopped};

use budget::SolveBudget;
use choose::Pick;
use error::SolveError;
use problem::SolverProblem;
use universe::CandidateSearch;

/// Solves a request.
///
/// `max_work` is in nanoseconds, as [`fbc::work`] prices it. A request that takes more is refused
/// with [`SolveRefusalCode::Limit`]. The explanations of a [`Solution`] have the same budget again.
///
/// # Errors
/// The caller's budget `work` is used up.
pub fn solve<'a>(
    request: &'a SolveRequest,
    catalogs: &'a [SourceCatalog<'a>],
    max_work: u64,
    work: &'a Work<'a>,
) -> Result<SolveOutcome<'a>, WorkStopped> {
    if let Err(error) = request.validate() {
        let code = if error.is_limit() {
            SolveRefusalCode::Limit
        } else {
            SolveRefusalCode::InvalidRequest
        };
        return Ok(SolveOutcome::Refusal(SolveRefusal {
            code,
            message: error.to_string(),
            bundle: None,
        }));
    }
    match answer(
        request,
        catalogs,
        CandidateSearch::First(FIRST_CANDIDATES),
        max_work,
        work,
    ) {
        Ok(outcome) => Ok(outcome),
        Err(SolveError::Refused(refusal)) => Ok(SolveOutcome::Refusal(*refusal)),
        Err(SolveError::Stopped(stopped)) => Err(stopped),
    }
}

/// Number of candidates in the first search, for a requirement that any bundle of a catalog may meet.
//
// Such a requirement (a rule or a `not`) has thousands of candidates, each with requirements of its
// own, and the first one usually serves.
const FIRST_CANDIDATES: usize = 32;

/// Solves a request, first with the candidates of a limited search, and with all candidates if those
/// could change the answer.
fn answer<'a>(
    request: &'a SolveRequest,
    catalogs: &'a [SourceCatalog<'a>],
    search: CandidateSearch,
    max_work: u64,
    work: &'a Work<'a>,
) -> Result<SolveOutcome<'a>, SolveError<'a>> {
    let budget = Rc::new(SolveBudget::new(work, max_work));
    let problem = Rc::new(SolverProblem::build(request, catalogs, search, &budget)?);
    let picks = choose::choose(&problem, &budget)?;

    if is_settled(&problem, picks.as_deref(), &budget)? {
        return outcome(problem, picks, max_work, &budget);
    }
    let budget = Rc::new(budget.with_new_counts());
    let problem = Rc::new(SolverProblem::build(
        request,
        catalogs,
        CandidateSearch::All,
        &budget,
    )?);
    let picks = choose::choose(&problem, &budget)?;
    outcome(problem, picks, max_work, &budget)
}

/// Returns whether more candidates would not change the picks.
///
/// A solution of the limited search is also one of the full search, but the lack of one proves
/// nothing. An earlier pick serves every requirement that it meets, including those whose first
/// candidates it is not among.
fn is_settled(
    problem: &SolverProblem<'_>,
    picks: Option<&[Pick]>,
    budget: &SolveBudget<'_>,
) -> Result<bool, SolveError<'static>> {
    if problem.universe.truncated.is_empty() {
        return Ok(true);
    }
    let Some(picks) = picks else { return Ok(false) };
    for (at, pick) in picks.iter().enumerate() {
        // With more candidates, a better one might have become possible.
        if pick.passed_over > 0 {
            return Ok(false);
        }
        let requirement = pick
            .dependency
            .and_then(|dependency| problem.requirement(dependency));
        let Some(requirement) = requirement.filter(|at| problem.universe.truncated.contains(at))
        else {
            continue;
        };

        let predicate = &problem.universe.requirements[requirement].predicate;
        for earlier in picks[..at]
            .iter()
            .filter_map(|pick| problem.entry_of(pick.variable))
        {
            if predicate.holds(&problem.universe.entries[earlier].properties, budget)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn outcome<'a>(
    problem: Rc<SolverProblem<'a>>,
    picks: Option<Vec<Pick>>,
    max_work: u64,
    budget: &Rc<SolveBudget<'a>>,
) -> Result<SolveOutcome<'a>, SolveError<'a>> {
    Ok(match picks {
        Some(picks) => SolveOutcome::Solution(Box::new(Solution::new(
            problem,
            picks,
            SolveBudget::new(budget.work(), max_work),
        ))),
        None => SolveOutcome::Conflict(Conflict::explain(&problem, budget)?),
    })
}

/// Parses the value of an `olm.constraint`, and formats it like upstream: for fuzzing.
///
/// # Errors
/// Upstream's message.
#[doc(hidden)]
pub fn display_constraint(value: &[u8]) -> Result<String, String> {
    let work = Work::unlimited();
    let read = requirement::ParsedRequirement::read(
        "olm.constraint",
        value,
        &SolveBudget::new(&work, u64::MAX),
    );
    let read = read.map_err(|error| match error {
        error::ParseRequirementError::Invalid(error) => error.message,
        error::ParseRequirementError::Stopped(error) => format!("{error:?}"),
    })?;
    Ok(read.predicate.to_string())
}

/// Compiles a CEL rule and evaluates it over properties, as `olm.constraint` does: for fuzzing and
/// tests.
///
/// # Errors
/// The rule is invalid or exceeds a limit.
#[doc(hidden)]
pub fn evaluate_rule(rule: &str, properties: &[OperatorProperty]) -> Result<bool, String> {
    let properties = properties.iter().map(|property| property::RawProperty {
        type_name: (&*property.type_name).into(),
        value: property.value.get().as_bytes().into(),
    });
    let properties: Vec<_> = properties.collect();
    let input = rule::RuleInput::read(&properties).ok_or_else(|| "too many values".to_owned())?;
    let work = Work::unlimited();
    let budget = SolveBudget::new(&work, u64::MAX);
    let rule = rule::Rule::compile(rule, &budget).map_err(|error| format!("{error:?}"))?;
    let holds = rule
        .holds(&input, &budget)
        .map_err(|error| format!("{error:?}"))?;

    let sketched = rule
        .sketch(&properties, &budget)
        .map_err(|error| format!("{error:?}"))?;
    assert!(
        sketched.is_none_or(|sketched| sketched == holds),
        "a sketch of the rule says otherwise"
    );
    Ok(holds)
}

#[cfg(test)]
mod tests;
