//! Protection against directories that have become empty.
//!
//! An empty directory is usually an upload that has just begun, or a volume that is not mounted. The
//! last content stays served until a second attempt finds the directory unchanged.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::LoadError;
use crate::directory::{DirectoryRevision, Listing};

/// Revisions without blobs that have been rejected once, by the keys of their sources.
#[derive(Debug, Default)]
pub(crate) struct EmptiedDirectories(Mutex<HashMap<String, DirectoryRevision>>);

impl EmptiedDirectories {
    /// Rejects a revision without blobs the first time that it is read, if the source has had
    /// `former_bytes` of blobs before.
    pub(crate) fn check(
        &self,
        key: &str,
        listing: &Listing,
        is_empty: bool,
        former_bytes: u64,
    ) -> Result<(), LoadError> {
        let mut rejected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_confirmed = rejected.remove(key).as_ref() == Some(listing.revision());
        if !is_empty || former_bytes == 0 || is_confirmed {
            return Ok(());
        }
        rejected.insert(key.to_owned(), listing.revision().clone());
        Err(LoadError::Emptied {
            root: listing.root().to_owned(),
        })
    }
}
