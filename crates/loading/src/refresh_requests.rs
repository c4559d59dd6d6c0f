//! Refresh requests: a caller has a source loaded at once, and waits until the result is served.

use std::sync::Arc;

use fbc_grammar::Digest;
use serving::CatalogName;
use tokio::sync::{mpsc, oneshot, watch};

use crate::attempt::Attempt;
use crate::{LoadError, SyncStatus};

/// Sends refresh requests to a loader. Clones share the loader.
#[derive(Clone, Debug)]
pub struct Refresher(pub(crate) mpsc::Sender<RefreshRequest>);

/// A request to load the source of a catalog.
#[derive(Debug)]
pub(crate) struct RefreshRequest {
    pub(crate) name: CatalogName,
    pub(crate) respond: oneshot::Sender<RefreshResult>,
}

/// Digest of the content that is served after a load, or the error of the load.
pub(crate) type RefreshResult = Result<Digest, Arc<LoadError>>;

/// Error of a refresh request. The served content is unchanged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RefreshError {
    /// The loader has no such catalog, does not load it again, or has been stopped.
    #[error("the catalog is not loaded")]
    NotLoaded,
    /// The source cannot be loaded.
    #[error("{}", .0.chain())]
    Failed(Arc<LoadError>),
}

/// The refresh requests of one source.
#[derive(Debug)]
pub(crate) struct PendingRefreshes {
    /// Number of requests so far. The task of the source watches it.
    requested: watch::Sender<u64>,
    /// Requests without a response, each with its number.
    waiting: Vec<(u64, oneshot::Sender<RefreshResult>)>,
}

impl Refresher {
    /// Loads the source of a catalog now, and returns the digest of the content that is then served.
    ///
    /// A directory is read without waiting until it has settled, because the caller knows that its
    /// change is complete. A load that is already under way does not count: it may have read the
    /// state before the change.
    ///
    /// # Errors
    /// The catalog is not loaded, or its source cannot be loaded. The served content is unchanged.
    pub async fn refresh(&self, name: &CatalogName) -> Result<Digest, RefreshError> {
        let (respond, response) = oneshot::channel();
        let request = RefreshRequest {
            name: name.clone(),
            respond,
        };
        self.0
            .send(request)
            .await
            .map_err(|_| RefreshError::NotLoaded)?;
        response
            .await
            .map_err(|_| RefreshError::NotLoaded)?
            .map_err(RefreshError::Failed)
    }
}

impl PendingRefreshes {
    /// Creates an empty list, and the receiver of the number of requests.
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

    /// Wakes the task of the source.
    pub(crate) fn wake(&mut self) {
        self.requested.send_modify(|requested| *requested += 1);
    }

    /// Returns whether an attempt began after all requests.
    pub(crate) fn is_current(&self, attempt: &Attempt) -> bool {
        attempt.requested == *self.requested.borrow()
    }

    /// Adds a request, and wakes the task of the source. If the task has ended, because the source
    /// does not change any more, dropping the request tells the caller.
    pub(crate) fn add(&mut self, respond: oneshot::Sender<RefreshResult>) {
        // Callers that have given up must not take memory until the source responds.
        self.waiting.retain(|(_, respond)| !respond.is_closed());
        if self.requested.is_closed() {
            return;
        }
        self.wake();
        self.waiting.push((*self.requested.borrow(), respond));
    }

    /// Responds to the requests that were made before an attempt began. Its content must have been
    /// published.
    pub(crate) fn respond(&mut self, attempt: &Attempt) {
        let result = match (&attempt.status, &attempt.content) {
            (SyncStatus::Failed(error), _) => Err(Arc::clone(error)),
            (SyncStatus::Synced, Some(content)) => Ok(content.digest),
            // A stored content: the attempt to load the source follows.
            (SyncStatus::Synced | SyncStatus::Pending, _) => return,
        };
        for (_, respond) in self
            .waiting
            .extract_if(.., |(number, _)| *number <= attempt.requested)
        {
            // The caller may have stopped waiting.
            let _ = respond.send(result.clone());
        }
    }
}
