//! GraphQL over the catalogs that are served.
//!
//! [`Engine::prepare`] finds or validates the document of a request and names its response, and
//! [`PreparedRequest::respond`] takes the response from the cache or executes the operation: with
//! its variables the document becomes a plan, and the plan writes JSON text straight from one
//! snapshot into one buffer. This crate does not know HTTP; `graphql-http` serves it.
//!
//! | module | purpose |
//! |---|---|
//! | `prepared` | a request with its document and the name of its response; the way through the response cache |
//! | `budget` | the work and the time of one execution |
//! | `execute`, `executor` | executing one operation; how many at one time and on which threads |
//! | `document`, [`documents`] | text → a validated document; cached and trusted documents |
//! | `dependencies` | the catalogs that a response depends on |
//! | [`limits`] | limits of a request |
//! | `coercion` | variables and arguments → values |
//! | `plan` | selection sets → a plan; its estimated cost |
//! | `write` | a plan → JSON text of the response; one file per family of types |
//! | `fields` | the fields of every type: names, cost, list sizes, cache scopes |
//! | `filter` | arguments → conditions on the content of a catalog |
//! | `connection`, `opaque_key` | pages, cursors, ids |
//! | [`metrics`] | counters of requests, phases and the cache |
//! | `server_info` | what the server says of itself |
//! | `introspection` | `__schema` and `__type`, cached |
//! | [`errors`] | error codes and messages |
//! | `suggestion` | names that may have been meant where a field is `null` |
//! | `subscription` | events of subscriptions |
//! | [`runtime_schema`] | documents against schemas that are made when the program runs |
//! | `dialect` | responses of other dialects in the response cache |
//! | `response_key` | validators: names of responses before they are executed, also by URL |
//! | `response_cache` | cached responses |

pub mod budget;
mod coercion;
mod connection;
mod dependencies;
mod dialect;
mod document;
pub mod documents;
pub mod errors;
mod execute;
mod executor;
mod fields;
mod filter;
mod introspection;
pub mod limits;
pub mod metrics;
mod opaque_key;
mod output;
mod plan;
mod prepared;
mod response_cache;
mod response_key;
pub mod runtime_schema;
mod server_info;
mod subscription;
mod suggestion;
mod write;

use std::borrow::Cow;
use std::sync::Arc;

use ::metrics::Histogram;
use admission::Peer;
use serde::Deserialize;
use serde_json::{Map, Value};
use serving::Catalogs;

use self::metrics::{EngineMetrics, OperationKind, ResultObserver};
use budget::{CancelOnDrop, Cancellation};
use document::Schema;
use documents::{DocumentPolicy, Documents, UntrustedError};
use errors::{Code, Error, Outcome};
use execute::Turn;
use executor::Executor;
use introspection::IntrospectionCache;
use limits::Limits;
use response_cache::ResponseCache;
use response_key::ResponseKeys;
use server_info::ServerState;
use subscription::Streams;

pub use coercion::{MAX_SHOWN_BYTES, MAX_VARIABLE_ERRORS};
pub use dialect::DialectKey;
pub use document::SDL;
pub use execute::Response;
pub use executor::{MAX_WAIT, MAX_WAITING, MAX_WAITING_OF_PEER};
pub use prepared::{EncodedResponse, PreparedRequest};
pub use response_key::Validator;
pub use server_info::ServerInfo;
pub use subscription::{RENEWAL_TIMEOUT, StreamLimits, Subscription, SubscriptionEvent};
pub use suggestion::{MAX_COMPARED_NAMES, MAX_SUGGESTED_FIELDS};

/// Answers GraphQL requests about the catalogs that are served.
pub struct Engine {
    schema: Schema,
    catalogs: Catalogs,
    server: ServerState,
    limits: Limits,
    documents: Documents,
    response_keys: ResponseKeys,
    response_cache: Arc<ResponseCache>,
    introspection_cache: IntrospectionCache,
    executor: Executor,
    streams: Streams,
    metrics: EngineMetrics,
}

/// A request, as GraphQL over HTTP encodes it in JSON.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Request<'a> {
    /// Source text of the document; `None` if `document_id` or the extension `persistedQuery` names
    /// a stored one.
    #[serde(borrow, default)]
    pub query: Option<Cow<'a, str>>,
    /// `sha256:` and the digest of a cached document, or the id of a trusted one.
    #[serde(borrow, default, rename = "documentId")]
    pub document_id: Option<Cow<'a, str>>,
    /// Name of the operation to execute; `None` if the document has only one.
    #[serde(borrow, default, rename = "operationName")]
    pub operation_name: Option<Cow<'a, str>>,
    /// Values of the operation's variables.
    #[serde(default)]
    pub variables: Option<Map<String, Value>>,
    /// Extensions of this server: `{"cost": true}` requests the cost in the response, and
    /// `persistedQuery` names a document by its digest, as Apollo's clients do.
    #[serde(default)]
    pub extensions: Option<Map<String, Value>>,
}

