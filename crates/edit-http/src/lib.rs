//! Edits of catalogs over HTTP: `POST /catalogs/{catalog}/edits` applies a batch of operations, all
//! or none, or previews it with `?dryRun=All`.
//!
//! ```text
//! request ─► queue of the catalog ─► lock, precondition, plan, write ─► serve ─► response
//! (request)  (catalogs)              (apply)                            (catalogs)
//! ```
//!
//! `If-Match` names the content that a batch is for (RFC 9110 §13.1.1), and `Idempotency-Key` makes
//! a batch safe to send again. The crate does not know who callers are: a layer of the program
//! authorizes them.

mod apply;
mod batch;
mod catalogs;
mod error;
mod request;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use edit::EditLimits;

pub use catalogs::{EditableCatalogs, EditableDirectory, OpenError};
pub use error::EditRequestError;

/// Path of edits.
pub const EDITS: &str = "/catalogs/{catalog}/edits";

/// Maximum length in bytes of a batch.
pub const MAX_BATCH_BYTES: usize = 4 << 20;

/// Maximum number of operations of a batch.
pub const MAX_OPERATIONS: usize = 100;

/// Maximum number of bundles that a batch adds.
pub const MAX_BUNDLES: usize = 100;

/// Maximum number of names that the operations of a batch list: of packages, channels, bundles and
/// the bundles that they skip, images and references.
pub const MAX_NAMES: usize = 10_000;

/// Limits of the packages that a batch changes.
pub const LIMITS: EditLimits = EditLimits {
    edges: MAX_CHANGED_EDGES,
    bytes: MAX_CHANGED_BYTES,
};

/// Maximum number of entries, and of the bundles that they skip, in the channels of all packages
/// that a batch changes.
// A bundle that is added to a channel gets the whole chain below it, so that a small batch can make
// many.
pub const MAX_CHANGED_EDGES: usize = 20_000;

/// Maximum length in bytes of the blobs of all packages that a batch changes. Packages that it
/// removes do not count.
pub const MAX_CHANGED_BYTES: usize = 32 << 20;

/// Maximum length in bytes of the files of a batch's bundles as canonical lines.
// Aliases of YAML are resolved in these: a few kilobytes can stand for gigabytes. Without aliases,
// files have about as many bytes as they were posted with.
pub const MAX_RENDERED_BYTES: usize = 16 << 20;

/// Maximum length in bytes of all batches that are queued or applied. Further ones are refused with
/// 503.
pub const PENDING_BYTES: usize = 64 << 20;

/// Bytes that each batch counts for besides its own, so that many small ones are bounded too.
pub const PENDING_OVERHEAD_BYTES: usize = 16 << 10;

/// Maximum length in bytes of an idempotency key.
pub const MAX_KEY_BYTES: usize = 255;

/// Maximum time that a response waits for its edit to be served. After that, the response says that
/// it is not served yet.
pub const MAX_PUBLISHING: Duration = Duration::from_secs(10);

/// Returns the route of edits.
pub fn router(catalogs: EditableCatalogs) -> Router {
    let method_not_allowed = async || EditRequestError::MethodNotAllowed.into_response();
    Router::new()
        .route(EDITS, post(edit).fallback(method_not_allowed))
        .with_state(Arc::new(catalogs))
}

async fn edit(
    State(catalogs): State<Arc<EditableCatalogs>>,
    Path(catalog): Path<String>,
    request: Request,
) -> Response {
    match catalogs.edit(&catalog, request).await {
        Ok(response) => response.into_response(),
        Err(error) => error.into_response(),
    }
}

#[cfg(test)]
mod tests;
