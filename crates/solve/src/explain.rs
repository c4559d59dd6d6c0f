//! Minimal sets of constraints that contradict one another.

use std::rc::Rc;

use fbc::work::Step;

use crate::choose::state;
use crate::meter::{Halt, Meter};
use crate::problem::{SolverConstraint, SolverProblem, Variable};
use crate::sat::{Sat, yes};

/// The constraints of a problem, each with a variable that states it.
pub(crate) struct Explainer<'w> {
    sat: Sat<'w>,
    /// The variable that states each constraint.
    selectors: Vec<u32>,
    /// Indexes of the constraints: what was asked for first, then what bundles require, then what
    /// excludes others.
    order: Vec<usize>,
}

impl<'w> Explainer<'w> {
    /// States the constraints of a problem again, each so that it can be left out.
    pub(crate) fn new(
        problem: &SolverProblem<'_>,
        meter: &Rc<Meter<'w>>,
    ) -> Result<Self, Halt<'static>> {
        meter.draw(Step::Comparison, problem.literals)?;
        let mut sat = Sat::new(problem.variables.len(), meter);
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

    /// Returns a minimal set of constraints that cannot hold while these variables are chosen, in
    /// the order of explanations; empty if all can.
    pub(crate) fn core(&mut self, chosen: &[u32]) -> Result<Vec<usize>, Halt<'static>> {
        let mut core = self.order.clone();
        if self.is_satisfiable(&core, chosen)? {
            return Ok(Vec::new());
        }
        core = self.used(&core);
        let mut checked = core.len();
        // From the end, so that what was asked for stays.
        while checked > 0 {
            checked -= 1;
            let mut fewer = core.clone();
            fewer.remove(checked);
            if !self.is_satisfiable(&fewer, chosen)? {
                // Those that were needed before are needed in a part of the set.
                checked = self.used(&core[..checked]).len();
                core = self.used(&fewer);
            }
        }
        Ok(core)
    }

    /// Returns whether there is a solution if a subscription is not wanted.
    pub(crate) fn is_solvable_without(
        &mut self,
        problem: &SolverProblem<'_>,
        variable: u32,
    ) -> Result<bool, Halt<'static>> {
        let is_kept = |at: &usize| !matches!(problem.constraints[*at], SolverConstraint::Mandatory(one) if one == variable);
        let kept: Vec<usize> = self.order.iter().copied().filter(is_kept).collect();
        self.is_satisfiable(&kept, &[])
    }

    fn is_satisfiable(
        &mut self,
        constraints: &[usize],
        chosen: &[u32],
    ) -> Result<bool, Halt<'static>> {
        let selectors = constraints.iter().map(|&at| self.selectors[at]);
        let assumptions: Vec<_> = chosen.iter().copied().chain(selectors).map(yes).collect();
        self.sat.is_satisfiable(&assumptions)
    }

    /// Returns those of the constraints that the solver used to show the contradiction.
    fn used(&mut self, constraints: &[usize]) -> Vec<usize> {
        constraints
            .iter()
            .copied()
            .filter(|&at| self.sat.is_in_core(self.selectors[at]))
            .collect()
    }
}

/// The place of a constraint in explanations, which begin with what the user asked for.
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
