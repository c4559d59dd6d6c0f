//! Errors of solving: of the request, of requirements, and of limits.

use fbc::work::WorkStopped;

use crate::channel_bundle::ChannelBundle;

/// A request that cannot be solved, because it or the content is malformed, or a limit is exceeded.
#[derive(Clone, Debug)]
pub struct SolveRefusal<'a> {
    /// Stable code.
    pub code: SolveRefusalCode,
    /// Upstream's message, or ours for limits.
    pub message: String,
    /// The bundle that is malformed, if it is a bundle of a catalog.
    pub bundle: Option<ChannelBundle<'a>>,
}

/// Stable code of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolveRefusalCode {
    /// The request is malformed.
    InvalidRequest,
    /// A bundle that must be considered has a malformed requirement.
    BadRequirement,
    /// A channel that must be considered cannot be ordered.
    BadChannel,
    /// A limit on size, work or time was exceeded.
    Limit,
}

impl SolveRefusalCode {
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

/// Error of solving a request.
#[derive(Clone, Debug)]
pub(crate) enum SolveError<'a> {
    /// The caller's budget of work is used up.
    Stopped(WorkStopped),
    /// The request cannot be solved. This is an answer, and not an error of [`crate::solve`].
    Refused(Box<SolveRefusal<'a>>),
}

impl From<WorkStopped> for SolveError<'_> {
    fn from(stopped: WorkStopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// Creates the error for an exceeded limit.
pub(crate) fn limit_exceeded(what: &str) -> SolveError<'static> {
    let message = format!("cannot solve the request: it takes {what}");
    SolveError::Refused(Box::new(SolveRefusal {
        code: SolveRefusalCode::Limit,
        message,
        bundle: None,
    }))
}

/// A requirement that is malformed, or exceeds a limit of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequirementError {
    /// Upstream's message, or ours for a limit that it does not have.
    pub(crate) message: String,
    /// The requirement exceeds a limit.
    pub(crate) is_limit: bool,
}

/// Error of parsing a requirement.
#[derive(Debug)]
pub(crate) enum ParseRequirementError {
    /// The requirement is invalid.
    Invalid(RequirementError),
    /// A limit of the whole request was exceeded while it was parsed.
    Stopped(SolveError<'static>),
}

impl From<RequirementError> for ParseRequirementError {
    fn from(error: RequirementError) -> Self {
        Self::Invalid(error)
    }
}

impl From<String> for ParseRequirementError {
    fn from(message: String) -> Self {
        Self::Invalid(message.into())
    }
}

impl From<SolveError<'static>> for ParseRequirementError {
    fn from(error: SolveError<'static>) -> Self {
        Self::Stopped(error)
    }
}

impl From<String> for RequirementError {
    fn from(message: String) -> Self {
        Self {
            message,
            is_limit: false,
        }
    }
}
