//! GraphQL over HTTP: `GET` and `POST /graphql`, event streams, WebSocket connections, and the
//! schema as text.
//!
//! What a request means is decided by the engine (`graphql`); this crate maps it to methods,
//! headers, media types and status codes.

mod budget;
mod event_stream;
mod metrics;
mod refusal;
mod request;
mod response;
mod websocket;
mod weight;

use std::sync::Arc;

use axum::Router;
use axum::body::{Bytes, HttpBody as _};
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request as HttpRequest, State};
use axum::handler::Handler as _;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use graphql::errors::{Code, Error, Outcome};
use graphql::limits::IntrospectionPolicy;
use graphql::metrics::{OperationKind, RequestResult};
use graphql::{Engine, PreparedRequest, Request, SDL};
use http_facts::negotiation::AcceptableCodings;
use http_facts::peer::Peer;
use http_facts::preconditions::{PreconditionResult, Validators};
use serving::{Catalogs, FairSemaphore};
use sha2::{Digest as _, Sha256};

pub use event_stream::EVENT_TIMEOUT;
pub use metrics::{StreamTransport, TransportMetrics};
pub use websocket::{
    Authorizing, ConnectionAuthorizer, InitRefusal, UNCOUNTED_MESSAGE_BYTES, is_upgrade,
};

use budget::{ByteBudget, BytePermit};
use request::{AcceptedMedia, StreamPreference};
use response::{MediaType, Representation};

/// State shared by all requests.
struct GraphqlService {
    engine: Arc<Engine>,
    /// Budget for the bytes of responses that clients have not read yet.
    in_flight: ByteBudget,
    /// Budget for the bytes of bodies that are being read.
    reading: ByteBudget,
    /// Budget for the bytes of requests that wait for their turn, and of what they are parsed to.
    waiting: ByteBudget,
    /// Budget for the bytes of the requests of subscriptions, which have them for as long as they
    /// run.
    subscriptions: ByteBudget,
    /// Permits for event streams and operations of WebSocket connections.
    streams: FairSemaphore<Peer>,
    /// Permits for WebSocket connections.
    sockets: FairSemaphore<Peer>,
    /// Origins whose pages may open a WebSocket, besides the server's own.
    origins: Box<[HeaderValue]>,
    /// Validators of the schema's text.
    schema: Validators,
    metrics: TransportMetrics,
}

/// GraphQL over HTTP: what an engine answers, with budgets that all its connections share.
pub struct GraphqlHttp(Arc<GraphqlService>);

/// Maximum size in bytes of a response that may use up the whole budget for unread responses.
pub const SMALL_RESPONSE_BYTES: usize = 64 << 10;

/// Part of the budget for unread responses that is reserved for responses of up to
/// [`SMALL_RESPONSE_BYTES`], as a divisor: a few clients that do not read large responses keep
/// nobody from small ones.
pub const SMALL_RESPONSES_DIVISOR: usize = 8;

/// Budget in bytes for bodies that are being read.
pub const READING_BYTES: usize = 16 << 20;

/// Maximum size in bytes of a body that draws from no budget while it is read: the number of
/// connections bounds these. Many clients that send large bodies slowly therefore keep nobody from
/// sending a query of normal size.
pub const UNCOUNTED_BODY_BYTES: usize = 8 << 10;

/// Budget in bytes for requests that wait for their turn, and for what they are parsed to.
pub const WAITING_BYTES: usize = 64 << 20;

/// Part in bytes of [`WAITING_BYTES`] that requests of more than [`SMALL_REQUEST_BYTES`] may take
/// together. One that may take more is the only one of these.
pub const LARGE_REQUESTS_BYTES: usize = 24 << 20;

/// Maximum size in bytes of a small request, with what it is parsed to: a document of 3,000 bytes,
/// for instance. The room for such requests is never taken by larger ones.
pub const SMALL_REQUEST_BYTES: usize = 128 << 10;

/// Budget in bytes for the requests of subscriptions: they keep their documents and variables.
pub const SUBSCRIPTION_BYTES: usize = 32 << 20;

/// Caches may store the response and must revalidate it.
const REVALIDATE: &str = "public, no-cache";

/// Caches may reuse the response for a day without revalidation: it only reads contents that the
/// request names by digest. Not longer, because another version of this program may say more about
/// them.
const IMMUTABLE: &str = "public, max-age=86400, immutable";

/// The request headers that select a representation.
const NEGOTIATED: &str = "accept, accept-encoding";

impl GraphqlHttp {
    /// Creates a service. Pages of `origins` may open a `WebSocket`; `*` is every origin.
    pub fn new(engine: Arc<Engine>, origins: &[HeaderValue]) -> Self {
        Self(Arc::new(GraphqlService::new(engine, origins)))
    }

