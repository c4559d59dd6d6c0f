//! Permits that requests and responses hold until they are done, without a queue. One peer holds at
//! most half of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Peer;

/// Bounds what requests or responses hold together, such as encoders or bytes. Clones share the
/// bound.
#[derive(Clone, Debug)]
pub struct Permits {
    count: usize,
    /// Maximum number of permits that one peer holds.
    share: usize,
    held: Arc<Mutex<HeldPermits>>,
}

/// Numbers of permits that are held.
#[derive(Debug, Default)]
struct HeldPermits {
    all: usize,
    /// By peer; without those that hold none.
    by_peer: HashMap<Peer, usize>,
}

/// A number of permits. Dropping it returns them.
#[derive(Debug)]
pub struct PeerPermit {
    held: Arc<Mutex<HeldPermits>>,
    peer: Peer,
    count: usize,
}

impl Permits {
    /// Creates a bound.
    pub fn new(count: usize) -> Self {
        Self {
            count,
            share: count.div_ceil(2),
            held: Arc::default(),
        }
    }

    /// Acquires permits for a peer; `None` if fewer are free, or the peer would hold more than half
    /// of all. A peer that holds none may acquire more than half at once: a request that needs so
    /// many could never be admitted otherwise.
    pub fn try_acquire(&self, peer: Peer, count: usize) -> Option<PeerPermit> {
        let mut held = lock(&self.held);
        let all = held
            .all
            .checked_add(count)
            .filter(|all| *all <= self.count)?;
        let of_peer = held.by_peer.get(&peer).copied().unwrap_or_default();
        if count > 0 {
            if of_peer > 0 && of_peer + count > self.share {
                return None;
            }
            held.by_peer.insert(peer, of_peer + count);
        }
        held.all = all;
        Some(PeerPermit {
            held: Arc::clone(&self.held),
            peer,
            count,
        })
    }

    /// Returns the number of permits that are held.
    pub fn used(&self) -> usize {
        lock(&self.held).all
    }
}

impl Drop for PeerPermit {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        held.all -= self.count;
        if let Some(of_peer) = held.by_peer.get_mut(&self.peer) {
            *of_peer -= self.count;
            if *of_peer == 0 {
                held.by_peer.remove(&self.peer);
            }
        }
    }
}

fn lock(held: &Mutex<HeldPermits>) -> MutexGuard<'_, HeldPermits> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: u8) -> Peer {
        Peer::new([192, 0, 2, last].into())
    }

    #[test]
    fn one_peer_holds_half_of_the_permits_and_others_the_rest() {
        let permits = Permits::new(5);
        let first = permits.try_acquire(peer(1), 2).expect("nothing is held");
        let second = permits
            .try_acquire(peer(1), 1)
            .expect("half, rounded up, is three");
        assert!(permits.try_acquire(peer(1), 1).is_none());

        let other = permits.try_acquire(peer(2), 2).expect("the rest is free");
        assert!(permits.try_acquire(peer(3), 1).is_none(), "nothing is free");
        assert_eq!(permits.used(), 5);
        drop(first);
        assert!(permits.try_acquire(peer(1), 2).is_some());
        assert!(permits.try_acquire(peer(3), 2).is_some());
        drop((second, other));
        assert_eq!((permits.used(), lock(&permits.held).by_peer.len()), (0, 0));
    }

    #[test]
    fn a_peer_that_holds_nothing_may_take_more_than_half_at_once() {
        let permits = Permits::new(4);
        let most = permits.try_acquire(peer(1), 4).expect("nothing is held");
        assert!(permits.try_acquire(peer(2), 1).is_none());
        assert!(permits.try_acquire(peer(1), 0).is_some());
        drop(most);
        assert!(
            permits.try_acquire(peer(1), 5).is_none(),
            "there are not so many"
        );
    }
}
