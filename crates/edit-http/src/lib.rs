//! Edits over HTTP: `POST /catalogs/{catalog}/edits` does a batch of operations as a whole or not
//! at all, or says with `?dryRun=All` what it would change.
//!
//! `If-Match` says which content the batch is for (RFC 9110 §13.1.1), `Idempotency-Key` that it is
//! done once however often it is sent. This crate does not know where files are or who callers are:
//! an [`Editor`] edits, and a layer authorizes.

mod failure;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_MATCH};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::post;
use edit::bundle::{BundleError, RenderBudget, RenderedBundle};
use edit::input::{BundleInput, InputError, read_batch};
use edit::{EditLimits, Operation};
use fbc_grammar::Digest;
use http_facts::peer::Peer;
use http_facts::permits::{Permit, Permits};
use http_facts::preconditions::{PreconditionResult, Validators};
use serde_json::{Value, json};
use serving::FairSemaphore;
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub use failure::EditFailure;

/// Path of edits.
pub const EDITS: &str = "/catalogs/{catalog}/edits";

/// Maximum length in bytes of a batch.
pub const MAX_BATCH_BYTES: usize = 4 << 20;

/// Maximum number of operations of a batch.
pub const MAX_OPERATIONS: usize = 100;

/// Maximum number of bundles that a batch adds.
pub const MAX_BUNDLES: usize = 100;

/// Maximum number of names that the operations of a batch list: of packages, channels, bundles and
/// what they skip, images and references.
pub const MAX_NAMES: usize = 10_000;

/// Limits of what a batch may change.
pub const LIMITS: EditLimits = EditLimits {
    edges: MAX_CHANGED_EDGES,
    bytes: MAX_CHANGED_BYTES,
};

/// Maximum number of entries, and of what they skip, in the channels of all packages that a batch
/// changes. A bundle that is added to a channel gets the whole chain below it, so that a small
/// batch can make many.
pub const MAX_CHANGED_EDGES: usize = 20_000;

/// Maximum length in bytes of the blobs of all packages that a batch changes. Packages that it
/// removes do not count.
pub const MAX_CHANGED_BYTES: usize = 32 << 20;

/// Maximum number of bytes that the files of a batch's bundles have as canonical lines, in which
/// the aliases of YAML are resolved. Without aliases, they have about as many as they were posted
/// with.
pub const MAX_RENDERED_BYTES: usize = 16 << 20;

/// Maximum length in bytes of all batches that wait or are being done. Further ones are refused for
/// now.
pub const PENDING_BYTES: usize = 64 << 20;

/// Bytes that each batch counts for besides its own, so that many small ones are bounded too.
pub const PENDING_OVERHEAD_BYTES: usize = 16 << 10;

/// Maximum length in bytes of an idempotency key.
pub const MAX_KEY_BYTES: usize = 255;

/// Time that a batch which is done waits until it is served. Then the response says that it is not
/// served yet.
pub const MAX_PUBLISHING: Duration = Duration::from_secs(10);

/// Name of the header with the key (draft-ietf-httpapi-idempotency-key-header).
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A batch with its conditions.
pub struct EditRequest {
    /// The operations.
    pub batch: Vec<Operation<RenderedBundle>>,
    /// Values of `If-Match`.
    conditions: HeaderMap,
    /// Key, with the SHA-256 of the body; `None` for a dry run, which is not remembered.
    pub key: Option<(String, Digest)>,
    /// Whether nothing is written, and the response says what an edit would change.
    pub is_dry_run: bool,
}

/// A batch that was done, now or before, or that could be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Digest of the new content; `None` for that of a dry run, which is nowhere.
    pub digest: Option<Digest>,
    /// The response: a JSON object.
    pub body: String,
    /// Why the content is not served yet; `None` if it is, and for a dry run.
    pub unserved: Option<String>,
}

/// Completes when a content is served; the error says why it is not yet.
pub type Publication<'e> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'e>>;

