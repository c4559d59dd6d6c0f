//! Solutions: bundles to install or upgrade, in order, with their reasons.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;

use fbc::work::WorkStopped;

use super::ConflictReason;
use crate::budget::SolveBudget;
use crate::channel_bundle::ChannelBundle;
use crate::choose::Pick;
use crate::error::SolveError;
use crate::explain::Explainer;
use crate::problem::{SolverConstraint, SolverProblem, Variable};
use crate::universe::EntryOrigin;

/// Maximum number of passed over bundles of a step that are explained.
pub const MAX_PASSED_OVER: usize = 20;

/// A set of bundles that meets every requirement.
pub struct Solution<'a> {
    /// Bundles to install or upgrade. Dependencies come before the bundles that require them.
    pub steps: Vec<SolutionStep<'a>>,
    /// Names of the installed operators that stay as they are, sorted.
    pub unchanged: Vec<&'a str>,
    problem: Rc<SolverProblem<'a>>,
    picks: Vec<Pick>,
    /// Budget of all explanations together.
    budget: Rc<SolveBudget<'a>>,
    /// Created when the first bundle is explained, because it encodes every constraint again. `None`
    /// if the budget is used up.
    explainer: OnceCell<Option<RefCell<Explainer<'a>>>>,
}

/// A bundle to install.
#[derive(Clone, Debug)]
pub struct SolutionStep<'a> {
    /// The bundle.
    pub placed: ChannelBundle<'a>,
    /// Name of the installed operator that is upgraded, or else of the bundle that the channel entry
    /// replaces.
    pub replaces: Option<&'a str>,
    /// The step upgrades an installed operator.
    pub is_upgrade: bool,
    /// The `startingCSV` of its subscription, if nothing is installed for that.
    pub starting_csv: Option<&'a str>,
    /// Reasons for the bundle, at least one. The first is the one that it was chosen for.
    pub reasons: Vec<StepReason<'a>>,
    /// Number of preferred bundles that are impossible.
    pub passed_over: usize,
    /// Index of its pick.
    pick: usize,
}

/// A reason for a bundle: the subscription or the requirement that it meets.
#[derive(Clone, Debug)]
pub struct StepReason<'a> {
    /// Name of the subscription that asks for it.
    pub wanted: Option<&'a str>,
    /// The bundle that requires it.
    pub required_by: Option<ChannelBundle<'a>>,
    /// Name of the installed operator that requires it.
    pub required_by_installed: Option<&'a str>,
    /// The requirement that it meets, in upstream's words.
    pub requirement: Option<String>,
}

/// A preferred bundle that is impossible.
#[derive(Debug)]
pub struct PassedOverBundle<'a> {
    /// The bundle.
    pub placed: ChannelBundle<'a>,
    /// A minimal set of reasons that contradict it and the bundles that were chosen before it.
    pub reasons: Vec<ConflictReason<'a>>,
}

impl<'a> Solution<'a> {
    pub(crate) fn new(
        problem: Rc<SolverProblem<'a>>,
        picks: Vec<Pick>,
        budget: SolveBudget<'a>,
    ) -> Self {
        let mut solution = Self {
            steps: Vec::new(),
            unchanged: Vec::new(),
            problem,
            picks,
            budget: Rc::new(budget),
            explainer: OnceCell::new(),
        };
        let order = solution.order();
        solution.steps = order
            .into_iter()
            .filter_map(|pick| solution.step(pick))
            .collect();
        let is_upgraded = |name: &str| {
            solution
                .steps
                .iter()
                .any(|step| step.is_upgrade && step.replaces == Some(name))
        };
        let installed = solution
            .problem
            .universe
            .installed
            .iter()
            .map(|&id| solution.problem.universe.entries[id].name);
        solution.unchanged = installed.filter(|name| !is_upgraded(name)).collect();
        solution
    }

