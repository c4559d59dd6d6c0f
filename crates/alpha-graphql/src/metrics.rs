//! What this crate counts: requests by their result, and schemas.

use ::metrics::{Counter, Family, Gauge, labels};
use graphql::metrics::RequestResult;

labels! {
    /// How it ended to make a schema of a catalog.
    pub enum BuildResult {
        /// There is a schema.
        Ok = "ok",
        /// The catalog has more of something than a limit.
        Refused = "refused",
        /// Too many long requests waited.
        Overloaded = "overloaded",
    }
}

/// Counters of the dialect.
#[derive(Debug, Default)]
pub struct AlphaMetrics {
    /// Requests about catalogs that are served, by their result.
    pub requests: Family<RequestResult, Counter>,
    /// Schemas that were made, or could not be.
    pub builds: Family<BuildResult, Counter>,
    /// Schemas that are kept, those that are being made included.
    pub schemas: Gauge,
    /// Their memory in bytes, roughly.
    pub schema_bytes: Gauge,
}
