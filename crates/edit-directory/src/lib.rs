//! Edits the directory of a catalog.
//!
//! ```text
//! LockedFolder::lock ─► CatalogDirectory::read ─► plan ─► write
//! ```
//!
//! A process that holds the lock reads all files, plans the changes of a batch, and replaces the
//! files, all or none. [`Journal`](journal::Journal) remembers the responses to requests with
//! idempotency keys. The crate knows neither HTTP nor what is served.

#![deny(missing_docs)]

mod directory;
mod error;
pub mod folder;
pub mod journal;
pub mod parallel;
mod read;

pub use directory::{CatalogDirectory, EditPlan};
pub use error::{CatalogReadError, DirectoryEditError};
pub use folder::{FolderError, LockedFolder};
pub use read::read_files;
