//! Errors of requests, one variant for each reaction of a caller.

use std::error::Error as StdError;

/// Error of a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// There is no connection, or it ended before the response did.
    #[error("cannot reach {endpoint}")]
    Unreachable {
        /// URL of the server, or what is in front of it.
        endpoint: String,
        /// The reason.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server, or the API server in front of it, wants credentials or refuses these (401, 403).
    #[error("cannot query {endpoint}: {message}")]
    NotAllowed {
        /// URL of the server, or what is in front of it.
        endpoint: String,
        /// HTTP status.
        status: u16,
        /// The reason in English.
        message: String,
    },
    /// The server answers, and not with a result: a limit, a time-out, an invalid argument.
    #[error("the server refused the request: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Stable code, such as `COST_ESTIMATED_TOO_EXPENSIVE`; `None` where a proxy has answered.
        code: Option<String>,
        /// The reason in English.
        message: String,
        /// Path of the field that failed, such as `catalog/packages`; empty if the whole request
        /// did.
        path: String,
        /// Line and column in the document as it was sent, each from 1; `None` for an error that is
        /// at no place of it.
        location: Option<(usize, usize)>,
    },
    /// The content of a catalog changed while its pages were read, or is not the one that was asked
    /// for.
    #[error("the content of the catalogs changed while it was read: read it again")]
    Changed,
    /// Something answers at this URL, and it is no catalogql.
    #[error("cannot find catalogql at {endpoint}: {message}")]
    NotFound {
        /// URL of the request.
        endpoint: String,
        /// Description of the unexpected response.
        message: String,
    },
    /// The response is not what the document asks for.
    #[error("cannot read the response of {endpoint}")]
    Decode {
        /// URL of the server.
        endpoint: String,
        /// The fault.
        #[source]
        source: serde_json::Error,
    },
    /// The cluster has more objects of a kind than are read.
    #[error("cannot read what is installed: the cluster has more than {limit} {kind} objects")]
    TooManyObjects {
        /// Kind of the objects.
        kind: &'static str,
        /// Maximum number of objects.
        limit: usize,
    },
    /// Several servers are in the cluster: NAMESPACE/NAME of their Services.
    #[error("cannot tell which server is meant: {0}")]
    Ambiguous(String),
    /// The client is offline and has no cached response to this request.
    #[error("cannot answer offline: no response to this request is in the cache")]
    NotCached,
    /// The client cannot be set up: its URL, its certificates or its cache.
    #[error("cannot set up the client: {0}")]
    Setup(String),
}

impl ClientError {
    /// Returns whether the same request may succeed later without a change.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Changed => true,
            Self::Refused { status, .. } => is_retryable_status(*status),
            _ => false,
        }
    }
}

/// The message of an error with its causes.
#[cfg(feature = "kube")]
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some errors repeat their cause.
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Returns `true` for the statuses of a server that is busy or away: 429, 502, 503, 504.
pub(crate) fn is_retryable_status(status: u16) -> bool {
    matches!(status, 429 | 502..=504)
}
