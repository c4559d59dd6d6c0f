//! Conflicts: minimal sets of contradicting constraints, in upstream's words.

use std::fmt;
use std::rc::Rc;

use fbc::work::{Step, Work, WorkStopped, sort_steps};

use crate::budget::SolveBudget;
use crate::channel_bundle::ChannelBundle;
use crate::error::SolveError;
use crate::explain::Explainer;
use crate::problem::{SolverConstraint, SolverProblem, Variable};
use crate::request::SolvePolicy;
use crate::universe::{EntryId, EntryOrigin};

/// Maximum number of candidates of a reason that are listed.
pub const MAX_CANDIDATES: usize = 100;

/// A minimal explanation of why there is no solution.
#[derive(Debug)]
pub struct Conflict<'a> {
    /// The reasons in upstream's words, sorted.
    pub message: String,
    /// A minimal set of reasons that contradict one another, those of subscriptions first. Without
    /// any one of them, the others can hold.
    pub reasons: Vec<ConflictReason<'a>>,
    /// One relaxation for each subscription, by name.
    pub relaxations: Vec<Relaxation<'a>>,
}

/// A subscription that may be omitted to get a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relaxation<'a> {
    /// Name of the subscription.
    pub wanted: &'a str,
    /// The other subscriptions have a solution.
    pub is_solvable: bool,
}

/// A reason of a conflict.
pub struct ConflictReason<'a> {
    /// Kind of the reason.
    pub kind: ReasonKind,
    /// The bundle that it is about.
    pub bundle: Option<ChannelBundle<'a>>,
    /// Name of the installed operator that it is about.
    pub installed: Option<&'a str>,
    /// Name of the subscription that it is about.
    pub wanted: Option<&'a str>,
    /// Index of the requirement in those of the bundle, as
    /// [`Bundle::requirements`](fbc::Bundle::requirements) lists them.
    pub requirement: Option<usize>,
    problem: Rc<SolverProblem<'a>>,
    /// Index of the constraint in the problem.
    constraint: usize,
}

/// Kind of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonKind {
    /// A wanted package must be installed.
    Wanted,
    /// An installed operator must stay or be upgraded.
    Installed,
    /// A bundle requires another.
    Requires,
    /// A bundle must not be installed.
    Prohibited,
    /// A bundle replaces an installed operator.
    Replaces,
    /// At most one bundle of a package.
    OneOfPackage,
    /// At most one provider of an API.
    OneOfApi,
}

impl ReasonKind {
    /// Returns the name in the GraphQL schema, such as `ONE_OF_PACKAGE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wanted => "WANTED",
            Self::Installed => "INSTALLED",
            Self::Requires => "REQUIRES",
            Self::Prohibited => "PROHIBITED",
            Self::Replaces => "REPLACES",
            Self::OneOfPackage => "ONE_OF_PACKAGE",
            Self::OneOfApi => "ONE_OF_API",
        }
    }
}

impl<'a> Conflict<'a> {
    /// Explains why a problem has no solution.
    pub(crate) fn explain(
        problem: &Rc<SolverProblem<'a>>,
        budget: &Rc<SolveBudget<'_>>,
    ) -> Result<Self, SolveError<'static>> {
        let mut explainer = Explainer::new(problem, budget)?;
        let core = explainer.core(&[])?;
        let reasons: Vec<_> = core
            .iter()
            .map(|&at| ConflictReason::new(problem, at))
            .collect();
        let mut texts = reasons
            .iter()
            .map(|reason| reason.text(budget.work()))
            .collect::<Result<Vec<_>, _>>()?;
        texts.sort_unstable();
        let message = format!("constraints not satisfiable: {}", texts.join(", "));
        let mut relaxations = Vec::new();
        for &variable in &problem.mandatory {
            if let Variable::Subscription(at) = problem.variables[variable as usize] {
                let wanted = &*problem.universe.request.subscriptions[at].name;
                // Omitting a subscription that is no reason leaves the contradiction.
                let is_wanted = |at: &usize| matches!(problem.constraints[*at], SolverConstraint::Mandatory(one) if one == variable);
                let is_solvable = core.iter().any(is_wanted)
                    && explainer.is_solvable_without(problem, variable)?;
                relaxations.push(Relaxation {
                    wanted,
                    is_solvable,
                });
            }
        }
        Ok(Self {
            message,
            reasons,
            relaxations,
        })
    }
}

