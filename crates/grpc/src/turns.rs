//! How many calls are answered at a time, of which one peer has half, so that who takes its time keeps no one else waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use http_facts::peer::Peer;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

/// Bounds the calls of one kind. Clones share the bound.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    all: Arc<Semaphore>,
    maximum_of_peer: usize,
    /// Of peers that have a turn or wait for one.
    peers: Arc<Mutex<HashMap<Peer, Weak<Semaphore>>>>,
}

/// The turn of a call, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _of_peer: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Turn {
    /// Does work on a thread that serves no connections. The turn lasts until the work has ended, also where nobody waits for it
    /// any more: who gives up and asks again would otherwise have any number of them.
    pub(crate) fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        tokio::task::spawn_blocking(move || {
            let _held = self;
            work()
        })
    }
}

impl Turns {
    pub(crate) fn new(maximum: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(maximum)), maximum_of_peer: maximum.div_ceil(2), peers: Arc::default() }
    }

    /// Waits for a turn: behind the other calls of the peer first, so that a peer has no more places than turns in the queue
    /// of all.
    pub(crate) async fn take(&self, peer: Peer) -> Turn {
        let of_peer = acquire(self.of_peer(peer)).await;
        Turn { _of_peer: of_peer, _of_all: acquire(Arc::clone(&self.all)).await }
    }

    fn of_peer(&self, peer: Peer) -> Arc<Semaphore> {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_peer) = peers.get(&peer).and_then(Weak::upgrade) {
            return of_peer;
        }
        peers.retain(|_, of_peer| of_peer.strong_count() > 0);
        let of_peer = Arc::new(Semaphore::new(self.maximum_of_peer));
        peers.insert(peer, Arc::downgrade(&of_peer));
        of_peer
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

    fn peer(number: u8) -> Peer {
        Peer::new(Ipv4Addr::new(192, 0, 2, number).into())
    }

    #[test]
    fn one_peer_has_half_of_the_turns_however_many_it_waits_for() {
        let turns = Turns::new(4);
        let mut held: Vec<_> = (0..2).map(|_| turns.take(peer(1)).now_or_never().expect("half is free")).collect();
        let mut waiting = pin!(turns.take(peer(1)));
        assert!(waiting.as_mut().now_or_never().is_none());
        let others: Vec<_> =
            (2..4).map(|number| turns.take(peer(number)).now_or_never().expect("it is free")).collect();
        assert!(turns.take(peer(4)).now_or_never().is_none(), "all are taken");
        held.pop();
        assert!(waiting.as_mut().now_or_never().is_some());
        drop((held, others));
    }

    #[tokio::test]
    async fn a_turn_lasts_until_its_work_has_ended_whoever_waits_for_it() {
        let turns = Turns::new(1);
        let (go_on, told) = std::sync::mpsc::channel();
        let turn = turns.take(peer(1)).await;
        drop(turn.run(move || told.recv()));
        assert!(turns.take(peer(2)).now_or_never().is_none());
        go_on.send(()).unwrap();
        turns.take(peer(2)).await;
    }

    #[test]
    fn peers_are_forgotten_that_have_no_turn() {
        let turns = Turns::new(4);
        for number in 0..100 {
            turns.take(peer(number)).now_or_never().expect("it is free");
        }
        assert_eq!(turns.peers.lock().unwrap().len(), 1);
    }
}
