//! Metrics of the engine: requests by their result, their cost, and hits of the response
//! cache.

use metrics::{Counter, Family, Histogram, labels};

use super::errors::{Code, Error, Outcome};
use super::response::Response;

labels! {
    /// Kind of the operation of a request.
    pub enum OperationKind {
        /// A query, or a request whose document was refused.
        Query = "query",
        /// A subscription, counted when it starts.
        Subscription = "subscription",
    }
}

labels! {
    /// Result of a request.
    pub enum RequestResult {
        /// Executed: data without errors; or a subscription that started.
        Ok = "ok",
        /// The client has the response already.
        NotModified = "not_modified",
        /// The response was in the response cache.
        Cached = "cached",
        /// Executed: some field is `null` because of an error.
        Partial = "partial",
        /// The request is not valid, or names an operation or document that does not exist.
        Invalid = "invalid",
        /// A limit of the document, of its cost, or of how much is done at one time.
        Limited = "limited",
        /// The execution took too long.
        Timeout = "timeout",
        /// The request or the response is too large.
        TooLarge = "too_large",
        /// An error of the server.
        Internal = "internal",
    }
}

/// Upper bounds of the durations of phases, in nanoseconds: from 10 microseconds to a second.
const DURATION_BOUNDS: &[u64] = &[
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
];

/// Upper bounds of the work of an execution, in units.
const WORK_BOUNDS: &[u64] = &[10, 100, 1_000, 10_000, 100_000, 1_000_000];

/// Counters of an engine.
#[derive(Debug)]
pub struct EngineMetrics {
    /// Requests by kind and result.
    pub requests: Family<OperationKind, Family<RequestResult, Counter>>,
    /// Requests that were refused or abandoned, by the code of their first error.
    pub refused: Family<Code, Counter>,
    /// Time from the variables of an operation to its plan and its estimated cost.
    pub plan: Histogram,
    /// Time to write the text of a response.
    pub write: Histogram,
    /// Work of executions, in units.
    pub work: Histogram,
    /// Requests whose response was in the response cache.
    pub cache_hits: Counter,
    /// Requests whose response could have been in the response cache and was not.
    pub cache_misses: Counter,
    /// Called with what is counted in `requests`, by the task that executes the request.
    pub(super) observer: Option<ResultObserver>,
}

/// Observes how requests end.
pub type ResultObserver = fn(OperationKind, RequestResult);

/// Creates an empty histogram of the duration of a phase.
pub(super) fn phase() -> Histogram {
    Histogram::new(DURATION_BOUNDS)
}

impl Default for EngineMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            refused: Family::default(),
            plan: phase(),
            write: phase(),
            work: Histogram::new(WORK_BOUNDS),
            cache_hits: Counter::default(),
            cache_misses: Counter::default(),
            observer: None,
        }
    }
}

impl EngineMetrics {
    /// Counts a request.
    pub fn count(&self, kind: OperationKind, result: RequestResult) {
        self.requests[kind][result].inc();
        if let Some(observe) = self.observer {
            observe(kind, result);
        }
    }

    /// Counts a request that was refused with this code.
    pub fn refuse(&self, kind: OperationKind, code: Code) {
        self.count(kind, RequestResult::from_code(code));
        self.refused[code].inc();
    }

    /// Counts a request that was refused with these errors, by the first.
    pub(super) fn refuse_all(&self, kind: OperationKind, errors: &[Error]) {
        self.refuse(
            kind,
            errors.first().map_or(Code::Internal, |error| error.code),
        );
    }

    /// Counts a query that was executed.
    pub(super) fn executed(&self, response: &Response) {
        match (response.outcome, response.refused) {
            (Outcome::Complete, _) => self.count(OperationKind::Query, RequestResult::Ok),
            (_, Some(code)) => self.refuse(OperationKind::Query, code),
            (_, None) => self.count(OperationKind::Query, RequestResult::Partial),
        }
    }
}

impl RequestResult {
    /// Returns whether requests of this kind can have the result. A subscription is counted when it
    /// starts.
    pub fn is_of(self, kind: OperationKind) -> bool {
        let is_of_response = matches!(
            self,
            Self::NotModified | Self::Cached | Self::Partial | Self::Timeout
        );
        kind == OperationKind::Query || !is_of_response
    }

    /// The result of a request that was refused or abandoned with this code.
    pub fn from_code(code: Code) -> Self {
        match code {
            Code::ParseFailed
            | Code::ValidationFailed
            | Code::BadUserInput
            | Code::OperationResolutionFailure
            | Code::PersistedQueryNotFound
            | Code::PersistedQueryHashMismatch
            | Code::QueryNotInSafelist
            | Code::CatalogChanged
            | Code::ManifestsNotFetched
            | Code::ManifestsRefused
            | Code::Forbidden => Self::Invalid,
            Code::MaxDepth
            | Code::MaxAliases
            | Code::MaxRootFields
            | Code::MaxDirectives
            | Code::MaxTokens
            | Code::CostEstimated
            | Code::CostActual
            | Code::MaxStreams
            | Code::Overloaded => Self::Limited,
            Code::Timeout => Self::Timeout,
            Code::ResponseTooLarge | Code::RequestTooLarge => Self::TooLarge,
            Code::Internal | Code::AuthorizationUnavailable | Code::ManifestsUnreachable => {
                Self::Internal
            }
        }
    }
}
