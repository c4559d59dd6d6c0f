//! Edits of catalogs that are served: batches over HTTP become changes of files, which the loader then publishes.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use auth::{Credentials, Denied, ResourceAccess};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use catalogd_http::requested_catalog;
use edit::apply_and_check;
use edit::file::{self, ChangeError, FileChange};
use edit::folder::{FolderError, LockedFolder};
use edit::journal::{Journal, Known, MAX_RESPONSE_BYTES};
use edit::summary::{EditSummary, summarize};
use edit_http::{EditFailure, EditRequest, Edited, Editor};
use fbc::Digest;
use serde::Serialize;
use serde_json::{Value, json};

use super::access::{self, Access, credentials};
use super::edit as command;
use crate::args::EditableArg;
use crate::listen::ErrorFormat;

/// Suffix of the journal beside a directory.
const JOURNAL: &str = "edits";

/// The response to a batch.
#[derive(Serialize)]
struct EditResponse {
    /// Digest of the content afterwards.
    digest: String,
    /// Digest of the content before.
    former: String,
    /// What changes; not in responses that are kept short for their key.
    #[serde(flatten)]
    summary: Option<EditSummary>,
}

/// The directories that can be edited, by the names of their catalogs.
struct Directories(BTreeMap<String, PathBuf>);

/// Returns the route of edits, which the layer of `access` guards where callers are told apart. Changes that were under way
/// when the process ended are finished.
pub(super) fn routes(editable: &[EditableArg], access: Option<Access>) -> anyhow::Result<Router> {
    let mut directories = BTreeMap::new();
    for EditableArg { name, directory } in editable {
        let folder = LockedFolder::lock(directory);
        let root = folder.with_context(|| format!("cannot let `{name}` be edited"))?.root().to_owned();
        if directories.values().any(|other: &PathBuf| other.starts_with(&root) || root.starts_with(other)) {
            bail!("cannot let `{name}` be edited: `{}` is in the directory of another catalog", root.display());
        }
        directories.insert(name.clone(), root);
    }
    let routes = edit_http::router(Arc::new(Directories(directories)));
    Ok(match access {
        Some(access) => routes.layer(from_fn_with_state(access, authorize)),
        None => routes,
    })
}

/// Lets a request pass whose sender may `update` the content of the catalog.
async fn authorize(State(access): State<Access>, request: Request, next: Next) -> Response {
    let credentials = credentials(&access.authenticator, request.headers(), request.extensions());
    let (credentials, name) = (credentials.map(Credentials::into_owned), requested_catalog(request.uri()));
    match may_update(&access, credentials, name).await {
        Ok(()) => next.run(request).await,
        Err(denied) => access::refusal(&denied).respond(&ErrorFormat::of(&request)),
    }
}

async fn may_update(
    access: &Access,
    credentials: Result<Credentials<'static>, Denied>,
    name: Option<String>,
) -> Result<(), Denied> {
    let wanted = ResourceAccess {
        verb: "update",
        group: "olm.operatorframework.io",
        resource: "clustercatalogs",
        subresource: Some("content"),
        name: name.as_deref(),
        ..ResourceAccess::default()
    };
    access.callers.authorize(&credentials?, auth::Access::Resource(wanted)).await
}

impl Editor for Directories {
    fn catalogs(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn edit(&self, catalog: &str, request: &EditRequest) -> Result<Edited, EditFailure> {
        let root = self.0.get(catalog).ok_or(EditFailure::NotEditable)?;
        let edited = edit(root, request);
        match &edited {
            Ok(Edited { digest: Some(digest), .. }) => tracing::info!(catalog, %digest, "catalog edited"),
            Err(EditFailure::Internal(error)) => tracing::error!(catalog, error, "cannot edit the catalog"),
            // A dry run, and what the client is told.
            Ok(Edited { digest: None, .. }) | Err(_) => {}
        }
        edited
    }
}

fn edit(root: &Path, request: &EditRequest) -> Result<Edited, EditFailure> {
    let folder = LockedFolder::lock(root).map_err(|error| match error {
        FolderError::Locked(_) => EditFailure::Busy,
        error => internal(&error.into()),
    })?;
    let (listing, files) = command::read(&folder).map_err(|error| internal(&error))?;
    let kept = read_journal(&folder).map_err(|error| internal(&error))?;
    let journal = kept.as_deref().map(Journal::parse).transpose().map_err(|error| internal(&error.into()))?;
    if let Some(replayed) = replayed(journal.as_ref(), request)? {
        return Ok(replayed);
    }
    let former = file::digest(&files);
    request.check(former)?;
    let content = file::content(&files);
    let done = apply_and_check(&content, &request.batch);
    let (edited, problems) = done.map_err(|refusal| EditFailure::Refused(refusal.to_string()))?;
    let mut changes = command::changes(listing.as_ref(), &files, &content, &edited).map_err(|error| match error {
        ChangeError::PackageName(error) => EditFailure::Refused(error.to_string()),
        ChangeError::Conflict(_) => EditFailure::Busy,
        error @ ChangeError::Io { .. } => internal(&error.into()),
    })?;
    let digest = file::digest(&file::changed(&files, &changes).map_err(|error| internal(&error.into()))?);
    let (to, from) = (digest.to_string(), former.to_string());
    let summary = EditSummary { changes: summarize(&content, &edited), problems };
    let response = EditResponse { digest: to, former: from, summary: Some(summary) };
    let body = json!(response).to_string();
    if request.is_dry_run {
        return Ok(Edited { digest: None, body });
    }
    if let Some((key, fingerprint)) = &request.key {
        let short = || json!(EditResponse { summary: None, ..response }).to_string();
        let mut journal = journal.unwrap_or_default();
        journal.add(key, *fingerprint, if body.len() > MAX_RESPONSE_BYTES { short() } else { body.clone() });
        changes.push(FileChange { path: folder.beside(JOURNAL), before: kept, after: Some(journal.to_bytes()) });
    }
    if !changes.is_empty() {
        command::write(&folder, listing.as_ref(), &changes).map_err(|error| match error.downcast_ref() {
            Some(FolderError::Conflict(_)) => EditFailure::Busy,
            _ => internal(&error),
        })?;
    }
    Ok(Edited { digest: Some(digest), body })
}

/// Returns the response to a request that was done already.
fn replayed(journal: Option<&Journal>, request: &EditRequest) -> Result<Option<Edited>, EditFailure> {
    let (Some(journal), Some((key, fingerprint))) = (journal, &request.key) else { return Ok(None) };
    let body = match journal.look_up(key, *fingerprint) {
        Known::New => return Ok(None),
        Known::OtherRequest => return Err(EditFailure::KeyReused),
        Known::Done(body) => body.to_owned(),
    };
    let facts: Value = serde_json::from_str(&body).map_err(|error| internal(&error.into()))?;
    let digest = facts["digest"].as_str().and_then(Digest::parse);
    let digest = digest.ok_or_else(|| internal(&anyhow!("cannot read the journal of edits: no digest for `{key}`")))?;
    Ok(Some(Edited { digest: Some(digest), body }))
}

/// Reads the journal beside a directory; `None` where no request had a key.
fn read_journal(folder: &LockedFolder) -> anyhow::Result<Option<Vec<u8>>> {
    let path = folder.root().join(folder.beside(JOURNAL));
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
}

fn internal(error: &anyhow::Error) -> EditFailure {
    EditFailure::Internal(format!("{error:#}"))
}