impl fmt::Debug for ConflictReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConflictReason")
            .field(&self.kind)
            .field(&self.write_text())
            .finish()
    }
}

impl<'a> ConflictReason<'a> {
    pub(crate) fn new(problem: &Rc<SolverProblem<'a>>, at: usize) -> Self {
        let constraint = &problem.constraints[at];
        let mut reason = Self {
            kind: kind(problem, constraint),
            bundle: None,
            installed: None,
            wanted: None,
            requirement: None,
            problem: Rc::clone(problem),
            constraint: at,
        };
        if let SolverConstraint::Dependency {
            variable,
            requirement: Some(_),
            ..
        } = constraint
        {
            reason.requirement = problem.dependencies[*variable as usize]
                .iter()
                .position(|&one| one == at);
        }
        if let Some(subject) = subject(constraint) {
            match problem.variables[subject as usize] {
                Variable::Entry(id) => match problem.universe.entries[id].source {
                    EntryOrigin::Catalog { at, entry } => {
                        reason.bundle = Some(ChannelBundle { catalog: at, entry });
                    }
                    EntryOrigin::Installed { operator, .. } => {
                        reason.installed = Some(&operator.name);
                    }
                },
                Variable::Subscription(at) => {
                    reason.wanted = Some(&problem.universe.request.subscriptions[at].name);
                }
            }
        }
        reason
    }

    /// Formats the reason like upstream, with the names of all bundles that it is about.
    ///
    /// # Errors
    /// The budget `work` is used up.
    pub fn text(&self, work: &Work<'_>) -> Result<String, WorkStopped> {
        let members = members(self.constraint()).len();
        work.draw(Step::Comparison, members)?;
        work.draw(Step::SortStep, sort_steps(members))?;
        Ok(self.write_text())
    }

    /// Returns the message that the requirement's author has written for the case that it is not met.
    pub fn failure_message(&self) -> Option<&str> {
        match self.constraint() {
            SolverConstraint::Dependency {
                requirement: Some(requirement),
                ..
            } => self.problem.universe.requirements[*requirement]
                .failure_message
                .as_deref(),
            _ => None,
        }
    }

    /// Returns the bundles that could meet the requirement, best first, or that exclude one another.
    pub fn candidates(&self) -> impl Iterator<Item = ChannelBundle<'a>> {
        members(self.constraint())
            .iter()
            .filter_map(|&one| self.problem.variable_bundle(one))
    }

    fn constraint(&self) -> &SolverConstraint<'a> {
        &self.problem.constraints[self.constraint]
    }

    fn write_text(&self) -> String {
        describe(&self.problem, self.constraint())
    }
}

/// Returns the variable that a constraint is about, unless it is about several.
fn subject(constraint: &SolverConstraint<'_>) -> Option<u32> {
    match constraint {
        SolverConstraint::Mandatory(variable)
        | SolverConstraint::Nothing(variable, _)
        | SolverConstraint::Deprecated(variable)
        | SolverConstraint::Dependency { variable, .. }
        | SolverConstraint::Replaces { variable, .. } => Some(*variable),
        SolverConstraint::OneOfPackage { .. } | SolverConstraint::OneOfApi { .. } => None,
    }
}

/// Returns the variables that a constraint chooses from.
fn members<'c>(constraint: &'c SolverConstraint<'_>) -> &'c [u32] {
    match constraint {
        SolverConstraint::Dependency { candidates, .. } => candidates,
        SolverConstraint::OneOfPackage { members, .. }
        | SolverConstraint::OneOfApi { members, .. } => members,
        _ => &[],
    }
}