    /// Returns the preferred bundles of a step that are impossible, best first, each with the reasons.
    /// Fewer are returned at the end of the budget, which all steps share.
    ///
    /// # Errors
    /// The caller's budget is used up.
    pub fn passed_over(
        &self,
        step: &SolutionStep<'_>,
        first: usize,
    ) -> Result<Vec<PassedOverBundle<'a>>, WorkStopped> {
        let pick = &self.picks[step.pick];
        let number = pick.passed_over.min(first).min(MAX_PASSED_OVER);
        let Some(candidates) = pick
            .dependency
            .map(|at| self.problem.candidates(at))
            .filter(|_| number > 0)
        else {
            return Ok(Vec::new());
        };
        let Some(explainer) = self.explainer()? else {
            return Ok(Vec::new());
        };
        let mut explainer = explainer.borrow_mut();
        let mut chosen: Vec<u32> = self.picks[..step.pick]
            .iter()
            .map(|pick| pick.variable)
            .collect();
        let mut passed_over = Vec::new();
        for &candidate in &candidates[..number] {
            let Some(placed) = self.problem.variable_bundle(candidate) else {
                continue;
            };
            chosen.push(candidate);
            let core = match explainer.core(&chosen) {
                Ok(core) => core,
                Err(SolveError::Stopped(stopped)) => return Err(stopped),
                Err(SolveError::Refused(_)) => break,
            };
            chosen.pop();
            let reasons = core
                .into_iter()
                .map(|at| ConflictReason::new(&self.problem, at))
                .collect();
            passed_over.push(PassedOverBundle { placed, reasons });
        }
        Ok(passed_over)
    }

    fn explainer(&self) -> Result<Option<&RefCell<Explainer<'a>>>, WorkStopped> {
        if self.explainer.get().is_none() {
            let explainer = match Explainer::new(&self.problem, &self.budget) {
                Ok(explainer) => Some(RefCell::new(explainer)),
                Err(SolveError::Stopped(stopped)) => return Err(stopped),
                Err(SolveError::Refused(_)) => None,
            };
            self.explainer.get_or_init(|| explainer);
        }
        Ok(self.explainer.get().and_then(Option::as_ref))
    }

    /// Returns the picks in the order of installation: dependencies first, otherwise as chosen.
    fn order(&self) -> Vec<usize> {
        let mut serving = std::collections::HashMap::new();
        for (at, pick) in self.picks.iter().enumerate() {
            serving.extend(
                pick.dependency
                    .iter()
                    .chain(&pick.serves)
                    .map(|&dependency| (dependency, at)),
            );
        }
        let mut order = Vec::new();
        let mut seen = vec![false; self.picks.len()];
        for root in 0..self.picks.len() {
            // Depth first, without recursion: a long chain of dependencies would overflow the stack.
            let mut stack = vec![(root, false)];
            while let Some((at, is_done)) = stack.pop() {
                if is_done {
                    order.push(at);
                } else if !std::mem::replace(&mut seen[at], true) {
                    stack.push((at, true));
                    let dependencies = &self.problem.dependencies[self.picks[at].variable as usize];
                    let needed = dependencies
                        .iter()
                        .rev()
                        .filter_map(|dependency| serving.get(dependency));
                    stack.extend(needed.map(|&at| (at, false)));
                }
            }
        }
        order
    }

    fn step(&self, at: usize) -> Option<SolutionStep<'a>> {
        let pick = &self.picks[at];
        let id = self.problem.entry_of(pick.variable)?;
        let placed = self.problem.bundle(id)?;
        let universe = &self.problem.universe;
        let upgraded = self
            .problem
            .upgrades
            .get(&id)
            .map(|&installed| universe.entries[installed].name);
        let dependencies = || pick.dependency.iter().chain(&pick.serves).copied();
        let subscription = dependencies().find_map(|dependency| match self.owner(dependency) {
            Some(Variable::Subscription(at)) => Some(&universe.request.subscriptions[at]),
            _ => None,
        });
        let is_new = |name: &str| universe.installed_named(name).is_none();
        let starting = subscription.filter(|subscription| is_new(&subscription.installed_csv));
        Some(SolutionStep {
            placed,
            replaces: upgraded.or_else(|| placed.entry.replaces()),
            is_upgrade: upgraded.is_some(),
            starting_csv: starting
                .map(|subscription| &*subscription.starting_csv)
                .filter(|name| !name.is_empty()),
            reasons: dependencies()
                .filter_map(|dependency| self.reason(dependency))
                .collect(),
            passed_over: pick.passed_over,
            pick: at,
        })
    }

    fn owner(&self, dependency: usize) -> Option<Variable> {
        match self.problem.constraints[dependency] {
            SolverConstraint::Dependency { variable, .. } => {
                Some(self.problem.variables[variable as usize])
            }
            _ => None,
        }
    }

    fn reason(&self, dependency: usize) -> Option<StepReason<'a>> {
        let SolverConstraint::Dependency { requirement, .. } =
            &self.problem.constraints[dependency]
        else {
            return None;
        };
        let universe = &self.problem.universe;
        let requirement = requirement.map(|at| universe.requirements[at].predicate.to_string());
        let none = StepReason {
            wanted: None,
            required_by: None,
            required_by_installed: None,
            requirement,
        };
        Some(match self.owner(dependency)? {
            Variable::Subscription(at) => StepReason {
                wanted: Some(&universe.request.subscriptions[at].name),
                ..none
            },
            Variable::Entry(id) => match universe.entries[id].source {
                EntryOrigin::Catalog { at, entry } => StepReason {
                    required_by: Some(ChannelBundle { catalog: at, entry }),
                    ..none
                },
                EntryOrigin::Installed { operator, .. } => StepReason {
                    required_by_installed: Some(&operator.name),
                    ..none
                },
            },
        })
    }
}

impl fmt::Debug for Solution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Solution")
            .field("steps", &self.steps)
            .field("unchanged", &self.unchanged)
            .finish_non_exhaustive()
    }
}
