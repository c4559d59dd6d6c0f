//! Answers: a solution with its reasons, a conflict with a minimal explanation, or a refusal.

mod conflict;
mod solution;

use crate::error::SolveRefusal;

pub use conflict::{Conflict, ConflictReason, MAX_CANDIDATES, ReasonKind, Relaxation};
pub use solution::{MAX_PASSED_OVER, PassedOverBundle, Solution, SolutionStep, StepReason};

/// The answer to a request.
#[derive(Debug)]
pub enum SolveOutcome<'a> {
    /// A set of bundles that meets every requirement.
    Solution(Box<Solution<'a>>),
    /// No set of bundles meets every requirement.
    Conflict(Conflict<'a>),
    /// The request cannot be solved: it or the content is malformed, or a limit is exceeded.
    Refusal(SolveRefusal<'a>),
}
