//! Budgets in bytes, which bound what many requests or responses hold together.

use std::sync::Arc;

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Unit in bytes that budgets count: a semaphore counts to 2^29 on small machines.
pub(super) const BUDGET_UNIT: usize = 1024;

/// A budget in bytes. A part of it is reserved for small permits, so that a few large ones cannot use it up. Clones share
/// it.
#[derive(Clone)]
pub(super) struct ByteBudget {
    all: Arc<Semaphore>,
    all_units: usize,
    /// The part that permits for more than `small_bytes` draw from, in addition to the whole.
    large: Arc<Semaphore>,
    large_units: u32,
    small_bytes: usize,
}

/// Bytes that are taken from a budget, and returned when this is dropped.
#[derive(Debug)]
pub(super) struct BytePermit {
    bytes: usize,
    _all: OwnedSemaphorePermit,
    _large: Option<OwnedSemaphorePermit>,
}

/// Bytes with their permit.
struct Held {
    bytes: Bytes,
    /// Returned to the budget with the memory.
    _permit: BytePermit,
}

impl ByteBudget {
    /// Creates a budget of `bytes`, of which permits for more than `small_bytes` may take `large_bytes` together.
    pub(super) fn new(bytes: usize, large_bytes: usize, small_bytes: usize) -> Self {
        let all_units = |bytes| (units(bytes) as usize).min(Semaphore::MAX_PERMITS);
        let semaphore = |bytes| Arc::new(Semaphore::new(all_units(bytes)));
        Self {
            all: semaphore(bytes),
            all_units: all_units(bytes),
            large: semaphore(large_bytes),
            large_units: units(large_bytes),
            small_bytes,
        }
    }

    /// Takes bytes from the budget; `None` if there is no room. For more than its large part, that must be free.
    pub(super) fn try_acquire(&self, bytes: usize) -> Option<BytePermit> {
        let take = |from: &Arc<Semaphore>, units| Arc::clone(from).try_acquire_many_owned(units).ok();
        let units = units(bytes);
        let large = if self.is_small(bytes) { None } else { Some(take(&self.large, units.min(self.large_units))?) };
        Some(BytePermit { bytes, _all: take(&self.all, units)?, _large: large })
    }

    /// Returns whether so many bytes have room while nothing else is taken.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        units(bytes) as usize <= self.all_units
    }

    /// Waits until the budget has room for the bytes. For more than its large part it waits until that is free.
    pub(super) async fn acquire(&self, bytes: usize) -> Option<BytePermit> {
        let units = units(bytes).min(self.large_units);
        let take = async |from: &Arc<Semaphore>| Arc::clone(from).acquire_many_owned(units).await.ok();
        let large = if self.is_small(bytes) { None } else { Some(take(&self.large).await?) };
        Some(BytePermit { bytes, _all: take(&self.all).await?, _large: large })
    }

    /// Counts bytes until the last copy of them is dropped; `None` if the budget has no room.
    pub(super) fn try_hold(&self, bytes: Bytes) -> Option<Bytes> {
        let permit = self.try_acquire(bytes.len())?;
        Some(permit.hold(bytes))
    }

    /// Returns the number of bytes that are taken, in whole units.
    pub(super) fn used_bytes(&self) -> usize {
        self.all_units.saturating_sub(self.all.available_permits()) * BUDGET_UNIT
    }

    fn is_small(&self, bytes: usize) -> bool {
        bytes <= self.small_bytes
    }
}

impl BytePermit {
    /// Returns the number of bytes for which it was taken.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the permit when the last copy of the bytes is dropped.
    pub(super) fn hold(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Held { bytes, _permit: self })
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Units of the budget that so many bytes take.
fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BUDGET_UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_permits_leave_room_for_small_ones() {
        let budget = ByteBudget::new(8 * BUDGET_UNIT, 6 * BUDGET_UNIT, BUDGET_UNIT);
        let large: Vec<_> = (0..4).filter_map(|_| budget.try_acquire(2 * BUDGET_UNIT)).collect();
        let small: Vec<_> = (0..4).filter_map(|_| budget.try_acquire(1)).collect();
        assert_eq!((large.len(), small.len()), (3, 2));
        drop(small);
        assert!(budget.try_acquire(2 * BUDGET_UNIT).is_none(), "what is free is for small permits");
        drop(large);
        assert!(budget.try_acquire(2 * BUDGET_UNIT).is_some());
    }

    #[test]
    fn held_bytes_count_until_their_last_copy_is_dropped() {
        let budget = ByteBudget::new(BUDGET_UNIT, BUDGET_UNIT, BUDGET_UNIT);
        let held = budget.try_hold(Bytes::from_static(b"text")).unwrap();
        assert_eq!(budget.used_bytes(), BUDGET_UNIT);
        let copy = held.slice(1..);
        drop(held);
        assert!(budget.try_acquire(1).is_none());
        drop(copy);
        assert_eq!(budget.used_bytes(), 0);
        assert!(budget.try_acquire(1).is_some());
    }

    #[tokio::test]
    async fn a_permit_for_more_than_the_budget_waits_until_it_is_free() {
        let budget = ByteBudget::new(8 * BUDGET_UNIT, 6 * BUDGET_UNIT, BUDGET_UNIT);
        assert!(budget.try_acquire(9 * BUDGET_UNIT).is_none());
        assert!(budget.acquire(9 * BUDGET_UNIT).await.is_some());
    }

    #[test]
    fn a_permit_for_more_than_the_large_part_is_the_only_large_one() {
        let budget = ByteBudget::new(8 * BUDGET_UNIT, 6 * BUDGET_UNIT, BUDGET_UNIT);
        let held = budget.try_acquire(7 * BUDGET_UNIT).expect("nothing is taken");
        assert!(budget.try_acquire(2 * BUDGET_UNIT).is_none());
        assert!(budget.try_acquire(BUDGET_UNIT).is_some());
        drop(held);
        let held = budget.try_acquire(2 * BUDGET_UNIT);
        assert!(held.is_some() && budget.try_acquire(7 * BUDGET_UNIT).is_none());
        assert_eq!([8, 9].map(|units| budget.fits(units * BUDGET_UNIT)), [true, false]);
    }
}