impl Engine {
    /// Creates an engine over these catalogs. `build` identifies the code that decides what
    /// responses say: validators of one build never match those of another.
    pub fn new(catalogs: Catalogs, build: &str, limits: Limits) -> Self {
        Self {
            schema: Schema::load(),
            catalogs,
            server: ServerState::default(),
            documents: Documents::new(&limits),
            response_keys: ResponseKeys::new(build, &limits),
            response_cache: Arc::new(ResponseCache::new(&limits)),
            introspection_cache: IntrospectionCache::default(),
            executor: Executor::default(),
            streams: Streams::default(),
            metrics: EngineMetrics::default(),
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

    /// Sets what the server says of itself.
    pub fn set_server(&mut self, info: ServerInfo) {
        self.server.info = info;
        self.response_keys.set_server(&self.server);
    }

    /// Calls this with the outcome of each request, in the task that executes it.
    pub fn observe_results(&mut self, observer: ResultObserver) {
        self.metrics.observer = Some(observer);
    }

    /// Limits of requests.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counters of what the engine did.
    pub fn metrics(&self) -> &EngineMetrics {
        &self.metrics
    }

    /// Durations of the phases of a request, each by its name: `parse` is parsing and validation,
    /// which documents in the document cache need not.
    pub fn phases(&self) -> [(&'static str, &Histogram); 3] {
        [
            ("parse", self.documents.parse_durations()),
            ("plan", &self.metrics.plan),
            ("write", &self.metrics.write),
        ]
    }

    /// Bytes of cached responses, and the number of those that were evicted.
    pub fn response_cache_usage(&self) -> serving::CacheUsage {
        self.response_cache.usage()
    }

    /// The catalogs of requests whose caller nobody has identified.
    pub fn catalogs(&self) -> &Catalogs {
        &self.catalogs
    }

    /// Prepares a request of a peer for those of these catalogs that are served now: the engine's
    /// own ones, or what a caller may see of them.
    ///
    /// # Errors
    /// The document is missing, unknown, not trusted, invalid, or exceeds a limit.
    pub fn prepare<'r>(
        self: &'r Arc<Self>,
        request: &'r Request<'r>,
        catalogs: &'r Catalogs,
        peer: Peer,
    ) -> Result<PreparedRequest<'r>, Error> {
        self.prepare_parsed(request, catalogs, peer, None)
    }

    /// Prepares a request as [`Self::prepare`] does. A long document that is not known is parsed
    /// when it is the peer's turn, on a thread that serves no connections.
    ///
    /// # Errors
    /// Those of [`Self::prepare`], or too many long requests wait already.
    pub async fn prepare_in_turn<'r>(
        self: &'r Arc<Self>,
        request: &'r Request<'r>,
        catalogs: &'r Catalogs,
        peer: Peer,
    ) -> Result<PreparedRequest<'r>, Error> {
        let Some((digest, text)) = self.documents.unparsed(request) else {
            return self.prepare(request, catalogs, peer);
        };
        let engine = Arc::clone(self);
        let text = text.to_owned();
        let parse = move |_| {
            engine
                .documents
                .parse(digest, &text, &engine.schema, &engine.limits)
        };
        let parsed = self
            .run_in_turn(peer, parse)
            .await
            .and_then(|parsed| parsed);
        self.prepare_parsed(request, catalogs, peer, Some(parsed))
    }

    /// Prepares a request whose document has been parsed to this, if it has.
    fn prepare_parsed<'r>(
        self: &'r Arc<Self>,
        request: &'r Request<'r>,
        catalogs: &'r Catalogs,
        peer: Peer,
        parsed: Option<Result<Arc<document::Document>, Error>>,
    ) -> Result<PreparedRequest<'r>, Error> {
        let resolved = self
            .documents
            .resolve(request, &self.schema, &self.limits, parsed);
        let resolved =
            resolved.inspect_err(|error| self.metrics.refuse(OperationKind::Query, error.code))?;
        Ok(PreparedRequest::new(self, catalogs, resolved, peer))
    }

    /// Does work for a peer when it is its turn, on a thread that serves no connections. It is
    /// cancelled when the caller gives up.
    ///
    /// # Errors
    /// Too many long requests wait already, or the work panicked.
    pub async fn run_in_turn<T: Send + 'static>(
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
            // Held until the work has really ended.
            let _permit = permit;
            work(cancellation)
        });
        worked.await.map_err(|_| {
            tracing::error!("an execution ended without a response");
            Error::request(Code::Internal, "internal server error")
        })
    }

    /// Returns the validator of the response to a request with these URL parameters for these
    /// catalogs, if such a request was prepared and remembered ([`PreparedRequest::remember_url`])
    /// and nothing was published since.
    pub fn recall(&self, parameters: &str, catalogs: &Catalogs) -> Option<Validator> {
        self.response_keys.recall(&catalogs.snapshot(), parameters)
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
                let turn = Turn::Long(Cancellation::default());
                self.execute_resolved(&self.catalogs.snapshot(), &resolved, turn)
            })
            .map_or_else(
                |errors| Response::from_errors(&errors, Outcome::Refused),
                |response| response.expect("a long turn ends with a response"),
            )
    }

    /// Evicts cached responses and remembered URLs that no request can hit any more, each time that
    /// a catalog is published or withdrawn. Returns when the last writer of catalogs is gone.
    pub async fn evict_stale_responses(&self) {
        let mut changes = self.catalogs.changes();
        while changes.changed().await.is_ok() {
            let snapshot = self.catalogs.published();
            self.response_cache.evict_stale(&snapshot);
            self.response_keys.evict_stale(&snapshot);
        }
    }
}

impl Request<'_> {
    /// Copies the borrowed texts of the request.
    pub fn into_owned(self) -> Request<'static> {
        let own = |text: Option<Cow<'_, str>>| text.map(|text| Cow::Owned(text.into_owned()));
        let Request {
            query,
            document_id,
            operation_name,
            variables,
            extensions,
        } = self;
        let query = own(query);
        let document_id = own(document_id);
        let operation_name = own(operation_name);
        Request {
            query,
            document_id,
            operation_name,
            variables,
            extensions,
        }
    }
}

/// The error of a long request that finds no place among those that wait.
fn overloaded() -> Error {
    Error::request(
        Code::Overloaded,
        "too many long requests are waiting: try again later",
    )
}

#[cfg(test)]
mod tests;
