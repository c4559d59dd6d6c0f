//! The GraphQL dialect of catalogd's alpha API: `POST /catalogs/NAME/api/v1/graphql`, with a schema
//! that is inferred from the blobs of each catalog.
//!
//! It serves clients of catalogd; the API of this program is `/graphql`. Paths, statuses, limits
//! and data are upstream's; `docs/reference/http.md` lists the differences. The crate `graphql`
//! parses, limits and validates documents, and values are cut from the mapped lines.
//!
//! | module | purpose |
//! |---|---|
//! | `names` | schemas and keys → names of GraphQL |
//! | `types` | the blobs of a catalog → types and fields |
//! | `sdl`, `schema_cache` | their text; the schemas of the last catalogs |
//! | `limits` | upstream's limits of a document |
//! | `plan`, `write` | selected fields → JSON text, cut from lines |
//! | `request`, `response` | bodies and headers |

#![deny(missing_docs)]

mod limits;
mod metrics;
mod names;
mod plan;
mod request;
mod response;
mod schema_cache;
mod sdl;
mod types;
mod write;

use std::sync::Arc;

use admission::{Peer, PeerPermit, Permits};
use axum::Router;
use axum::body::{Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::post;
use fbc::Catalog;
use fbc::work::{UNIT, Work};
use graphql::budget::{Budget, Cancellation};
use graphql::errors::{Code, Error, Outcome};
use graphql::limits::Limits;
use graphql::metrics::RequestResult;
use graphql::runtime_schema::{ParsedDocument, SelectedField, ValidDocument};
use graphql::{DialectKey, EncodedResponse, Engine, Response as GraphqlResponse};
use http_content::negotiation::AcceptableCodings;
use serde_json::{Map, Value};
use serving::{Catalogs, Content, Served};

pub use limits::{MAX_ALIASES, MAX_DEPTH, MAX_FIELDS, MAX_INTROSPECTION_DEPTH};
pub use metrics::{AlphaMetrics, BuildResult};
pub use plan::PAGE_SIZE;
pub use request::{MAX_BODY_BYTES, MAX_QUERY_BYTES, MAX_VARIABLES_BYTES};
pub use schema_cache::{BUILD_TIME, MAX_CACHED_SCHEMAS, MAX_SCHEMA_BYTES};
pub use types::{MAX_KEYS, MAX_NAME_BYTES, MAX_SCHEMAS};

use request::AlphaRequest;
use schema_cache::{CatalogSchema, SchemaCache};
use write::{AlphaWriteError, DataWriter};

/// Path of the dialect.
pub const PATH: &str = "/catalogs/{catalog}/api/v1/graphql";

/// Budget in bytes for requests that are being read or executed.
pub const REQUEST_BYTES: usize = 16 << 20;

/// Maximum size in bytes of a request that draws from no budget: the number of connections bounds
/// these.
pub const UNCOUNTED_REQUEST_BYTES: usize = 8 << 10;

/// Budget in bytes for responses that clients have not received yet.
pub const IN_FLIGHT_BYTES: usize = 96 << 20;

/// Maximum size in bytes of a response that draws from no budget.
pub const UNCOUNTED_RESPONSE_BYTES: usize = 64 << 10;

/// Work, in units, up to which a request is executed where it arrives: about half a millisecond.
const SHORT_WORK: u64 = 500;

/// Length in bytes of a body from which it is parsed with a permit, on a thread of the executor.
const LONG_BODY_BYTES: usize = 64 << 10;

/// Function that returns the catalog's name in a path, or the response to a path without one.
pub type ParseName = fn(&Uri) -> Result<String, Response>;

/// The dialect, for all catalogs. Clones share everything.
#[derive(Clone)]
pub struct AlphaGraphql(Arc<Service>);

struct Service {
    /// Limits, permits and the response cache are those of this engine.
    engine: Arc<Engine>,
    catalogs: Catalogs,
    parse_name: ParseName,
    schemas: Arc<SchemaCache>,
    requests: Permits,
    in_flight: Permits,
    metrics: Arc<AlphaMetrics>,
}

impl AlphaGraphql {
    /// Creates a service for these catalogs, or those in the extensions of a request, within the
    /// limits of an engine.
    pub fn new(engine: Arc<Engine>, catalogs: Catalogs, parse_name: ParseName) -> Self {
        let metrics = Arc::<AlphaMetrics>::default();
        Self(Arc::new(Service {
            engine,
            catalogs,
            parse_name,
            schemas: Arc::new(SchemaCache::new(Arc::clone(&metrics))),
            requests: Permits::new(REQUEST_BYTES),
            in_flight: Permits::new(IN_FLIGHT_BYTES),
            metrics,
        }))
    }

    /// Returns the route.
    pub fn router(&self) -> Router {
        let methods = post(respond).fallback(async || response::method_not_allowed());
        Router::new().route(PATH, methods).with_state(self.clone())
    }

    /// Returns the metrics of requests and schemas.
    pub fn metrics(&self) -> Arc<AlphaMetrics> {
        Arc::clone(&self.0.metrics)
    }

    /// Drops the schemas of contents that are not served any more, each time that a catalog is
    /// published or withdrawn. Returns when the last writer of catalogs is gone.
    pub async fn evict_stale_schemas(self) {
        let mut changes = self.0.catalogs.changes();
        while changes.changed().await.is_ok() {
            self.0.schemas.evict_stale(&self.0.catalogs.published());
        }
    }
}

async fn respond(State(AlphaGraphql(service)): State<AlphaGraphql>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let name = match (service.parse_name)(&head.uri) {
        Ok(name) => name,
        Err(refusal) => return response::deprecated(refusal),
    };
    let declared = body
        .size_hint()
        .upper()
        .and_then(|bytes| usize::try_from(bytes).ok());
    let length = declared.unwrap_or(MAX_BODY_BYTES).min(MAX_BODY_BYTES);
    let peer = Peer::from_extensions(&head.extensions);
    let Ok(_permit) = acquire_permit(&service.requests, peer, length, UNCOUNTED_REQUEST_BYTES)
    else {
        return response::unavailable();
    };
    let Some(body) = request::read(body).await else {
        return response::bad_request("Invalid request body");
    };
    let request = match service.request(body, peer).await {
        Ok(request) => request,
        Err(refusal) => return refusal,
    };
    let codings = AcceptableCodings::from_headers(&head.headers);
    let snapshot = head
        .extensions
        .get()
        .unwrap_or(&service.catalogs)
        .snapshot();
    let served = snapshot.get(&name).cloned();
    let key = served.as_ref().map(|served| service.key(served, &request));
    if let Some(key) = &key
        && let Some(cached) = service.engine.cached_for_dialect(key, &codings, peer).await
    {
        service.metrics.requests[RequestResult::Cached].inc();
        return service.send(cached, peer);
    }
    // As upstream, errors in the document come before the one about an absent catalog.
    let answer = match (service.document(&request, peer).await, served) {
        (Ok(document), Some(served)) => {
            service
                .answer(document, request, &served.content, peer)
                .await
        }
        (Ok(_), None) if snapshot.awaits(&name) => return response::unavailable(),
        (Ok(_), None) => return response::not_found(),
        (Err(error), _) => Err(vec![error]),
    };
    let response = match answer {
        Ok(text) => {
            service.metrics.requests[RequestResult::Ok].inc();
            GraphqlResponse::new(text, Outcome::Complete)
        }
        Err(errors) => {
            let code = errors.first().map_or(Code::Internal, |error| error.code);
            service.metrics.requests[RequestResult::from_code(code)].inc();
            if code == Code::Overloaded {
                return response::unavailable();
            }
            GraphqlResponse::new(response::error_text(&errors), Outcome::Refused)
        }
    };
    let encoded = match key {
        Some(key) => {
            service
                .engine
                .encode_for_dialect(key, response, &codings, peer)
                .await
        }
        None => service.engine.encode(response, &codings, peer).await,
    };
    service.send(encoded, peer)
}

/// Takes bytes from a budget for a peer, unless they are few. An error means that the budget is
/// exhausted.
fn acquire_permit(
    budget: &Permits,
    peer: Peer,
    bytes: usize,
    uncounted: usize,
) -> Result<Option<PeerPermit>, ()> {
    if bytes <= uncounted {
        Ok(None)
    } else {
        budget.try_acquire(peer, bytes).map(Some).ok_or(())
    }
}

impl Service {
    /// Parses a body, with a permit of the peer if that may take long.
    async fn request(&self, body: Bytes, peer: Peer) -> Result<AlphaRequest, Response> {
        let parsed = if body.len() > LONG_BODY_BYTES {
            let parsed = self
                .engine
                .run_offloaded(peer, move |_| request::parse(&body))
                .await;
            parsed.map_err(|_| response::unavailable())?
        } else {
            request::parse(&body)
        };
        parsed.map_err(|error| response::bad_request(&error.to_string()))
    }

    /// Parses the document of a request, with a permit of the peer if that may take long.
    async fn document(
        self: &Arc<Self>,
        request: &AlphaRequest,
        peer: Peer,
    ) -> Result<ParsedDocument, Error> {
        if !request.is_long() {
            return self.parse(&request.query);
        }
        let service = Arc::clone(self);
        let query = request.query.clone();
        self.engine
            .run_offloaded(peer, move |_| service.parse(&query))
            .await?
    }

    /// Parses a document and checks it against the limits that depend on it alone: upstream's, then
    /// the engine's.
    fn parse(&self, query: &str) -> Result<ParsedDocument, Error> {
        // Upstream limits these in its own way, which `limits::check` follows.
        let limits = Limits {
            depth: u64::MAX,
            aliases: u64::MAX,
            root_fields: u64::MAX,
            ..self.engine.limits().clone()
        };
        let mut document = ParsedDocument::parse(query, &limits)?;
        limits::check(document.tree())?;
        limits::remove_wide_integers(document.tree_mut());
        Ok(document)
    }

    /// Returns the JSON text of the response to a request about a content.
    async fn answer(
        &self,
        document: ParsedDocument,
        request: AlphaRequest,
        content: &Content,
        peer: Peer,
    ) -> Result<Vec<u8>, Vec<Error>> {
        let schema = self
            .schemas
            .get(&self.engine, peer, content)
            .await
            .map_err(|error| vec![error])?;
        let is_long = request.is_long();
        let execution = AlphaExecution {
            catalog: Arc::clone(&content.catalog),
            schema,
            limits: self.engine.limits().clone(),
            operation_name: request.operation_name,
            variables: request.variables,
        };

        if is_long {
            let execute = move |cancellation| {
                let document = execution.validate(document)?;
                let selected = execution.select(&document)?;
                execution.write(&selected, cancellation)
            };
            return self.run_offloaded(peer, execute).await;
        }
        let document = execution.validate(document)?;
        // Selecting executes introspection, which may take long whatever the document's length.
        if document.introspects() {
            let execute = move |cancellation| {
                let selected = execution.select(&document)?;
                execution.write(&selected, cancellation)
            };
            return self.run_offloaded(peer, execute).await;
        }
        let selected = execution.select(&document)?;
        if execution.estimated_work(&selected) <= SHORT_WORK * UNIT {
            return execution.write(&selected, Cancellation::default());
        }
        self.run_offloaded(peer, move |cancellation| {
            execution.write(&selected, cancellation)
        })
        .await
    }

    /// Runs a task with a permit of the peer, on a thread that serves no connections.
    async fn run_offloaded(
        &self,
        peer: Peer,
        task: impl FnOnce(Cancellation) -> Result<Vec<u8>, Vec<Error>> + Send + 'static,
    ) -> Result<Vec<u8>, Vec<Error>> {
        self.engine
            .run_offloaded(peer, task)
            .await
            .map_err(|error| vec![error])?
    }

    /// Returns the key of the response to a request about a catalog.
    fn key(&self, served: &Served, request: &AlphaRequest) -> DialectKey {
        let AlphaRequest {
            query,
            operation_name,
            variables,
        } = request;
        let variables = serde_json::to_vec(variables).expect("a vector takes all text");
        let mut parts = vec![query.as_bytes(), &variables];
        // Last, because its absence must differ from an empty name.
        parts.extend(operation_name.as_deref().map(str::as_bytes));
        self.engine.dialect_key("alpha", served, &parts)
    }

    fn send(&self, encoded: EncodedResponse, peer: Peer) -> Response {
        match acquire_permit(
            &self.in_flight,
            peer,
            encoded.bytes.len(),
            UNCOUNTED_RESPONSE_BYTES,
        ) {
            Ok(permit) => response::json(encoded, permit),
            Err(()) => response::unavailable(),
        }
    }
}

/// A request with all that its execution needs besides the document.
struct AlphaExecution {
    catalog: Arc<Catalog>,
    schema: Arc<CatalogSchema>,
    limits: Limits,
    operation_name: Option<String>,
    variables: Map<String, Value>,
}

impl AlphaExecution {
    fn validate(&self, document: ParsedDocument) -> Result<ValidDocument, Vec<Error>> {
        self.schema
            .schema
            .validate(document, &self.limits)
            .map_err(|error| vec![error])
    }

    fn select(&self, document: &ValidDocument) -> Result<Vec<SelectedField>, Vec<Error>> {
        self.schema.schema.select(
            document,
            self.operation_name.as_deref(),
            &self.variables,
            &self.limits,
        )
    }

    /// Returns an estimate, in nanoseconds, of the work of [`Self::write`].
    fn estimated_work(&self, selected: &[SelectedField]) -> u64 {
        write::estimate(&self.catalog, &plan::plan(&self.schema.types, selected))
    }

    fn write(
        &self,
        selected: &[SelectedField],
        cancellation: Cancellation,
    ) -> Result<Vec<u8>, Vec<Error>> {
        let max_bytes = self.limits.response_bytes;
        let budget = Budget::new(&self.limits, cancellation);
        let check = |drawn| budget.check(drawn);
        let work = Work::new(&check);
        let fields = plan::plan(&self.schema.types, selected);

        DataWriter::new(&self.catalog, &self.schema.types, &work, max_bytes)
            .response(&fields)
            .map_err(|error| {
                vec![match error {
                    AlphaWriteError::Work => budget
                        .error()
                        .unwrap_or_else(|| Error::request(Code::Internal, "internal server error")),
                    AlphaWriteError::TooLarge => Error::request(
                        Code::ResponseTooLarge,
                        format!("the response has more than {max_bytes} bytes"),
                    ),
                }]
            })
    }
}
