//! Background verification of served contents: their stored files are compared with their digests,
//! one content at a time and with the lowest priority. A damaged content is removed from the store,
//! and the loader reads its source again.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fbc_grammar::Digest;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use crate::pipeline::{FindDamage, LoadPipeline};

/// Default interval between two checks of the served contents.
pub const CHECK_INTERVAL: Duration = Duration::from_hours(1);

/// Time after the start at which contents are checked that were served without being hashed: when the
/// work of the start is done.
pub const FIRST_CHECK_AFTER: Duration = Duration::from_mins(1);

/// A content with a damaged file.
#[derive(Clone, Debug)]
pub(crate) struct DamagedContent {
    pub(crate) digest: Digest,
    /// The file, which has been removed.
    pub(crate) path: PathBuf,
}

/// A check of all served contents that runs at an interval, and before of those that were not hashed at
/// the start.
#[derive(Debug)]
pub(crate) struct ContentCheck {
    interval: Option<Duration>,
    next: Option<Instant>,
    is_first: bool,
    running: Option<AbortHandle>,
}

impl ContentCheck {
    /// Creates a check that runs at this interval; with `None`, only the first one runs.
    pub(crate) fn new(interval: Option<Duration>) -> Self {
        let first = interval.map_or(FIRST_CHECK_AFTER, |it| it.min(FIRST_CHECK_AFTER));
        Self {
            interval,
            next: Some(Instant::now() + first),
            is_first: true,
            running: None,
        }
    }

    /// Returns whether the next check is the first one, of contents that were not hashed yet.
    pub(crate) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Waits until the next check is due. It is cancel-safe.
    pub(crate) async fn due(&self) {
        match self.next {
            Some(next) => sleep_until(next).await,
            None => pending().await,
        }
    }

    /// Spawns a check, unless the last one still runs.
    pub(crate) fn begin(&mut self, check: impl Future<Output = ()> + Send + 'static) {
        self.next = self.interval.map(|interval| Instant::now() + interval);
        self.is_first = false;
        if self.running.as_ref().is_none_or(AbortHandle::is_finished) {
            self.running = Some(tokio::spawn(check).abort_handle());
        }
    }
}

impl Drop for ContentCheck {
    fn drop(&mut self) {
        self.running.iter().for_each(AbortHandle::abort);
    }
}

/// Checks contents one after the other, and sends the damaged ones.
pub(crate) async fn check_all(
    pipeline: Arc<LoadPipeline>,
    digests: Vec<Digest>,
    find_damage: FindDamage,
    damaged: mpsc::Sender<DamagedContent>,
) {
    for digest in digests {
        match pipeline.check(digest, find_damage).await {
            Ok(None) => {}
            Ok(Some(path)) => {
                if damaged.send(DamagedContent { digest, path }).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::error!(%digest, error = error.chain(), "cannot check a stored content");
            }
        }
    }
}
