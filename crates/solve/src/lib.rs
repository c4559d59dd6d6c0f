//! Solves dependencies over file-based catalogs as OLM v0 resolves them inside of a cluster, and
//! says why.
//!
//! A request names subscriptions and installed operators. Answers are a [`Solution`] (what has to
//! be installed together, in order, each with the reasons why), a [`Conflict`] (a minimal set of
//! reasons that contradict one another, in upstream's words), or a [`SolveRefusal`]. The solution
//! is the one that OLM v0 prefers, whichever order the catalogs, their blobs or the request come
//! in. By the policy of OLM v1, which installs no dependencies, it is what would have to be
//! installed before a `ClusterExtension`.
//!
//! Where upstream's answer is random or an accident, this crate decides: an entry is identified by
//! catalog, package, channel and name; a bundle that states an API twice provides it once; of
//! installed operators of one package and subscription the first by name can meet a requirement;
//! and of a bundle in several channels the default one counts.
//!
//! | module | what it is for |
//! |---|---|
//! | `request` | what is asked |
//! | `facts`, `requirement`, `rule` | what properties say: of a bundle, of what it requires, and rules in CEL |
//! | `world`, `channel_order` | the entries that can be chosen, in order of preference |
//! | `problem` | the constraints on them |
//! | `sat`, `choose`, `explain` | the SAT solver, the preferred solution, minimal contradictions |
//! | `answer` | what is answered |
//! | `meter` | limits |

#![deny(missing_docs)]

mod answer;
mod channel_order;
mod choose;
mod explain;
mod facts;
mod meter;
mod problem;
mod request;
mod requirement;
mod rule;
mod sat;
mod world;

pub use answer::{
    Conflict, ConflictReason, MAX_CANDIDATES, MAX_PASSED_OVER, PassedOver, PlacedBundle,
    ReasonKind, RefusalCode, Relaxation, Solution, SolutionStep, SolveOutcome, SolveRefusal,
    StepReason,
};
pub use meter::{MAX_EVALUATION_STEPS, MAX_LITERALS, MAX_QUESTIONS, MAX_RULE_STEPS, MAX_VARIABLES};
pub use request::{
    InstalledOperator, MAX_INSTALLED_OPERATORS, MAX_OPERATOR_PROPERTY_BYTES, MAX_SUBSCRIPTIONS,
    OperatorApi, OperatorProperty, SolvePolicy, SolveRequest, SourceCatalog, Subscription,
};
pub use rule::{
    MAX_PATTERN_BYTES, MAX_RULE_BYTES, MAX_RULE_DEPTH, MAX_RULE_OPERATORS, MAX_RULE_VALUES,
};

use std::rc::Rc;

use fbc::work::{Work, WorkStopped};

use choose::Pick;
use meter::{Halt, Meter};
use problem::SolverProblem;
use world::CandidateSearch;

/// Solves a request with at most so much work, in nanoseconds as [`fbc::work`] prices it; more is
/// refused as [`RefusalCode::Limit`]. What a [`Solution`] explains later may take as much again.
///
/// # Errors
/// If the caller's account stopped the work.
pub fn solve<'a>(
    request: &'a SolveRequest,
    catalogs: &'a [SourceCatalog<'a>],
    budget: u64,
    work: &'a Work<'a>,
) -> Result<SolveOutcome<'a>, WorkStopped> {
    if let Some(fault) = request.fault() {
        let code = if fault.is_limit() {
            RefusalCode::Limit
        } else {
            RefusalCode::InvalidRequest
        };
        return Ok(SolveOutcome::Refusal(SolveRefusal {
            code,
            message: fault.to_string(),
            bundle: None,
        }));
    }
    match answer(
        request,
        catalogs,
        CandidateSearch::First(FIRST_CANDIDATES),
        budget,
        work,
    ) {
        Ok(outcome) => Ok(outcome),
        Err(Halt::Refused(refusal)) => Ok(SolveOutcome::Refusal(*refusal)),
        Err(Halt::Stopped(stopped)) => Err(stopped),
    }
}

/// Number of candidates to try first for a requirement that bundles all over a catalog may meet.
const FIRST_CANDIDATES: usize = 32;