    /// Routes for `GET` and `POST /graphql`, and `GET /schema.graphql`. A request is answered from
    /// the [`Catalogs`] in its extensions, which a layer puts there that knows what the caller may
    /// see, and without them from the engine's own.
    pub fn router(&self) -> Router {
        let server = Arc::clone(&self.0);
        let limit = DefaultBodyLimit::max(server.engine.limits().body_bytes);
        let graphql = get(respond_to_get).post(respond_to_post.layer(limit));
        Router::new()
            .route("/graphql", graphql)
            .route("/schema.graphql", get(schema))
            .with_state(server)
    }

    /// Counters of streams and of bytes in flight.
    pub fn metrics(&self) -> TransportMetrics {
        self.0.metrics.clone()
    }
}

impl GraphqlService {
    fn new(engine: Arc<Engine>, origins: &[HeaderValue]) -> Self {
        let limits = engine.limits();
        let in_flight = limits.in_flight_bytes;
        let streams = limits.streams.streams;
        let large = in_flight - in_flight / SMALL_RESPONSES_DIVISOR;
        let in_flight = ByteBudget::new(in_flight, large, SMALL_RESPONSE_BYTES);
        Self {
            metrics: TransportMetrics::new(in_flight.clone()),
            in_flight,
            reading: ByteBudget::new(READING_BYTES, READING_BYTES, 0),
            waiting: ByteBudget::new(WAITING_BYTES, LARGE_REQUESTS_BYTES, SMALL_REQUEST_BYTES),
            subscriptions: ByteBudget::new(SUBSCRIPTION_BYTES, SUBSCRIPTION_BYTES, 0),
            streams: FairSemaphore::new(streams),
            sockets: FairSemaphore::new(streams),
            origins: origins.into(),
            schema: Validators::new(
                &fbc_grammar::Digest::new(Sha256::digest(SDL.as_bytes()).into()).hex(),
                None,
            ),
            engine,
        }
    }

    /// Takes room for a request that waits for its turn, by the memory that it may take.
    ///
    /// # Errors
    /// There is none now, or there never is any for such a request.
    fn room(&self, peer: Peer, weight: usize) -> Result<BytePermit, Error> {
        if !self.waiting.fits(weight) {
            return Err(refusal::heavy(WAITING_BYTES));
        }
        self.waiting
            .try_acquire(peer, weight)
            .ok_or_else(refusal::waiting)
    }

    /// Responds that there is no room for a request, now or ever, and counts it.
    fn no_room(&self, error: &Error, headers: &HeaderMap) -> Response {
        self.engine
            .metrics()
            .refuse(OperationKind::Query, error.code);
        let media = request::media(headers);
        match error.code {
            Code::RequestTooLarge => refusal::respond(StatusCode::PAYLOAD_TOO_LARGE, error, media),
            _ => refusal::overloaded(error, media),
        }
    }

    /// Responds that a request is too large, and counts it.
    fn too_large(&self, status: StatusCode, message: String, headers: &HeaderMap) -> Response {
        self.engine
            .metrics()
            .refuse(OperationKind::Query, Code::RequestTooLarge);
        refusal::respond(
            status,
            &Error::request(Code::RequestTooLarge, message),
            request::media(headers),
        )
    }

