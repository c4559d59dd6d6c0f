//! Responses in one piece, and the headers that all have.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::Value;

use crate::negotiation::Serialization;
use crate::status::Status;

/// Number of bytes of a list that are written at a time. As upstream does, shorter responses are
/// never compressed.
pub const CHUNK_BYTES: usize = 128 * 1024;

/// Value of `Cache-Control`. Responses depend on the caller's rights, and change at any time.
pub(crate) const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache, private");

/// Maximum number of bytes of JSON that are converted to YAML, or to JSON with line breaks, for one
/// response: every value is parsed and written anew for that, which takes up to a quarter of a
/// second of a processor for so many.
pub const MAX_CONVERTED_BYTES: usize = 8 << 20;

/// Checks that this many bytes of JSON may be converted.
///
/// # Errors
/// They are more than [`MAX_CONVERTED_BYTES`].
pub(crate) fn check_convertible(length: usize, serialization: Serialization) -> Result<(), Status> {
    let name = match serialization {
        Serialization::Yaml if length > MAX_CONVERTED_BYTES => "YAML",
        Serialization::PrettyJson if length > MAX_CONVERTED_BYTES => "`pretty`",
        _ => return Ok(()),
    };
    Err(Status::not_acceptable(format!(
        "cannot write the response as {name}: it has more than {MAX_CONVERTED_BYTES} bytes: accept application/json without \
         `pretty`, or ask for a page with `limit`"
    )))
}

/// Returns a response with a JSON text, converted to a serialization.
pub(crate) fn whole(json: Vec<u8>, serialization: Serialization) -> Response {
    typed(convert(json, serialization), serialization.media_type())
}

/// Returns a response of a media type.
pub(crate) fn typed(body: impl Into<Body>, media_type: &str) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CACHE_CONTROL, NO_CACHE);
    if let Ok(media_type) = HeaderValue::from_str(media_type) {
        response.headers_mut().insert(CONTENT_TYPE, media_type);
    }
    response
}

/// Returns an error in a serialization, with a continue token for the rest of a list if there is
/// one.
pub(crate) fn error(
    status: &Status,
    serialization: Serialization,
    token: Option<&str>,
) -> Response {
    let object = status.object(token).to_string();
    let mut response = whole(object.into_bytes(), serialization);
    *response.status_mut() = status.code;
    // As upstream does: the message quotes the request, in which a browser could find HTML.
    if status.code == StatusCode::FORBIDDEN {
        protect(&mut response);
    }
    response
}

/// Returns a response of plain text, as probes have it.
pub(crate) fn text(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = typed(text, "text/plain; charset=utf-8");
    *response.status_mut() = status;
    protect(&mut response);
    response
}

/// Tells browsers not to guess the media type.
pub(crate) fn protect(response: &mut Response) {
    response
        .headers_mut()
        .insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Returns whether a request accepts responses with gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    use http_content::coding::Coding;
    http_content::negotiation::AcceptableCodings::from_headers(headers).contains(Coding::Gzip)
}

/// Converts JSON text to a serialization.
pub(crate) fn convert(json: Vec<u8>, serialization: Serialization) -> Vec<u8> {
    if serialization == Serialization::Json {
        return json;
    }
    let value: Value = serde_json::from_slice(&json).expect("this crate writes JSON");
    value_text(&value, serialization).into_bytes()
}

/// Returns the text of a value in a serialization.
pub(crate) fn value_text(value: &Value, serialization: Serialization) -> String {
    match serialization {
        Serialization::Json => value.to_string(),
        Serialization::PrettyJson => serde_json::to_string_pretty(value).expect("a value is JSON"),
        Serialization::Yaml => serde_saphyr::to_string(value).expect("a value is YAML"),
    }
}
