//! Metrics of requests to registries, for the whole process: clients are replaced when pull secrets or
//! settings change, and their counts must not be lost.

use std::sync::LazyLock;

use metrics::Counter;

/// Counters of requests to registries.
#[derive(Debug, Default)]
pub struct RegistryMetrics {
    /// Successful requests for manifests, configs and blobs.
    pub ok: Counter,
    /// Failed requests that were retried.
    pub retried: Counter,
    /// Failed requests that were not retried.
    pub failed: Counter,
    /// Downloaded bytes of manifests, configs and blobs.
    pub bytes: Counter,
}

pub(crate) static METRICS: LazyLock<RegistryMetrics> = LazyLock::new(RegistryMetrics::default);

/// Returns the counters of all requests of this process to registries.
pub fn registry_metrics() -> &'static RegistryMetrics {
    &METRICS
}
