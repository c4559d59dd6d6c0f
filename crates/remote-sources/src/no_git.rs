//! The place of `git` in builds without the feature `source-git`, which refuse its references.

use std::path::Path;

use images::unpack::Unpacked;

use crate::{GitFetch, GitFetched, HttpClient, ReferenceError, RemoteError};

/// A folder of a commit, of which builds without the feature have none.
#[derive(Debug)]
pub enum GitDownload {}

impl HttpClient {
    /// Refuses the reference.
    #[expect(clippy::unused_async, reason = "its callers await it in other builds")]
    pub async fn fetch_git(
        &self,
        fetch: GitFetch<'_>,
        _progress: impl Fn(u64, u64) + Send + Sync,
    ) -> Result<GitFetched, RemoteError> {
        let reference = fetch.reference.to_string();
        Err(RemoteError::Reference(ReferenceError::NoGit(reference)))
    }
}

impl GitDownload {
    /// Returns the revision.
    pub fn revision(&self) -> &str {
        match *self {}
    }

    /// Returns the number of files, folders and links.
    pub fn entries(&self) -> u64 {
        match *self {}
    }

    /// Copies the files of the folder to the file system of another one.
    pub fn unpack(&self, _folder: &Path, _progress: impl Fn(u64)) -> Result<Unpacked, RemoteError> {
        match *self {}
    }
}
