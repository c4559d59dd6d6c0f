//! The shared store: contents of catalogs in a bucket or a directory that replicas share. One replica
//! pulls an image and uploads its content; the others download it.
//!
//! It is a second tier under the store on disk. Objects are immutable and named by digests:
//!
//! ```text
//! contents/<digest>.jsonl.zst    canonical lines of a content, compressed, by the digest of the lines
//! notes/<digest>.json            analysis of a content, by the digest of this object
//! revisions/<key>.json           record of a revision: the digests of its content and analysis
//! pulling/<key>.json             lease of the replica that pulls a revision
//! ```
//!
//! A key is the digest of the revision and of the build that reads contents: another build may read
//! the same image in another way. The record is uploaded last. Objects are not trusted to be whole:
//! all are bounded, and those with a digest in their name are compared with it. Anyone who can write
//! to the bucket decides nevertheless what a record names.
//!
//! The store is optional at each moment: a failure, a slow response or a damaged object is as if
//! there were no object, and a store that does not answer is not asked for a while
//! ([`BREAKER_BACKOFF`]). The crate knows no catalogs: its callers compress and read contents.
//!
//! Builds without the feature `shared-store` have no shared store: [`SharedStore::open`] refuses
//! every URL.

#[cfg(feature = "shared-store")]
mod breaker;
#[cfg(feature = "shared-store")]
mod client;
mod error;
#[cfg(feature = "shared-store")]
mod lease;
mod limits;
mod metrics;
#[cfg(feature = "shared-store")]
mod objects;
#[cfg(feature = "shared-store")]
mod record;
#[cfg_attr(not(feature = "shared-store"), path = "no_store.rs")]
mod store;

use bytes::Bytes;
use fbc_grammar::Digest;

pub use error::SharedStoreError;
pub use limits::{
    BREAKER_BACKOFF, DOWNLOAD_TIMEOUT, IDLE_TIMEOUT, LEASE_DURATION, MAX_ANALYSIS_BYTES,
    MAX_BREAKER_BACKOFF, MAX_COMPRESSED_BYTES, MAX_COMPRESSION, MAX_CONCURRENT_DOWNLOADS,
    MAX_CONTENT_BYTES, MAX_LEASE, MAX_PENDING_UPLOADS, MAX_RECORD_BYTES, MIN_DOWNLOAD_RATE,
    MIN_UPLOAD_RATE, REQUEST_TIMEOUT, UPLOAD_ATTEMPTS, UPLOAD_BACKOFF, WAIT_FOR_REPLICA,
};
pub use metrics::{SharedLookup, SharedStoreMetrics, SharedUpload};
pub use store::{SharedContent, SharedStore, UploadTicket};

/// The result of a search for a revision.
#[derive(Debug)]
pub enum Lookup {
    /// The content was downloaded.
    Found(SharedContent),
    /// The content must come from the source. With the ticket, it is uploaded afterwards.
    Absent(UploadTicket),
}

/// A content to upload.
#[derive(Clone, Debug)]
pub struct Upload {
    /// SHA-256 of the lines.
    pub digest: Digest,
    /// Length of the lines in bytes.
    pub bytes: u64,
    /// The lines, compressed.
    pub compressed: Bytes,
    /// The analysis.
    pub analysis: Bytes,
}
