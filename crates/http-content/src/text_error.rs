//! Headers of errors that are texts for people.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};

/// Seconds after which a client should ask again for a catalog that is being loaded.
const RETRY_AFTER_SECONDS: u32 = 5;

/// Returns the headers of an error with a text. With `is_loading`, they tell when to try again.
pub fn text_error_headers(is_loading: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if is_loading {
        headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS.into());
    }
    headers
}
