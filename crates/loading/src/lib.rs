//! Keeps catalogs current: source → unpacking → reading → store → index → published set.
//!
//! This is the only crate that knows the order of the stages. [`Loader::set`] says which catalogs
//! are to be served, as often as that changes; one task keeps one source current, whatever kind it
//! is; a source that several catalogs name is loaded once for all of them, and so are references to
//! one image. What is slow on the processor or the disk runs on threads of its own with low
//! priority, one content at a time. A content that cannot be loaded leaves the former one served.
//! This crate does not know who asks for catalogs or who shows its reports.

mod contents;
mod demand;
pub mod directory;
mod emptied;
mod image;
mod integrity;
mod loader;
mod low_priority;
mod metrics;
mod read;
mod refresh;
mod source;
mod source_task;
mod span;
mod spec;
mod status;

pub use demand::{RefreshError, Refresher};
pub use directory::ATTEMPTS;
pub use image::PULLS;
pub use integrity::CHECK_INTERVAL;
pub use loader::{COMPRESS_AFTER, Event, Loader, LoaderTask, READY_AFTER, Report};
pub use metrics::{CatalogLoads, LoadResult, LoadStatistics, SourceKind, Stage};
pub use read::{
    BYTES_PER_DOCUMENT, FREE_DOCUMENTS, FREE_GROWTH_BYTES, MAX_GROWTH, READERS, ReadFailure,
};
pub use refresh::{JITTER, POLL, PollPolicy, RETRY, RefreshPolicy, WatchInterval};
pub use serving::FailureReason;
pub use source::{InvalidSource, Source};
pub use source_task::{Step, load_once};
pub use spec::{CatalogSpec, SourceSpec};
pub use status::{LoadError, SyncStatus};

#[cfg(test)]
mod tests;
