//! Execution of work that takes longer than a moment, on threads that serve no connections.
//!
//! A thread that serves connections answers probes too, and does so only between two polls: work
//! that kept it for long would make a healthy process look dead.

use admission::{FairSemaphore, Peer};
use futures_util::Stream;
use tokio::task::JoinError;

use crate::status::Status;

/// The user or address whose requests share a bound. The requests of all users come from the
/// addresses of kube-apiserver, so that an address counts only if the user is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Requester {
    User(String),
    Peer(Peer),
}

/// Executes the work of one requester.
#[derive(Clone, Debug)]
pub(crate) struct RequestExecutor {
    permits: FairSemaphore<Requester>,
    requester: Requester,
}

impl RequestExecutor {
    pub(crate) fn new(permits: &FairSemaphore<Requester>, requester: &Requester) -> Self {
        Self {
            permits: permits.clone(),
            requester: requester.clone(),
        }
    }

    /// Executes work with a permit.
    ///
    /// # Errors
    /// The work panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        let done = self.permits.acquire(&self.requester).await.run(work);
        done.await
            .map_err(|_| Status::internal("the response could not be put together"))
    }

    /// Returns a stream of the items, each made with a permit of its own.
    pub(crate) fn stream<T, I>(
        &self,
        items: I,
    ) -> impl Stream<Item = Result<T, JoinError>> + Send + use<T, I>
    where
        T: Send + 'static,
        I: Iterator<Item = T> + Send + 'static,
    {
        self.permits.stream(self.requester.clone(), items)
    }
}
