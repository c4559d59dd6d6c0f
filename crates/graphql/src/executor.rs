//! Bounds how many requests are executed at one time, and selects their threads. It does not know what they do.

use std::num::NonZero;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Bounds the number of executions at one time, and with it the memory of responses that are being written.
pub(super) struct Executor {
    permits: Semaphore,
}

impl Default for Executor {
    /// Allows two executions per processor: they never wait, so that more of them would gain nothing.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self { permits: Semaphore::new(2 * processors) }
    }
}

impl Executor {
    /// Waits for a permit to execute a request, which is held until its response is written and compressed.
    ///
    /// `None` only if the semaphore is closed, which it never is.
    pub(super) async fn acquire(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
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
