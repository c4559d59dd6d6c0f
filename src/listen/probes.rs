//! Liveness and readiness, as orchestrators probe them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

/// Path of the liveness probe.
const LIVENESS: &str = "/healthz";

/// Path of the readiness probe.
const READINESS: &str = "/readyz";

/// The readiness that `/readyz` reports. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Ready(Arc<AtomicBool>);

impl Ready {
    /// Marks the server as ready.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Returns the routes of the probes: `GET /healthz` (liveness) and `GET /readyz` (readiness).
pub(super) fn routes(ready: Ready) -> Router {
    let readyz = async move || {
        if ready.0.load(Ordering::Acquire) {
            (StatusCode::OK, "ok\n")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "loading\n")
        }
    };
    Router::new().route(LIVENESS, get("ok\n")).route(READINESS, get(readyz))
}

/// Returns whether this is the path of a probe.
pub(super) fn is_probe(path: &str) -> bool {
    path == LIVENESS || path == READINESS
}