/// Edits catalogs. One batch of a catalog is done at a time.
pub trait Editor: Send + Sync + 'static {
    /// Names of the catalogs that can be edited.
    fn catalogs(&self) -> Vec<String>;

    /// Does a batch, and returns when it is durable, unless it is a dry run. It blocks.
    fn edit(&self, catalog: &str, request: &EditRequest) -> Result<Edited, EditFailure>;

    /// Serves the content that a batch has made, which has this digest. Nothing else is edited
    /// meanwhile.
    fn publish<'e>(&'e self, catalog: &'e str, digest: Digest) -> Publication<'e>;
}

/// State shared by all requests.
#[derive(Clone)]
struct Edits {
    editor: Arc<dyn Editor>,
    /// The turn of each catalog. Peers take turns, however many batches each of them has waiting.
    turns: Arc<BTreeMap<String, FairSemaphore<Peer>>>,
    pending: Permits,
}

/// Returns the route of edits.
pub fn router(editor: Arc<dyn Editor>) -> Router {
    Router::new()
        .route(
            EDITS,
            post(edit).fallback(async || EditFailure::MethodNotAllowed.into_response()),
        )
        .with_state(Edits::new(editor))
}

async fn edit(
    State(edits): State<Edits>,
    Path(catalog): Path<String>,
    request: Request,
) -> Response {
    match edits.respond(&catalog, request).await {
        Ok(edited) => edited.into_response(),
        Err(failure) => failure.into_response(),
    }
}

impl Edits {
    fn new(editor: Arc<dyn Editor>) -> Self {
        let turns = editor
            .catalogs()
            .into_iter()
            .map(|name| (name, FairSemaphore::new(1)))
            .collect();
        Self {
            editor,
            turns: Arc::new(turns),
            pending: Permits::new(PENDING_BYTES),
        }
    }

    async fn respond(&self, catalog: &str, request: Request) -> Result<Edited, EditFailure> {
        let turn = self.turns.get(catalog).ok_or(EditFailure::NotEditable)?;
        // A page of another origin cannot send this type unasked.
        if media_type(request.headers()) != Some("application/json") {
            return Err(EditFailure::MediaType);
        }
        let (head, body) = request.into_parts();
        let is_dry_run = is_dry_run(&head.uri)?;
        let key = idempotency_key(&head.headers)?.filter(|_| !is_dry_run);
        let conditions = head
            .headers
            .get_all(IF_MATCH)
            .iter()
            .map(|value| (IF_MATCH, value.clone()))
            .collect();
        let peer = Peer::of(&head.extensions);
        let pending = self.admit(peer, &head.headers)?;
        let body = to_bytes(body, MAX_BATCH_BYTES)
            .await
            .map_err(|_| EditFailure::TooLarge)?;
        let turn = turn.acquire(&peer).await;
        let edits = self.clone();
        let catalog = catalog.to_owned();
        // It goes on when the client goes away, and the next one waits for its end.
        let done = tokio::spawn(async move {
            let _held = (turn, pending);
            let editor = Arc::clone(&edits.editor);
            let editing = spawn_blocking({
                let catalog = catalog.clone();
                move || {
                    // A batch that waits takes no more memory than its bytes.
                    let batch = read_and_render(&body)?;
                    let key = key.map(|key| (key, Digest::new(Sha256::digest(&body).into())));
                    editor.edit(
                        &catalog,
                        &EditRequest {
                            batch,
                            conditions,
                            key,
                            is_dry_run,
                        },
                    )
                }
            });
            let edited = editing
                .await
                .unwrap_or_else(|error| Err(EditFailure::Internal(error.to_string())))?;
            Ok(edits.publish(&catalog, edited).await)
        });
        done.await
            .unwrap_or_else(|error| Err(EditFailure::Internal(error.to_string())))
    }

    /// Serves what a batch has made. The next batch waits for it, so that what is read is what the
    /// batch has checked.
    async fn publish(&self, catalog: &str, edited: Edited) -> Edited {
        let Some(digest) = edited.digest else {
            return edited;
        };
        let served = timeout(MAX_PUBLISHING, self.editor.publish(catalog, digest)).await;
        let too_long = |_| {
            Err(format!(
                "loading it takes longer than {} s",
                MAX_PUBLISHING.as_secs()
            ))
        };
        Edited {
            unserved: served.unwrap_or_else(too_long).err(),
            ..edited
        }
    }

