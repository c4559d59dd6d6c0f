//! Work that yields the processor to requests.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use tokio::sync::oneshot;

use crate::LoadError;

/// How much less of a processor loading gets than answering where both want it, as nice(2) counts:
/// about a tenth.
pub(crate) const LOADING: i32 = 10;

/// The same of compressing contents, which gets an eighth of what loading gets.
pub(crate) const COMPRESSING: i32 = 19;

/// Runs work on a thread of its own, with low priority: that of nice(2) plus `niceness`. The thread
/// ends with the work, because a priority that was given up cannot be taken back. Work goes on when
/// nobody waits for it any more.
pub(crate) async fn spawn_low_priority<T: Send + 'static>(
    niceness: i32,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LoadError> {
    let (sender, receiver) = oneshot::channel();
    let run = move || {
        if let Err(error) = rustix::process::nice(niceness) {
            tracing::debug!(%error, "cannot lower the priority of loading");
        }
        // Nobody waits any more when the catalog was withdrawn meanwhile.
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

/// The text that a panic was raised with; empty when it is no text.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}
