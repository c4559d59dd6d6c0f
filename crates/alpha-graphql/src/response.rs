//! Responses, in upstream's forms.

use admission::PeerPermit;
use axum::body::Bytes;
use axum::http::header::{
    ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, LINK, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use graphql::EncodedResponse;
use graphql::errors::{self, Error};

/// Date of the deprecation in favour of `/graphql` (RFC 9745): 2026-08-21, when the version of
/// catalogd with this dialect was released.
const DEPRECATION: HeaderValue = HeaderValue::from_static("@1787270400");

/// Link to `/graphql`, relative, so that it holds below a path prefix too.
const SUCCESSOR: HeaderValue =
    HeaderValue::from_static("<../../../../graphql>; rel=\"successor-version\"");

/// Bytes of a response with their permit.
struct CountedBytes {
    bytes: Bytes,
    /// Released with the memory.
    _permit: Option<PeerPermit>,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns the response with this text, whose bytes hold a permit until they are sent.
pub(crate) fn json(encoded: EncodedResponse, permit: Option<PeerPermit>) -> Response {
    let mut response = Bytes::from_owner(CountedBytes {
        bytes: encoded.bytes,
        _permit: permit,
    })
    .into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(coding) = encoded.coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    }
    deprecated(response)
}

/// Returns the JSON text of a response with errors and without data.
pub(crate) fn error_text(errors: &[Error]) -> Vec<u8> {
    let mut text = b"{\"data\":null,\"errors\":".to_vec();
    errors::write_list(errors, &mut text);
    text.extend_from_slice(b"}\n");
    text
}

/// Returns the response to an invalid request.
pub(crate) fn bad_request(message: &str) -> Response {
    plain(StatusCode::BAD_REQUEST, message)
}

/// Returns the response about a catalog that is not served, or that the caller may not see.
pub(crate) fn not_found() -> Response {
    plain(StatusCode::NOT_FOUND, "404 Not Found")
}

/// Returns the response to every method but `POST`.
pub(crate) fn method_not_allowed() -> Response {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

/// Returns the response to a request that the client may repeat: it is beyond a budget, or for a
/// catalog that is not loaded yet.
pub(crate) fn unavailable() -> Response {
    let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, "503 Service Unavailable");
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn plain(status: StatusCode, text: &str) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    deprecated((status, headers, format!("{text}\n")).into_response())
}

/// Adds the headers of every response: it varies by coding, and `/graphql` is its successor.
pub(crate) fn deprecated(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.insert(HeaderName::from_static("deprecation"), DEPRECATION);
    headers.insert(LINK, SUCCESSOR);
    response
}
