//! Liveness and readiness probes: `/healthz` and `/readyz`.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::sync::watch;

/// Path of the liveness probe.
const LIVENESS: &str = "/healthz";

/// Path of the readiness probe.
const READINESS: &str = "/readyz";

/// The readiness that `/readyz` reports; the program sets it. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ServerReadiness {
    state: Arc<watch::Sender<ReadinessState>>,
    /// Withholds the names of catalogs, which may be a secret.
    hides_names: bool,
}

#[derive(Debug, Default)]
struct ReadinessState {
    is_ready: bool,
    /// Names of the catalogs whose first load has neither succeeded nor failed.
    late: Vec<String>,
}

impl ServerReadiness {
    /// Returns the same readiness, whose probes do not name catalogs.
    #[must_use]
    pub fn without_names(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            hides_names: true,
        }
    }

    /// Marks the server as ready.
    pub fn set(&self) {
        self.state.send_modify(|state| state.is_ready = true);
    }

    /// Returns whether the server is marked as ready.
    pub fn is_ready(&self) -> bool {
        self.state.borrow().is_ready
    }

    /// Sets the catalogs whose first load has not ended, which `/readyz?verbose` names.
    pub fn set_late(&self, names: impl Iterator<Item = String>) {
        let late = names.collect();
        self.state.send_modify(|state| state.late = late);
    }

    /// Waits until the server is ready.
    pub async fn wait(&self) {
        // It fails only without a sender, which `self` holds.
        let _ = self
            .state
            .subscribe()
            .wait_for(|state| state.is_ready)
            .await;
    }

    /// Responds to the probe; verbose responses have the format of Kubernetes.
    fn respond(&self, is_verbose: bool) -> (StatusCode, String) {
        let ReadinessState { is_ready, late } = &*self.state.borrow();
        let status = if *is_ready {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        };
        if !is_verbose {
            return (
                status,
                if *is_ready { "ok\n" } else { "loading\n" }.to_owned(),
            );
        }
        let mut text = "[+]ping ok\n".to_owned();
        if self.hides_names && !late.is_empty() {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "[-]catalogs failed: {} are loading for the first time",
                late.len()
            );
        }
        for name in late.iter().filter(|_| !self.hides_names) {
            let _ = writeln!(text, "[-]catalog/{name} failed: loading for the first time");
        }
        (
            status,
            text + if *is_ready {
                "readyz check passed\n"
            } else {
                "readyz check failed\n"
            },
        )
    }
}

/// Returns the routes of the probes: `GET /healthz` (liveness) and `GET /readyz` (readiness; with
/// `?verbose`, also the catalogs that it waits for, or their number).
pub(crate) fn routes(ready: ServerReadiness) -> Router {
    let readyz = async move |RawQuery(query): RawQuery| {
        let is_verbose = query.is_some_and(|query| {
            query
                .split('&')
                .any(|part| matches!(part, "verbose" | "verbose=true"))
        });
        ready.respond(is_verbose)
    };
    Router::new()
        .route(LIVENESS, get("ok\n"))
        .route(READINESS, get(readyz))
}

/// Returns whether this is the path of a probe.
pub(crate) fn is_probe(path: &str) -> bool {
    path == LIVENESS || path == READINESS
}
