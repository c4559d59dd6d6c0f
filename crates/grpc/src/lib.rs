//! The gRPC API of a catalog of OLM v0, as `opm serve` serves it: `api.Registry`,
//! `api.ExperimentalRegistry`, health and reflection, for all catalogs on one port.
//!
//! What a call finds, its order and its errors are upstream's; `docs/how-to/serve-olm-v0.md` says
//! what differs. A call is answered from one snapshot, and its messages are written from the mapped
//! lines when the client takes them. Packages that upstream refuses are absent. Who may see what is
//! known elsewhere: a reader in the extensions of a request decides.

#![deny(missing_docs)]

mod body;
mod bundle;
mod calls;
mod choice;
mod codec;
mod csv;
mod custom_schemas;
mod health;
mod json;
mod message;
mod metrics;
mod reflection;
mod registry;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use admission::{FairSemaphore, Peer};
use axum::Router;
use serving::Catalogs;

use registry::BundleCache;

pub use calls::Refusal;
pub use choice::CATALOG_METADATA;
pub use custom_schemas::MAX_STRUCT_DEPTH;
pub use metrics::{Call, GrpcMetrics, Outcome};

/// Maximum size in bytes of a request message: a name of each kind, and room to spare.
pub const MAX_REQUEST_BYTES: usize = 64 * 1024;

/// Maximum number of responses with bundles or blobs that are being sent, half of them to one peer;
/// further calls wait. Each may hold one bundle with all its manifests.
pub const LARGE_RESPONSES: usize = 256;

/// Maximum number of bytes of encoded bundles that are cached.
pub const CACHED_BUNDLE_BYTES: usize = 2 * 1024 * 1024;

/// Time in which a client must have taken a response.
pub const STREAM_TIME: Duration = Duration::from_mins(10);

/// The calls of a listener, or of several. Clones share everything.
#[derive(Clone, Debug)]
pub struct Grpc {
    catalogs: Catalogs,
    /// The catalog that all calls are about; `None` where they say so.
    catalog: Option<Arc<str>>,
    large: FairSemaphore<Peer>,
    /// Bounds what is found, and what is encoded, at a time.
    work: FairSemaphore<Peer>,
    bundles: Arc<BundleCache>,
    metrics: Arc<GrpcMetrics>,
}

impl Grpc {
    /// Answers from these catalogs, or from those in the extensions of a request.
    pub fn new(catalogs: Catalogs) -> Self {
        Self {
            catalogs,
            catalog: None,
            large: FairSemaphore::new(LARGE_RESPONSES),
            work: FairSemaphore::per_processor(),
            bundles: Arc::new(BundleCache::new(usize::MAX, CACHED_BUNDLE_BYTES)),
            metrics: Arc::default(),
        }
    }

    /// The same at another listener, whose calls are about this catalog, if they are about one, and
    /// are answered from these catalogs. What bounds and counts calls is shared.
    #[must_use]
    pub fn listener(&self, catalog: Option<&str>, catalogs: Catalogs) -> Self {
        Self {
            catalogs,
            catalog: catalog.map(Arc::from),
            ..self.clone()
        }
    }

    /// What counts its calls.
    pub fn metrics(&self) -> Arc<GrpcMetrics> {
        Arc::clone(&self.metrics)
    }

    /// Returns the routes, for connections that speak HTTP/2.
    pub fn router(&self) -> Router {
        Router::new()
            .fallback(calls::respond)
            .with_state(self.clone())
    }

    /// Returns whether a path shows what depends on catalogs: all but reflection.
    pub fn shows_catalogs(path: &str) -> bool {
        !path.starts_with("/grpc.reflection.")
    }
}
