//! Icons of packages (`packagemanifests/NAME/icon`).
//!
//! The authors of packages are not trusted. The media type is detected from the bytes, not taken
//! from the package, and the headers keep a browser that opens an icon from running its scripts.

use axum::http::header::{CONTENT_SECURITY_POLICY, ETAG};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use fbc::detect_media_type;
use fbc_grammar::Digest;
use fbc_read::manifest::Manifests;
use http_content::preconditions::{PreconditionResult, Validators};
use sha2::{Digest as _, Sha256};

use crate::collection::Collection;
use crate::manifest;
use crate::published::PublishedState;
use crate::response;

/// Icon of a package that has none: a grey square with round corners.
const DEFAULT: &[u8] = br##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8" rx="1" fill="#b8b8b8"/></svg>"##;

/// Responds with the icon of a package.
pub(crate) fn respond(
    head: &Parts,
    collection: &Collection,
    state: &PublishedState,
    name: &str,
) -> Response {
    let Some(index) = collection.find(state, name) else {
        let mut response = response::typed("", "");
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let item = collection.item(state, index);
    let package = item.package();
    let icon = package.and_then(|package| manifest::icon(package, &mut Manifests::default()));
    let bytes = icon.unwrap_or_else(|| DEFAULT.to_vec());
    let digest = Digest::new(Sha256::digest(&bytes).into()).to_string();
    let validators = Validators::new(&digest, None);
    let is_known = validators.evaluate(&head.headers) == PreconditionResult::NotModified;
    let media_type = detect_media_type(&bytes).unwrap_or("application/octet-stream");
    let mut response = response::typed(if is_known { Vec::new() } else { bytes }, media_type);
    response::protect(&mut response);
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    if let Ok(etag) = HeaderValue::from_str(&validators.etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    response
}
