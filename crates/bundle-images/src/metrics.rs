//! Counters of fetches, for the whole process: they survive the replacement of a client for
//! registries.

use std::sync::LazyLock;

use metrics::{Counter, Family, labels};

labels! {
    /// Result of a fetch.
    pub enum FetchResult {
        /// The files of the image were kept.
        Kept = "kept",
        /// The image was pulled.
        Pulled = "pulled",
        /// The image cannot be pulled now.
        Unavailable = "unavailable",
        /// The image has no bundle that can be read.
        Refused = "refused",
    }
}

static METRICS: LazyLock<Family<FetchResult, Counter>> = LazyLock::new(Family::default);

/// Returns the counters of all fetches of this process, by result.
pub fn bundle_image_metrics() -> &'static Family<FetchResult, Counter> {
    &METRICS
}
