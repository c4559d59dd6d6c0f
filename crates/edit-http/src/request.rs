//! The head of a request: media type, query, preconditions and idempotency key.

use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, IF_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Uri};
use fbc_grammar::Digest;
use http_content::preconditions::{PreconditionResult, Validators};

use crate::error::EditRequestError;
use crate::{MAX_BATCH_BYTES, MAX_KEY_BYTES};

/// Name of the header with the key (draft-ietf-httpapi-idempotency-key-header).
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The head of a request for an edit.
#[derive(Debug)]
pub(crate) struct EditRequest {
    /// Values of `If-Match`.
    preconditions: HeaderMap,
    /// Idempotency key; `None` for a dry run, which uses up no key.
    pub(crate) key: Option<String>,
    /// Nothing is written, and the response says what the edit would change.
    pub(crate) is_dry_run: bool,
    /// Length of the body in bytes.
    pub(crate) length: usize,
}

impl EditRequest {
    /// Reads the head of a request.
    pub(crate) fn from_head(head: &Parts) -> Result<Self, EditRequestError> {
        // A page of another origin cannot send this type without a preflight request.
        if media_type(&head.headers) != Some("application/json") {
            return Err(EditRequestError::UnsupportedMediaType);
        }
        let is_dry_run = is_dry_run(&head.uri)?;
        let key = idempotency_key(&head.headers)?.filter(|_| !is_dry_run);
        let preconditions = head
            .headers
            .get_all(IF_MATCH)
            .iter()
            .map(|value| (IF_MATCH, value.clone()))
            .collect();
        Ok(Self {
            preconditions,
            key,
            is_dry_run,
            length: content_length(&head.headers)?,
        })
    }

    /// Fails if the batch is for another content than the one with this digest.
    pub(crate) fn check_preconditions(&self, current: Digest) -> Result<(), EditRequestError> {
        match Validators::new(&current.to_string(), None).evaluate(&self.preconditions) {
            PreconditionResult::Failed => Err(EditRequestError::PreconditionFailed(current)),
            PreconditionResult::Satisfied | PreconditionResult::NotModified => Ok(()),
        }
    }
}

/// Tells whether the query asks for a dry run, as the Kubernetes API has it: `dryRun=All`.
// Anything else is an error: a client that misspells it did not ask for an edit.
pub(crate) fn is_dry_run(uri: &Uri) -> Result<bool, EditRequestError> {
    let mut is_dry_run = false;
    for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        match (&*name, &*value) {
            ("dryRun", "All") => is_dry_run = true,
            ("dryRun", _) => return Err(EditRequestError::DryRun),
            _ => return Err(EditRequestError::Parameter(name.into_owned())),
        }
    }
    Ok(is_dry_run)
}

/// Returns the media type of a body, without parameters.
fn media_type(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(CONTENT_TYPE)?
        .to_str()
        .ok()?
        .split(';')
        .next()
        .map(str::trim)
}

/// Returns the length of a body. It must be declared, so that the batch can be admitted before it
/// is read.
fn content_length(headers: &HeaderMap) -> Result<usize, EditRequestError> {
    let length = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok())
        .ok_or(EditRequestError::LengthRequired)?;
    if length > MAX_BATCH_BYTES {
        return Err(EditRequestError::TooLarge);
    }
    Ok(length)
}

/// Returns the key of a request, a string of RFC 9651; its quotes may be missing.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, EditRequestError> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default().trim();
    let key = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text);
    let is_valid = (1..=MAX_KEY_BYTES).contains(&key.len()) && !key.contains(['"', '\\']);
    if is_valid {
        Ok(Some(key.to_owned()))
    } else {
        Err(EditRequestError::Key)
    }
}
