//! Fetches of folders of git repositories.

use std::path::Path;

use crate::{GitDownload, RemoteReference};

/// A folder of a repository to fetch.
#[derive(Debug)]
pub struct GitFetch<'a> {
    /// The source.
    pub reference: &'a RemoteReference,
    /// Revision that the caller has; `None` fetches unconditionally.
    pub known: Option<&'a str>,
    /// Folder for the packs.
    pub folder: &'a Path,
}

/// The result of a fetch of a folder.
#[derive(Debug)]
pub enum GitFetched {
    /// The commit is the one that the caller has.
    Unchanged,
    /// The commit is another one, and the folder the same.
    Moved {
        /// The revision.
        revision: String,
    },
    /// A folder.
    Downloaded(Box<GitDownload>),
}
