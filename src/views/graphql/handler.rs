//! GraphQL over HTTP: `GET` and `POST /graphql`, and the schema as text.
//!
//! What a request means is the engine's; here is only what HTTP says around it.

mod request;

use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, RETRY_AFTER, VARY};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest as _, Sha256};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::errors::{Media, Outcome, status};
use super::validator::tag;
use super::{Answer, Engine, Request, SDL};

/// What a request over HTTP is answered with.
#[derive(Clone)]
struct Server {
    engine: Arc<Engine>,
    /// Bounds the executions at one time, and with them the memory of their answers. They never wait, so that more of
    /// them than processors would gain nothing.
    running: Arc<Semaphore>,
    /// Bounds the bytes of answers that clients have not taken yet, in units of [`IN_FLIGHT_UNIT`].
    in_flight: Arc<Semaphore>,
}

/// An answer on its way to a client.
struct InFlight {
    body: Vec<u8>,
    /// Given back with the memory.
    _held: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for InFlight {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// Bytes of answers are counted in kibibytes: a semaphore counts to 2^29 on small machines.
const IN_FLIGHT_UNIT: usize = 1024;

/// A cache may keep it, and asks whether it still holds.
const CURRENT: &str = "public, no-cache";

/// How long a browser may remember which origins are allowed.
const CORS_AGE: Duration = Duration::from_hours(1);

/// `GET` and `POST /graphql`, and `GET /schema.graphql`.
///
/// Pages of `origins` may read the answers; `*` is every origin. Requests change nothing and carry no credentials, so
/// an origin that is not named can neither do harm nor see anything.
pub fn router(engine: Arc<Engine>, origins: &[HeaderValue]) -> Router {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let limits = engine.limits();
    let (body_bytes, in_flight) = (limits.body_bytes, limits.in_flight_bytes.div_ceil(IN_FLIGHT_UNIT));
    let server = Server {
        engine,
        running: Arc::new(Semaphore::new(2 * processors)),
        in_flight: Arc::new(Semaphore::new(in_flight)),
    };
    Router::new()
        .route("/graphql", get(by_url).post(by_body))
        .route("/schema.graphql", get(schema))
        .layer(cors(origins))
        .layer(DefaultBodyLimit::max(body_bytes))
        .with_state(server)
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

async fn by_url(State(server): State<Server>, RawQuery(parameters): RawQuery, headers: HeaderMap) -> Response {
    let parameters = parameters.unwrap_or_default();
    let maximum = server.engine.limits().url_bytes;
    if parameters.len() > maximum {
        let text = format!("the URL has more than {maximum} bytes of parameters: send the request in a body");
        return (StatusCode::URI_TOO_LONG, text).into_response();
    }
    answer(&server, &headers, request::of_url(&parameters), Method::GET).await
}

async fn by_body(State(server): State<Server>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    if !request::is_json(&headers) {
        let text = "the content type must be application/json, in UTF-8";
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response();
    }
    match &body {
        Ok(body) => answer(&server, &headers, request::of_body(body), Method::POST).await,
        Err(refusal) => (refusal.status(), refusal.body_text()).into_response(),
    }
}

async fn answer(
    server: &Server,
    headers: &HeaderMap,
    request: Result<Request<'_>, Refusal>,
    method: Method,
) -> Response {
    let Some(media) = request::accepted(headers) else {
        let text = "accept application/graphql-response+json or application/json";
        return (StatusCode::NOT_ACCEPTABLE, text).into_response();
    };
    let request = match request {
        Ok(request) => request,
        Err(refusal) => return refusal.into_response(),
    };
    let snapshot = server.engine.catalogs.snapshot();
    // Only what is asked for by its URL is kept by caches.
    let tag = (method == Method::GET).then(|| tag(&snapshot, server.engine.limits(), &request, media));
    if let Some(tag) = tag.as_ref().filter(|tag| request::is_known(headers, tag)) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag.as_str()), (CACHE_CONTROL, CURRENT), (VARY, "accept")])
            .into_response();
    }
    // The semaphore is never closed; a permit is held until the answer is written.
    let _permit = server.running.acquire().await;
    let answer = server.engine.execute_in(&snapshot, &request, off_the_worker);
    let units = u32::try_from(answer.body.len().div_ceil(IN_FLIGHT_UNIT)).unwrap_or(u32::MAX);
    match Arc::clone(&server.in_flight).try_acquire_many_owned(units) {
        Ok(held) => respond(answer, media, tag, held),
        Err(_) => overload(),
    }
}

/// What is answered while others take their time to read what they asked for.
fn overload() -> Response {
    let text = "too many bytes of answers wait to be read: try again";
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1"), (CACHE_CONTROL, "no-store")], text).into_response()
}

fn respond(
    Answer { body, outcome }: Answer,
    media: Media,
    tag: Option<String>,
    held: OwnedSemaphorePermit,
) -> Response {
    let status = StatusCode::from_u16(status(outcome, media)).unwrap_or(StatusCode::OK);
    let content_type = match media {
        Media::Json => "application/json; charset=utf-8",
        Media::GraphqlResponse => "application/graphql-response+json; charset=utf-8",
    };
    let body = Bytes::from_owner(InFlight { body, _held: held });
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    if outcome != Outcome::Complete {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    } else if let Some(Ok(tag)) = tag.map(HeaderValue::try_from) {
        headers.insert(ETAG, tag);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(CURRENT));
    }
    response
}

/// Runs long work where it holds up no other connection.
///
/// `block_in_place` needs no owned copies of what the work borrows, as `spawn_blocking` would; the semaphore bounds
/// how many threads it can take. A runtime with one thread has no other to hand its connections to.
fn off_the_worker(work: &mut dyn FnMut()) {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

async fn schema(headers: HeaderMap) -> Response {
    let digest = fbc::Digest::new(Sha256::digest(SDL.as_bytes()).into());
    let tag = format!("\"{}\"", digest.hex());
    let is_known = request::is_known(&headers, &tag);
    let head = [(ETAG, tag), (CACHE_CONTROL, CURRENT.to_owned())];
    if is_known {
        // Or else it would be said to be 0, which caches take for the length of what they have.
        return (StatusCode::NOT_MODIFIED, head, [(CONTENT_LENGTH, SDL.len())]).into_response();
    }
    (head, [(CONTENT_TYPE, "text/plain; charset=utf-8")], SDL).into_response()
}

#[cfg(test)]
mod tests;
