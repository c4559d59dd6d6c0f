//! Errors of requests that are not routed: JSON with an error and its code for clients that send or
//! accept JSON, text for others.

use axum::extract::Request;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};

/// An error that the server responds with in place of a route.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The `Host` header is missing, malformed or given twice, in the words of Go.
    #[error("400 Bad Request: {0} Host header")]
    HostHeader(&'static str),
    /// The request names a host that the server does not answer for (DNS rebinding).
    #[error(
        "421 Misdirected Request: this server does not answer for the host `{0}`: allow it with --allowed-host"
    )]
    HostNotAllowed(String),
    /// No response began in time.
    #[error("the request took too long")]
    Timeout,
    /// Every ordinary connection slot is taken by a busy connection.
    #[error("as many connections are open as may be: try again")]
    Overloaded,
    /// Catalogs are loading for the first time, so that the response would lack them.
    #[error("catalogs are loading for the first time: try again")]
    NotReady,
    /// The caller has no valid credentials.
    #[error("Unauthorized")]
    Unauthenticated,
    /// The caller may not do this. The text is that of the servers of Kubernetes.
    #[error("{0}")]
    Forbidden(String),
    /// Authorization is not available.
    #[error("{0}")]
    Undecided(String),
    /// The header with minimum revisions is malformed.
    #[error("400 Bad Request: {0}")]
    MinimumRevision(String),
    /// The content of a catalog is presumed to be older than one that the client has seen.
    #[error("the catalog `{0}` has not reached the minimum revision: try again, or without it")]
    RevisionNotReached(String),
    /// Too many requests wait for a minimum revision.
    #[error("too many requests wait for a minimum revision: try again")]
    RevisionQueueFull,
}

/// The header that selects the media type of errors: `Content-Type` of `POST`, else `Accept`.
pub struct ErrorFormat(Option<HeaderValue>);

impl ErrorFormat {
    /// Returns the format for a request: JSON if it has such a body, or accepts JSON by name.
    pub fn from_request<B>(request: &Request<B>) -> Self {
        let header = if request.method() == Method::POST {
            CONTENT_TYPE
        } else {
            ACCEPT
        };
        Self(request.headers().get(header).cloned())
    }

    fn is_json(&self) -> bool {
        let media = self
            .0
            .as_ref()
            .and_then(|media| media.to_str().ok())
            .unwrap_or_default();
        media.contains("application/json") || media.contains("application/graphql-response+json")
    }
}

impl HttpError {
    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::HostHeader(_) | Self::MinimumRevision(_) => {
                (StatusCode::BAD_REQUEST, "BAD_REQUEST")
            }
            Self::HostNotAllowed(_) => (StatusCode::MISDIRECTED_REQUEST, "HOST_NOT_ALLOWED"),
            Self::Timeout => (StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT"),
            Self::Overloaded | Self::RevisionQueueFull => {
                (StatusCode::SERVICE_UNAVAILABLE, "SERVER_OVERLOADED")
            }
            Self::NotReady => (StatusCode::SERVICE_UNAVAILABLE, "NOT_READY"),
            Self::Unauthenticated => (StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"),
            Self::Forbidden(_) => (StatusCode::FORBIDDEN, "FORBIDDEN"),
            Self::Undecided(_) => (StatusCode::SERVICE_UNAVAILABLE, "AUTHORIZATION_UNAVAILABLE"),
            Self::RevisionNotReached(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "REVISION_NOT_REACHED")
            }
        }
    }

    /// Returns the body for clients that take no JSON: a line, which a terminal shows before its
    /// prompt. Bodies about callers are those of the servers of Kubernetes, and those about the
    /// `Host` header those of Go.
    fn text(&self) -> String {
        match self {
            Self::HostHeader(_)
            | Self::Unauthenticated
            | Self::Forbidden(_)
            | Self::Undecided(_) => self.to_string(),
            _ => format!("{self}\n"),
        }
    }

    /// Responds to the request.
    pub fn respond(&self, format: &ErrorFormat) -> Response {
        let (status, code) = self.status_and_code();
        let mut response = if format.is_json() {
            let error =
                serde_json::json!({ "message": self.to_string(), "extensions": { "code": code } });
            let json = serde_json::json!({ "errors": [error] }).to_string();
            ([(CONTENT_TYPE, "application/json; charset=utf-8")], json).into_response()
        } else {
            self.text().into_response()
        };
        *response.status_mut() = status;
        let headers: &[_] = match self {
            Self::HostHeader(_) => &[(CONNECTION, "close")],
            // The response repeats text of the request, which no browser may take for HTML.
            Self::HostNotAllowed(_) => &[(X_CONTENT_TYPE_OPTIONS, "nosniff")],
            Self::Overloaded => &[(RETRY_AFTER, "1")],
            Self::Timeout => &[],
            // Rights may change at any time, so that no cache may keep what follows from them.
            Self::Unauthenticated => &[(WWW_AUTHENTICATE, "Bearer"), (CACHE_CONTROL, "no-store")],
            Self::Forbidden(_) => &[
                (X_CONTENT_TYPE_OPTIONS, "nosniff"),
                (CACHE_CONTROL, "no-store"),
            ],
            Self::Undecided(_) | Self::NotReady | Self::RevisionQueueFull => {
                &[(RETRY_AFTER, "1"), (CACHE_CONTROL, "no-store")]
            }
            Self::MinimumRevision(_) => &[(CACHE_CONTROL, "no-store")],
            // A source has been checked or loaded by then.
            Self::RevisionNotReached(_) => &[(RETRY_AFTER, "2"), (CACHE_CONTROL, "no-store")],
        };
        let headers = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        response.headers_mut().extend(headers);
        response
    }
}