/// Returns the kind of a constraint.
fn kind(problem: &SolverProblem<'_>, constraint: &SolverConstraint<'_>) -> ReasonKind {
    let is_subscription = |variable: u32| {
        matches!(
            problem.variables[variable as usize],
            Variable::Subscription(_)
        )
    };
    match constraint {
        SolverConstraint::Mandatory(variable) if !is_subscription(*variable) => {
            ReasonKind::Installed
        }
        SolverConstraint::Dependency { variable, .. } if !is_subscription(*variable) => {
            ReasonKind::Requires
        }
        SolverConstraint::Mandatory(_)
        | SolverConstraint::Nothing(..)
        | SolverConstraint::Dependency { .. } => ReasonKind::Wanted,
        SolverConstraint::Deprecated(_) => ReasonKind::Prohibited,
        SolverConstraint::Replaces { .. } => ReasonKind::Replaces,
        SolverConstraint::OneOfPackage { .. } => ReasonKind::OneOfPackage,
        SolverConstraint::OneOfApi { .. } => ReasonKind::OneOfApi,
    }
}

/// Formats a constraint like upstream.
fn describe(problem: &SolverProblem<'_>, constraint: &SolverConstraint<'_>) -> String {
    let id = |variable: u32| {
        problem
            .entry_of(variable)
            .map(|id| problem.universe.identifier(id))
            .unwrap_or_default()
    };
    let sorted = |members: &[u32]| {
        let mut ids: Vec<String> = members.iter().map(|&member| id(member)).collect();
        ids.sort_unstable();
        enumerate(&ids, "and")
    };
    match constraint {
        SolverConstraint::Mandatory(variable) => match problem.variables[*variable as usize] {
            Variable::Subscription(at) => format!("{} exists", wanted(problem, at)),
            Variable::Entry(id) => {
                format!(
                    "clusterserviceversion {} exists and is not referenced by a subscription",
                    name(problem, id)
                )
            }
        },
        SolverConstraint::Nothing(_, message) => message.clone(),
        SolverConstraint::Dependency {
            variable,
            requirement,
            candidates,
        } => describe_dependency(problem, *variable, *requirement, candidates),
        SolverConstraint::Deprecated(variable) => format!("bundle {} is deprecated", id(*variable)),
        SolverConstraint::Replaces {
            variable,
            installed,
        } => {
            format!("{} conflicts with {}", id(*variable), id(*installed))
        }
        SolverConstraint::OneOfPackage { package, members } => {
            format!("{} originate from package {package}", sorted(members))
        }
        SolverConstraint::OneOfApi { api, members } => {
            format!(
                "{} provide {} ({}/{})",
                sorted(members),
                api.kind,
                api.group,
                api.version
            )
        }
    }
}

fn describe_dependency(
    problem: &SolverProblem<'_>,
    variable: u32,
    requirement: Option<usize>,
    candidates: &[u32],
) -> String {
    match (problem.variables[variable as usize], requirement) {
        (Variable::Entry(id), Some(requirement)) => {
            let predicate = &problem.universe.requirements[requirement].predicate;
            format!(
                "bundle {} requires an operator {predicate}",
                name(problem, id)
            )
        }
        (Variable::Subscription(at), _) => {
            let ids = candidates
                .iter()
                .filter_map(|&candidate| problem.entry_of(candidate));
            let ids: Vec<String> = ids.map(|id| problem.universe.identifier(id)).collect();
            let wanted = wanted(problem, at);
            match &ids[..] {
                [] => format!("no operators found matching the criteria of {wanted}"),
                [only] => format!("{wanted} requires {only}"),
                several => format!(
                    "{wanted} requires at least one of {}",
                    enumerate(several, "or")
                ),
            }
        }
        (Variable::Entry(_), None) => {
            unreachable!("an entry has dependencies by its requirements alone")
        }
    }
}

/// Returns the kind and the name of a subscription.
fn wanted(problem: &SolverProblem<'_>, at: usize) -> String {
    let kind = match problem.universe.request.policy {
        SolvePolicy::OlmV0 => "subscription",
        SolvePolicy::OlmV1 => "ClusterExtension",
    };
    format!("{kind} {}", problem.universe.request.subscriptions[at].name)
}

fn name<'a>(problem: &SolverProblem<'a>, id: EntryId) -> &'a str {
    problem.universe.entries[id].name
}

/// Writes `a, b and c`.
fn enumerate(items: &[String], last_word: &str) -> String {
    match items {
        [items @ .., last] if !items.is_empty() => {
            format!("{} {last_word} {last}", items.join(", "))
        }
        items => items.join(", "),
    }
}
