//! Permits that bodies hold until they are sent or dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bounds what bodies hold together, such as encoders or bytes. Clones share the bound.
#[derive(Clone, Debug)]
pub struct Permits {
    free: Arc<AtomicUsize>,
}

/// A part of what is bounded. Dropping it returns it.
#[derive(Debug)]
pub struct Permit {
    free: Arc<AtomicUsize>,
    count: usize,
}

impl Permits {
    /// Creates a bound.
    pub fn new(count: usize) -> Self {
        Self { free: Arc::new(AtomicUsize::new(count)) }
    }

    /// Takes a permit; `None` if less is free.
    pub fn try_acquire(&self, count: usize) -> Option<Permit> {
        let taken = self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, |free| free.checked_sub(count));
        taken.is_ok().then(|| Permit { free: Arc::clone(&self.free), count })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.free.fetch_add(self.count, Ordering::AcqRel);
    }
}
