//! Errors of requests, as problem details (RFC 9457).

use std::collections::BTreeSet;
use std::error::Error;

use axum::http::header::{ALLOW, CONTENT_TYPE, ETAG, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use edit::input::{BatchReadError, InputError};
use edit::{BatchError, EditError, refusal};
use edit_directory::DirectoryEditError;
use fbc_grammar::Digest;
use serde_json::json;
use tokio::task::JoinError;

use crate::{MAX_BATCH_BYTES, MAX_KEY_BYTES};

/// A batch was not applied. The message is the `detail` of the response.
#[derive(Debug, thiserror::Error)]
pub enum EditRequestError {
    /// No catalog of this name can be edited.
    #[error("no catalog `{0}` can be edited: start the server with --editable {0}=DIR")]
    NotEditable(String),
    /// The method is not POST.
    #[error("edits are posted")]
    MethodNotAllowed,
    /// The media type of the body is not JSON's.
    #[error("the body must be application/json")]
    UnsupportedMediaType,
    /// The request does not declare the length of its body.
    #[error("the request must have a Content-Length")]
    LengthRequired,
    /// The body is too long.
    #[error("the batch has more than {MAX_BATCH_BYTES} bytes")]
    TooLarge,
    /// The body is not an array of operations.
    #[error("cannot read the batch: {0}")]
    Batch(#[from] BatchReadError),
    /// A bundle of the batch cannot be rendered.
    #[error("cannot read the batch: {0}")]
    Bundle(#[source] InputError),
    /// The batch exceeds a limit.
    #[error("the batch has more than {limit} {what}")]
    TooMany {
        /// The limited parts, in the plural.
        what: &'static str,
        /// Maximum number of them.
        limit: usize,
    },
    /// The value of `dryRun` is not `All`.
    #[error("cannot do this dry run: the only one is `dryRun=All`")]
    DryRun,
    /// The query has an unknown parameter.
    #[error("cannot use the query parameter {0:?}: the only one is `dryRun=All`")]
    Parameter(String),
    /// The idempotency key is empty, too long or not a string.
    #[error("the idempotency key must be a string of 1 to {MAX_KEY_BYTES} characters")]
    Key,
    /// Another request had the idempotency key.
    #[error("another request had this idempotency key")]
    KeyReused,
    /// The batch is for another content than the current one, which has this digest.
    #[error("the catalog has the content {0} now")]
    PreconditionFailed(Digest),
    /// The operations cannot be applied, or their result cannot be written.
    #[error(transparent)]
    Refused(DirectoryEditError),
    /// The operations cannot be applied, for these reasons.
    #[error("{0}")]
    Rejected(String),
    /// Too many batches are queued, or others change the directory.
    #[error("too many edits wait, or another process edits the catalog: try again")]
    Busy,
    /// Files cannot be read or written.
    #[error("{}", with_causes(.0))]
    Directory(DirectoryEditError),
    /// The response that the journal has for an idempotency key is damaged.
    #[error("cannot read the journal of edits: no digest for `{0}`")]
    JournalEntry(String),
    /// The task of the request panicked.
    #[error(transparent)]
    Task(#[from] JoinError),
}

impl From<DirectoryEditError> for EditRequestError {
    fn from(error: DirectoryEditError) -> Self {
        if let DirectoryEditError::Batch(batch) = &error
            && let Some(exceeded) = batch.0.iter().find_map(Self::from_exceeded_limit)
        {
            return exceeded;
        }
        if error.is_conflict() {
            Self::Busy
        } else if error.is_internal() {
            Self::Directory(error)
        } else {
            Self::Refused(error)
        }
    }
}

impl EditRequestError {
    /// Makes the error of operations that cannot be applied to a catalog with these packages.
    pub(crate) fn from_plan(error: DirectoryEditError, packages: &BTreeSet<String>) -> Self {
        match Self::from(error) {
            Self::Refused(DirectoryEditError::Batch(BatchError(errors))) => {
                Self::Rejected(refusal::message(&errors, packages))
            }
            other => other,
        }
    }

    fn from_exceeded_limit(error: &EditError) -> Option<Self> {
        match *error {
            EditError::TooManyEdges(limit) => Some(Self::TooMany {
                what: "entries and skips in the packages that change",
                limit,
            }),
            EditError::TooManyBytes(limit) => Some(Self::TooMany {
                what: "bytes in the packages that change",
                limit,
            }),
            _ => None,
        }
    }

    /// Returns the status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NotEditable(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::LengthRequired => StatusCode::LENGTH_REQUIRED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Batch(_) | Self::Bundle(_) | Self::DryRun | Self::Parameter(_) | Self::Key => {
                StatusCode::BAD_REQUEST
            }
            Self::TooMany { .. } | Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::PreconditionFailed(_) => StatusCode::PRECONDITION_FAILED,
            Self::Refused(_) | Self::Rejected(_) => StatusCode::CONFLICT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Directory(_) | Self::JournalEntry(_) | Self::Task(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }

    /// Returns the header that the status asks for, if any.
    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Busy => Some((RETRY_AFTER, HeaderValue::from_static("1"))),
            Self::MethodNotAllowed => Some((ALLOW, HeaderValue::from_static("POST"))),
            // The client can compare the current content without another request.
            Self::PreconditionFailed(current) => HeaderValue::try_from(format!("\"{current}\""))
                .ok()
                .map(|etag| (ETAG, etag)),
            _ => None,
        }
    }
}

impl IntoResponse for EditRequestError {
    fn into_response(self) -> Response {
        let status = self.status();
        let problem = json!({
            "title": status.canonical_reason().unwrap_or_default(),
            "status": status.as_u16(),
            "detail": self.to_string(),
        });
        let content_type = [(CONTENT_TYPE, "application/problem+json")];
        let mut response = (status, content_type, problem.to_string()).into_response();
        response.headers_mut().extend(self.header());
        response
    }
}

/// Returns the message of an error with those of its causes.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
