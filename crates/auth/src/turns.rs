//! How many questions the API server is asked at a time, of which those of one asker have half, so that invented tokens keep
//! no known user waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use http_facts::peer::Peer;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::key::Key;

/// For whom a question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asker {
    /// Who sent a token, of which is not known yet whose it is.
    Peer(Peer),
    /// The user whose rights are in question: all users whom a front proxy names have one peer.
    User(Key),
}

/// Bounds the questions. Clones share the bound.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    all: Arc<Semaphore>,
    maximum_of_asker: usize,
    /// Maximum time until it is the turn of a question.
    wait: Duration,
    /// Of askers that have a turn or wait for one.
    askers: Arc<Mutex<HashMap<Asker, Weak<Semaphore>>>>,
}

/// The turn of a question, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _of_asker: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Turns {
    pub(crate) fn new(maximum: usize, wait: Duration) -> Self {
        let all = Arc::new(Semaphore::new(maximum));
        Self { all, maximum_of_asker: maximum.div_ceil(2), wait, askers: Arc::default() }
    }

    /// Waits for a turn, behind the other questions of the asker first, so that an asker has no more places than turns in the
    /// queue of all. `None` if that takes too long.
    pub(crate) async fn take(&self, asker: Asker) -> Option<Turn> {
        let turn = async {
            let of_asker = acquire(self.of_asker(asker)).await;
            Turn { _of_asker: of_asker, _of_all: acquire(Arc::clone(&self.all)).await }
        };
        timeout(self.wait, turn).await.ok()
    }

    fn of_asker(&self, asker: Asker) -> Arc<Semaphore> {
        let mut askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_asker) = askers.get(&asker).and_then(Weak::upgrade) {
            return of_asker;
        }
        askers.retain(|_, of_asker| of_asker.strong_count() > 0);
        let of_asker = Arc::new(Semaphore::new(self.maximum_of_asker));
        askers.insert(asker, Arc::downgrade(&of_asker));
        of_asker
    }
}

async fn acquire(semaphore: Arc<Semaphore>) -> OwnedSemaphorePermit {
    semaphore.acquire_owned().await.expect("nobody closes the semaphore")
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::TURN_TIMEOUT;

    fn peer(number: u8) -> Asker {
        Asker::Peer(Peer::new(Ipv4Addr::new(192, 0, 2, number).into()))
    }

    #[tokio::test]
    async fn one_asker_has_half_of_the_turns_however_many_it_waits_for() {
        let turns = Turns::new(4, TURN_TIMEOUT);
        let take = |asker| turns.take(asker).now_or_never().map(|turn| turn.expect("it is free"));
        let mut held: Vec<_> = (0..2).map(|_| take(peer(1)).expect("half is free")).collect();
        let mut waiting = pin!(turns.take(peer(1)));
        assert!(waiting.as_mut().now_or_never().is_none());
        let others = [peer(2), Asker::User([1; 32])].map(|asker| take(asker).expect("it is free"));
        assert!(take(Asker::User([2; 32])).is_none(), "all are taken");
        held.pop();
        assert!(waiting.as_mut().now_or_never().is_some());
        drop((held, others));
    }

    #[tokio::test]
    async fn a_question_waits_for_its_turn_only_so_long() {
        let turns = Turns::new(2, Duration::ZERO);
        let held = turns.take(peer(1)).await;
        assert!(held.is_some(), "who waits for nobody has its turn at once");
        assert!(turns.take(peer(1)).await.is_none());
        drop(held);
        assert!(turns.take(peer(1)).await.is_some());
    }

    #[tokio::test]
    async fn askers_are_forgotten_that_have_no_turn() {
        let turns = Turns::new(4, TURN_TIMEOUT);
        for number in 0..100 {
            turns.take(peer(number)).await.expect("it is free");
        }
        assert_eq!(turns.askers.lock().unwrap().len(), 1);
    }
}
