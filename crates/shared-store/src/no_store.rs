//! The place of `store` in builds without the feature `shared-store`, which refuse every URL.

use std::fmt::Display;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use fbc_grammar::Digest;

use crate::{Lookup, SharedStoreError, SharedStoreMetrics, Upload};

/// A shared store, of which builds without the feature have none.
#[derive(Debug)]
pub enum SharedStore {}

/// A downloaded content, of which builds without the feature have none.
#[derive(Debug)]
pub enum SharedContent {}

/// A permission to upload, of which builds without the feature have none.
#[derive(Debug)]
pub enum UploadTicket {}

impl SharedStore {
    /// Refuses the URL.
    pub fn open(_url: &str, _build: &str) -> Result<Arc<Self>, SharedStoreError> {
        Err(SharedStoreError::NotBuilt)
    }

    /// Returns the URL.
    pub fn url(&self) -> &str {
        match *self {}
    }

    /// Returns the counters.
    pub fn metrics(&self) -> &SharedStoreMetrics {
        match *self {}
    }

    /// Searches a revision.
    #[expect(clippy::unused_async, reason = "its callers await it in other builds")]
    pub async fn find(self: &Arc<Self>, _revision: &str, _folder: &Path) -> Lookup {
        match **self {}
    }

    /// Uploads a content.
    #[expect(clippy::unused_async, reason = "its callers await it in other builds")]
    pub async fn upload(
        self: &Arc<Self>,
        _ticket: UploadTicket,
        _compress: impl Future<Output = Option<Upload>> + Send,
    ) {
        match **self {}
    }
}

impl SharedContent {
    /// Returns the digest of the lines.
    pub fn digest(&self) -> Digest {
        match *self {}
    }

    /// Returns the length of the lines in bytes.
    pub fn bytes(&self) -> u64 {
        match *self {}
    }

    /// Returns the compressed lines.
    pub fn compressed(&self) -> &File {
        match *self {}
    }

    /// Returns the analysis.
    pub fn analysis(&self) -> &Bytes {
        match *self {}
    }

    /// Counts a hit.
    pub fn accept(self) {
        match self {}
    }

    /// Counts a damaged content.
    pub fn reject(self, _reason: &dyn Display) -> UploadTicket {
        match self {}
    }

    /// Counts a content that cannot be stored.
    pub fn give_up(self, _reason: &dyn Display) -> UploadTicket {
        match self {}
    }
}
