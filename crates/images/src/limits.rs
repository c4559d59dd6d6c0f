//! Limits of images, and time-outs and retries of requests.

use std::time::Duration;

/// Limits of an image that is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullLimits {
    /// Maximum length in bytes of a manifest or index, which is held in memory. Registries
    /// themselves accept 4 MiB.
    pub manifest_bytes: u64,
    /// Maximum length in bytes of an image config, which is held in memory.
    pub config_bytes: u64,
    /// Maximum number of layers. Container runtimes mount no more than 127.
    pub layers: usize,
    /// Maximum length in bytes of all layer blobs together, which are on the disk until they are
    /// unpacked.
    pub layer_bytes: u64,
}

/// Time-outs of requests to registries, and how they are retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Time-out for establishing a connection.
    pub connect_timeout: Duration,
    /// Time-out for the next bytes of a response.
    pub read_timeout: Duration,
    /// Minimum average rate of a response in bytes per second. It bounds responses that would
    /// otherwise never time out, because a few bytes arrive now and then.
    pub min_bytes_per_second: u64,
    /// Maximum number of attempts of one request, the first included.
    pub max_attempts: u32,
    /// Upper bound of the delay before the second attempt; it doubles with each further attempt.
    pub initial_backoff: Duration,
    /// Upper bound of every delay. A registry that asks for a longer one (`Retry-After`) is not
    /// retried.
    pub max_backoff: Duration,
}

impl Default for PullLimits {
    fn default() -> Self {
        Self {
            manifest_bytes: 4 << 20,
            config_bytes: 4 << 20,
            layers: 127,
            layer_bytes: 4 << 30,
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            min_bytes_per_second: 4096,
            max_attempts: 5,
            initial_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_mins(1),
        }
    }
}

impl RetryPolicy {
    /// Returns the time-out of a request whose response has this number of bytes.
    pub(crate) fn request_timeout(&self, bytes: u64) -> Duration {
        let transfer = Duration::from_secs(bytes / self.min_bytes_per_second.max(1));
        self.connect_timeout
            .saturating_add(self.read_timeout)
            .saturating_add(transfer)
    }
}
