//! Metrics: requests by their result, and schemas.

use ::metrics::{Counter, Family, Gauge, labels};
use graphql::metrics::RequestResult;

labels! {
    /// Result of inferring the schema of a catalog.
    pub enum BuildResult {
        /// There is a schema.
        Ok = "ok",
        /// The catalog exceeds a limit.
        Refused = "refused",
        /// Too many long requests were waiting.
        Overloaded = "overloaded",
    }
}

/// Metrics of the dialect.
#[derive(Debug, Default)]
pub struct AlphaMetrics {
    /// Requests about catalogs that are served, by their result.
    pub requests: Family<RequestResult, Counter>,
    /// Inferences of schemas, by their result.
    pub builds: Family<BuildResult, Counter>,
    /// Cached schemas, including those that are being inferred.
    pub schemas: Gauge,
    /// Memory of cached schemas, in bytes (approximate).
    pub schema_bytes: Gauge,
}
