//! What is counted of requests to registries, in the whole process: clients come and go with pull
//! secrets and settings, and what they did stays counted.

use metrics::Counter;

/// Counters of requests to registries.
#[derive(Debug)]
pub struct RegistryMetrics {
    /// Requests for manifests, configs and blobs that gave what they should.
    pub ok: Counter,
    /// Requests that failed and were sent again.
    pub retried: Counter,
    /// Requests that failed, and with them the pull.
    pub failed: Counter,
    /// Bytes of manifests, configs and blobs that came.
    pub bytes: Counter,
}

pub(crate) static METRICS: RegistryMetrics = RegistryMetrics {
    ok: Counter::new(),
    retried: Counter::new(),
    failed: Counter::new(),
    bytes: Counter::new(),
};

/// Returns the counters of all requests of this process to registries.
pub fn registry_metrics() -> &'static RegistryMetrics {
    &METRICS
}
