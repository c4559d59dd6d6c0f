//! The early end of a connection, for which one of its requests asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// Drains the connection of a request: it takes no further requests, and ends when all responses
/// are sent. A listener of HTTP/2 alone adds it to the extensions of requests.
#[derive(Clone, Debug)]
pub struct ConnectionDrain {
    requested: Arc<watch::Sender<bool>>,
    has_observer: Arc<AtomicBool>,
}

impl ConnectionDrain {
    /// Creates the drain of a connection, and what the connection learns of it: `true` once it is
    /// requested.
    pub fn new() -> (Self, watch::Receiver<bool>) {
        let (requested, receiver) = watch::channel(false);
        let drain = Self {
            requested: Arc::new(requested),
            has_observer: Arc::default(),
        };
        (drain, receiver)
    }

    /// Requests the drain.
    pub fn request(&self) {
        self.requested.send_replace(true);
    }

    /// Waits until the connection has ended.
    pub async fn ended(&self) {
        self.requested.closed().await;
    }

    /// Returns `true` for the first caller of the connection, so that one of its requests observes
    /// what ends it.
    pub fn try_observe(&self) -> bool {
        !self.has_observer.swap(true, Ordering::Relaxed)
    }
}