    /// Admits a batch by its length, which must be known.
    fn admit(&self, peer: Peer, headers: &HeaderMap) -> Result<Permit, EditFailure> {
        let length = headers
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        let length = length.ok_or(EditFailure::LengthRequired)?;
        if length > MAX_BATCH_BYTES {
            return Err(EditFailure::TooLarge);
        }
        self.pending
            .try_acquire(peer, length + PENDING_OVERHEAD_BYTES)
            .ok_or(EditFailure::Busy)
    }
}

impl IntoResponse for Edited {
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
        if let (Some(reason), Ok(Value::Object(mut members))) =
            (unserved, serde_json::from_str(&body))
        {
            members.insert("unserved".to_owned(), json!(reason));
            body = Value::Object(members).to_string();
        }
        (status, [(CONTENT_TYPE, "application/json")], etag, body).into_response()
    }
}

impl EditRequest {
    /// Fails if the batch is for another content than the one with this digest.
    pub fn check(&self, current: Digest) -> Result<(), EditFailure> {
        match Validators::new(&current.to_string(), None).evaluate(&self.conditions) {
            PreconditionResult::Failed => Err(EditFailure::PreconditionFailed(current)),
            PreconditionResult::Satisfied | PreconditionResult::NotModified => Ok(()),
        }
    }
}

/// Reads a batch, and renders the bundles that it adds.
fn read_and_render(body: &[u8]) -> Result<Vec<Operation<RenderedBundle>>, EditFailure> {
    let batch = read_batch(body).map_err(|error| EditFailure::Malformed(error.to_string()))?;
    if batch.len() > MAX_OPERATIONS {
        return Err(EditFailure::TooMany {
            what: "operations",
            limit: MAX_OPERATIONS,
        });
    }
    let mut bundles = 0;
    let mut budget = RenderBudget::new(MAX_RENDERED_BYTES);
    let mut render = |bundle: BundleInput| {
        bundles += 1;
        if bundles > MAX_BUNDLES {
            return Err(EditFailure::TooMany {
                what: "bundles",
                limit: MAX_BUNDLES,
            });
        }
        bundle.render(&mut budget).map_err(|error| match error {
            InputError::Files {
                source: BundleError::TooLarge,
                ..
            } => EditFailure::TooMany {
                what: "bytes of manifests once their aliases are resolved",
                limit: MAX_RENDERED_BYTES,
            },
            error => EditFailure::Malformed(error.to_string()),
        })
    };
    let batch: Vec<_> = batch
        .into_iter()
        .map(|operation| operation.try_map(&mut render))
        .collect::<Result<_, EditFailure>>()?;
    if batch.iter().map(Operation::names).sum::<usize>() > MAX_NAMES {
        return Err(EditFailure::TooMany {
            what: "names of packages, channels, bundles and images",
            limit: MAX_NAMES,
        });
    }
    Ok(batch)
}

/// Returns whether the query asks for a dry run, in the words of the Kubernetes API: `dryRun=All`.
/// Whoever writes anything else, also another name, did not ask for an edit.
fn is_dry_run(uri: &Uri) -> Result<bool, EditFailure> {
    let mut is_dry_run = false;
    for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        match (&*name, &*value) {
            ("dryRun", "All") => is_dry_run = true,
            ("dryRun", _) => return Err(EditFailure::DryRun),
            _ => return Err(EditFailure::Parameter(name.into_owned())),
        }
    }
    Ok(is_dry_run)
}

/// Returns the type of a body, without parameters.
fn media_type(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(CONTENT_TYPE)?
        .to_str()
        .ok()?
        .split(';')
        .next()
        .map(str::trim)
}

/// Returns the key of a request, a string of RFC 9651, also without its quotes.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, EditFailure> {
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
        Err(EditFailure::Key)
    }
}

#[cfg(test)]
mod tests;
