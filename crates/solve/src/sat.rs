//! The SAT solver. No other file depends on the library.
//!
//! batsat is incremental and deterministic, supports assumptions and unsatisfiable cores, and has a
//! callback that stops it. resolvo was faster, but orders candidates independently of the dependency
//! they are for, and its messages grow without bound.

use std::cell::Cell;
use std::rc::Rc;

use batsat::{Callbacks, ClauseKind, Lit, Solver, SolverInterface, SolverOpts, Var, lbool};
use fbc::work::Step;

use crate::budget::SolveBudget;
use crate::error::SolveError;

/// A variable that must be true, or must be false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) variable: u32,
    pub(crate) is_true: bool,
}

/// Maximum number of members for which "at most one" has a clause for each pair. Above, the ladder
/// encoding is shorter, with auxiliary variables.
const MAX_PAIRED: usize = 5;

/// Literals that a decision costs: it takes a variable from a heap and opens a level.
const DECISION_LITERALS: usize = 15;

/// Literals that the analysis of a conflict costs, beyond those of the learnt clause.
const CONFLICT_LITERALS: usize = 250;

/// Literals that the analysis of a conflict costs for each literal of the learnt clause.
const LEARNT_LITERALS: usize = 8;

/// Literals that a propagation costs, beyond those of the clauses that watch the literal.
const PROPAGATION_LITERALS: usize = 6;

/// Number of variables whose values are copied from the model in the time of one literal.
const COPIED_VARIABLES: usize = 4;

/// Maximum number of propagated literals between two interruptions of the search, if each conflict
/// assigns every variable again.
const INTERVAL_PROPAGATIONS: usize = 1 << 18;

/// Minimum number of conflicts between two interruptions of the search. Each interruption is a
/// restart.
const MIN_INTERVAL_CONFLICTS: usize = 64;

/// A set of clauses.
pub(crate) struct Sat<'w> {
    solver: Solver<SearchBudget<'w>>,
    budget: Rc<SolveBudget<'w>>,
    variables: u32,
    /// Number of literals of all clauses that were added.
    literals: usize,
    /// Values of the variables in the last model. The solver discards its model when the next call
    /// finds none.
    solution: Vec<bool>,
}

/// Charges the budget for the search of the solver, and interrupts it.
///
/// Decisions and conflicts are charged when they happen. The number of propagated literals is known
/// only after a search. The search is therefore interrupted after some conflicts: between two of
/// them, each variable is assigned at most once.
struct SearchBudget<'w> {
    budget: Rc<SolveBudget<'w>>,
    /// Conflicts until the next interruption.
    conflicts_left: Cell<usize>,
}

impl SearchBudget<'_> {
    fn begin_interval(&self, variables: u32) {
        let conflicts = INTERVAL_PROPAGATIONS / (variables as usize).max(1);
        self.conflicts_left
            .set(conflicts.max(MIN_INTERVAL_CONFLICTS));
    }
}

impl Callbacks for SearchBudget<'_> {
    /// Called after each conflict, with the clause that was learnt from it.
    fn on_new_clause(&mut self, clause: &[Lit], _: ClauseKind) {
        self.conflicts_left
            .set(self.conflicts_left.get().saturating_sub(1));
        let literals = CONFLICT_LITERALS + LEARNT_LITERALS * clause.len();

        if self.budget.interrupts(Step::Literal, literals) {
            self.conflicts_left.set(0);
        }
    }

    /// Called before each decision.
    fn stop(&self) -> bool {
        self.conflicts_left.get() == 0 || self.budget.interrupts(Step::Literal, DECISION_LITERALS)
    }
}

/// Returns the positive literal of a variable.
pub(crate) fn yes(variable: u32) -> Literal {
    Literal {
        variable,
        is_true: true,
    }
}

/// Returns the negative literal of a variable.
pub(crate) fn no(variable: u32) -> Literal {
    Literal {
        variable,
        is_true: false,
    }
}

