//! Where requests do what takes longer than a moment: in turns, on threads that serve no
//! connections, because whatever a thread that serves connections does, probes wait for it.

use admission::{FairSemaphore, Peer};
use futures_util::Stream;
use tokio::task::JoinError;

use crate::status::Status;

/// Whose requests are counted together. All users come through the addresses of kube-apiserver, so
/// that an address counts only where nobody says which user it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Requester {
    User(String),
    Peer(Peer),
}

/// The turns of a requester.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    turns: FairSemaphore<Requester>,
    requester: Requester,
}

impl Work {
    pub(crate) fn new(turns: &FairSemaphore<Requester>, requester: &Requester) -> Self {
        Self {
            turns: turns.clone(),
            requester: requester.clone(),
        }
    }

    /// Does work in a turn.
    ///
    /// # Errors
    /// It panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        let done = self.turns.acquire(&self.requester).await.run(work);
        done.await
            .map_err(|_| Status::internal("the response could not be put together"))
    }

    /// Makes a stream of items, each in a turn of its own.
    pub(crate) fn stream<T, I>(
        &self,
        items: I,
    ) -> impl Stream<Item = Result<T, JoinError>> + Send + use<T, I>
    where
        T: Send + 'static,
        I: Iterator<Item = T> + Send + 'static,
    {
        self.turns.stream(self.requester.clone(), items)
    }
}
