//! GraphQL over HTTP: `GET` and `POST /graphql`, and the schema as text.
//!
//! What a request means is the engine's; here is only what HTTP says around it.

mod answer;
mod request;
mod socket;
mod stream;

use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request as HttpRequest, State};
use axum::handler::Handler as _;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http_facts::coding;
use http_facts::preconditions::{PreconditionResult, Validators};
use sha2::{Digest as _, Sha256};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::errors::Outcome;
use super::limits::Introspection;
use super::validator::Validator;
use super::{Engine, PreparedRequest, Request, SDL, no_answer};
use answer::{EncodedBody, Representation};
use request::{Accepted, StreamPreference};

/// What a request over HTTP is answered with.
struct Server {
    engine: Arc<Engine>,
    /// Bounds the executions at one time, and with them the memory of their answers. They never wait, so that more of
    /// them than processors would gain nothing.
    running: Semaphore,
    /// Bounds the bytes of answers that clients have not taken yet, in units of [`answer::IN_FLIGHT_UNIT`].
    in_flight: Arc<Semaphore>,
    /// Bounds the streams of events and the operations of sockets.
    streams: Arc<Semaphore>,
    /// Bounds the sockets.
    sockets: Arc<Semaphore>,
    /// Origins whose pages may open a WebSocket, besides the server's own.
    origins: Box<[HeaderValue]>,
    /// What tells the text of the schema from another.
    schema: Validators,
}

/// A cache may keep it, and asks whether it still holds.
const CURRENT: &str = "public, no-cache";

/// A cache may keep it for a day and need not ask: it is all about contents that are named by their digests. Not longer,
/// because another version of this program may say more of them.
const LASTING: &str = "public, max-age=86400, immutable";

/// The headers that answers depend on besides the URL.
const NEGOTIATED: &str = "accept, accept-encoding";

/// How long a browser may remember which origins are allowed.
const CORS_AGE: Duration = Duration::from_hours(1);

/// `GET` and `POST /graphql`, and `GET /schema.graphql`.
///
/// Pages of `origins` may read the answers; `*` is every origin. Requests change nothing and carry no credentials, so
/// an origin that is not named can neither do harm nor see anything.
pub fn router(engine: Arc<Engine>, origins: &[HeaderValue]) -> Router {
    let body_bytes = engine.limits().body_bytes;
    let server = Arc::new(Server::new(engine, origins));
    let graphql = get(by_url).post(by_body.layer(DefaultBodyLimit::max(body_bytes)));
    let routes = Router::new().route("/graphql", graphql).route("/schema.graphql", get(schema));
    // Without it, answers need not say that they depend on who asks.
    let routes = if origins.is_empty() { routes } else { routes.layer(cors(origins)) };
    routes.with_state(server)
}

impl Server {
    fn new(engine: Arc<Engine>, origins: &[HeaderValue]) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let limits = engine.limits();
        let (in_flight, streams) = (limits.in_flight_bytes.div_ceil(answer::IN_FLIGHT_UNIT), limits.streams.streams);
        let room = |size| Arc::new(Semaphore::new(size));
        Self {
            running: Semaphore::new(2 * processors),
            in_flight: room(in_flight),
            streams: room(streams),
            sockets: room(streams),
            origins: origins.into(),
            schema: Validators::new(&fbc::Digest::new(Sha256::digest(SDL.as_bytes()).into()).hex(), None),
            engine,
        }
    }

    /// The answer to a URL that was asked before, told without reading what it asks.
    async fn recalled(&self, headers: &HeaderMap, parameters: &str) -> Option<Response> {
        let Accepted { media: Some(media), stream: StreamPreference::Never } = request::accepted(headers) else {
            return None;
        };
        let validator = self.engine.validators.recall(&self.engine.catalogs.snapshot(), parameters)?;
        let form = Representation { media, validator: Some(validator) };
        self.held(headers, form, Some(&validator.key), &coding::parse_accept_encoding(headers)).await
    }
}

fn cors(origins: &[HeaderValue]) -> CorsLayer {
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().cloned())
    };
    let cors = CorsLayer::new().allow_origin(allowed).allow_methods([Method::GET, Method::POST]);
    cors.allow_headers([ACCEPT, CONTENT_TYPE, IF_NONE_MATCH]).expose_headers([ETAG]).max_age(CORS_AGE)
}

/// A status and a text, for what is not told in GraphQL.
type Refusal = (StatusCode, String);

