//! Budgets in bytes, which bound the memory of many requests or responses together.

use std::sync::Arc;

use admission::{Peer, PeerPermit, Permits};
use axum::body::Bytes;
use tokio::sync::Notify;

/// Unit in bytes in which budgets count: a request of a few bytes takes more for its bookkeeping.
pub(super) const BUDGET_UNIT: usize = 1024;

/// A budget in bytes. One peer gets at most half of it, and a part is reserved for small permits,
/// so that a few large ones cannot exhaust it. Clones share it.
#[derive(Clone)]
pub(super) struct ByteBudget {
    all: Permits,
    all_units: usize,
    /// The part from which permits for more than `small_bytes` draw as well.
    large: Permits,
    large_units: usize,
    small_bytes: usize,
    /// Notified when a permit is released.
    freed: Arc<Notify>,
}

/// Bytes that were taken from a budget, released on drop.
#[derive(Debug)]
pub(super) struct BytePermit {
    bytes: usize,
    _all: PeerPermit,
    _large: Option<PeerPermit>,
    /// Last, because fields are dropped in order: waiters retry after the bytes are released.
    _freed: NotifyOnDrop,
}

#[derive(Debug)]
struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

/// Bytes with their permit.
struct PermittedBytes {
    bytes: Bytes,
    /// Released with the memory.
    _permit: BytePermit,
}

impl ByteBudget {
    /// Creates a budget of `bytes`, of which permits for more than `small_bytes` may take
    /// `large_bytes` together.
    pub(super) fn new(bytes: usize, large_bytes: usize, small_bytes: usize) -> Self {
        let all_units = units(bytes);
        let large_units = units(large_bytes);
        Self {
            all: Permits::new(all_units),
            all_units,
            large: Permits::new(large_units),
            large_units,
            small_bytes,
            freed: Arc::default(),
        }
    }

    /// Takes bytes from the budget for a peer; `None` if it is exhausted, or the peer has its
    /// share. A permit for more than the large part needs all of that part.
    pub(super) fn try_acquire(&self, peer: Peer, bytes: usize) -> Option<BytePermit> {
        let units = units(bytes);
        let large = if bytes <= self.small_bytes {
            None
        } else {
            Some(self.large.try_acquire(peer, units.min(self.large_units))?)
        };
        let all = self.all.try_acquire(peer, units)?;
        Some(BytePermit {
            bytes,
            _all: all,
            _large: large,
            _freed: NotifyOnDrop(Arc::clone(&self.freed)),
        })
    }

    /// Returns whether the budget is large enough for so many bytes.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        units(bytes) <= self.all_units
    }

    /// Waits until so many bytes are available; for more than the budget, until all of it is.
    pub(super) async fn acquire(&self, peer: Peer, bytes: usize) -> BytePermit {
        let bytes = bytes.min(self.all_units * BUDGET_UNIT);
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            // Before the attempt: a permit that is released after it must wake this task.
            freed.as_mut().enable();
            if let Some(permit) = self.try_acquire(peer, bytes) {
                return permit;
            }
            freed.await;
        }
    }

    /// Counts bytes for a peer until the last copy of them is dropped; `None` if the budget is
    /// exhausted.
    pub(super) fn try_hold(&self, peer: Peer, bytes: Bytes) -> Option<Bytes> {
        let permit = self.try_acquire(peer, bytes.len())?;
        Some(permit.hold(bytes))
    }

    /// Returns the number of bytes that are in use, in whole units.
    pub(super) fn used_bytes(&self) -> usize {
        self.all.used() * BUDGET_UNIT
    }
}

impl BytePermit {
    /// Returns the number of bytes that were requested.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Attaches the permit to bytes: it is released when the last copy of them is dropped.
    pub(super) fn hold(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(PermittedBytes {
            bytes,
            _permit: self,
        })
    }
}

