//! The engine: its state, and the entry points of requests.

use std::sync::Arc;

use ::metrics::Histogram;
use admission::Peer;
use serving::Catalogs;

use super::budget::{CancelOnDrop, Cancellation, ExecutionMode};
use super::bundle_manifests::{BundleManifestSource, RequestImages};
use super::documents::{DocumentPolicy, Documents, UntrustedError};
use super::errors::{Code, Error, Outcome};
use super::executor::Executor;
use super::introspection::IntrospectionCache;
use super::limits::Limits;
use super::metrics::{EngineMetrics, ResultObserver};
use super::request::Request;
use super::response::Response;
use super::response_cache::ResponseCache;
use super::response_key::{ResponseKeys, Validator};
use super::schema::Schema;
use super::search_index::{EAGERLY_MERGED_CATALOGS, SharedSearchIndex};
use super::server_info::{ServerInfo, ServerState};
use super::streams::Streams;

/// Executes GraphQL requests about the catalogs that are served.
pub struct Engine {
    pub(super) schema: Schema,
    pub(super) catalogs: Catalogs,
    pub(super) server: ServerState,
    pub(super) limits: Limits,
    pub(super) documents: Documents,
    pub(super) response_keys: ResponseKeys,
    pub(super) response_cache: Arc<ResponseCache>,
    pub(super) introspection_cache: IntrospectionCache,
    pub(super) search_index: Arc<SharedSearchIndex>,
    pub(super) executor: Executor,
    pub(super) streams: Streams,
    pub(super) metrics: EngineMetrics,
    /// Fetches the images of bundles; `None` if no request may cause that.
    pub(super) bundle_manifests: Option<Arc<dyn BundleManifestSource>>,
}

impl Engine {
    /// Creates an engine over these catalogs. `build` identifies the code that decides what
    /// responses contain: validators of one build never match those of another.
    pub fn new(catalogs: Catalogs, build: &str, limits: Limits) -> Self {
        Self {
            schema: Schema::load(),
            catalogs,
            server: ServerState::default(),
            documents: Documents::new(&limits),
            response_keys: ResponseKeys::new(build, &limits),
            response_cache: Arc::new(ResponseCache::new(&limits)),
            introspection_cache: IntrospectionCache::default(),
            search_index: Arc::default(),
            executor: Executor::default(),
            streams: Streams::default(),
            metrics: EngineMetrics::default(),
            bundle_manifests: None,
            limits,
        }
    }

    /// Adds the documents of a JSON object, each by its id, to the trusted ones. Returns the number
    /// of trusted documents.
    pub fn trust(&mut self, json: &str) -> Result<usize, UntrustedError> {
        self.documents.trust(json, &self.schema, &self.limits)
    }

    /// Sets which documents are executed from now on.
    pub fn set_policy(&mut self, policy: DocumentPolicy) {
        self.documents.set_policy(policy);
        self.server.policy = policy;
        self.response_keys.set_server(&self.server);
    }

    /// Sets the version and features that the type `Server` shows.
    pub fn set_server(&mut self, info: ServerInfo) {
        self.server.info = info;
        self.response_keys.set_server(&self.server);
    }

    /// Sets a function that is called with the result of each request, in the task that executes
    /// it.
    pub fn observe_results(&mut self, observer: ResultObserver) {
        self.metrics.observer = Some(observer);
    }

    /// Sets where manifests are fetched from that a request asks for and its catalogs do not have.
    pub fn set_bundle_manifests(&mut self, source: Arc<dyn BundleManifestSource>) {
        self.bundle_manifests = Some(source);
    }

    /// Returns the limits of requests.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the metrics of requests.
    pub fn metrics(&self) -> &EngineMetrics {
        &self.metrics
    }

