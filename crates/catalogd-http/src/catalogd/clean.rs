//! Redirects paths with empty, `.` or `..` segments to their shortest equivalent, as Go's
//! `ServeMux` does. Clients that join a base URL that ends with a slash and a path rely on it.

use std::fmt::Write;

use axum::extract::Request;
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use super::responses;

/// Maximum length in bytes of a request target (path and query). A longer one is answered with 414.
pub const MAX_TARGET_BYTES: usize = 16 * 1024;

/// Middleware that redirects such paths and refuses targets that are too long.
pub(super) async fn redirect(request: Request, next: Next) -> Response {
    let uri = request.uri();
    if uri
        .path_and_query()
        .is_some_and(|target| target.as_str().len() > MAX_TARGET_BYTES)
    {
        return responses::target_too_long();
    }
    let clean = clean(uri.path());
    if clean == uri.path() || request.method() == Method::CONNECT {
        return next.run(request).await;
    }
    let query = uri
        .query()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    responses::redirect(
        request.method(),
        &encode_non_ascii(&format!("{clean}{query}")),
    )
}

/// Returns the shortest equivalent path, like Go's `path.Clean`, but keeps a slash at the end.
fn clean(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let trailing_slash = if path.ends_with('/') && !segments.is_empty() {
        "/"
    } else {
        ""
    };
    format!("/{}{trailing_slash}", segments.join("/"))
}

/// Percent-encodes characters beyond ASCII, which `Location` may not contain.
fn encode_non_ascii(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            encoded.push(letter);
        } else {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                write!(encoded, "%{byte:02X}").expect("writing to a string does not fail");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
