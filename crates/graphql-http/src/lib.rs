//! GraphQL over HTTP: `GET` and `POST /graphql`, event streams, WebSocket connections, and the
//! schema as text.
//!
//! The engine (`graphql`) executes requests; this crate maps them to methods, headers, media types
//! and status codes.

mod budget;
mod event_stream;
mod limit_errors;
mod media_type;
mod metrics;
mod request;
mod response;
mod websocket;
mod weight;

use std::sync::Arc;

use admission::{FairSemaphore, Peer};
use axum::Router;
use axum::body::{Bytes, HttpBody as _};
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request as HttpRequest, State};
use axum::handler::Handler as _;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use graphql::errors::{Code, Error, Outcome};
use graphql::limits::IntrospectionPolicy;
use graphql::metrics::{OperationKind, RequestResult};
use graphql::{Engine, PreparedRequest, Request, SDL, Validator};
use http_content::cache_control::{self, REVALIDATE};
use http_content::negotiation::AcceptableCodings;
use http_content::preconditions::{PreconditionResult, Validators};
use serving::Catalogs;
use sha2::{Digest as _, Sha256};

pub use event_stream::EVENT_TIMEOUT;
pub use metrics::{StreamTransport, TransportMetrics};
pub use websocket::{
    Authorizing, ConnectionAuthorizer, ConnectionInitError, UNCOUNTED_MESSAGE_BYTES, is_upgrade,
};

use budget::{ByteBudget, BytePermit};
use media_type::MediaType;
use request::{AcceptedMedia, BadRequest, StreamPreference};
use response::ResponseRepresentation;

/// State shared by all requests.
struct GraphqlService {
    engine: Arc<Engine>,
    /// Budget for the bytes of responses that clients have not read yet.
    in_flight: ByteBudget,
    /// Budget for the bytes of bodies that are being read.
    reading: ByteBudget,
    /// Budget for the bytes of queued requests and their parsed documents and variables.
    queued: ByteBudget,
    /// Budget for the bytes of the requests of subscriptions, which keep them while they run.
    subscription_bytes: ByteBudget,
    /// Permits for open subscriptions, at most half of them for one client: event streams and
    /// operations of WebSocket connections.
    streams: FairSemaphore<Peer>,
    /// Permits for WebSocket connections.
    sockets: FairSemaphore<Peer>,
    settings: GraphqlHttpSettings,
    /// Validators of the schema's text.
    schema: Validators,
    metrics: TransportMetrics,
}

/// Settings of GraphQL over HTTP.
#[derive(Clone, Debug, Default)]
pub struct GraphqlHttpSettings {
    /// Origins whose pages may open a `WebSocket`, besides the server's own; `*` is every origin.
    pub origins: Vec<HeaderValue>,
    /// Responses that caches may store have the header `Surrogate-Key`.
    pub has_surrogate_keys: bool,
}

/// GraphQL over HTTP: the responses of an engine, within budgets that all connections share.
pub struct GraphqlHttp(Arc<GraphqlService>);

/// Maximum size in bytes of a response that may draw from all of the budget for unread responses.
pub const SMALL_RESPONSE_BYTES: usize = 64 << 10;

/// Part of the budget for unread responses that is reserved for responses of up to
/// [`SMALL_RESPONSE_BYTES`], as a divisor: a few clients that do not read large responses must not
/// keep others from small ones.
pub const SMALL_RESPONSES_DIVISOR: usize = 8;

/// Budget in bytes for bodies that are being read.
pub const READING_BYTES: usize = 16 << 20;

/// Maximum size in bytes of a body that draws from no budget while it is read: the number of
/// connections bounds these. Clients that send large bodies slowly therefore never keep others from
/// sending a query of normal size.
pub const UNCOUNTED_BODY_BYTES: usize = 8 << 10;

/// Budget in bytes for queued requests and their parsed documents and variables.
pub const WAITING_BYTES: usize = 64 << 20;

/// Part in bytes of [`WAITING_BYTES`] that requests of more than [`SMALL_REQUEST_BYTES`] may take
/// together. A request that may take more than this part is admitted alone.
pub const LARGE_REQUESTS_BYTES: usize = 24 << 20;

/// Maximum size in bytes of a small request with its parsed document and variables: a document of
/// 3,000 bytes, for instance. A part of the budget is reserved for such requests.
pub const SMALL_REQUEST_BYTES: usize = 128 << 10;

/// Budget in bytes for the requests of subscriptions: they keep their documents and variables.
pub const SUBSCRIPTION_BYTES: usize = 32 << 20;

