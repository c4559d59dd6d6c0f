//! Errors and responses for requests that exceed a limit of the transport: JSON with error codes,
//! as for every other error.

use std::time::Duration;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use graphql::errors::{Code, Error, Outcome};

use super::media_type::MediaType;

/// Time after which clients may retry a request beyond a budget.
const RETRY_OVERLOADED: Duration = Duration::from_secs(1);

/// Time after which clients may retry to open a stream. Longer, because streams stay open.
const RETRY_STREAM: Duration = Duration::from_secs(10);

/// Returns the error of a response beyond the budget for unread bytes.
pub(super) fn unread_responses() -> Error {
    Error::request(
        Code::Overloaded,
        "too many unread response bytes are buffered: try again later",
    )
}

/// Returns the error of a request beyond the budget for queued requests.
pub(super) fn queued_requests() -> Error {
    Error::request(
        Code::Overloaded,
        "too many bytes of requests are queued: try again later",
    )
}

/// Returns the error of a stream beyond the maximum number of streams.
pub(super) fn open_streams() -> Error {
    Error::request(
        Code::MaxStreams,
        "the maximum number of streams is open: try again later",
    )
}

/// Returns the error of a request that may take more than this many bytes once it is parsed.
pub(super) fn request_weight(maximum: usize) -> Error {
    let message = format!(
        "the request could take more than {maximum} bytes once it is parsed: send less at a time"
    );
    Error::request(Code::RequestTooLarge, message)
}

/// Returns the response to a request that the client may repeat after a delay.
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

/// Returns the response to a request that is refused with an error.
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