    /// Returns the durations of the phases of a request by name. `parse` is parsing and validation,
    /// which cached documents skip.
    pub fn phases(&self) -> [(&'static str, &Histogram); 3] {
        [
            ("parse", self.documents.parse_durations()),
            ("plan", &self.metrics.plan),
            ("write", &self.metrics.write),
        ]
    }

    /// Returns the size of the response cache and the number of evictions.
    pub fn response_cache_usage(&self) -> serving::CacheUsage {
        self.response_cache.usage()
    }

    /// Returns all catalogs, from which requests are answered where callers are not authorized.
    pub fn catalogs(&self) -> &Catalogs {
        &self.catalogs
    }

    /// Runs work with a permit of the peer, on a thread that serves no connections. The work is
    /// cancelled when the returned future is dropped.
    ///
    /// # Errors
    /// Too many long requests are waiting, or the work panicked.
    pub async fn run_offloaded<T: Send + 'static>(
        &self,
        peer: Peer,
        work: impl FnOnce(Cancellation) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let permit = self
            .executor
            .acquire(peer)
            .await
            .map_err(|_| overloaded())?;
        let cancellation = Cancellation::default();
        let _cancel = CancelOnDrop(cancellation.clone());
        let worked = tokio::task::spawn_blocking(move || {
            // Held by the thread, not by the future: cancelled work takes a while to stop.
            let _permit = permit;
            work(cancellation)
        });
        worked.await.map_err(|_| {
            tracing::error!("an execution ended without a response");
            Error::request(Code::Internal, "internal server error")
        })
    }

    /// Returns the validator of the response to a request with these URL parameters for these
    /// catalogs, if such a request was prepared and cached
    /// ([`remember_url`](crate::PreparedRequest::remember_url)) and nothing was published since.
    pub fn recall(&self, parameters: &str, catalogs: &Catalogs) -> Option<Validator> {
        self.response_keys.recall(&catalogs.snapshot(), parameters)
    }

    /// Returns the name of the only catalog that a response depends on; `None` if it depends on
    /// several, or if the catalog has changed meanwhile.
    pub fn only_catalog(&self, validator: &Validator, catalogs: &Catalogs) -> Option<String> {
        let snapshot = catalogs.snapshot();
        let mut served = snapshot.by_name();
        let only = served.find(|served| validator.key.is_of(served))?;
        Some(only.name.clone())
    }

    /// Executes a request on the engine's own catalogs as they are served now, without the response
    /// cache.
    pub fn execute(&self, request: &Request<'_>) -> Response {
        let resolved = self
            .documents
            .resolve(request, &self.schema, &self.limits, None)
            .map_err(|error| vec![error]);
        resolved
            .and_then(|resolved| {
                let mode = ExecutionMode::Offloaded(Cancellation::default());
                let images = RequestImages::default();
                self.execute_resolved(&self.catalogs.snapshot(), &resolved, &images, mode)
            })
            .map_or_else(
                |errors| Response::from_errors(&errors, Outcome::Refused),
                |response| response.expect("an offloaded execution ends with a response"),
            )
    }

    /// Evicts cached responses and validators of URLs that no request can hit any more, each time
    /// that a catalog is published or withdrawn. Returns when the last writer of catalogs is gone.
    pub async fn evict_stale_responses(&self) {
        let mut changes = self.catalogs.changes();
        while changes.changed().await.is_ok() {
            let snapshot = self.catalogs.published();
            self.response_cache.evict_stale(&snapshot);
            self.response_keys.evict_stale(&snapshot);
        }
    }
}

/// The search index of all catalogs.
impl Engine {
    /// Makes one search index of all catalogs as they are served now, for searches over many of
    /// them.
    pub fn merge_search_indexes(&self) {
        self.search_index.update(&self.catalogs.published());
    }

    /// Makes the search index of all catalogs if there are many, and whenever a search was
    /// executed without it. Runs until it is dropped.
    pub async fn merge_missed_search_indexes(&self) {
        if self.catalogs.published().by_name().len() < EAGERLY_MERGED_CATALOGS {
            self.search_index.missed().await;
        }
        loop {
            let index = Arc::clone(&self.search_index);
            let snapshot = self.catalogs.published();
            let updated = tokio::task::spawn_blocking(move || index.update(&snapshot));
            if updated.await.is_err() {
                tracing::error!(
                    "cannot merge the search indexes of the catalogs: the task panicked"
                );
            }
            self.search_index.missed().await;
        }
    }
}

/// Returns the error of a long request beyond the maximum number of waiting ones.
fn overloaded() -> Error {
    Error::request(
        Code::Overloaded,
        "too many long requests are waiting: try again later",
    )
}
