//! Asks a SAT solver. The only file that knows which one.

use std::rc::Rc;

use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, Var, lbool};
use fbc::work::Step;

use crate::meter::{Halt, Meter};

/// A variable that must be true, or must be false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) variable: u32,
    pub(crate) is_true: bool,
}

/// Number of members up to which "at most one" is stated for each pair; above, a ladder of more variables is shorter.
const MAX_PAIRED: usize = 5;

/// A set of clauses that questions can be asked about.
pub(crate) struct Sat<'w> {
    solver: Solver<Interrupt<'w>>,
    meter: Rc<Meter<'w>>,
    variables: u32,
    /// Variables that are true in the last solution; the solver forgets it when there is none for the next question.
    solution: Vec<bool>,
}

/// Stops the solver when the account refuses more work.
struct Interrupt<'w>(Rc<Meter<'w>>);

impl Callbacks for Interrupt<'_> {
    /// Called before each decision, which is followed by the propagation of some literals.
    fn stop(&self) -> bool {
        self.0.interrupts(Step::Edge, 2)
    }
}

pub(crate) fn yes(variable: u32) -> Literal {
    Literal { variable, is_true: true }
}

pub(crate) fn no(variable: u32) -> Literal {
    Literal { variable, is_true: false }
}

impl<'w> Sat<'w> {
    /// Creates a solver with so many variables.
    pub(crate) fn new(variables: usize, meter: &Rc<Meter<'w>>) -> Self {
        let mut sat = Self {
            solver: Solver::new(SolverOpts::default(), Interrupt(Rc::clone(meter))),
            meter: Rc::clone(meter),
            variables: 0,
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
        let mut literals: Vec<Lit> = clause.into_iter().map(|literal| self.literal(literal)).collect();
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
    pub(crate) fn is_satisfiable(&mut self, assumptions: &[Literal]) -> Result<bool, Halt<'static>> {
        self.meter.question()?;
        self.meter.draw(Step::Edge, assumptions.len())?;
        let assumptions: Vec<Lit> = assumptions.iter().map(|&literal| self.literal(literal)).collect();
        let propagations = self.solver.num_propagations();
        let result = self.solver.solve_limited(&assumptions);
        let propagations = self.solver.num_propagations().wrapping_sub(propagations);
        self.meter.draw(Step::Posting, usize::try_from(propagations).unwrap_or(usize::MAX))?;
        if result == lbool::TRUE {
            self.solution.clear();
            self.solution.extend(self.solver.get_model().iter().map(|&value| value == lbool::TRUE));
            Ok(true)
        } else if result == lbool::FALSE {
            Ok(false)
        } else {
            Err(self.meter.interruption())
        }
    }

    /// Whether a variable is true in the last solution.
    pub(crate) fn is_true(&self, variable: u32) -> bool {
        self.solution.get(variable as usize).is_some_and(|&is_true| is_true)
    }

    /// Whether an assumed variable is one of those that contradict one another, after the answer no.
    pub(crate) fn is_in_core(&mut self, variable: u32) -> bool {
        let variable = self.solver.var_of_int(variable);
        self.solver.unsat_core_contains_var(variable)
    }

    fn literal(&mut self, Literal { variable, is_true }: Literal) -> Lit {
        Lit::new(self.solver.var_of_int(variable), is_true)
    }
}