/// Caches may reuse the response for a day without revalidation: it only reads contents that the
/// request names by digest. Not longer, because another version of this program may say more about
/// them.
const IMMUTABLE: &str = "public, max-age=86400, immutable";

/// The request headers that select a representation.
const NEGOTIATED: &str = "accept, accept-encoding";

impl GraphqlHttp {
    /// Creates a service.
    pub fn new(engine: Arc<Engine>, settings: GraphqlHttpSettings) -> Self {
        Self(Arc::new(GraphqlService::new(engine, settings)))
    }

    /// Returns the routes for `GET` and `POST /graphql`, and `GET /schema.graphql`. A request is
    /// answered from the [`Catalogs`] in its extensions, which an authorizing layer inserts, or
    /// else from the engine's own.
    pub fn router(&self) -> Router {
        let server = Arc::clone(&self.0);
        let limit = DefaultBodyLimit::max(server.engine.limits().body_bytes);
        let graphql = get(respond_to_get).post(respond_to_post.layer(limit));
        Router::new()
            .route("/graphql", graphql)
            .route("/schema.graphql", get(schema))
            .with_state(server)
    }

    /// Returns the metrics of streams and of bytes in flight.
    pub fn metrics(&self) -> TransportMetrics {
        self.0.metrics.clone()
    }
}

impl GraphqlService {
    fn new(engine: Arc<Engine>, settings: GraphqlHttpSettings) -> Self {
        let limits = engine.limits();
        let in_flight = limits.in_flight_bytes;
        let streams = limits.streams.streams;
        let large = in_flight - in_flight / SMALL_RESPONSES_DIVISOR;
        let in_flight = ByteBudget::new(in_flight, large, SMALL_RESPONSE_BYTES);
        Self {
            metrics: TransportMetrics::new(in_flight.clone()),
            in_flight,
            reading: ByteBudget::new(READING_BYTES, READING_BYTES, 0),
            queued: ByteBudget::new(WAITING_BYTES, LARGE_REQUESTS_BYTES, SMALL_REQUEST_BYTES),
            subscription_bytes: ByteBudget::new(SUBSCRIPTION_BYTES, SUBSCRIPTION_BYTES, 0),
            streams: FairSemaphore::new(streams),
            sockets: FairSemaphore::new(streams),
            settings,
            schema: Validators::new(
                &fbc_grammar::Digest::new(Sha256::digest(SDL.as_bytes()).into()).hex(),
                None,
            ),
            engine,
        }
    }

    /// Takes the memory that a request may need from the budget for queued requests.
    ///
    /// # Errors
    /// The budget is exhausted, or too small for such a request.
    fn acquire_queued(&self, peer: Peer, weight: usize) -> Result<BytePermit, Error> {
        if !self.queued.fits(weight) {
            return Err(limit_errors::request_weight(WAITING_BYTES));
        }
        self.queued
            .try_acquire(peer, weight)
            .ok_or_else(limit_errors::queued_requests)
    }

    /// Responds with an error of [`Self::acquire_queued`], and counts it.
    fn respond_not_queued(&self, error: &Error, headers: &HeaderMap) -> Response {
        self.engine
            .metrics()
            .refuse(OperationKind::Query, error.code);
        let media = request::media(headers);
        match error.code {
            Code::RequestTooLarge => {
                limit_errors::respond(StatusCode::PAYLOAD_TOO_LARGE, error, media)
            }
            _ => limit_errors::overloaded(error, media),
        }
    }

    /// Responds that a request is too large, and counts it.
    fn too_large(&self, status: StatusCode, message: String, headers: &HeaderMap) -> Response {
        self.engine
            .metrics()
            .refuse(OperationKind::Query, Code::RequestTooLarge);
        limit_errors::respond(
            status,
            &Error::request(Code::RequestTooLarge, message),
            request::media(headers),
        )
    }

    /// Returns the key by which shared caches purge a response; `None` without such keys.
    fn surrogate_key(&self, validator: &Validator, catalogs: &Catalogs) -> Option<HeaderValue> {
        self.settings.has_surrogate_keys.then(|| {
            let only = self.engine.only_catalog(validator, catalogs);
            cache_control::surrogate_key(only.as_deref())
        })
    }

    /// Responds with 304 if the client has the response, and counts it.
    fn not_modified(
        &self,
        representation: &ResponseRepresentation,
        headers: &HeaderMap,
        codings: &AcceptableCodings,
    ) -> Option<Response> {
        let response = representation.not_modified(headers, codings)?;
        self.engine
            .metrics()
            .count(OperationKind::Query, RequestResult::NotModified);
        Some(response)
    }