impl<'w> Sat<'w> {
    /// Creates a solver with this number of variables.
    pub(crate) fn new(variables: usize, budget: &Rc<SolveBudget<'w>>) -> Self {
        let search_budget = SearchBudget {
            budget: Rc::clone(budget),
            conflicts_left: Cell::new(0),
        };
        let mut sat = Self {
            solver: Solver::new(SolverOpts::default(), search_budget),
            budget: Rc::clone(budget),
            variables: 0,
            literals: 0,
            solution: Vec::new(),
        };
        for _ in 0..variables {
            sat.variable();
        }
        sat
    }

    /// Adds a variable.
    pub(crate) fn variable(&mut self) -> u32 {
        let _variable: Var = self.solver.new_var_default();
        self.variables += 1;
        self.variables - 1
    }

    /// Adds a clause: one of the literals must hold.
    pub(crate) fn add(&mut self, clause: impl IntoIterator<Item = Literal>) {
        let mut literals: Vec<Lit> = clause
            .into_iter()
            .map(|literal| self.literal(literal))
            .collect();
        self.literals += literals.len();
        self.solver.add_clause_reuse(&mut literals);
    }

    /// Adds the clauses of "at most one of the members is true", if the condition holds.
    pub(crate) fn at_most_one(&mut self, members: &[u32], condition: Option<u32>) {
        let unless = condition.map(no);
        if members.len() <= MAX_PAIRED {
            for (at, &one) in members.iter().enumerate() {
                for &other in &members[at + 1..] {
                    self.add([no(one), no(other)].into_iter().chain(unless));
                }
            }
            return;
        }
        // Ladder encoding: `before` is true if one of the members so far is.
        let mut before = None;
        for &member in members {
            let here = self.variable();
            self.add([no(member), yes(here)]);
            if let Some(before) = before {
                self.add([no(before), yes(here)]);
                self.add([no(member), no(before)].into_iter().chain(unless));
            }
            before = Some(here);
        }
    }

    /// Returns whether all clauses can be satisfied together with the assumptions.
    pub(crate) fn is_satisfiable(
        &mut self,
        assumptions: &[Literal],
    ) -> Result<bool, SolveError<'static>> {
        self.budget.question()?;
        self.budget.draw(Step::Edge, assumptions.len())?;
        self.budget
            .draw(Step::Literal, self.variables as usize / COPIED_VARIABLES)?;
        let assumptions: Vec<Lit> = assumptions
            .iter()
            .map(|&literal| self.literal(literal))
            .collect();

        loop {
            let result = self.search(&assumptions)?;

            if result == lbool::TRUE {
                self.solution.clear();
                self.solution.extend(
                    self.solver
                        .get_model()
                        .iter()
                        .map(|&value| value == lbool::TRUE),
                );
                return Ok(true);
            }
            if result == lbool::FALSE {
                return Ok(false);
            }
        }
    }

    /// Searches until there is a result or an interruption. Learnt clauses are kept.
    fn search(&mut self, assumptions: &[Lit]) -> Result<lbool, SolveError<'static>> {
        self.solver.cb().begin_interval(self.variables);
        let before = self.solver.num_propagations();
        let result = self.solver.solve_limited(assumptions);
        self.budget.interruption().map_or(Ok(()), Err)?;

        let propagations = self.solver.num_propagations().wrapping_sub(before);
        let propagations = usize::try_from(propagations).unwrap_or(usize::MAX);
        let visited = PROPAGATION_LITERALS + self.literals / (self.variables as usize).max(1);
        self.budget
            .draw(Step::Literal, propagations.saturating_mul(visited))?;
        Ok(result)
    }

    /// Returns whether a variable is true in the last model.
    pub(crate) fn is_true(&self, variable: u32) -> bool {
        self.solution
            .get(variable as usize)
            .is_some_and(|&is_true| is_true)
    }

    /// Returns whether an assumption is in the unsatisfiable core of the last call.
    pub(crate) fn is_in_core(&mut self, variable: u32) -> bool {
        let variable = self.solver.var_of_int(variable);
        self.solver.unsat_core_contains_var(variable)
    }

    fn literal(&mut self, Literal { variable, is_true }: Literal) -> Lit {
        Lit::new(self.solver.var_of_int(variable), is_true)
    }
}