fn answer<'a>(
    request: &'a SolveRequest,
    catalogs: &'a [SourceCatalog<'a>],
    search: CandidateSearch,
    budget: u64,
    work: &'a Work<'a>,
) -> Result<SolveOutcome<'a>, Halt<'a>> {
    let meter = Rc::new(Meter::new(work, budget));
    let problem = Rc::new(SolverProblem::build(request, catalogs, search, &meter)?);
    let picks = choose::choose(&problem, &meter)?;

    if is_settled(&problem, picks.as_deref(), &meter)? {
        return outcome(problem, picks, budget, &meter);
    }
    let meter = Rc::new(meter.with_new_counts());
    let problem = Rc::new(SolverProblem::build(
        request,
        catalogs,
        CandidateSearch::All,
        &meter,
    )?);
    let picks = choose::choose(&problem, &meter)?;
    outcome(problem, picks, budget, &meter)
}

/// Returns whether more candidates would not change what was picked.
///
/// What is possible with the first candidates is possible with all of them, but not the other way
/// round. A choice that was made before serves a requirement that it meets, also if it is not among
/// the first candidates.
fn is_settled(
    problem: &SolverProblem<'_>,
    picks: Option<&[Pick]>,
    meter: &Meter<'_>,
) -> Result<bool, Halt<'static>> {
    if problem.world.cut_off.is_empty() {
        return Ok(true);
    }
    let Some(picks) = picks else { return Ok(false) };
    for (at, pick) in picks.iter().enumerate() {
        if pick.passed_over > 0 {
            return Ok(false);
        }
        let requirement = pick
            .dependency
            .and_then(|dependency| problem.requirement(dependency));
        let Some(requirement) = requirement.filter(|at| problem.world.cut_off.contains(at)) else {
            continue;
        };

        let predicate = &problem.world.requirements[requirement].predicate;
        for earlier in picks[..at]
            .iter()
            .filter_map(|pick| problem.entry_of(pick.variable))
        {
            if predicate.holds(&problem.world.entries[earlier].facts, meter)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn outcome<'a>(
    problem: Rc<SolverProblem<'a>>,
    picks: Option<Vec<Pick>>,
    budget: u64,
    meter: &Rc<Meter<'a>>,
) -> Result<SolveOutcome<'a>, Halt<'a>> {
    Ok(match picks {
        Some(picks) => SolveOutcome::Solution(Box::new(Solution::new(
            problem,
            picks,
            Meter::new(meter.work(), budget),
        ))),
        None => SolveOutcome::Conflict(Conflict::explain(&problem, meter)?),
    })
}

/// Reads the value of an `olm.constraint`, and writes it as upstream displays it: for fuzzing.
///
/// # Errors
/// With upstream's message.
#[doc(hidden)]
pub fn display_constraint(value: &[u8]) -> Result<String, String> {
    let work = Work::unlimited();
    let read =
        requirement::ParsedRequirement::read("olm.constraint", value, &Meter::new(&work, u64::MAX));
    let read = read.map_err(|error| match error {
        requirement::Unreadable::Fault(fault) => fault.message,
        requirement::Unreadable::Halted(halt) => format!("{halt:?}"),
    })?;
    Ok(read.predicate.to_string())
}

/// Compiles a CEL rule and evaluates it over properties, as `olm.constraint` does: for fuzzing and
/// tests.
///
/// # Errors
/// With the reason why the rule is refused.
#[doc(hidden)]
pub fn evaluate_rule(rule: &str, properties: &[OperatorProperty]) -> Result<bool, String> {
    let properties = properties.iter().map(|property| facts::RawProperty {
        type_name: (&*property.type_name).into(),
        value: property.value.get().as_bytes().into(),
    });
    let properties: Vec<_> = properties.collect();
    let input = rule::RuleInput::read(&properties).ok_or_else(|| "too many values".to_owned())?;
    let work = Work::unlimited();
    let meter = Meter::new(&work, u64::MAX);
    let rule = rule::Rule::compile(rule, &meter).map_err(|error| format!("{error:?}"))?;
    let holds = rule
        .holds(&input, &meter)
        .map_err(|halt| format!("{halt:?}"))?;

    let sketched = rule
        .sketch(&properties, &meter)
        .map_err(|halt| format!("{halt:?}"))?;
    assert!(
        sketched.is_none_or(|sketched| sketched == holds),
        "a sketch of the rule says otherwise"
    );
    Ok(holds)
}

#[cfg(test)]
mod tests;
