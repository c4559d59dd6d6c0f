//! Responses without content, with catalogd's texts.

use axum::body::Body;
use axum::http::header::{
    ALLOW, CONTENT_RANGE, CONTENT_TYPE, LOCATION, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_content::preconditions::EmptyBody;

use super::super::ranges::RangeError;
use super::parts;

/// Error of a request, with catalogd's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CatalogdError {
    /// The catalog name is not a valid Kubernetes name.
    #[error("invalid catalog name: {0}")]
    Name(String),
    /// The query has unknown parameters or cannot be parsed.
    #[error("400 Bad Request")]
    Query,
    /// No catalog with this name is served.
    #[error("404 Not Found")]
    Catalog,
    /// The catalog is configured and not loaded yet: a 404 would tell that it is gone. Or the status
    /// of its object already has another content: clients keep what they read under its digest.
    #[error("503 Service Unavailable")]
    NotLoaded,
}

impl IntoResponse for CatalogdError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Name(_) | Self::Query => StatusCode::BAD_REQUEST,
            Self::Catalog => StatusCode::NOT_FOUND,
            Self::NotLoaded => return unavailable(),
        };
        text(status, &self.to_string())
    }
}

/// Returns a plain-text response; a line feed is appended.
fn text(status: StatusCode, text: &str) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, format!("{text}\n")).into_response()
}

/// Returns the 404 for a path without a route.
pub(super) fn not_found() -> Response {
    text(StatusCode::NOT_FOUND, "404 page not found")
}

/// Returns the 405 for a method other than `GET` and `HEAD`.
pub(super) fn method_not_allowed() -> Response {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

/// Returns the 414 for a request target that is too long.
pub(super) fn target_too_long() -> Response {
    text(StatusCode::URI_TOO_LONG, "414 URI Too Long")
}

/// Returns the 503 for a response beyond the budget for unread responses.
pub(super) fn overloaded() -> Response {
    unavailable()
}

fn unavailable() -> Response {
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, "503 Service Unavailable");
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Returns the 416 for a `Range` header and a content of `size` bytes.
pub(super) fn range_not_satisfiable(error: RangeError, size: usize) -> Response {
    let mut response = text(StatusCode::RANGE_NOT_SATISFIABLE, &error.to_string());
    if error == RangeError::Unsatisfiable {
        response
            .headers_mut()
            .insert(CONTENT_RANGE, parts::unsatisfied_range(size));
    }
    response
}

/// Redirects to another path, with the body that Go's `http.Redirect` writes.
pub(super) fn redirect(method: &Method, location: &str) -> Response {
    let Ok(to) = HeaderValue::try_from(location) else {
        return CatalogdError::Query.into_response();
    };
    let mut response = (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to)]).into_response();
    let is_get = method == Method::GET;
    if is_get || method == Method::HEAD {
        response.headers_mut().insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        );
        let link = format!(
            "<a href=\"{}\">Temporary Redirect</a>.\n\n",
            escape_html(location)
        );
        *response.body_mut() = if is_get {
            link.into()
        } else {
            Body::new(EmptyBody)
        };
    }
    response
}

/// Escapes text for HTML as Go does.
fn escape_html(text: &str) -> String {
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
