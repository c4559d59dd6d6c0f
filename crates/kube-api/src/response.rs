//! Responses in one piece, and the headers that all have.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::Value;

use crate::negotiation::Format;
use crate::status::Status;

/// Value of `Cache-Control`: what callers may see differs, and changes at any time.
pub(crate) const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache, private");

/// Maximum number of bytes of JSON that are converted to YAML, or to JSON with line breaks, for one
/// response: every value is parsed and written anew for that, which takes up to a quarter of a
/// second of a processor for so many.
pub const MAX_CONVERTED_BYTES: usize = 8 << 20;

/// Fails if so many bytes of JSON are too many for a format.
pub(crate) fn check_convertible(length: usize, format: Format) -> Result<(), Status> {
    let name = match format {
        Format::Yaml if length > MAX_CONVERTED_BYTES => "YAML",
        Format::PrettyJson if length > MAX_CONVERTED_BYTES => "`pretty`",
        _ => return Ok(()),
    };
    Err(Status::not_acceptable(format!(
        "cannot write the response as {name}: it has more than {MAX_CONVERTED_BYTES} bytes: accept application/json without \
         `pretty`, or ask for a page with `limit`"
    )))
}

/// Returns a response with a JSON text in a format.
pub(crate) fn whole(json: Vec<u8>, format: Format) -> Response {
    typed(convert(json, format), format.media_type())
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

/// Returns whether a request says that a header has this value in its list.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    use http_content::coding::Coding;
    http_content::negotiation::AcceptableCodings::from_headers(headers).contains(Coding::Gzip)
}

/// Converts JSON text to a format.
pub(crate) fn convert(json: Vec<u8>, format: Format) -> Vec<u8> {
    if format == Format::Json {
        return json;
    }
    let value: Value = serde_json::from_slice(&json).expect("what is written here is JSON");
    value_text(&value, format).into_bytes()
}

/// Returns the text of a value in a format for people.
pub(crate) fn value_text(value: &Value, format: Format) -> String {
    match format {
        Format::Json => value.to_string(),
        Format::PrettyJson => serde_json::to_string_pretty(value).expect("a value is JSON"),
        Format::Yaml => serde_saphyr::to_string(value).expect("a value is YAML"),
    }
}
