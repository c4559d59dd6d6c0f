//! Solutions: what to install or upgrade, in order, and why.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;

use fbc::work::WorkStopped;

use super::{ConflictReason, PlacedBundle};
use crate::choose::Pick;
use crate::explain::Explainer;
use crate::meter::{Halt, Meter};
use crate::problem::{SolverConstraint, SolverProblem, Variable};
use crate::world::Source;

/// Maximum number of passed over bundles of a step that are explained.
pub const MAX_PASSED_OVER: usize = 20;

/// A set of bundles that meets every requirement.
pub struct Solution<'a> {
    /// What to install or upgrade, dependencies before what needs them.
    pub steps: Vec<SolutionStep<'a>>,
    /// Names of the installed operators that stay as they are, sorted.
    pub unchanged: Vec<&'a str>,
    problem: Rc<SolverProblem<'a>>,
    picks: Vec<Pick>,
    /// The account of all explanations together.
    meter: Rc<Meter<'a>>,
    /// Made when the first bundle is explained: it states every constraint again. `None` at the end
    /// of the budget.
    explainer: OnceCell<Option<RefCell<Explainer<'a>>>>,
}

/// A bundle to install.
#[derive(Clone, Debug)]
pub struct SolutionStep<'a> {
    /// The bundle.
    pub placed: PlacedBundle<'a>,
    /// Name of the installed operator that is upgraded, else of the bundle that the channel entry
    /// replaces.
    pub replaces: Option<&'a str>,
    /// Whether it upgrades an installed operator.
    pub is_upgrade: bool,
    /// The `startingCSV` of its subscription, if that was looked at.
    pub starting_csv: Option<&'a str>,
    /// Why it is needed; at least one reason, the one that it was chosen for first.
    pub reasons: Vec<StepReason<'a>>,
    /// Number of bundles that would have been preferred and are impossible.
    pub passed_over: usize,
    /// Index of its pick.
    pick: usize,
}

/// Why a bundle is needed.
#[derive(Clone, Debug)]
pub struct StepReason<'a> {
    /// Name of the subscription that asks for it.
    pub wanted: Option<&'a str>,
    /// The bundle that requires it.
    pub required_by: Option<PlacedBundle<'a>>,
    /// Name of the installed operator that requires it.
    pub required_by_installed: Option<&'a str>,
    /// The requirement that it meets, in upstream's words.
    pub requirement: Option<String>,
}

/// A bundle that would have been preferred.
#[derive(Debug)]
pub struct PassedOver<'a> {
    /// The bundle.
    pub placed: PlacedBundle<'a>,
    /// A minimal set of reasons that cannot hold with it and what was chosen before it.
    pub reasons: Vec<ConflictReason<'a>>,
}

impl<'a> Solution<'a> {
    pub(crate) fn new(problem: Rc<SolverProblem<'a>>, picks: Vec<Pick>, meter: Meter<'a>) -> Self {
        let steps = Vec::new();
        let unchanged = Vec::new();
        let meter = Rc::new(meter);
        let explainer = OnceCell::new();
        let mut solution = Self {
            steps,
            unchanged,
            problem,
            picks,
            meter,
            explainer,
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
            .world
            .installed
            .iter()
            .map(|&id| solution.problem.world.entries[id].name);
        solution.unchanged = installed.filter(|name| !is_upgraded(name)).collect();
        solution
    }

    /// Returns bundles that would have been preferred to a step's, best first, each with the reason
    /// why it is impossible; fewer at the end of the budget, which is one for all steps.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn passed_over(
        &self,
        step: &SolutionStep<'_>,
        first: usize,
    ) -> Result<Vec<PassedOver<'a>>, WorkStopped> {
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
            let Some(placed) = self.problem.placed_of(candidate) else {
                continue;
            };
            chosen.push(candidate);
            let core = match explainer.core(&chosen) {
                Ok(core) => core,
                Err(Halt::Stopped(stopped)) => return Err(stopped),
                Err(Halt::Refused(_)) => break,
            };
            chosen.pop();
            let reasons = core
                .into_iter()
                .map(|at| ConflictReason::new(&self.problem, at))
                .collect();
            passed_over.push(PassedOver { placed, reasons });
        }
        Ok(passed_over)
    }

    fn explainer(&self) -> Result<Option<&RefCell<Explainer<'a>>>, WorkStopped> {
        if self.explainer.get().is_none() {
            let explainer = match Explainer::new(&self.problem, &self.meter) {
                Ok(explainer) => Some(RefCell::new(explainer)),
                Err(Halt::Stopped(stopped)) => return Err(stopped),
                Err(Halt::Refused(_)) => None,
            };
            self.explainer.get_or_init(|| explainer);
        }
        Ok(self.explainer.get().and_then(Option::as_ref))
    }

    /// Returns the picks, those that serve a dependency before the one that has it, otherwise as
    /// they were chosen.
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
            // Depth first, without recursion: chains of dependencies can be long.
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
        let placed = self.problem.placed(id)?;
        let world = &self.problem.world;
        let upgraded = self
            .problem
            .upgrades
            .get(&id)
            .map(|&installed| world.entries[installed].name);
        let dependencies = || pick.dependency.iter().chain(&pick.serves).copied();
        let subscription = dependencies().find_map(|dependency| match self.owner(dependency) {
            Some(Variable::Subscription(at)) => Some(&world.request.subscriptions[at]),
            _ => None,
        });
        let is_new = |name: &str| world.installed_named(name).is_none();
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
        let world = &self.problem.world;
        let requirement = requirement.map(|at| world.requirements[at].predicate.to_string());
        let none = StepReason {
            wanted: None,
            required_by: None,
            required_by_installed: None,
            requirement,
        };
        Some(match self.owner(dependency)? {
            Variable::Subscription(at) => StepReason {
                wanted: Some(&world.request.subscriptions[at].name),
                ..none
            },
            Variable::Entry(id) => match world.entries[id].source {
                Source::Catalog { at, entry } => StepReason {
                    required_by: Some(PlacedBundle { catalog: at, entry }),
                    ..none
                },
                Source::Installed { operator, .. } => StepReason {
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
