//! Limits of a download.

use std::time::Duration;

/// Limits of one download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// Time-out for establishing a connection.
    pub connect_timeout: Duration,
    /// Maximum time without a byte.
    pub silence: Duration,
    /// Minimum average rate in bytes per second, after [`Self::silence`]. It bounds responses whose
    /// bytes arrive so slowly that they are never silent for long.
    pub min_bytes_per_second: u64,
    /// Maximum duration of a download with its redirects and resumptions.
    pub total: Duration,
    /// Maximum length in bytes of the head of a response.
    pub head_bytes: usize,
    /// Maximum length in bytes of a body as it is sent.
    pub body_bytes: u64,
    /// Maximum number of attempts to continue an interrupted download without progress.
    pub attempts: u32,
    /// Upper bound of the delay before the second attempt; it doubles with each further one.
    pub initial_backoff: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            min_bytes_per_second: 4096,
            total: Duration::from_hours(1),
            head_bytes: 32 * 1024,
            body_bytes: 4 << 30,
            attempts: 5,
            initial_backoff: Duration::from_millis(500),
        }
    }
}
