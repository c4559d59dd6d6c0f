//! The result of one attempt to load a source.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serving::{Content, LoadFailure, LoadStatus, SourceDescription, Verification};

use crate::{LoadError, SyncStatus};

/// The result of an attempt to load a source.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// Identifier of the task that made the attempt.
    pub(crate) task: u64,
    /// The content to serve; `None` if the source has not given one yet.
    pub(crate) content: Option<Content>,
    /// Decision of the signature policy about the image of the content; `None` without a policy.
    pub(crate) verification: Option<Arc<Verification>>,
    pub(crate) status: SyncStatus,
    pub(crate) duration: Duration,
    /// Number of refresh requests before the attempt began.
    pub(crate) requested: u64,
    /// Number of consecutive failed attempts, including this one.
    pub(crate) failures: u32,
    /// Revision of the source that was loaded last; `None` for a directory.
    pub(crate) revision: Option<String>,
    /// Ids of the servers that the content came through, with this one first; empty if unknown.
    pub(crate) via: Arc<str>,
    /// Time at which the attempt ended.
    pub(crate) at: Timestamp,
    /// Time of the next poll; `None` if there is none, or if the source is watched.
    pub(crate) next_check: Option<Timestamp>,
}

impl Attempt {
    /// Creates the result for a content whose stored file is damaged.
    pub(crate) fn damaged(task: u64, path: &Path) -> Self {
        Self {
            task,
            content: None,
            verification: None,
            status: SyncStatus::Failed(Arc::new(LoadError::Damaged(path.to_owned()))),
            duration: Duration::ZERO,
            requested: 0,
            failures: 1,
            revision: None,
            via: Arc::default(),
            at: Timestamp::now(),
            next_check: None,
        }
    }

    /// Returns whether this is the result for a damaged stored file.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self.status.error(), Some(LoadError::Damaged(_)))
    }

    /// Returns the load status after this attempt.
    pub(crate) fn load_status(&self, before: &LoadStatus) -> LoadStatus {
        let (last_success, last_failure) = match &self.status {
            SyncStatus::Pending => (before.last_success, before.last_failure.clone()),
            SyncStatus::Synced => (Some(self.at), None),
            SyncStatus::Failed(error) => {
                let reason = error.reason();
                let message = error.chain();
                let failure = LoadFailure {
                    at: self.at,
                    reason,
                    message,
                    attempts: self.failures,
                };
                (before.last_success, Some(failure))
            }
        };
        LoadStatus {
            last_success,
            last_failure,
            next_check: self.next_check,
            verification: self.verification.clone(),
            via: Arc::clone(&self.via),
            source: before.source.clone().map(|source| SourceDescription {
                revision: self.revision.clone().or(source.revision),
                ..source
            }),
        }
    }
}
