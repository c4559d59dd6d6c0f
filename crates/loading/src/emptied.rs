//! Directories that have become empty. It is the usual sign of an upload that is half done, or of a
//! volume that is not mounted, so that the last content stays served until the directory is found
//! as it is a second time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::LoadError;
use crate::directory::{Listing, Revision};

/// Revisions without any blob that were refused once, by the keys of their sources.
#[derive(Debug, Default)]
pub(crate) struct EmptiedDirectories(Mutex<HashMap<String, Revision>>);

impl EmptiedDirectories {
    /// Refuses a revision without any blob the first time that it is read, if the source had
    /// `former_bytes` of blobs before.
    pub(crate) fn check(
        &self,
        key: &str,
        listing: &Listing,
        is_empty: bool,
        former_bytes: u64,
    ) -> Result<(), LoadError> {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_confirmed = refused.remove(key).as_ref() == Some(listing.revision());
        if !is_empty || former_bytes == 0 || is_confirmed {
            return Ok(());
        }
        refused.insert(key.to_owned(), listing.revision().clone());
        Err(LoadError::Emptied {
            root: listing.root().to_owned(),
        })
    }
}
