//! Why a batch is not done, as problem details (RFC 9457).

use axum::http::header::{ALLOW, CONTENT_TYPE, ETAG, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use fbc_grammar::Digest;
use serde_json::json;

use crate::{MAX_BATCH_BYTES, MAX_KEY_BYTES};

/// Why a batch is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditFailure {
    /// There is no such catalog that can be edited.
    NotEditable,
    /// The method is not POST.
    MethodNotAllowed,
    /// The body is not JSON by its type.
    MediaType,
    /// The length of the body is not given.
    LengthRequired,
    /// The body is too long.
    TooLarge,
    /// The body is no batch.
    Malformed(String),
    /// The batch has too many parts.
    TooMany {
        /// Which parts.
        what: &'static str,
        /// How many it may have.
        limit: usize,
    },
    /// The query asks for an unknown dry run.
    DryRun,
    /// The query has a parameter that edits do not have, by its name.
    Parameter(String),
    /// The idempotency key is empty, too long or not a string.
    Key,
    /// Another request had the idempotency key.
    KeyReused,
    /// The batch is for another content than the current one, which has this digest.
    PreconditionFailed(Digest),
    /// The content does not allow the batch.
    Refused(String),
    /// Too many batches wait, or another process edits the directory.
    Busy,
    /// Files cannot be read or written.
    Internal(String),
}

impl EditFailure {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotEditable => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::LengthRequired => StatusCode::LENGTH_REQUIRED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Malformed(_) | Self::DryRun | Self::Parameter(_) | Self::Key => {
                StatusCode::BAD_REQUEST
            }
            Self::TooMany { .. } | Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::PreconditionFailed(_) => StatusCode::PRECONDITION_FAILED,
            Self::Refused(_) => StatusCode::CONFLICT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::NotEditable => "there is no catalog of this name that can be edited".to_owned(),
            Self::MethodNotAllowed => "edits are posted".to_owned(),
            Self::MediaType => "the body must be application/json".to_owned(),
            Self::LengthRequired => "the request must have a Content-Length".to_owned(),
            Self::TooLarge => format!("the batch has more than {MAX_BATCH_BYTES} bytes"),
            Self::Malformed(reason) => format!("cannot read the batch: {reason}"),
            Self::TooMany { what, limit } => format!("the batch has more than {limit} {what}"),
            Self::DryRun => "cannot do this dry run: the only one is `dryRun=All`".to_owned(),
            Self::Parameter(name) => {
                format!("cannot use the query parameter {name:?}: the only one is `dryRun=All`")
            }
            Self::Key => {
                format!("the idempotency key must be a string of 1 to {MAX_KEY_BYTES} characters")
            }
            Self::KeyReused => "another request had this idempotency key".to_owned(),
            Self::PreconditionFailed(current) => {
                format!("the catalog has the content {current} now")
            }
            Self::Refused(reason) | Self::Internal(reason) => reason.clone(),
            Self::Busy => {
                "too many edits wait, or another process edits the catalog: try again".to_owned()
            }
        }
    }
}

impl IntoResponse for EditFailure {
    fn into_response(self) -> Response {
        let status = self.status();
        let title = status.canonical_reason().unwrap_or_default();
        let body = json!({ "title": title, "status": status.as_u16(), "detail": self.detail() })
            .to_string();
        let mut response =
            (status, [(CONTENT_TYPE, "application/problem+json")], body).into_response();
        let header = match self {
            Self::Busy => Some((RETRY_AFTER, HeaderValue::from_static("1"))),
            Self::MethodNotAllowed => Some((ALLOW, HeaderValue::from_static("POST"))),
            Self::PreconditionFailed(current) => HeaderValue::try_from(format!("\"{current}\""))
                .ok()
                .map(|etag| (ETAG, etag)),
            _ => None,
        };
        response.headers_mut().extend(header);
        response
    }
}
