//! The budget of one request: it draws from the caller's work, and enforces the limits of solving.

use std::cell::{Cell, RefCell};

use fbc::work::{Step, Work};

use crate::error::{SolveError, limit_exceeded};

/// Maximum number of variables of the SAT problem: bundles and subscriptions to choose from.
pub const MAX_VARIABLES: usize = 100_000;

/// Maximum number of literals of the SAT problem: bundles named in all constraints together.
pub const MAX_LITERALS: usize = 1_000_000;

/// Maximum number of questions to the SAT solver.
pub const MAX_QUESTIONS: usize = 10_000;

/// Maximum number of steps of all evaluations of CEL rules together.
pub const MAX_RULE_STEPS: u64 = 3_000_000;

/// Maximum number of steps of one evaluation of a CEL rule.
//
// It bounds the memory of an evaluation too: a step copies up to 300 bytes.
pub const MAX_EVALUATION_STEPS: u64 = 100_000;

/// Number of property values that are kept in memory for further CEL rules. Others are decoded again
/// for each rule.
//
// Keeping the values of all bundles would take 30 MB for one catalog.
const KEPT_RULE_VALUES: u64 = 100_000;

/// Work and limits of one request.
pub(crate) struct SolveBudget<'w> {
    work: &'w Work<'w>,
    /// Nanoseconds of work that may still be drawn.
    left: Cell<u64>,
    variables: Cell<usize>,
    literals: Cell<usize>,
    questions: Cell<usize>,
    rule_steps: Cell<u64>,
    /// Number of property values that may still be kept for CEL rules.
    rule_values: Cell<u64>,
    /// Error of a callback of the SAT solver, which cannot return it.
    exceeded: RefCell<Option<SolveError<'static>>>,
}

impl<'w> SolveBudget<'w> {
    /// Creates a budget of this work in nanoseconds, as [`fbc::work`] prices it.
    pub(crate) fn new(work: &'w Work<'w>, budget: u64) -> Self {
        Self {
            work,
            left: Cell::new(budget),
            variables: Cell::new(0),
            literals: Cell::new(0),
            questions: Cell::new(0),
            rule_steps: Cell::new(0),
            rule_values: Cell::new(KEPT_RULE_VALUES),
            exceeded: RefCell::new(None),
        }
    }

    /// Creates a budget of the remaining work, with all counters at zero.
    pub(crate) fn with_new_counts(&self) -> Self {
        Self::new(self.work, self.left.get())
    }

    /// Draws the price of this number of steps.
    pub(crate) fn draw(&self, step: Step, count: usize) -> Result<(), SolveError<'static>> {
        self.work.draw(step, count)?;
        let price = step.price_of(count);
        match self.left.get().checked_sub(price) {
            Some(left) => self.left.set(left),
            None => {
                return Err(limit_exceeded(
                    "more work than its budget: ask for fewer packages, or name channels",
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn work(&self) -> &'w Work<'w> {
        self.work
    }

    /// Counts a variable of the SAT problem.
    pub(crate) fn variable(&self) -> Result<(), SolveError<'static>> {
        self.draw(Step::Bundle, 4)?;
        count(&self.variables, 1, MAX_VARIABLES, "bundles to choose from")
    }

    /// Counts literals of the SAT problem.
    pub(crate) fn literals(&self, number: usize) -> Result<(), SolveError<'static>> {
        self.draw(Step::Comparison, number)?;
        count(
            &self.literals,
            number,
            MAX_LITERALS,
            "bundles named in constraints",
        )
    }

    /// Returns the number of literals so far.
    pub(crate) fn counted_literals(&self) -> usize {
        self.literals.get()
    }

    /// Counts a question to the SAT solver.
    pub(crate) fn question(&self) -> Result<(), SolveError<'static>> {
        self.draw(Step::Object, 1)?;
        count(
            &self.questions,
            1,
            MAX_QUESTIONS,
            "questions to the SAT solver",
        )
    }

    /// Draws steps of compiling a CEL rule, and of estimating the cost of an evaluation.
    pub(crate) fn compilation_steps(&self, number: u64) -> Result<(), SolveError<'static>> {
        self.draw(Step::Rule, usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// Counts the estimated steps of an evaluation of a CEL rule, before it begins.
    pub(crate) fn rule_steps(&self, number: u64) -> Result<(), SolveError<'static>> {
        if number > MAX_EVALUATION_STEPS {
            let what = "steps of CEL rules for the properties of one bundle: simplify the rules";
            return Err(limit_exceeded(&format!(
                "more than {MAX_EVALUATION_STEPS} {what}"
            )));
        }
        let sum = self.rule_steps.get().saturating_add(number);
        self.rule_steps.set(sum);
        if sum > MAX_RULE_STEPS {
            return Err(limit_exceeded(&format!(
                "more than {MAX_RULE_STEPS} steps of CEL rules: simplify the rules"
            )));
        }
        self.draw(Step::Rule, usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// Reserves memory for property values that are kept for further CEL rules. Returns whether they
    /// may be kept.
    pub(crate) fn keeps_rule_values(&self, number: u64) -> bool {
        let left = self.rule_values.get().checked_sub(number);
        self.rule_values
            .set(left.unwrap_or_else(|| self.rule_values.get()));
        left.is_some()
    }

    /// Draws from within the SAT solver. Returns whether it has to stop.
    pub(crate) fn interrupts(&self, step: Step, count: usize) -> bool {
        match self.draw(step, count) {
            Ok(()) => false,
            Err(error) => {
                self.exceeded.replace(Some(error));
                true
            }
        }
    }

    /// Returns the error that stopped the SAT solver, if any.
    pub(crate) fn interruption(&self) -> Option<SolveError<'static>> {
        self.exceeded.take()
    }
}

fn count(
    counter: &Cell<usize>,
    number: usize,
    max: usize,
    what: &str,
) -> Result<(), SolveError<'static>> {
    let sum = counter.get().saturating_add(number);
    counter.set(sum);
    if sum > max {
        Err(limit_exceeded(&format!(
            "more than {max} {what}: ask for fewer packages, or name channels"
        )))
    } else {
        Ok(())
    }
}
