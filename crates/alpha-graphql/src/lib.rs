//! The GraphQL dialect of catalogd's alpha API: `POST /catalogs/NAME/api/v1/graphql`, with a schema
//! that is made of the blobs of each catalog.
//!
//! It is for clients of catalogd; the API of this program is `/graphql`. Paths, statuses, limits
//! and data are upstream's, without its faults: `docs/reference/http.md` lists what differs.
//! Documents are parsed, limited, validated and executed by the means of the crate `graphql`, and
//! values are cut from the mapped lines.
//!
//! | module | purpose |
//! |---|---|
//! | `names` | schemas and keys → names of GraphQL |
//! | `shape` | the blobs of a catalog → types and fields |
//! | `sdl`, `schemas` | their text; the schemas that are kept |
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
mod schemas;
mod sdl;
mod shape;
mod write;

use std::sync::Arc;

use admission::{Peer, PeerPermit, Permits};
use axum::Router;
use axum::body::{Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::post;
use fbc::work::{UNIT, Work};
use graphql::budget::{Budget, Cancellation};
use graphql::errors::{Code, Error, Outcome};
use graphql::metrics::RequestResult;
use graphql::runtime_schema::{ParsedDocument, SelectedField};
use graphql::{DialectKey, EncodedResponse, Engine, Response as GraphqlResponse};
use http_content::negotiation::AcceptableCodings;
use serving::{Catalogs, Content, Served};

pub use limits::{MAX_ALIASES, MAX_DEPTH, MAX_FIELDS, MAX_INTROSPECTION_DEPTH};
pub use metrics::{AlphaMetrics, BuildResult};
pub use plan::PAGE_SIZE;
pub use request::{MAX_BODY_BYTES, MAX_QUERY_BYTES, MAX_VARIABLES_BYTES};
pub use schemas::{BUILD_TIME, MAX_SCHEMA_BYTES, MAX_SCHEMAS_KEPT};
pub use shape::{MAX_KEYS, MAX_NAME_BYTES, MAX_SCHEMAS};

use request::AlphaRequest;
use schemas::{CatalogSchema, Schemas};
use write::{Stopped, Writer};

/// Path of the dialect.
pub const PATH: &str = "/catalogs/{catalog}/api/v1/graphql";

/// Budget in bytes for requests that are being read or answered.
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

/// Length in bytes of a body from which it is parsed in a turn.
const LONG_BODY_BYTES: usize = 64 << 10;

/// Returns the name of the catalog that a path is about, or the response to a path that names none.
pub type ParseName = fn(&Uri) -> Result<String, Response>;

/// The dialect, for all catalogs. Clones share everything.
#[derive(Clone)]
pub struct AlphaGraphql(Arc<Service>);

struct Service {
    /// Whose limits, turns and compression it shares.
    engine: Arc<Engine>,
    catalogs: Catalogs,
    parse_name: ParseName,
    schemas: Arc<Schemas>,
    requests: Permits,
    in_flight: Permits,
    metrics: Arc<AlphaMetrics>,
}

impl AlphaGraphql {
    /// Answers from these catalogs, or from those in the extensions of a request, within the limits
    /// of an engine.
    pub fn new(engine: Arc<Engine>, catalogs: Catalogs, parse_name: ParseName) -> Self {
        let metrics = Arc::<AlphaMetrics>::default();
        Self(Arc::new(Service {
            engine,
            catalogs,
            parse_name,
            schemas: Arc::new(Schemas::new(Arc::clone(&metrics))),
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

    /// What counts its requests and schemas.
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
    let Ok(_room) = permit(&service.requests, peer, length, UNCOUNTED_REQUEST_BYTES) else {
        return response::overloaded();
    };
    let Some(body) = request::read(body).await else {
        return response::bad_request("Invalid request body");
    };
    let request = match service.request(body, peer).await {
        Ok(request) => request,
        Err(refusal) => return refusal,
    };
    let codings = AcceptableCodings::from_headers(&head.headers);
    let served = head
        .extensions
        .get()
        .unwrap_or(&service.catalogs)
        .snapshot()
        .get(&name)
        .cloned();
    let key = served.as_ref().map(|served| service.key(served, &request));
    if let Some(key) = &key
        && let Some(cached) = service.engine.cached_of_dialect(key, &codings, peer).await
    {
        service.metrics.requests[RequestResult::Cached].increment();
        return service.send(cached, peer);
    }
    // What a document is worth by itself is said before whether the catalog is there.
    let answer = match (service.document(&request, peer).await, served) {
        (Ok(document), Some(served)) => {
            service
                .answer(document, request, &served.content, peer)
                .await
        }
        (Ok(_), None) => return response::not_found(),
        (Err(error), _) => Err(vec![error]),
    };
    let response = match answer {
        Ok(text) => {
            service.metrics.requests[RequestResult::Ok].increment();
            GraphqlResponse::new(text, Outcome::Complete)
        }
        Err(errors) => {
            let code = errors.first().map_or(Code::Internal, |error| error.code);
            service.metrics.requests[RequestResult::of_code(code)].increment();
            if code == Code::Overloaded {
                return response::overloaded();
            }
            GraphqlResponse::new(response::error_text(&errors), Outcome::Refused)
        }
    };
    let encoded = match key {
        Some(key) => {
            service
                .engine
                .encode_of_dialect(key, response, &codings, peer)
                .await
        }
        None => service.engine.encode(response, &codings, peer).await,
    };
    service.send(encoded, peer)
}

/// Takes bytes from a budget for a peer, unless they are few.
fn permit(
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
    /// Parses a body, in a turn of the peer if that takes long.
    async fn request(&self, body: Bytes, peer: Peer) -> Result<AlphaRequest, Response> {
        let parsed = if body.len() > LONG_BODY_BYTES {
            let parsed = self
                .engine
                .run_in_turn(peer, move |_| request::parse(&body))
                .await;
            parsed.map_err(|_| response::overloaded())?
        } else {
            request::parse(&body)
        };
        parsed.map_err(|malformed| response::bad_request(&malformed.to_string()))
    }

    /// Parses the document of a request, in a turn of the peer if that takes long.
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
            .run_in_turn(peer, move |_| service.parse(&query))
            .await?
    }

    /// Parses a document and checks it against the limits that depend on it alone: upstream's, then
    /// the engine's.
    fn parse(&self, query: &str) -> Result<ParsedDocument, Error> {
        // Upstream's own limits of these are other ones, and are checked with it.
        let depth = u64::MAX;
        let aliases = u64::MAX;
        let root_fields = u64::MAX;
        let limits = graphql::limits::Limits {
            depth,
            aliases,
            root_fields,
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
        let limits = self.engine.limits();
        let catalog = Arc::clone(&content.catalog);
        let is_long = request.is_long();
        let AlphaRequest {
            operation_name,
            variables,
            ..
        } = request;
        if is_long {
            let limits = limits.clone();
            let answer = move |cancellation| {
                let document = schema
                    .schema
                    .validate(document, &limits)
                    .map_err(|error| vec![error])?;
                let selected = schema.schema.select(
                    &document,
                    operation_name.as_deref(),
                    &variables,
                    &limits,
                )?;
                write(&catalog, &schema, &selected, &limits, cancellation)
                    .map_err(|error| vec![error])
            };
            return self
                .engine
                .run_in_turn(peer, answer)
                .await
                .map_err(|error| vec![error])?;
        }
        let document = schema
            .schema
            .validate(document, limits)
            .map_err(|error| vec![error])?;
        if document.introspects() {
            let limits = limits.clone();
            let answer = move |cancellation| {
                let selected = schema.schema.select(
                    &document,
                    operation_name.as_deref(),
                    &variables,
                    &limits,
                )?;
                write(&catalog, &schema, &selected, &limits, cancellation)
                    .map_err(|error| vec![error])
            };
            return self
                .engine
                .run_in_turn(peer, answer)
                .await
                .map_err(|error| vec![error])?;
        }
        let selected =
            schema
                .schema
                .select(&document, operation_name.as_deref(), &variables, limits)?;
        let estimate = write::estimate(&catalog, &plan::plan(&schema.shape, &selected));
        let limits = limits.clone();
        let write = move |cancellation| write(&catalog, &schema, &selected, &limits, cancellation);
        let written = if estimate <= SHORT_WORK * UNIT {
            write(Cancellation::default())
        } else {
            self.engine
                .run_in_turn(peer, write)
                .await
                .and_then(|written| written)
        };
        written.map_err(|error| vec![error])
    }

    /// Names the response to a request about a catalog.
    fn key(&self, served: &Served, request: &AlphaRequest) -> DialectKey {
        let AlphaRequest {
            query,
            operation_name,
            variables,
        } = request;
        let variables = serde_json::to_vec(variables).expect("a vector takes all text");
        let mut parts = vec![query.as_bytes(), &variables];
        // No name is something else than an empty one.
        parts.extend(operation_name.as_deref().map(str::as_bytes));
        self.engine.dialect_key("alpha", served, &parts)
    }

    fn send(&self, encoded: EncodedResponse, peer: Peer) -> Response {
        match permit(
            &self.in_flight,
            peer,
            encoded.bytes.len(),
            UNCOUNTED_RESPONSE_BYTES,
        ) {
            Ok(permit) => response::json(encoded, permit),
            Err(()) => response::overloaded(),
        }
    }
}

fn write(
    catalog: &fbc::Catalog,
    schema: &CatalogSchema,
    selected: &[SelectedField],
    limits: &graphql::limits::Limits,
    cancellation: Cancellation,
) -> Result<Vec<u8>, Error> {
    let budget = Budget::new(limits, cancellation);
    let check = |drawn| budget.check(drawn);
    let work = Work::new(&check);
    let fields = plan::plan(&schema.shape, selected);
    Writer::new(catalog, &schema.shape, &work, limits.response_bytes)
        .response(&fields)
        .map_err(|stopped| match stopped {
            Stopped::Work => budget
                .error()
                .unwrap_or_else(|| Error::request(Code::Internal, "internal server error")),
            Stopped::TooLarge => {
                let message = format!("the response has more than {} bytes", limits.response_bytes);
                Error::request(Code::ResponseTooLarge, message)
            }
        })
}
