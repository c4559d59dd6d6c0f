//! What catalogd says where it serves no content, word for word.

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_RANGE, CONTENT_TYPE, LOCATION, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_facts::preconditions::EmptyBody;

use super::super::ranges::RangeError;
use super::parts;

/// Why there is nothing to answer with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// The catalog has a name that Kubernetes does not allow.
    #[error("invalid catalog name: {0}")]
    Name(String),
    /// The query has other parameters, or cannot be read.
    #[error("400 Bad Request")]
    Query,
    /// No catalog of this name is served.
    #[error("404 Not Found")]
    Catalog,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Name(_) | Self::Query => StatusCode::BAD_REQUEST,
            Self::Catalog => StatusCode::NOT_FOUND,
        };
        text(status, &self.to_string())
    }
}

/// A text, with its line feed.
fn text(status: StatusCode, text: &str) -> Response {
    let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (status, headers, format!("{text}\n")).into_response()
}

/// No route is like this path.
pub(super) fn not_found() -> Response {
    text(StatusCode::NOT_FOUND, "404 page not found")
}

pub(super) fn method_not_allowed() -> Response {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

pub(super) fn target_too_long() -> Response {
    text(StatusCode::URI_TOO_LONG, "414 URI Too Long")
}

pub(super) fn range_not_satisfiable(error: RangeError, size: usize) -> Response {
    let mut response = text(StatusCode::RANGE_NOT_SATISFIABLE, &error.to_string());
    if error == RangeError::Unsatisfiable {
        response.headers_mut().insert(CONTENT_RANGE, parts::no_range(size));
    }
    response
}

/// The same under another path, in the words of Go's `http.Redirect`.
pub(super) fn redirect(method: &Method, location: &str) -> Response {
    let Ok(to) = HeaderValue::try_from(location) else { return Refusal::Query.into_response() };
    let mut response = (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to)]).into_response();
    let is_get = method == Method::GET;
    if is_get || method == Method::HEAD {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        let link = format!("<a href=\"{}\">Temporary Redirect</a>.\n\n", escaped(location));
        *response.body_mut() = if is_get { link.into() } else { Body::new(EmptyBody) };
    }
    response
}

/// As Go escapes for HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&#34;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}
