//! Icons by the digest of their bytes, so that the response to a URL never changes.
//!
//! The author of a package decides what an icon contains. The response headers keep a browser that
//! opens one from running its scripts and from loading anything for it.

use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Extensions, HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use fbc_grammar::Digest;
use http_content::preconditions::{PreconditionResult, Validators};
use serving::Catalogs;

use super::catalogs_of;

/// Responds with the icon that has a digest, given in hexadecimal digits, if a content has it that
/// is served or was served shortly before.
pub(super) async fn icon(
    State(catalogs): State<Catalogs>,
    extensions: Extensions,
    Path(digest): Path<String>,
    headers: HeaderMap,
) -> Response {
    let catalogs = catalogs_of(&extensions, &catalogs);
    let found = Digest::parse(&format!("sha256:{digest}"))
        .and_then(|digest| catalogs.snapshot().icon(&digest));
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
        // Without it the server adds a length of 0, which caches take for the length of the icon.
        let length = [(CONTENT_LENGTH, icon.bytes.len())];
        return (StatusCode::NOT_MODIFIED, head, length).into_response();
    }
    (head, [(CONTENT_TYPE, icon.media_type)], icon.bytes).into_response()
}

#[cfg(test)]
mod tests;