impl AsRef<[u8]> for PermittedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Units of the budget that so many bytes take.
fn units(bytes: usize) -> usize {
    bytes.div_ceil(BUDGET_UNIT)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;
    use tokio::time::timeout;

    use super::*;

    fn peer(last: u8) -> Peer {
        Peer::new([192, 0, 2, last].into())
    }

    #[test]
    fn large_permits_leave_room_for_small_ones() {
        let budget = ByteBudget::new(8 * BUDGET_UNIT, 6 * BUDGET_UNIT, BUDGET_UNIT);
        let large: Vec<_> = (0..4)
            .filter_map(|at| budget.try_acquire(peer(at), 2 * BUDGET_UNIT))
            .collect();
        let small: Vec<_> = (4..8)
            .filter_map(|at| budget.try_acquire(peer(at), 1))
            .collect();
        assert_eq!((large.len(), small.len()), (3, 2));
        drop(small);
        assert!(
            budget.try_acquire(peer(9), 2 * BUDGET_UNIT).is_none(),
            "what is free is for small permits"
        );
        drop(large);
        assert!(budget.try_acquire(peer(9), 2 * BUDGET_UNIT).is_some());
    }

    #[test]
    fn one_peer_has_half_of_each_part() {
        let budget = ByteBudget::new(8 * BUDGET_UNIT, 6 * BUDGET_UNIT, BUDGET_UNIT);
        let own: Vec<_> = (0..9)
            .filter_map(|_| budget.try_acquire(peer(1), BUDGET_UNIT))
            .collect();
        assert_eq!(own.len(), 4);
        let others: Vec<_> = (0..9)
            .filter_map(|_| budget.try_acquire(peer(2), BUDGET_UNIT))
            .collect();
        assert_eq!(others.len(), 4);
        drop((own, others));
        let large: Vec<_> = (0..9)
            .filter_map(|_| budget.try_acquire(peer(1), BUDGET_UNIT + 1))
            .collect();
        assert_eq!(
            large.len(),
            1,
            "two units are less than half of six, and four are more"
        );
    }

    #[test]
    fn held_bytes_count_until_their_last_copy_is_dropped() {
        let budget = ByteBudget::new(BUDGET_UNIT, BUDGET_UNIT, BUDGET_UNIT);
        let held = budget
            .try_hold(peer(1), Bytes::from_static(b"text"))
            .unwrap();
        assert_eq!(budget.used_bytes(), BUDGET_UNIT);
        let copy = held.slice(1..);
        drop(held);
        assert!(budget.try_acquire(peer(2), 1).is_none());
        drop(copy);
        assert_eq!(budget.used_bytes(), 0);
        assert!(budget.try_acquire(peer(2), 1).is_some());
    }

    #[tokio::test]
    async fn a_permit_for_more_than_the_budget_waits_until_it_is_free() {
        let budget = ByteBudget::new(8 * BUDGET_UNIT, 6 * BUDGET_UNIT, BUDGET_UNIT);
        assert!(budget.try_acquire(peer(1), 9 * BUDGET_UNIT).is_none());
        let held = budget.try_acquire(peer(1), 1);
        let mut waiting = Box::pin(budget.acquire(peer(2), 9 * BUDGET_UNIT));
        assert!((&mut waiting).now_or_never().is_none());
        drop(held);
        timeout(Duration::from_mins(1), waiting)
            .await
            .expect("it is told that there is room");
    }

    #[test]
    fn a_permit_for_more_than_the_large_part_is_the_only_large_one() {
        let budget = ByteBudget::new(8 * BUDGET_UNIT, 6 * BUDGET_UNIT, BUDGET_UNIT);
        let held = budget
            .try_acquire(peer(1), 7 * BUDGET_UNIT)
            .expect("nothing is taken");
        assert!(budget.try_acquire(peer(2), 2 * BUDGET_UNIT).is_none());
        assert!(budget.try_acquire(peer(2), BUDGET_UNIT).is_some());
        drop(held);
        let held = budget.try_acquire(peer(1), 2 * BUDGET_UNIT);
        assert!(held.is_some() && budget.try_acquire(peer(2), 7 * BUDGET_UNIT).is_none());
        assert_eq!(
            [8, 9].map(|units| budget.fits(units * BUDGET_UNIT)),
            [true, false]
        );
    }
}
