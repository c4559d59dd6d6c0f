//! Responses to requests that the listener does not pass on: JSON with an error and its code for clients that exchange
//! JSON, text for others.

use axum::extract::Request;
use axum::http::header::{ACCEPT, CONNECTION, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};

/// A request that the listener does not pass on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The `Host` header is missing, malformed or given twice, in the words of Go.
    #[error("400 Bad Request: {0} Host header")]
    HostHeader(&'static str),
    /// The request names a host that the server does not answer for.
    #[error("421 Misdirected Request: this server does not answer for the host `{0}`: allow it with --allowed-host")]
    HostNotAllowed(String),
    /// No response began in time.
    #[error("the request took too long")]
    Timeout,
    /// Every ordinary place is taken by a busy connection.
    #[error("as many connections are open as may be: try again")]
    Overloaded,
}

/// What selects the media type of errors: the type of a body, or what else is accepted.
pub(super) struct ErrorFormat(Option<HeaderValue>);

impl ErrorFormat {
    /// Returns the format for a request: JSON if it has such a body, or accepts JSON by name.
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        let header = if request.method() == Method::POST { CONTENT_TYPE } else { ACCEPT };
        Self(request.headers().get(header).cloned())
    }

    fn is_json(&self) -> bool {
        let media = self.0.as_ref().and_then(|media| media.to_str().ok()).unwrap_or_default();
        media.contains("application/json") || media.contains("application/graphql-response+json")
    }
}

impl Refusal {
    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::HostHeader(_) => (StatusCode::BAD_REQUEST, "BAD_REQUEST"),
            Self::HostNotAllowed(_) => (StatusCode::MISDIRECTED_REQUEST, "HOST_NOT_ALLOWED"),
            Self::Timeout => (StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT"),
            Self::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "SERVER_OVERLOADED"),
        }
    }

    pub(super) fn respond(&self, format: &ErrorFormat) -> Response {
        let (status, code) = self.status_and_code();
        let mut response = if format.is_json() {
            let error = serde_json::json!({ "message": self.to_string(), "extensions": { "code": code } });
            let json = serde_json::json!({ "errors": [error] }).to_string();
            ([(CONTENT_TYPE, "application/json; charset=utf-8")], json).into_response()
        } else {
            self.to_string().into_response()
        };
        *response.status_mut() = status;
        let header = match self {
            Self::HostHeader(_) => Some((CONNECTION, "close")),
            // The response repeats what the request says.
            Self::HostNotAllowed(_) => Some((X_CONTENT_TYPE_OPTIONS, "nosniff")),
            Self::Overloaded => Some((RETRY_AFTER, "1")),
            Self::Timeout => None,
        };
        response.headers_mut().extend(header.map(|(name, value)| (name, HeaderValue::from_static(value))));
        response
    }
}
