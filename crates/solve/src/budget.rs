//! The account of one solving: what it draws from the caller's work, and its own limits.

use std::cell::{Cell, RefCell};

use fbc::work::{Step, Work, WorkStopped};

use crate::answer::{RefusalCode, SolveRefusal};

/// Maximum number of bundles and subscriptions that a solution can be made of.
pub const MAX_VARIABLES: usize = 100_000;

/// Maximum number of bundles named in all constraints together.
pub const MAX_LITERALS: usize = 1_000_000;

/// Maximum number of questions to the SAT solver.
pub const MAX_QUESTIONS: usize = 10_000;

/// Maximum number of steps that all CEL rules together may take.
pub const MAX_RULE_STEPS: u64 = 3_000_000;

/// Maximum number of steps that one evaluation of a CEL rule may take. It bounds its memory too: a
/// step copies up to 300 bytes.
pub const MAX_EVALUATION_STEPS: u64 = 100_000;

/// Number of values of properties that are kept for further CEL rules; the others are read again
/// for each.
const KEPT_RULE_VALUES: u64 = 100_000;

/// Why solving ended before there was an answer.
#[derive(Clone, Debug)]
pub(crate) enum Halt<'a> {
    /// The caller's account refused more work.
    Stopped(WorkStopped),
    /// The request is refused.
    Refused(Box<SolveRefusal<'a>>),
}

impl From<WorkStopped> for Halt<'_> {
    fn from(stopped: WorkStopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// Counts what a solving does.
pub(crate) struct Meter<'w> {
    work: &'w Work<'w>,
    /// Nanoseconds of work that may still be drawn.
    left: Cell<u64>,
    variables: Cell<usize>,
    literals: Cell<usize>,
    questions: Cell<usize>,
    rule_steps: Cell<u64>,
    /// Values of properties that may still be kept for CEL rules.
    rule_values: Cell<u64>,
    /// The limit that was exceeded while the SAT solver ran, which cannot return errors.
    exceeded: RefCell<Option<Halt<'static>>>,
}

impl<'w> Meter<'w> {
    /// Creates an account that may draw so many nanoseconds of work.
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

    /// Creates an account of the remaining work in which nothing is counted yet.
    pub(crate) fn with_new_counts(&self) -> Self {
        Self::new(self.work, self.left.get())
    }

    /// Draws the price of so many steps.
    pub(crate) fn draw(&self, step: Step, count: usize) -> Result<(), Halt<'static>> {
        self.work.draw(step, count)?;
        let price = step.price_of(count);
        match self.left.get().checked_sub(price) {
            Some(left) => self.left.set(left),
            None => {
                return Err(limit(
                    "more work than its budget: ask for fewer packages, or name channels",
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn work(&self) -> &'w Work<'w> {
        self.work
    }

    /// Counts a variable.
    pub(crate) fn variable(&self) -> Result<(), Halt<'static>> {
        self.draw(Step::Bundle, 4)?;
        count(&self.variables, 1, MAX_VARIABLES, "bundles to choose from")
    }

    /// Counts bundles that a constraint names.
    pub(crate) fn literals(&self, number: usize) -> Result<(), Halt<'static>> {
        self.draw(Step::Comparison, number)?;
        count(
            &self.literals,
            number,
            MAX_LITERALS,
            "bundles named in constraints",
        )
    }

    /// Number of bundles that all constraints name so far.
    pub(crate) fn counted_literals(&self) -> usize {
        self.literals.get()
    }

    /// Counts a question to the SAT solver.
    pub(crate) fn question(&self) -> Result<(), Halt<'static>> {
        self.draw(Step::Object, 1)?;
        count(
            &self.questions,
            1,
            MAX_QUESTIONS,
            "questions to the SAT solver",
        )
    }

    /// Draws steps of compiling a CEL rule, and of estimating what an evaluation takes.
    pub(crate) fn compilation_steps(&self, number: u64) -> Result<(), Halt<'static>> {
        self.draw(Step::Rule, usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// Counts steps of an evaluation of a CEL rule before it begins.
    pub(crate) fn rule_steps(&self, number: u64) -> Result<(), Halt<'static>> {
        if number > MAX_EVALUATION_STEPS {
            let what = "steps of CEL rules for the properties of one bundle: simplify the rules";
            return Err(limit(&format!("more than {MAX_EVALUATION_STEPS} {what}")));
        }
        let sum = self.rule_steps.get().saturating_add(number);
        self.rule_steps.set(sum);
        if sum > MAX_RULE_STEPS {
            return Err(limit(&format!(
                "more than {MAX_RULE_STEPS} steps of CEL rules: simplify the rules"
            )));
        }
        self.draw(Step::Rule, usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// Counts values of properties that are kept for further CEL rules; returns whether they may be
    /// kept.
    pub(crate) fn keeps_rule_values(&self, number: u64) -> bool {
        let left = self.rule_values.get().checked_sub(number);
        self.rule_values
            .set(left.unwrap_or_else(|| self.rule_values.get()));
        left.is_some()
    }

    /// Draws from within the SAT solver; returns whether it has to stop.
    pub(crate) fn interrupts(&self, step: Step, count: usize) -> bool {
        match self.draw(step, count) {
            Ok(()) => false,
            Err(halt) => {
                self.exceeded.replace(Some(halt));
                true
            }
        }
    }

    /// Returns what stopped the SAT solver; `None` if nothing did.
    pub(crate) fn interruption(&self) -> Option<Halt<'static>> {
        self.exceeded.take()
    }
}

fn count(
    counter: &Cell<usize>,
    number: usize,
    max: usize,
    what: &str,
) -> Result<(), Halt<'static>> {
    let sum = counter.get().saturating_add(number);
    counter.set(sum);
    if sum > max {
        Err(limit(&format!(
            "more than {max} {what}: ask for fewer packages, or name channels"
        )))
    } else {
        Ok(())
    }
}

/// A refusal because a limit was exceeded.
pub(crate) fn limit(what: &str) -> Halt<'static> {
    let message = format!("cannot solve the request: it takes {what}");
    Halt::Refused(Box::new(SolveRefusal {
        code: RefusalCode::Limit,
        message,
        bundle: None,
    }))
}
