//! How many requests of one kind are worked on at a time, of which one requester has half, so that nobody keeps all others out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use http_facts::peer::Peer;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whose requests are counted together. All users come through the addresses of kube-apiserver, so that an address counts only
/// where nobody says which user it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Requester {
    User(String),
    Peer(Peer),
}

/// Bounds the requests of one kind. Clones share the bound.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    all: Arc<Semaphore>,
    maximum_of_one: usize,
    /// Of requesters that have a turn or wait for one.
    requesters: Arc<Mutex<HashMap<Requester, Weak<Semaphore>>>>,
}

/// The turn of a request, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _of_one: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Turns {
    pub(crate) fn new(maximum: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(maximum)), maximum_of_one: maximum.div_ceil(2), requesters: Arc::default() }
    }

    /// Returns a turn if there is one for this requester now.
    pub(crate) fn try_take(&self, requester: &Requester) -> Option<Turn> {
        let of_one = self.of_one(requester).try_acquire_owned().ok()?;
        Some(Turn { _of_one: of_one, _of_all: Arc::clone(&self.all).try_acquire_owned().ok()? })
    }

    /// Waits for a turn: behind the other requests of the requester first, so that it has no more places than turns in the queue
    /// of all.
    pub(crate) async fn take(&self, requester: &Requester) -> Turn {
        let of_one = acquire(self.of_one(requester)).await;
        Turn { _of_one: of_one, _of_all: acquire(Arc::clone(&self.all)).await }
    }

    fn of_one(&self, requester: &Requester) -> Arc<Semaphore> {
        let mut requesters = self.requesters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_one) = requesters.get(requester).and_then(Weak::upgrade) {
            return of_one;
        }
        requesters.retain(|_, of_one| of_one.strong_count() > 0);
        let of_one = Arc::new(Semaphore::new(self.maximum_of_one));
        requesters.insert(requester.clone(), Arc::downgrade(&of_one));
        of_one
    }
}

async fn acquire(semaphore: Arc<Semaphore>) -> OwnedSemaphorePermit {
    semaphore.acquire_owned().await.expect("nobody closes the semaphore")
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    fn user(name: &str) -> Requester {
        Requester::User(name.to_owned())
    }

    #[test]
    fn one_requester_has_half_of_the_turns_and_all_together_have_all() {
        let turns = Turns::new(4);
        let mut held: Vec<_> = (0..2).map(|_| turns.try_take(&user("a")).expect("half is free")).collect();
        assert!(turns.try_take(&user("a")).is_none());
        let others = ["b", "c"].map(|name| turns.try_take(&user(name)).expect("it is free"));
        assert!(turns.try_take(&user("d")).is_none(), "all are taken");
        held.pop();
        assert!(turns.try_take(&user("d")).is_some());
        drop((held, others));
        assert!(turns.try_take(&Requester::Peer(Peer::default())).is_some());
        assert_eq!(turns.requesters.lock().unwrap().len(), 1, "those without a turn are forgotten");
    }

    #[test]
    fn a_requester_waits_for_its_own_turns() {
        let turns = Turns::new(2);
        let one = user("a");
        let held = turns.try_take(&one);
        let mut waiting = pin!(turns.take(&one));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(turns.take(&user("b")).now_or_never().is_some());
        drop(held);
        assert!(waiting.as_mut().now_or_never().is_some());
    }
}
