//! Loads on demand: a source is loaded although it does not look changed or still, and whoever
//! asked is told what is served then.

use std::sync::Arc;

use fbc_grammar::Digest;
use serving::CatalogName;
use tokio::sync::{mpsc, oneshot, watch};

use crate::source_task::Attempt;
use crate::{LoadError, SyncStatus};

/// Asks a loader for loads. Clones ask the same one.
#[derive(Clone, Debug)]
pub struct Refresher(pub(crate) mpsc::Sender<RefreshRequest>);

/// A load that somebody waits for.
#[derive(Debug)]
pub(crate) struct RefreshRequest {
    pub(crate) name: CatalogName,
    pub(crate) served: oneshot::Sender<Answer>,
}

/// The digest of what is served after a load, or why it failed.
pub(crate) type Answer = Result<Digest, Arc<LoadError>>;

/// Why a load on demand serves nothing new.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RefreshError {
    /// No source of the catalog is kept current, or not any more.
    #[error("nothing keeps the catalog current")]
    NotLoaded,
    /// The source cannot be loaded.
    #[error("{}", .0.chain())]
    Failed(Arc<LoadError>),
}

/// The loads of one source that somebody waits for.
#[derive(Debug)]
pub(crate) struct Demand {
    /// Number of loads that were asked for so far; the task of the source receives it.
    requested: watch::Sender<u64>,
    /// Who waits, each with its number.
    waiting: Vec<(u64, oneshot::Sender<Answer>)>,
}

impl Refresher {
    /// Loads the source of a catalog now, and returns the digest of the content that is served
    /// then.
    ///
    /// A directory need not have been still for a while, because the caller knows that its own
    /// change is complete. A load that is under way is not enough: it may have read what was there
    /// before.
    ///
    /// # Errors
    /// What is served is what was served before, if anything.
    pub async fn refresh(&self, name: &CatalogName) -> Result<Digest, RefreshError> {
        let (served, answer) = oneshot::channel();
        let request = RefreshRequest {
            name: name.clone(),
            served,
        };
        self.0
            .send(request)
            .await
            .map_err(|_| RefreshError::NotLoaded)?;
        answer
            .await
            .map_err(|_| RefreshError::NotLoaded)?
            .map_err(RefreshError::Failed)
    }
}

impl Demand {
    /// Creates the demand of a source, and what its task receives.
    pub(crate) fn new() -> (Self, watch::Receiver<u64>) {
        let (requested, receiver) = watch::channel(0);
        (
            Self {
                requested,
                waiting: Vec::new(),
            },
            receiver,
        )
    }

    /// Asks the task of the source for a load that begins after this call.
    pub(crate) fn add(&mut self, served: oneshot::Sender<Answer>) {
        self.requested.send_modify(|requested| *requested += 1);
        self.waiting.push((*self.requested.borrow(), served));
    }

    /// Tells everyone who asked before an attempt began how it ended. What it gave is served by
    /// now.
    pub(crate) fn answer(&mut self, attempt: &Attempt) {
        let result = match (&attempt.status, &attempt.content) {
            (SyncStatus::Failed(error), _) => Err(Arc::clone(error)),
            (SyncStatus::Synced, Some(content)) => Ok(content.digest),
            // The source is being contacted.
            (SyncStatus::Synced | SyncStatus::Pending, _) => return,
        };
        for (_, served) in self
            .waiting
            .extract_if(.., |(number, _)| *number <= attempt.requested)
        {
            // A caller that does not wait any more needs no answer.
            let _ = served.send(result.clone());
        }
    }
}
