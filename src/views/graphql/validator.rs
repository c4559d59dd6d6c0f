//! Validators: what an answer will be, known before it is made.
//!
//! An answer is a function of the build, the limits, the published set and the request. A hash of these names it, so a
//! client that has it is told so without parsing or executing anything.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::errors::Media;
use super::limits::Limits;
use super::{Request, documents};
use crate::catalogs::Snapshot;

/// What tells the answers of this build from those of another.
const BUILD: &str = env!("CATALOGQL_BUILD");

/// Bytes of a hash that a tag holds.
const TAG_BYTES: usize = 16;

/// The strong entity tag of the answer to a request, with its quotes.
pub(super) fn tag(snapshot: &Snapshot, limits: &Limits, request: &Request<'_>, media: Media) -> String {
    let Request { query, document_id, operation_name, variables, extensions } = request;
    // A document is long, and hashed faster than it is quoted.
    let query = query.as_deref().map(documents::digest);
    let mut hash = Sha256::new();
    hash.update(snapshot.revision().as_bytes());
    // `Debug` quotes texts, so that each part ends where the next begins. The members of objects are sorted.
    hash.update(format!("{BUILD:?}{limits:?}{query:?}{document_id:?}{operation_name:?}{variables:?}{extensions:?}"));
    let hash = URL_SAFE_NO_PAD.encode(&hash.finalize()[..TAG_BYTES]);
    let form = match media {
        Media::Json => "json",
        Media::GraphqlResponse => "gqlr",
    };
    format!("\"{hash}-{form}\"")
}