    /// Responds that the client has a response, and counts it, if so.
    fn not_modified(
        &self,
        representation: Representation,
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
    async fn recall(
        &self,
        headers: &HeaderMap,
        parameters: &str,
        (catalogs, peer): (&Catalogs, Peer),
    ) -> Option<Response> {
        let accepted = request::accepted(headers);
        let AcceptedMedia {
            media: Some(media),
            stream: StreamPreference::Never,
        } = accepted
        else {
            return None;
        };
        let validator = self.engine.recall(parameters, catalogs)?;
        let representation = Representation {
            media,
            validator: Some(validator),
        };
        let codings = AcceptableCodings::from_headers(headers);
        if let Some(response) = self.not_modified(representation, headers, &codings) {
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
            return refusal::overloaded(error, media);
        }
        let response = graphql::Response::from_errors(errors, Outcome::Refused);
        let representation = Representation {
            media,
            validator: None,
        };
        self.send(
            peer,
            self.engine.encode(response, codings, peer).await,
            representation,
        )
    }
}

/// Status and text of a request that is not a well-formed GraphQL request.
type Refusal = (StatusCode, String);

async fn respond_to_get(
    State(server): State<Arc<GraphqlService>>,
    request: HttpRequest,
) -> Response {
    if websocket::is_upgrade(request.headers()) {
        return websocket::open(server, request);
    }
    let parameters = request.uri().query().unwrap_or_default();
    let maximum = server.engine.limits().url_bytes;
    if parameters.len() > maximum {
        let message = format!(
            "the URL has more than {maximum} bytes of parameters: send the request by POST"
        );
        return server.too_large(StatusCode::URI_TOO_LONG, message, request.headers());
    }
    let headers = request.headers();
    let client = (
        request
            .extensions()
            .get()
            .unwrap_or(server.engine.catalogs()),
        Peer::of(request.extensions()),
    );
    if let Some(response) = server.recall(headers, parameters, client).await {
        return response;
    }
    let room = match server.room(client.1, weight::of_url(parameters)) {
        Ok(room) => room,
        Err(error) => return server.no_room(&error, headers),
    };
    // Boxed, because the state of this large future would be moved with every request.
    Box::pin(respond(
        &server,
        client,
        headers,
        request::from_url(parameters),
        Some(parameters),
        room,
    ))
    .await
}

async fn respond_to_post(
    State(server): State<Arc<GraphqlService>>,
    mut request: HttpRequest,
) -> Response {
    let headers = std::mem::take(request.headers_mut());
    let peer = Peer::of(request.extensions());
    let catalogs: Option<Catalogs> = request.extensions_mut().remove();
    let client = (catalogs.as_ref().unwrap_or(server.engine.catalogs()), peer);
    if !request::is_json(&headers) {
        let text = "the content type must be application/json, in UTF-8";
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response();
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
        return server.no_room(&refusal::waiting(), &headers);
    }
    match Bytes::from_request(request, &()).await {
        Ok(body) => {
            let room = match server.room(peer, weight::of_json(&body)) {
                Ok(room) => room,
                Err(error) => return server.no_room(&error, &headers),
            };
            drop(reading);
            respond(
                &server,
                client,
                &headers,
                request::from_body(&body),
                None,
                room,
            )
            .await
        }
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("the body has more than {maximum} bytes");
            server.too_large(rejection.status(), message, &headers)
        }
        Err(rejection) => (rejection.status(), rejection.body_text()).into_response(),
    }
}

/// Responds to a request; `url` has its parameters if it is a `GET`. The request holds its `room`
/// until it is answered.
async fn respond(
    server: &Arc<GraphqlService>,
    (catalogs, peer): (&Catalogs, Peer),
    headers: &HeaderMap,
    request: Result<Request<'_>, Refusal>,
    url: Option<&str>,
    room: BytePermit,
) -> Response {
    let AcceptedMedia { media, stream } = request::accepted(headers);
    let request = match request {
        _ if media.is_none() && stream == StreamPreference::Never => return not_acceptable(),
        Ok(request) => request,
        Err(_) if media.is_none() && stream != StreamPreference::Always => return not_acceptable(),
        Err(refusal) => return refusal.into_response(),
    };
    let prepared = server
        .engine
        .prepare_in_turn(&request, catalogs, peer)
        .await;
    match (stream, prepared) {
        (StreamPreference::Always, prepared) => {
            event_stream::respond(server, prepared, peer, room).await
        }
        (StreamPreference::ForSubscriptions, Ok(prepared)) if prepared.is_subscription() => {
            event_stream::respond(server, Ok(prepared), peer, room).await
        }
        (_, prepared) => {
            let Some(media) = media else {
                return not_acceptable();
            };
            respond_once(server, peer, headers, media, prepared, url).await
        }
    }
}

/// Responds with one response, in JSON.
async fn respond_once(
    server: &GraphqlService,
    peer: Peer,
    headers: &HeaderMap,
    media: MediaType,
    prepared: Result<PreparedRequest<'_>, Error>,
    url: Option<&str>,
) -> Response {
    let codings = AcceptableCodings::from_headers(headers);
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            return server
                .send_errors(&[error], media, &AcceptableCodings::default(), peer)
                .await;
        }
    };
    let mut representation = Representation {
        media,
        validator: None,
    };
    if let Some(url) = url {
        prepared.remember_url(url);
        representation.validator = prepared.validator().copied();
        if let Some(response) = server.not_modified(representation, headers, &codings) {
            return response;
        }
    }
    match prepared.respond(&codings).await {
        Ok(response) => server.send(peer, response, representation),
        Err(errors) => server.send_errors(&errors, media, &codings, peer).await,
    }
}

fn not_acceptable() -> Response {
    let text = "accept application/graphql-response+json, application/json or text/event-stream";
    (StatusCode::NOT_ACCEPTABLE, text).into_response()
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
        // Without it the length would be sent as 0, which caches take for the length of what they
        // have.
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
