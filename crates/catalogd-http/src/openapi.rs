//! The `OpenAPI` document that describes the routes of this view.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use fbc_grammar::Digest;
use http_content::preconditions::{EmptyBody, PreconditionResult, Validators};
use sha2::{Digest as _, Sha256};

/// Text of the document.
pub const OPENAPI: &str = include_str!("../../../openapi.json");

/// Responds with the document.
pub(super) async fn openapi(headers: HeaderMap) -> Response {
    let validators = Validators::new(&Digest::new(Sha256::digest(OPENAPI).into()).hex(), None);
    let tag = [(ETAG, validators.etag.as_str())];
    match validators.evaluate(&headers) {
        PreconditionResult::Satisfied => {
            (tag, [(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
        }
        PreconditionResult::NotModified => {
            (StatusCode::NOT_MODIFIED, tag, Body::new(EmptyBody)).into_response()
        }
        PreconditionResult::Failed => (StatusCode::PRECONDITION_FAILED, tag).into_response(),
    }
}
