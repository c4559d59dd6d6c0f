//! Applies a batch to the directory of its catalog: lock, journal, precondition, plan, write.

use std::path::Path;

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::response::{AppendHeaders, IntoResponse, Response};
use edit::summary::EditSummary;
use edit_directory::journal::{JournalFile, KeyLookup, MAX_RESPONSE_BYTES};
use edit_directory::{CatalogDirectory, DirectoryEditError, LockedFolder};
use fbc_grammar::Digest;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::LIMITS;
use crate::batch::parse_and_render;
use crate::error::EditRequestError;
use crate::request::EditRequest;

/// Response to a batch that was applied, now or before, or that could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EditResponse {
    /// Digest of the new content; `None` for a dry run, which writes none.
    pub digest: Option<Digest>,
    /// A JSON object.
    pub body: String,
    /// Reason for which the content is not served yet; `None` if it is, and for a dry run.
    pub unserved: Option<String>,
}

/// Body of a response.
#[derive(Serialize)]
struct ResponseBody {
    /// Digest of the content after the batch.
    digest: String,
    /// Digest of the content before it.
    former: String,
    /// Differences of the two; left out of responses that are too long for the journal.
    #[serde(flatten)]
    summary: Option<EditSummary>,
}

/// Applies a batch to a directory. Unless it is a dry run, it is durable when this function
/// returns. It blocks.
pub(crate) fn apply(
    root: &Path,
    request: &EditRequest,
    body: &[u8],
) -> Result<EditResponse, EditRequestError> {
    let batch = parse_and_render(body)?;
    let fingerprint = Digest::new(Sha256::digest(body).into());

    let folder = lock(root, request)?;
    // Before the precondition: a batch that was applied has changed the content that it was for.
    let journal = JournalFile::read(&folder).map_err(DirectoryEditError::from)?;
    if let Some(key) = &request.key
        && let Some(response) = replay(&journal, key, fingerprint)?
    {
        return Ok(response);
    }

    let directory = CatalogDirectory::read(folder).map_err(DirectoryEditError::from)?;
    let former = directory.digest();
    request.check_preconditions(former)?;
    let plan = directory.plan(&batch, LIMITS);
    let plan =
        plan.map_err(|error| EditRequestError::from_plan(error, &directory.package_names()))?;
    let digest = directory.digest_after(&plan.changes)?;
    let response = ResponseBody {
        digest: digest.to_string(),
        former: former.to_string(),
        summary: Some(plan.summary),
    };
    let text = json!(response).to_string();
    if request.is_dry_run {
        return Ok(EditResponse {
            digest: None,
            body: text,
            unserved: None,
        });
    }

    let mut changes = plan.changes;
    if let Some(key) = &request.key {
        // The digests are enough to tell a client that its batch was applied.
        let stored = if text.len() > MAX_RESPONSE_BYTES {
            let short = ResponseBody {
                summary: None,
                ..response
            };
            json!(short).to_string()
        } else {
            text.clone()
        };
        changes.push(journal.add(directory.folder(), key, fingerprint, stored));
    }
    if !changes.is_empty() {
        directory.write(&changes)?;
    }
    Ok(EditResponse {
        digest: Some(digest),
        body: text,
        unserved: None,
    })
}

/// Locks a directory. A dry run writes nothing, so that it does not finish an interrupted change.
fn lock(root: &Path, request: &EditRequest) -> Result<LockedFolder, DirectoryEditError> {
    let folder = if request.is_dry_run {
        LockedFolder::lock_to_read(root)
    } else {
        LockedFolder::lock(root)
    };
    folder.map_err(DirectoryEditError::Lock)
}

/// Returns the response to a request that was applied before.
fn replay(
    journal: &JournalFile,
    key: &str,
    fingerprint: Digest,
) -> Result<Option<EditResponse>, EditRequestError> {
    let body = match journal.look_up(key, fingerprint) {
        KeyLookup::New => return Ok(None),
        KeyLookup::OtherRequest => return Err(EditRequestError::KeyReused),
        KeyLookup::Done(body) => body.to_owned(),
    };
    let members: Value = serde_json::from_str(&body).unwrap_or_default();
    let digest = members["digest"].as_str().and_then(Digest::parse);
    let digest = digest.ok_or_else(|| EditRequestError::JournalEntry(key.to_owned()))?;
    Ok(Some(EditResponse {
        digest: Some(digest),
        body,
        unserved: None,
    }))
}

impl IntoResponse for EditResponse {
    fn into_response(self) -> Response {
        let Self {
            digest,
            mut body,
            unserved,
        } = self;
        let etag = digest.map(|digest| AppendHeaders([(ETAG, format!("\"{digest}\""))]));
        let status = if unserved.is_some() {
            StatusCode::ACCEPTED
        } else {
            StatusCode::OK
        };
        // The journal has the body without this member: a replay may be served.
        if let Some(reason) = unserved
            && let Ok(Value::Object(mut members)) = serde_json::from_str(&body)
        {
            members.insert("unserved".to_owned(), json!(reason));
            body = Value::Object(members).to_string();
        }
        (status, [(CONTENT_TYPE, "application/json")], etag, body).into_response()
    }
}
