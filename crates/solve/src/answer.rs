//! Answers: a solution with its reasons, a conflict with a minimal explanation, or a refusal.

mod conflict;
mod solution;

use fbc::{Bundle, Channel, ChannelEntry};

pub use conflict::{Conflict, ConflictReason, MAX_CANDIDATES, ReasonKind, Relaxation};
pub use solution::{MAX_PASSED_OVER, PassedOver, Solution, SolutionStep, StepReason};

/// The answer to a request.
#[derive(Debug)]
pub enum SolveOutcome<'a> {
    /// A set of bundles that meets every requirement.
    Solution(Box<Solution<'a>>),
    /// There is none.
    Conflict(Conflict<'a>),
    /// The request cannot be solved as it stands.
    Refusal(SolveRefusal<'a>),
}

/// A bundle in a channel of a catalog.
#[derive(Clone, Copy)]
pub struct PlacedBundle<'a> {
    /// Index of the catalog in those of the request.
    pub catalog: usize,
    /// The entry of the channel.
    pub entry: ChannelEntry<'a>,
}

impl<'a> PlacedBundle<'a> {
    /// Returns the bundle.
    pub fn bundle(self) -> Bundle<'a> {
        self.entry
            .bundle()
            .expect("entries without a bundle cannot be chosen")
    }

    /// Returns the channel.
    pub fn channel(self) -> Channel<'a> {
        self.entry.channel()
    }
}

impl std::fmt::Debug for PlacedBundle<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PlacedBundle")
            .field(&self.channel().name())
            .field(&self.entry.name())
            .finish()
    }
}

/// Why a request was not solved.
#[derive(Clone, Debug)]
pub struct SolveRefusal<'a> {
    /// Stable code.
    pub code: RefusalCode,
    /// Upstream's message, or ours for limits.
    pub message: String,
    /// The bundle with the fault, if a bundle of a catalog has it.
    pub bundle: Option<PlacedBundle<'a>>,
}

/// Stable code of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalCode {
    /// The request is malformed.
    InvalidRequest,
    /// A bundle that must be considered has a malformed requirement.
    BadRequirement,
    /// A channel that must be considered cannot be ordered.
    BadChannel,
    /// A limit on size, work or time was exceeded.
    Limit,
}

impl RefusalCode {
    /// Returns the name in the GraphQL schema, such as `BAD_REQUIREMENT`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::BadRequirement => "BAD_REQUIREMENT",
            Self::BadChannel => "BAD_CHANNEL",
            Self::Limit => "LIMIT",
        }
    }
}
