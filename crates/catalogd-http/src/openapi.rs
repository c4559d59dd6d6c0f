//! What the routes of this view are, for programs: an `OpenAPI` document.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use fbc::Digest;
use http_facts::preconditions::{EmptyBody, Validators, Verdict};
use sha2::{Digest as _, Sha256};

/// The document.
pub const OPENAPI: &str = include_str!("../../../openapi.json");

pub(super) async fn openapi(headers: HeaderMap) -> Response {
    let validators = Validators::new(&Digest::new(Sha256::digest(OPENAPI).into()).hex(), None);
    let tag = [(ETAG, validators.tag.as_str())];
    match validators.judge(&headers) {
        Verdict::Proceed => (tag, [(CONTENT_TYPE, "application/json")], OPENAPI).into_response(),
        Verdict::NotModified => (StatusCode::NOT_MODIFIED, tag, Body::new(EmptyBody)).into_response(),
        Verdict::Failed => (StatusCode::PRECONDITION_FAILED, tag).into_response(),
    }
}
