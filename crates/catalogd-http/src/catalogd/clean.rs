//! Paths with empty, `.` or `..` segments: whoever asks for one is sent to the path that is meant, as Go's `ServeMux`
//! does. Clients that join a base URL ending in a slash with a path rely on it.

use std::fmt::Write;

use axum::extract::Request;
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use super::texts;

/// Bytes of a target, path and query, that are read; a longer one is refused with 414.
pub const MAX_TARGET_BYTES: usize = 16 * 1024;

pub(super) async fn redirect(request: Request, next: Next) -> Response {
    let uri = request.uri();
    if uri.path_and_query().is_some_and(|target| target.as_str().len() > MAX_TARGET_BYTES) {
        return texts::target_too_long();
    }
    let clean = clean(uri.path());
    if clean == uri.path() || request.method() == Method::CONNECT {
        return next.run(request).await;
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    texts::redirect(request.method(), &visible(&format!("{clean}{query}")))
}

/// The shortest path that means the same: Go's `path.Clean`, but with the slash at the end kept.
fn clean(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let end = if path.ends_with('/') && !segments.is_empty() { "/" } else { "" };
    format!("/{}{end}", segments.join("/"))
}

/// A location has no letters beyond ASCII.
fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            visible.push(letter);
        } else {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                write!(visible, "%{byte:02X}").expect("a string takes whatever is written");
            }
        }
    }
    visible
}

#[cfg(test)]
mod tests;
