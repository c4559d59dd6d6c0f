//! Icons by the digest of their image: what a URL leads to never changes.
//!
//! An icon is whatever the author of a package put there. A browser that is led straight to one runs nothing of it and
//! fetches nothing for it.

use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use fbc::Digest;
use http_facts::preconditions::{PreconditionResult, Validators};
use serving::Catalogs;

/// The icon of a digest in hexadecimal digits, of a content that is served or was a short while ago.
pub(super) async fn icon(State(catalogs): State<Catalogs>, Path(digest): Path<String>, headers: HeaderMap) -> Response {
    let found = Digest::parse(&format!("sha256:{digest}")).and_then(|digest| catalogs.snapshot().icon(&digest));
    let Some(icon) = found else {
        let head = [(CACHE_CONTROL, "no-store")];
        return (StatusCode::NOT_FOUND, head, "no catalog has this icon\n").into_response();
    };
    let validators = Validators::new(&digest, None);
    let head = [
        (ETAG, validators.etag.as_str()),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    ];
    if validators.evaluate(&headers) == PreconditionResult::NotModified {
        // Or else it would be said to be 0, which caches take for the length of what they have.
        let length = [(CONTENT_LENGTH, icon.bytes.len())];
        return (StatusCode::NOT_MODIFIED, head, length).into_response();
    }
    (head, [(CONTENT_TYPE, icon.media_type)], icon.bytes).into_response()
}

#[cfg(test)]
mod tests;
