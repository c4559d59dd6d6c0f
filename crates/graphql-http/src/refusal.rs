//! Responses to requests that exceed a limit of the transport: errors with codes in JSON, as for
//! every other error.

use std::time::Duration;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use graphql::errors::{Code, Error, Outcome};

use super::response::MediaType;

/// Time after which clients may retry a request that found no room.
const RETRY_OVERLOADED: Duration = Duration::from_secs(1);

/// Time after which clients may retry to open a stream.
const RETRY_STREAM: Duration = Duration::from_secs(10);

/// The error of a response that finds no room in the budget for unread bytes.
pub(super) fn unread() -> Error {
    Error::request(
        Code::Overloaded,
        "too many unread response bytes are buffered: try again later",
    )
}

/// The error of a request that finds no room in the budget for waiting requests.
pub(super) fn waiting() -> Error {
    Error::request(
        Code::Overloaded,
        "too many bytes of requests are queued: try again later",
    )
}

/// The error of a stream beyond the maximum number of streams.
pub(super) fn streams() -> Error {
    Error::request(
        Code::MaxStreams,
        "the maximum number of streams is open: try again later",
    )
}

/// The error of a request that may take more than this many bytes once it is parsed.
pub(super) fn heavy(maximum: usize) -> Error {
    let message = format!(
        "the request could take more than {maximum} bytes once it is parsed: send less at a time"
    );
    Error::request(Code::RequestTooLarge, message)
}

/// The response to a request that may be sent again a little later.
pub(super) fn overloaded(error: &Error, media: MediaType) -> Response {
    let seconds = if error.code == Code::MaxStreams {
        RETRY_STREAM
    } else {
        RETRY_OVERLOADED
    }
    .as_secs();
    let mut response = respond(StatusCode::SERVICE_UNAVAILABLE, error, media);
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// The response to a request that is refused with an error.
pub(super) fn respond(status: StatusCode, error: &Error, media: MediaType) -> Response {
    let body = graphql::Response::from_errors(std::slice::from_ref(error), Outcome::Refused).body;
    let no_store = HeaderValue::from_static("no-store");
    let content_type = HeaderValue::from_static(media.content_type());
    (
        status,
        [(CONTENT_TYPE, content_type), (CACHE_CONTROL, no_store)],
        body,
    )
        .into_response()
}