    /// Responds to a URL that was requested before, without parsing it.
    async fn recall(&self, parameters: &str, context: RequestContext<'_>) -> Option<Response> {
        let RequestContext {
            catalogs,
            peer,
            headers,
        } = context;
        let accepted = request::accepted(headers);
        let AcceptedMedia {
            media: Some(media),
            stream: StreamPreference::Never,
        } = accepted
        else {
            return None;
        };
        let validator = self.engine.recall(parameters, catalogs)?;
        let representation = ResponseRepresentation {
            media,
            validator: Some(validator),
            surrogate_key: self.surrogate_key(&validator, catalogs),
        };
        let codings = AcceptableCodings::from_headers(headers);
        if let Some(response) = self.not_modified(&representation, headers, &codings) {
            return Some(response);
        }
        let cached = self.engine.cached(&validator, &codings, peer).await?;
        Some(self.send(peer, cached, representation))
    }

    /// Responds with the errors of a request that was not executed.
    async fn send_errors(
        &self,
        errors: &[Error],
        media: MediaType,
        codings: &AcceptableCodings,
        peer: Peer,
    ) -> Response {
        if let [
            error @ Error {
                code: Code::Overloaded,
                ..
            },
        ] = errors
        {
            return limit_errors::overloaded(error, media);
        }
        let response = graphql::Response::from_errors(errors, Outcome::Refused);
        let representation = ResponseRepresentation {
            media,
            validator: None,
            surrogate_key: None,
        };
        self.send(
            peer,
            self.engine.encode(response, codings, peer).await,
            representation,
        )
    }
}

/// Parts of an HTTP request that its response depends on, besides the GraphQL request.
#[derive(Clone, Copy)]
struct RequestContext<'r> {
    /// The catalogs that the caller may see.
    catalogs: &'r Catalogs,
    peer: Peer,
    headers: &'r HeaderMap,
}

async fn respond_to_get(
    State(server): State<Arc<GraphqlService>>,
    request: HttpRequest,
) -> Response {
    if websocket::is_upgrade(request.headers()) {
        return websocket::open(server, request);
    }
    let parameters = request.uri().query().unwrap_or_default();
    if parameters.is_empty() && request::is_browser(request.headers()) {
        // A person who opens the bare URL wants to write a document.
        return Redirect::to("playground/").into_response();
    }
    let maximum = server.engine.limits().url_bytes;
    if parameters.len() > maximum {
        let message = format!(
            "the URL has more than {maximum} bytes of parameters: send the request by POST"
        );
        return server.too_large(StatusCode::URI_TOO_LONG, message, request.headers());
    }
    let context = RequestContext {
        catalogs: request
            .extensions()
            .get()
            .unwrap_or(server.engine.catalogs()),
        peer: Peer::from_extensions(request.extensions()),
        headers: request.headers(),
    };
    if let Some(response) = server.recall(parameters, context).await {
        return response;
    }
    let permit = match server.acquire_queued(context.peer, weight::url_weight(parameters)) {
        Ok(permit) => permit,
        Err(error) => return server.respond_not_queued(&error, context.headers),
    };
    let request = request::from_url(parameters);
    // Boxed, because the state of this large future would be moved with every request.
    Box::pin(respond(&server, context, request, Some(parameters), permit)).await
}

async fn respond_to_post(
    State(server): State<Arc<GraphqlService>>,
    mut request: HttpRequest,
) -> Response {
    let headers = std::mem::take(request.headers_mut());
    let peer = Peer::from_extensions(request.extensions());
    let catalogs: Option<Catalogs> = request.extensions_mut().remove();
    let context = RequestContext {
        catalogs: catalogs.as_ref().unwrap_or(server.engine.catalogs()),
        peer,
        headers: &headers,
    };
    if !request::is_json(&headers) {
        let text = "the content type must be application/json, in UTF-8";
        return text_error(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
    }
    let maximum = server.engine.limits().body_bytes;
    let declared = request
        .body()
        .size_hint()
        .upper()
        .and_then(|bytes| usize::try_from(bytes).ok());
    let declared = declared.unwrap_or(maximum).min(maximum);
    let reading = (declared > UNCOUNTED_BODY_BYTES).then(|| {
        server
            .reading
            .try_acquire(peer, declared.min(READING_BYTES))
    });
    if let Some(None) = reading {
        return server.respond_not_queued(&limit_errors::queued_requests(), &headers);
    }
    match Bytes::from_request(request, &()).await {
        Ok(body) => {
            let permit = match server.acquire_queued(peer, weight::json_weight(&body)) {
                Ok(permit) => permit,
                Err(error) => return server.respond_not_queued(&error, &headers),
            };
            // The body is read: from here on its bytes count as those of a queued request.
            drop(reading);
            let request = request::from_body(&body);
            respond(&server, context, request, None, permit).await
        }
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("the body has more than {maximum} bytes");
            server.too_large(rejection.status(), message, &headers)
        }
        Err(rejection) => (rejection.status(), rejection.body_text()).into_response(),
    }
}

