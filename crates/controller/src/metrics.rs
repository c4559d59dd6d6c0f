//! Metrics of the controller, the same as those of controller-runtime: reconciliations, the work
//! queue, leader election, and requests to the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use metrics::{Counter, Family, Gauge, Histogram, MILLISECOND, labels};
use serving::CatalogName;
use tower::{Layer, Service};

use crate::ControllerMode;

labels! {
    /// Result of reconciling an object, a label of the metric.
    pub enum ReconcileResult {
        /// The object is up to date.
        Success = "success",
        /// The write failed.
        Error = "error",
        /// The object has a newer version, which is reconciled next.
        Requeue = "requeue",
    }
}

labels! {
    /// Result of reading the objects with requirements for images, a label of the metric.
    pub enum PolicyReadResult {
        /// All objects were read.
        Success = "success",
        /// An object, or the list of a kind, could not be read.
        Failure = "failure",
    }
}

/// Upper bounds of the durations of reconciliations, in nanoseconds.
const DURATION_BOUNDS: &[u64] = &[
    5 * MILLISECOND,
    50 * MILLISECOND,
    100 * MILLISECOND,
    500 * MILLISECOND,
    1_000 * MILLISECOND,
    5_000 * MILLISECOND,
    30_000 * MILLISECOND,
];

/// Counters of a controller.
#[derive(Debug)]
pub struct ControllerMetrics {
    /// Reconciliations by their result.
    pub reconciles: Family<ReconcileResult, Counter>,
    /// Durations of reconciliations, including writes.
    pub durations: Histogram,
    /// Number of objects in the queue.
    pub queued: Gauge,
    /// 1 if this replica writes, 0 if another does.
    pub is_leader: Gauge,
    /// The replica takes part in leader election.
    pub competes: bool,
    /// Times that the objects with requirements for images had changed and were read.
    pub image_policy_reads: Family<PolicyReadResult, Counter>,
    /// Requests to the API server.
    pub requests: Arc<ApiRequests>,
    blocked: Mutex<BTreeSet<CatalogName>>,
}

/// Counts requests to the API server by their method and status.
#[derive(Debug)]
pub struct ApiRequests {
    host: String,
    counts: Mutex<BTreeMap<(String, u16), u64>>,
}

/// A [`Layer`] that counts the requests of a client.
#[derive(Clone)]
pub(crate) struct CountRequests(pub(crate) Arc<ApiRequests>);

/// A client whose requests are counted.
#[derive(Clone)]
pub(crate) struct CountedRequests<S> {
    client: S,
    requests: Arc<ApiRequests>,
}

impl ControllerMetrics {
    pub(crate) fn new(mode: ControllerMode, requests: Arc<ApiRequests>) -> Self {
        Self {
            reconciles: Family::default(),
            durations: Histogram::new(DURATION_BOUNDS),
            queued: Gauge::default(),
            is_leader: Gauge::default(),
            competes: mode == ControllerMode::Manage,
            image_policy_reads: Family::default(),
            requests,
            blocked: Mutex::default(),
        }
    }

    /// Returns the desired catalogs that the loader does not know, because their source is invalid
    /// and there is no former one.
    pub fn blocked(&self) -> BTreeSet<CatalogName> {
        self.blocked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn set_blocked(&self, catalogs: BTreeSet<CatalogName>) {
        *self.blocked.lock().unwrap_or_else(PoisonError::into_inner) = catalogs;
    }

    pub(crate) fn reconciled(&self, result: ReconcileResult, duration: Duration) {
        self.reconciles[result].inc();
        self.durations.observe_duration(duration);
    }
}

impl ApiRequests {
    pub(crate) fn new(host: String) -> Self {
        Self {
            host,
            counts: Mutex::default(),
        }
    }

    /// Host of the API server.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the number of requests by method and HTTP status; status 0 means that no response was
    /// received.
    pub fn counts(&self) -> Vec<((String, u16), u64)> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .iter()
            .map(|(key, count)| (key.clone(), *count))
            .collect()
    }

    fn count(&self, method: String, status: u16) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((method, status)).or_default() += 1;
    }
}

impl<S> Layer<S> for CountRequests {
    type Service = CountedRequests<S>;

    fn layer(&self, client: S) -> Self::Service {
        CountedRequests {
            client,
            requests: Arc::clone(&self.0),
        }
    }
}

impl<S, A, B> Service<Request<A>> for CountedRequests<S>
where
    S: Service<Request<A>, Response = Response<B>, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.client.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let method = request.method().to_string();
        let requests = Arc::clone(&self.requests);
        let response = self.client.call(request);
        Box::pin(async move {
            let response = response.await;
            requests.count(
                method,
                response
                    .as_ref()
                    .map_or(0, |response| response.status().as_u16()),
            );
            response
        })
    }
}