async fn by_url(State(server): State<Arc<Server>>, asked: HttpRequest) -> Response {
    if socket::is_wanted(asked.headers()) {
        return Box::pin(socket::open(server, asked)).await;
    }
    let parameters = asked.uri().query().unwrap_or_default();
    let maximum = server.engine.limits().url_bytes;
    if parameters.len() > maximum {
        let text = format!("the URL has more than {maximum} bytes of parameters: send the request in a body");
        return (StatusCode::URI_TOO_LONG, text).into_response();
    }
    let headers = asked.headers();
    match server.recalled(headers, parameters).await {
        Some(response) => response,
        // On the heap, because the place for all that it may take would be moved about with every request.
        None => Box::pin(answer(&server, headers, request::of_url(parameters), Some(parameters))).await,
    }
}

async fn by_body(State(server): State<Arc<Server>>, mut asked: HttpRequest) -> Response {
    let headers = std::mem::take(asked.headers_mut());
    if !request::is_json(&headers) {
        let text = "the content type must be application/json, in UTF-8";
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response();
    }
    match Bytes::from_request(asked, &()).await {
        Ok(body) => answer(&server, &headers, request::of_body(&body), None).await,
        Err(refusal) => (refusal.status(), refusal.body_text()).into_response(),
    }
}

/// `url` has the parameters of a request by URL.
async fn answer(
    server: &Arc<Server>,
    headers: &HeaderMap,
    request: Result<Request<'_>, Refusal>,
    url: Option<&str>,
) -> Response {
    let accepted = request::accepted(headers);
    if let Some(response) = stream::answer(server, accepted.stream, &request).await {
        return response;
    }
    let Some(media) = accepted.media else {
        let text = "accept application/graphql-response+json, application/json or text/event-stream";
        return (StatusCode::NOT_ACCEPTABLE, text).into_response();
    };
    let request = match request {
        Ok(request) => request,
        Err(refusal) => return refusal.into_response(),
    };
    let engine = &*server.engine;
    let known = match engine.known(&request) {
        Ok(known) => known,
        Err(error) => {
            let refused = no_answer(&[error], Outcome::Refused);
            let sheet = EncodedBody { bytes: refused.body.into(), coding: None, outcome: refused.outcome };
            return server.send(sheet, Representation { media, validator: None });
        }
    };
    let codings = coding::parse_accept_encoding(headers);
    let snapshot = engine.catalogs.snapshot();
    // A tag is for what is asked for by its URL; a key also for what is kept here.
    let is_named = url.is_some() || engine.answers.is_on();
    let validator = is_named.then(|| engine.validators.of(&snapshot, &known)).flatten();
    if let (Some(url), Some(validator)) = (url, validator) {
        engine.validators.remember(&snapshot, url, validator);
    }
    let form = Representation { media, validator: validator.filter(|_| url.is_some()) };
    let key = validator.map(|validator| validator.key);
    match server.held(headers, form, key.as_ref(), &codings).await {
        Some(response) => response,
        None => server.send(server.made(&snapshot, &known, key, &codings).await, form),
    }
}

/// What is answered while others take their time to read what they asked for.
fn overload() -> Response {
    let text = "too many bytes of answers wait to be read: try again";
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1"), (CACHE_CONTROL, "no-store")], text).into_response()
}

/// Runs long work where it holds up no other connection.
///
/// `block_in_place` needs no owned copies of what the work borrows, as `spawn_blocking` would; the semaphore bounds
/// how many threads it can take. A runtime with one thread has no other to hand its connections to.
fn block_in_place(work: &mut dyn FnMut()) {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

async fn schema(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    if server.engine.limits().introspection == Introspection::Refused {
        let head = [(CACHE_CONTROL, "no-store")];
        return (StatusCode::NOT_FOUND, head, "introspection is off: the schema is not told\n").into_response();
    }
    let head = [(ETAG, server.schema.etag.as_str()), (CACHE_CONTROL, CURRENT)];
    if server.schema.evaluate(&headers) == PreconditionResult::NotModified {
        // Or else it would be said to be 0, which caches take for the length of what they have.
        return (StatusCode::NOT_MODIFIED, head, [(CONTENT_LENGTH, SDL.len())]).into_response();
    }
    (head, [(CONTENT_TYPE, "text/plain; charset=utf-8")], SDL).into_response()
}

#[cfg(test)]
mod tests;
