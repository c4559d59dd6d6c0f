//! Edits of catalogs that are served: batches over HTTP become changes of files, which the loader
//! then publishes.

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
use edit::file::{self, ChangeError, FileChange, SourceFile};
use edit::folder::{FolderError, LockedFolder};
use edit::journal::{Journal, Known, MAX_RESPONSE_BYTES};
use edit::summary::EditSummary;
use edit::{EditError, Refusal, apply_within};
use edit_http::{EditFailure, EditRequest, Edited, Editor, LIMITS, Publication};
use fbc_grammar::Digest;
use loading::Refresher;
use loading::directory::Listing;
use serde::Serialize;
use serde_json::{Value, json};
use serving::{CatalogName, Catalogs, Served};

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

/// The directories that can be edited, and what serves them.
struct Directories {
    /// The directories by the names of their catalogs. Links to them are followed at each edit, as
    /// the loader follows them at each load.
    roots: BTreeMap<String, PathBuf>,
    publisher: Publisher,
}

/// Serves what was edited without waiting for the next poll of its directory.
pub(super) struct Publisher {
    pub(super) catalogs: Catalogs,
    pub(super) refresher: Refresher,
}

/// The journal beside a directory, as it was read.
struct JournalFile {
    /// Bytes of the file; `None` where no request had a key.
    bytes: Option<Vec<u8>>,
    journal: Journal,
}

/// What a batch changes, with the response to it.
struct PreparedEdit {
    changes: Vec<FileChange>,
    /// Digest of the content afterwards.
    digest: Digest,
    response: EditResponse,
}

/// Returns the route of edits, which the layer of `access` guards where callers are told apart.
/// Changes that were under way when the process ended are finished.
pub(super) fn routes(
    editable: &[EditableArg],
    access: Option<Access>,
    publisher: Publisher,
) -> anyhow::Result<Router> {
    let mut directories = BTreeMap::new();
    let mut roots = Vec::<PathBuf>::new();
    for EditableArg { name, directory } in editable {
        let root =
            recover(name, directory).with_context(|| format!("cannot let `{name}` be edited"))?;
        if roots
            .iter()
            .any(|other| other.starts_with(&root) || root.starts_with(other))
        {
            bail!(
                "cannot let `{name}` be edited: `{}` is in the directory of another catalog",
                root.display()
            );
        }
        roots.push(root);
        directories.insert(name.clone(), directory.clone());
    }
    let routes = edit_http::router(Arc::new(Directories {
        roots: directories,
        publisher,
    }));
    Ok(match access {
        Some(access) => routes.layer(from_fn_with_state(access, authorize)),
        None => routes,
    })
}

