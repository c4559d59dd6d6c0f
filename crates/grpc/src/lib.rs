//! The gRPC API of a catalog of OLM v0, as `opm serve` serves it: `api.Registry`,
//! `api.ExperimentalRegistry`, health and reflection, for all catalogs on one port.
//!
//! Items, their order and errors are upstream's; `docs/how-to/serve-olm-v0.md` lists the
//! differences. A call is answered from one snapshot, and its messages are made from the mapped
//! lines when the client takes them. Packages that upstream refuses are absent. This crate does not
//! authorize calls: a reader in the extensions of a request limits what it sees.

#![deny(missing_docs)]

mod body;
mod bundle;
mod calls;
mod codec;
mod csv;
mod custom_schemas;
mod health;
mod message;
mod metrics;
mod package;
mod proto;
mod reflection;
mod registry;
mod request;
mod requested_catalog;

use std::sync::Arc;
use std::time::Duration;

use admission::{FairSemaphore, Peer};
use axum::Router;
use serving::Catalogs;

use registry::BundleCache;

pub use calls::CallAuthError;
pub use custom_schemas::MAX_STRUCT_DEPTH;
pub use metrics::{Call, CallStatus, GrpcMetrics};
pub use requested_catalog::CATALOG_METADATA;

/// Maximum size in bytes of a request message, which has at most four names.
pub const MAX_REQUEST_BYTES: usize = 64 * 1024;

/// Maximum number of responses with bundles or blobs that are being sent, half of them to one peer;
/// further calls wait. Each may hold one bundle with all its manifests.
pub const LARGE_RESPONSES: usize = 256;

/// Maximum number of bytes of encoded bundles that are cached.
pub const CACHED_BUNDLE_BYTES: usize = 2 * 1024 * 1024;

/// Maximum time of a response.
pub const STREAM_TIME: Duration = Duration::from_mins(10);

/// The gRPC API of one listener. Clones share everything.
#[derive(Clone, Debug)]
pub struct Grpc {
    catalogs: Catalogs,
    /// The catalog of all calls; `None` if each call names its own.
    catalog: Option<Arc<str>>,
    large: FairSemaphore<Peer>,
    /// Bounds concurrent searches and encodings.
    work: FairSemaphore<Peer>,
    bundles: Arc<BundleCache>,
    metrics: Arc<GrpcMetrics>,
}

impl Grpc {
    /// Creates an API that answers from these catalogs, or from those in the extensions of a
    /// request.
    pub fn new(catalogs: Catalogs) -> Self {
        Self {
            catalogs,
            catalog: None,
            large: FairSemaphore::new(LARGE_RESPONSES),
            work: FairSemaphore::per_processor(),
            bundles: Arc::new(BundleCache::with_bytes(CACHED_BUNDLE_BYTES)),
            metrics: Arc::default(),
        }
    }

    /// Returns the API of another listener, with a catalog of its own or none, which answers from
    /// these catalogs. Both share permits, caches and metrics.
    #[must_use]
    pub fn listener(&self, catalog: Option<&str>, catalogs: Catalogs) -> Self {
        Self {
            catalogs,
            catalog: catalog.map(Arc::from),
            ..self.clone()
        }
    }

    /// Returns the metrics of all listeners.
    pub fn metrics(&self) -> Arc<GrpcMetrics> {
        Arc::clone(&self.metrics)
    }

    /// Returns the routes, for connections that speak HTTP/2.
    pub fn router(&self) -> Router {
        Router::new()
            .fallback(calls::respond)
            .with_state(self.clone())
    }

    /// Returns whether responses at a path depend on catalogs. Those of reflection do not.
    pub fn shows_catalogs(path: &str) -> bool {
        !path.starts_with("/grpc.reflection.")
    }
}
