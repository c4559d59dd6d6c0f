//! Minimal unsatisfiable sets of constraints.

use std::rc::Rc;

use fbc::work::Step;

use crate::budget::SolveBudget;
use crate::choose::state;
use crate::error::SolveError;
use crate::problem::{SolverConstraint, SolverProblem, Variable};
use crate::sat::{Sat, yes};

/// The constraints of a problem, each with a selector variable that enables it.
pub(crate) struct Explainer<'w> {
    sat: Sat<'w>,
    /// The selector variable of each constraint.
    selectors: Vec<u32>,
    /// Indexes of the constraints in order of explanations: subscriptions and installed operators,
    /// then requirements, then exclusions.
    order: Vec<usize>,
}

impl<'w> Explainer<'w> {
    /// Encodes the constraints of a problem again, so that each of them can be disabled.
    pub(crate) fn new(
        problem: &SolverProblem<'_>,
        budget: &Rc<SolveBudget<'w>>,
    ) -> Result<Self, SolveError<'static>> {
        budget.draw(Step::Comparison, problem.literals)?;
        let mut sat = Sat::new(problem.variables.len(), budget);
        let mut selectors = Vec::new();
        for constraint in &problem.constraints {
            let selector = sat.variable();
            state(&mut sat, constraint, Some(selector));
            selectors.push(selector);
        }
        let mut order: Vec<usize> = (0..selectors.len()).collect();
        order.sort_by_key(|&at| rank(problem, &problem.constraints[at]));
        Ok(Self {
            sat,
            selectors,
            order,
        })
    }

    /// Returns a minimal set of constraints that cannot hold together with these chosen variables, in
    /// order of explanations. It is empty if all constraints can hold.
    pub(crate) fn core(&mut self, chosen: &[u32]) -> Result<Vec<usize>, SolveError<'static>> {
        // Deletion-based minimization, which starts from the solver's own core: that is usually small
        // but not minimal.
        let mut core = self.order.clone();
        if self.is_satisfiable(&core, chosen)? {
            return Ok(Vec::new());
        }
        core = self.used(&core);
        let mut checked = core.len();
        // Constraints are removed from the end, so that those of the user stay.
        while checked > 0 {
            checked -= 1;
            let mut fewer = core.clone();
            fewer.remove(checked);
            if !self.is_satisfiable(&fewer, chosen)? {
                // A constraint that a larger set needs is needed by its subsets too.
                checked = self.used(&core[..checked]).len();
                core = self.used(&fewer);
            }
        }
        Ok(core)
    }

    /// Returns whether there is a solution without a subscription.
    pub(crate) fn is_solvable_without(
        &mut self,
        problem: &SolverProblem<'_>,
        variable: u32,
    ) -> Result<bool, SolveError<'static>> {
        let is_kept = |at: &usize| !matches!(problem.constraints[*at], SolverConstraint::Mandatory(one) if one == variable);
        let kept: Vec<usize> = self.order.iter().copied().filter(is_kept).collect();
        self.is_satisfiable(&kept, &[])
    }

    fn is_satisfiable(
        &mut self,
        constraints: &[usize],
        chosen: &[u32],
    ) -> Result<bool, SolveError<'static>> {
        let selectors = constraints.iter().map(|&at| self.selectors[at]);
        let assumptions: Vec<_> = chosen.iter().copied().chain(selectors).map(yes).collect();
        self.sat.is_satisfiable(&assumptions)
    }

    /// Returns the constraints in the solver's unsatisfiable core.
    fn used(&mut self, constraints: &[usize]) -> Vec<usize> {
        constraints
            .iter()
            .copied()
            .filter(|&at| self.sat.is_in_core(self.selectors[at]))
            .collect()
    }
}

/// Returns the rank of a constraint in explanations, which begin with those of the user.
fn rank(problem: &SolverProblem<'_>, constraint: &SolverConstraint<'_>) -> usize {
    match constraint {
        SolverConstraint::Mandatory(_) | SolverConstraint::Nothing(..) => 0,
        SolverConstraint::Dependency { variable, .. } => {
            match problem.variables[*variable as usize] {
                Variable::Subscription(_) => 0,
                Variable::Entry(_) => 1,
            }
        }
        SolverConstraint::Deprecated(_) | SolverConstraint::Replaces { .. } => 2,
        SolverConstraint::OneOfPackage { .. } => 3,
        SolverConstraint::OneOfApi { .. } => 4,
    }
}