/// Finishes a change of a directory; returns the directory, without links. A change that cannot be
/// finished before somebody has decided what counts is no reason to serve nothing: edits are
/// refused meanwhile.
fn recover(catalog: &str, directory: &Path) -> anyhow::Result<PathBuf> {
    match LockedFolder::lock(directory) {
        Ok(folder) => Ok(folder.root().to_owned()),
        Err(error @ FolderError::Interrupted { .. }) => {
            let reason = error.to_string();
            tracing::error!(catalog, error = reason, "cannot edit the catalog");
            Ok(directory.canonicalize()?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Lets a request pass whose sender may `update` the content of the catalog.
async fn authorize(State(access): State<Access>, request: Request, next: Next) -> Response {
    let credentials = credentials(
        &access.authenticator,
        request.headers(),
        request.extensions(),
    );
    let credentials = credentials.map(Credentials::into_owned);
    let name = requested_catalog(request.uri());
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
    access
        .callers
        .authorize(&credentials?, auth::Access::Resource(wanted))
        .await
}

impl Editor for Directories {
    fn catalogs(&self) -> Vec<String> {
        self.roots.keys().cloned().collect()
    }

    fn edit(&self, catalog: &str, request: &EditRequest) -> Result<Edited, EditFailure> {
        let root = self.roots.get(catalog).ok_or(EditFailure::NotEditable)?;
        let edited = edit(root, request);
        match &edited {
            Ok(Edited {
                digest: Some(digest),
                ..
            }) => tracing::info!(catalog, %digest, "catalog edited"),
            Err(EditFailure::Internal(error)) => {
                tracing::error!(catalog, error, "cannot edit the catalog");
            }
            // A dry run, and what the client is told.
            Ok(Edited { digest: None, .. }) | Err(_) => {}
        }
        edited
    }

    fn publish<'e>(&'e self, catalog: &'e str, digest: Digest) -> Publication<'e> {
        Box::pin(self.publisher.publish(catalog, digest))
    }
}

impl Publisher {
    async fn publish(&self, catalog: &str, digest: Digest) -> Result<(), String> {
        // The caller may edit the catalog, whatever else it may see.
        let is_served = |served: &Arc<Served>| served.content.digest == digest;
        if self
            .catalogs
            .published()
            .get(catalog)
            .is_some_and(is_served)
        {
            return Ok(());
        }
        let name = CatalogName::new(catalog).map_err(|error| error.to_string())?;
        // Another content is served if somebody else has changed files since. It has the edit too.
        self.refresher
            .refresh(&name)
            .await
            .map(drop)
            .map_err(|error| error.to_string())
    }
}

fn edit(root: &Path, request: &EditRequest) -> Result<Edited, EditFailure> {
    let folder = lock(root, request.is_dry_run)?;
    let journal = JournalFile::read(&folder).map_err(|error| internal(&error))?;
    if let Some(replayed) = journal.replay(request)? {
        return Ok(replayed);
    }
    let (listing, files) = command::read(&folder).map_err(|error| internal(&error))?;
    let former = file::digest(&files);
    request.check(former)?;
    let PreparedEdit {
        mut changes,
        digest,
        response,
    } = prepare(&listing, &files, former, request)?;
    let body = json!(response).to_string();
    if request.is_dry_run {
        return Ok(Edited {
            digest: None,
            body,
            unserved: None,
        });
    }
    if let Some((key, fingerprint)) = &request.key {
        let short = || {
            json!(EditResponse {
                summary: None,
                ..response
            })
            .to_string()
        };
        let kept = if body.len() > MAX_RESPONSE_BYTES {
            short()
        } else {
            body.clone()
        };
        changes.push(journal.add(&folder, key, *fingerprint, kept));
    }
    if !changes.is_empty() {
        command::write(&folder, &listing, &changes).map_err(|error| {
            match error.downcast_ref() {
                Some(FolderError::Conflict(_)) => EditFailure::Busy,
                _ => internal(&error),
            }
        })?;
    }
    Ok(Edited {
        digest: Some(digest),
        body,
        unserved: None,
    })
}

/// Locks a directory. Only what may write finishes a change that was interrupted.
fn lock(root: &Path, is_dry_run: bool) -> Result<LockedFolder, EditFailure> {
    let folder = if is_dry_run {
        LockedFolder::lock_to_read(root)
    } else {
        LockedFolder::lock(root)
    };
    folder.map_err(|error| match error {
        FolderError::Locked(_) => EditFailure::Busy,
        FolderError::Interrupted { .. } | FolderError::Unfinished(_) => {
            EditFailure::Refused(error.to_string())
        }
        error => internal(&error.into()),
    })
}

/// Does the batch of a request, and finds how files change by it.
fn prepare(
    listing: &Listing,
    files: &[SourceFile],
    former: Digest,
    request: &EditRequest,
) -> Result<PreparedEdit, EditFailure> {
    let content = file::content(files);
    let (edited, summary) =
        apply_within(&content, &request.batch, LIMITS).map_err(|refusal| refused(&refusal))?;
    let changes =
        command::changes(listing, files, &content, &edited).map_err(|error| match error {
            error @ (ChangeError::PackageName(_) | ChangeError::Ignored(_)) => {
                EditFailure::Refused(error.to_string())
            }
            ChangeError::Conflict(_) => EditFailure::Busy,
            error @ ChangeError::Io { .. } => internal(&error.into()),
        })?;
    // Files could be read before, so that it is the batch that has what no file may have.
    let unreadable =
        |error| EditFailure::Refused(format!("the catalog could not be read any more: {error}"));
    let digest = file::digest(&file::changed(files, &changes).map_err(unreadable)?);
    let response = EditResponse {
        digest: digest.to_string(),
        former: former.to_string(),
        summary: Some(summary),
    };
    Ok(PreparedEdit {
        changes,
        digest,
        response,
    })
}

fn refused(refusal: &Refusal) -> EditFailure {
    let limit = refusal.0.iter().find_map(|error| match error {
        EditError::TooManyEdges(limit) => {
            Some(("entries and skips in the packages that change", *limit))
        }
        EditError::TooManyBytes(limit) => Some(("bytes in the packages that change", *limit)),
        _ => None,
    });
    match limit {
        Some((what, limit)) => EditFailure::TooMany { what, limit },
        None => EditFailure::Refused(refusal.to_string()),
    }
}

impl JournalFile {
    fn read(folder: &LockedFolder) -> anyhow::Result<Self> {
        let path = folder.root().join(folder.beside(JOURNAL));
        let reading = || format!("cannot read `{}`", path.display());
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self {
                    bytes: None,
                    journal: Journal::default(),
                });
            }
            Err(error) => return Err(error).with_context(reading),
        };
        Ok(Self {
            journal: Journal::parse(&bytes).with_context(reading)?,
            bytes: Some(bytes),
        })
    }

    /// Returns the response to a request that was done already.
    fn replay(&self, request: &EditRequest) -> Result<Option<Edited>, EditFailure> {
        let Some((key, fingerprint)) = &request.key else {
            return Ok(None);
        };
        let body = match self.journal.look_up(key, *fingerprint) {
            Known::New => return Ok(None),
            Known::OtherRequest => return Err(EditFailure::KeyReused),
            Known::Done(body) => body.to_owned(),
        };
        let facts: Value = serde_json::from_str(&body).map_err(|error| internal(&error.into()))?;
        let digest = facts["digest"].as_str().and_then(Digest::parse);
        let digest = digest.ok_or_else(|| {
            internal(&anyhow!(
                "cannot read the journal of edits: no digest for `{key}`"
            ))
        })?;
        Ok(Some(Edited {
            digest: Some(digest),
            body,
            unserved: None,
        }))
    }

    /// Adds the response to a request with a new key; returns how the file changes.
    fn add(
        mut self,
        folder: &LockedFolder,
        key: &str,
        fingerprint: Digest,
        response: String,
    ) -> FileChange {
        self.journal.add(key, fingerprint, response);
        FileChange {
            path: folder.beside(JOURNAL),
            before: self.bytes,
            after: Some(self.journal.to_bytes()),
        }
    }
}

fn internal(error: &anyhow::Error) -> EditFailure {
    EditFailure::Internal(format!("{error:#}"))
}
