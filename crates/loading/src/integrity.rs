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

use crate::pipeline::LoadPipeline;

/// Default interval between two checks of the served contents.
pub const CHECK_INTERVAL: Duration = Duration::from_hours(1);

/// A content with a damaged file.
#[derive(Clone, Debug)]
pub(crate) struct DamagedContent {
    pub(crate) digest: Digest,
    /// The file, which has been removed.
    pub(crate) path: PathBuf,
}

/// A check of all served contents that runs at an interval.
#[derive(Debug)]
pub(crate) struct ContentCheck {
    interval: Option<Duration>,
    next: Instant,
    running: Option<AbortHandle>,
}

impl ContentCheck {
    /// Creates a check that runs at this interval; `None` disables it.
    pub(crate) fn new(interval: Option<Duration>) -> Self {
        Self {
            interval,
            next: Instant::now() + interval.unwrap_or_default(),
            running: None,
        }
    }

    /// Waits until the next check is due. It is cancel-safe.
    pub(crate) async fn due(&self) {
        match self.interval {
            Some(_) => sleep_until(self.next).await,
            None => pending().await,
        }
    }

    /// Spawns a check, unless the last one still runs.
    pub(crate) fn begin(&mut self, check: impl Future<Output = ()> + Send + 'static) {
        self.next = Instant::now() + self.interval.unwrap_or_default();
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
    damaged: mpsc::Sender<DamagedContent>,
) {
    for digest in digests {
        match pipeline.check(digest).await {
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