/// Responds to a request; `url` has its parameters if it is a `GET`. The permit is held until the
/// response is complete.
async fn respond(
    server: &Arc<GraphqlService>,
    context: RequestContext<'_>,
    request: Result<Request<'_>, BadRequest>,
    url: Option<&str>,
    permit: BytePermit,
) -> Response {
    let AcceptedMedia { media, stream } = request::accepted(context.headers);
    let request = match request {
        _ if media.is_none() && stream == StreamPreference::Never => return not_acceptable(),
        Ok(request) => request,
        Err(_) if media.is_none() && stream != StreamPreference::Always => return not_acceptable(),
        Err((status, text)) => return text_error(status, &text),
    };
    let peer = context.peer;
    let prepared = server
        .engine
        .prepare_offloaded(&request, context.catalogs, peer)
        .await;
    match (stream, prepared) {
        (StreamPreference::Always, prepared) => {
            event_stream::respond(server, prepared, peer, permit).await
        }
        (StreamPreference::ForSubscriptions, Ok(prepared)) if prepared.is_subscription() => {
            event_stream::respond(server, Ok(prepared), peer, permit).await
        }
        (_, prepared) => {
            let Some(media) = media else {
                return not_acceptable();
            };
            respond_once(server, context, media, prepared, url).await
        }
    }
}

/// Responds with one response, in JSON.
async fn respond_once(
    server: &GraphqlService,
    context: RequestContext<'_>,
    media: MediaType,
    prepared: Result<PreparedRequest<'_>, Error>,
    url: Option<&str>,
) -> Response {
    let RequestContext {
        catalogs,
        peer,
        headers,
    } = context;
    let codings = AcceptableCodings::from_headers(headers);
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            return server
                .send_errors(&[error], media, &AcceptableCodings::default(), peer)
                .await;
        }
    };
    let mut representation = ResponseRepresentation {
        media,
        validator: None,
        surrogate_key: None,
    };
    if let Some(url) = url {
        prepared.remember_url(url);
        representation.validator = prepared.validator().copied();
        representation.surrogate_key = prepared
            .validator()
            .and_then(|validator| server.surrogate_key(validator, catalogs));
        if let Some(response) = server.not_modified(&representation, headers, &codings) {
            return response;
        }
    }
    match prepared.respond(&codings).await {
        Ok(response) => server.send(peer, response, representation),
        Err(errors) => server.send_errors(&errors, media, &codings, peer).await,
    }
}

/// Returns a response with a line of text, which a terminal shows before its prompt.
fn text_error(status: StatusCode, text: &str) -> Response {
    (status, format!("{text}\n")).into_response()
}

fn not_acceptable() -> Response {
    let text = "accept application/graphql-response+json, application/json or text/event-stream";
    text_error(StatusCode::NOT_ACCEPTABLE, text)
}

async fn schema(State(server): State<Arc<GraphqlService>>, headers: HeaderMap) -> Response {
    if server.engine.limits().introspection == IntrospectionPolicy::Disabled {
        let head = [(CACHE_CONTROL, "no-store")];
        return (
            StatusCode::NOT_FOUND,
            head,
            "introspection is disabled, so the schema is not published\n",
        )
            .into_response();
    }
    let head = [
        (ETAG, server.schema.etag.as_str()),
        (CACHE_CONTROL, REVALIDATE),
    ];
    if server.schema.evaluate(&headers) == PreconditionResult::NotModified {
        // Otherwise hyper would send a length of 0, which caches take for the length of the schema.
        return (
            StatusCode::NOT_MODIFIED,
            head,
            [(CONTENT_LENGTH, SDL.len())],
        )
            .into_response();
    }
    (head, [(CONTENT_TYPE, "text/plain; charset=utf-8")], SDL).into_response()
}

#[cfg(test)]
mod tests;
