//! Asks a SAT solver. The only file that knows which one.

use std::cell::Cell;
use std::rc::Rc;

use batsat::{Callbacks, ClauseKind, Lit, Solver, SolverInterface, SolverOpts, Var, lbool};
use fbc::work::Step;

use crate::meter::{Halt, Meter};

/// A variable that must be true, or must be false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) variable: u32,
    pub(crate) is_true: bool,
}

/// Number of members up to which "at most one" is stated for each pair; above, a ladder of more
/// variables is shorter.
const MAX_PAIRED: usize = 5;

/// Literals that a decision visits: it takes a variable from a heap and opens a level.
const DECISION_LITERALS: usize = 15;

/// Literals that the analysis of a conflict visits besides those of the clause that is learnt from
/// it.
const CONFLICT_LITERALS: usize = 250;

/// Literals that the analysis of a conflict visits, and the clause is kept for, per literal of that
/// clause.
const LEARNT_LITERALS: usize = 8;

/// Literals that a propagated literal visits besides those of the clauses that watch it.
const PROPAGATION_LITERALS: usize = 6;

/// Number of variables whose values are copied from a model in the time of one literal.
const COPIED_VARIABLES: usize = 4;

/// Number of propagated literals after which the search is interrupted to draw them, if each
/// conflict assigns every variable anew.
const INTERVAL_PROPAGATIONS: usize = 1 << 18;

/// Minimum number of conflicts between two interruptions of the search: each interruption is a
/// restart.
const MIN_INTERVAL_CONFLICTS: usize = 64;

/// A set of clauses that questions can be asked about.
pub(crate) struct Sat<'w> {
    solver: Solver<SearchMeter<'w>>,
    meter: Rc<Meter<'w>>,
    variables: u32,
    /// Number of literals of all clauses that were added.
    literals: usize,
    /// Variables that are true in the last solution; the solver forgets it when there is none for
    /// the next question.
    solution: Vec<bool>,
}

/// Draws what the solver does while it searches, and interrupts it.
///
/// Decisions and conflicts are drawn as they happen. How many literals were propagated is known
/// only after a search; it is therefore interrupted after some conflicts, since between two of them
/// each variable is assigned at most once.
struct SearchMeter<'w> {
    meter: Rc<Meter<'w>>,
    /// Conflicts until the next interruption.
    conflicts_left: Cell<usize>,
}

impl SearchMeter<'_> {
    fn begin_interval(&self, variables: u32) {
        let conflicts = INTERVAL_PROPAGATIONS / (variables as usize).max(1);
        self.conflicts_left
            .set(conflicts.max(MIN_INTERVAL_CONFLICTS));
    }
}

impl Callbacks for SearchMeter<'_> {
    /// Called after each conflict, with the clause that was learnt from it.
    fn on_new_clause(&mut self, clause: &[Lit], _: ClauseKind) {
        self.conflicts_left
            .set(self.conflicts_left.get().saturating_sub(1));
        let literals = CONFLICT_LITERALS + LEARNT_LITERALS * clause.len();

        if self.meter.interrupts(Step::Literal, literals) {
            self.conflicts_left.set(0);
        }
    }

    /// Called before each decision.
    fn stop(&self) -> bool {
        self.conflicts_left.get() == 0 || self.meter.interrupts(Step::Literal, DECISION_LITERALS)
    }
}

pub(crate) fn yes(variable: u32) -> Literal {
    Literal {
        variable,
        is_true: true,
    }
}

pub(crate) fn no(variable: u32) -> Literal {
    Literal {
        variable,
        is_true: false,
    }
}

impl<'w> Sat<'w> {
    /// Creates a solver with so many variables.
    pub(crate) fn new(variables: usize, meter: &Rc<Meter<'w>>) -> Self {
        let search_meter = SearchMeter {
            meter: Rc::clone(meter),
            conflicts_left: Cell::new(0),
        };
        let mut sat = Self {
            solver: Solver::new(SolverOpts::default(), search_meter),
            meter: Rc::clone(meter),
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

    /// States that at most one of the members is true, if the condition holds.
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
        // `before` is true when a member up to here is.
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

    /// Returns whether all clauses can hold together with the assumptions.
    pub(crate) fn is_satisfiable(
        &mut self,
        assumptions: &[Literal],
    ) -> Result<bool, Halt<'static>> {
        self.meter.question()?;
        self.meter.draw(Step::Edge, assumptions.len())?;
        self.meter
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

    /// Searches until there is an answer or the next interruption; what was learnt stays.
    fn search(&mut self, assumptions: &[Lit]) -> Result<lbool, Halt<'static>> {
        self.solver.cb().begin_interval(self.variables);
        let before = self.solver.num_propagations();
        let result = self.solver.solve_limited(assumptions);
        self.meter.interruption().map_or(Ok(()), Err)?;

        let propagations = self.solver.num_propagations().wrapping_sub(before);
        let propagations = usize::try_from(propagations).unwrap_or(usize::MAX);
        let visited = PROPAGATION_LITERALS + self.literals / (self.variables as usize).max(1);
        self.meter
            .draw(Step::Literal, propagations.saturating_mul(visited))?;
        Ok(result)
    }

    /// Whether a variable is true in the last solution.
    pub(crate) fn is_true(&self, variable: u32) -> bool {
        self.solution
            .get(variable as usize)
            .is_some_and(|&is_true| is_true)
    }

    /// Whether an assumed variable is one of those that contradict one another, after the answer
    /// no.
    pub(crate) fn is_in_core(&mut self, variable: u32) -> bool {
        let variable = self.solver.var_of_int(variable);
        self.solver.unsat_core_contains_var(variable)
    }

    fn literal(&mut self, Literal { variable, is_true }: Literal) -> Lit {
        Lit::new(self.solver.var_of_int(variable), is_true)
    }
}
