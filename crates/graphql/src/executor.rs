//! Bounds how many long requests are executed at one time and how many wait, and selects their threads. It does not know
//! what they do.
//!
//! Short requests are executed where they arrive, without a permit: they take less time than waiting would. Long ones
//! wait for a permit in the order of their arrival, on other threads than those that serve connections, so that short
//! ones never wait behind them.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Maximum number of long requests that wait for a permit.
pub const MAX_WAITING: usize = 128;

/// Maximum time that a long request waits for a permit.
pub const MAX_WAIT: Duration = Duration::from_secs(5);

/// Bounds the number of long executions at one time, and with it the memory of responses that are being written.
pub(super) struct Executor {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// Too many long requests wait already, or this one waited too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overloaded;

/// A place among those that wait.
struct Waiting<'e>(&'e AtomicUsize);

impl Default for Executor {
    /// Allows one long execution per processor: they never wait, so that more of them would gain nothing. The scheduler
    /// of the operating system lets short requests in between.
    fn default() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, NonZero::get))
    }
}

impl Executor {
    fn new(permits: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(permits)), waiting: AtomicUsize::new(0) }
    }

    /// Waits for a permit to execute a long request.
    ///
    /// # Errors
    /// If [`MAX_WAITING`] requests wait already, or this one waited for [`MAX_WAIT`].
    pub(super) async fn acquire(&self) -> Result<OwnedSemaphorePermit, Overloaded> {
        if let Some(permit) = self.try_acquire() {
            return Ok(permit);
        }
        let _waiting = Waiting::begin(&self.waiting)?;
        match timeout(MAX_WAIT, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore is never closed.
            Ok(Err(_)) | Err(_) => Err(Overloaded),
        }
    }

    /// Returns a permit if one is free and nobody waits.
    pub(super) fn try_acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().ok()
    }

    /// Waits for a permit for as long as it takes, for work whose amount is bounded elsewhere.
    ///
    /// `None` only if the semaphore is closed, which it never is.
    pub(super) async fn acquire_patiently(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }
}

impl<'e> Waiting<'e> {
    fn begin(waiting: &'e AtomicUsize) -> Result<Self, Overloaded> {
        let place = Self(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) < MAX_WAITING { Ok(place) } else { Err(Overloaded) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs work; long work does not hold up the connections of the calling thread.
///
/// `block_in_place` needs no owned copies of what the work borrows, as `spawn_blocking` would; [`Executor`] bounds how
/// many threads it can take. A runtime with one thread has no other to hand its connections to, and outside of a
/// runtime there are none.
pub(super) fn run<T>(is_long: bool, work: impl FnOnce() -> T) -> T {
    let has_other_threads =
        || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if is_long && has_other_threads() { tokio::task::block_in_place(work) } else { work() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_so_many_wait_and_the_others_are_refused_at_once() {
        let executor = Arc::new(Executor::new(1));
        let running = executor.acquire().await.unwrap();
        let waiting: Vec<_> = (0..MAX_WAITING)
            .map(|_| {
                let executor = Arc::clone(&executor);
                tokio::spawn(async move { executor.acquire().await.map(drop) })
            })
            .collect();
        while executor.waiting.load(Ordering::Relaxed) < MAX_WAITING {
            tokio::task::yield_now().await;
        }
        assert_eq!(executor.acquire().await.map(drop), Err(Overloaded), "no place is left");
        drop(running);
        for task in waiting {
            assert_eq!(task.await.unwrap(), Ok(()));
        }
        assert_eq!(executor.waiting.load(Ordering::Relaxed), 0, "those that waited left their places");
    }

    #[tokio::test]
    async fn a_permit_goes_to_the_next_that_waits() {
        let executor = Arc::new(Executor::new(1));
        let running = executor.acquire().await.unwrap();
        let next = tokio::spawn({
            let executor = Arc::clone(&executor);
            async move { executor.acquire().await.map(drop) }
        });
        tokio::task::yield_now().await;
        drop(running);
        assert_eq!(next.await.unwrap(), Ok(()));
    }
}
