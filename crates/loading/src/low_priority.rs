//! Threads with low scheduling priority, for work that must not slow down requests.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use tokio::sync::oneshot;

use crate::LoadError;

/// Increment of nice(2) for loading. On a busy processor, a thread gets about a tenth of the time of
/// one that serves requests.
pub(crate) const LOADING_NICENESS: i32 = 10;

/// Increment of nice(2) for compression, which gets about an eighth of the time of loading.
pub(crate) const COMPRESSING_NICENESS: i32 = 19;

/// Runs work on a new thread with the niceness of the process plus `niceness`. Dropping the returned
/// future does not stop the work.
pub(crate) async fn spawn_low_priority<T: Send + 'static>(
    niceness: i32,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LoadError> {
    // A new thread for each work and not a pool: an unprivileged thread cannot raise its priority
    // again.
    let (sender, receiver) = oneshot::channel();
    let run = move || {
        if let Err(error) = rustix::process::nice(niceness) {
            tracing::debug!(%error, "cannot lower the priority of loading");
        }
        // The receiver is gone if the catalog has been withdrawn meanwhile.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
    };
    let spawned = thread::Builder::new().name("loading".to_owned()).spawn(run);
    spawned.map_err(|error| LoadError::Panicked(format!("cannot start a thread: {error}")))?;
    match receiver.await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(panic)) => Err(LoadError::Panicked(panic_message(&*panic))),
        Err(_) => Err(LoadError::Panicked(
            "the thread ended without a result".to_owned(),
        )),
    }
}

/// Returns the message of a panic; empty if its payload is not a string.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}
