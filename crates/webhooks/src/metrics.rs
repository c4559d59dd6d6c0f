//! Counters of events.

use metrics::{Counter, Family, Gauge, labels};

labels! {
    /// Result of an attempt, or of an event.
    pub enum WebhookResult {
        /// The receiver accepted an event.
        Delivered = "delivered",
        /// An attempt failed, and is repeated or was the last one.
        Failed = "failed",
        /// The last attempt of an event failed.
        Abandoned = "abandoned",
        /// Too many newer events waited.
        Dropped = "dropped",
    }
}

/// Counters of all webhooks.
#[derive(Debug)]
pub struct WebhookMetrics {
    /// Attempts and events, by their result.
    pub results: Family<WebhookResult, Counter>,
    /// Events that wait.
    pub pending: Gauge,
}

impl Default for WebhookMetrics {
    fn default() -> Self {
        Self {
            results: Family::new(Counter::default),
            pending: Gauge::default(),
        }
    }
}
