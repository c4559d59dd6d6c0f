//! Keeps catalogs current: source → unpacking → reading → store → index → published set.
//!
//! [`Loader::set`] replaces the set of desired catalogs. A loader has one task per source, which
//! polls it and loads what has changed. Catalogs of the same source share the task, and sources with
//! the same image share the pull. Reading and indexing run one content at a time, on threads with low
//! priority. If a load fails, the last content stays served.
//!
//! | module | duty |
//! |---|---|
//! | `loader` | reconciles the tasks and the published set with the desired catalogs |
//! | `source_task` | polls one source: interval, backoff, refresh requests |
//! | `pipeline` | the stages of one load, and their order |
//! | `directory`, `image`, `remote` | the kinds of sources |
//! | `follow` | the catalogs of followed servers, and the announcements of new contents |
//! | `read` | files into canonical lines |
//! | `verification` | decides about stored images by the signature policy |
//! | `shared` | contents of images in a shared store, which replicas share |
//! | `change_recorder` | records the changes of published contents in logs |
//! | `contents` | finds contents in the store, and shares them between catalogs |

mod attempt;
mod change_recorder;
mod contents;
pub mod directory;
mod emptied;
mod event;
mod follow;
mod image;
mod integrity;
mod loader;
mod low_priority;
mod metrics;
mod pipeline;
mod read;
mod refresh;
mod refresh_requests;
mod remote;
mod shared;
mod source;
mod source_task;
mod span;
mod spec;
mod state_file;
mod status;
mod verification;

pub use change_recorder::QUEUED_CONTENTS;
pub use event::{LoadStep, LoaderEvent, Report};
pub use image::MAX_CONCURRENT_PULLS;
pub use integrity::{CHECK_INTERVAL, FIRST_CHECK_AFTER};
pub use loader::{COMPRESS_AFTER, ExpectedImages, Loader, LoaderTask, READY_AFTER};
pub use metrics::{CatalogLoads, LoadResult, SourceKind, Stage, VerificationCounts};
pub use pipeline::{LoadStatistics, VerifiedContent, load_once, load_verified_once};
pub use read::{
    ATTEMPTS, BYTES_PER_DOCUMENT, FREE_DOCUMENTS, FREE_GROWTH_BYTES, MAX_GROWTH, READERS,
};
pub use refresh::{
    FOLLOWED_POLL, JITTER, MAX_REMOTE_BACKOFF, POLL, PULL_BACKOFF, PollPolicy, REMOTE_BACKOFF,
    RefreshPolicy, WatchInterval,
};
pub use refresh_requests::{RefreshError, Refresher};
pub use remote_sources::{HttpClient, HttpSettings};
pub use serving::FailureReason;
pub use shared::open_shared_store;
pub use shared_store::{SharedLookup, SharedStore, SharedStoreError, SharedUpload};
pub use source::{Source, SourceParseError};
pub use spec::{CatalogSpec, SourceSpec};
pub use state_file::StateFile;
pub use status::{FileReadError, LoadError, SyncStatus};
pub use verification::MAX_SHOWN_REASON_BYTES;

#[cfg(test)]
mod tests;
