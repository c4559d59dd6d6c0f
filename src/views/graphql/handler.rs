//! GraphQL over HTTP: `POST /graphql`, and the schema as text.
//!
//! What a request means is the engine's; here is only what HTTP says around it.

use std::num::NonZero;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use sha2::{Digest as _, Sha256};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

use super::errors::{Media, Outcome, status};
use super::{Answer, Engine, Request, SDL};

/// What a request over HTTP is answered with.
#[derive(Clone)]
struct Server {
    engine: Arc<Engine>,
    /// Bounds the executions at one time, and with them the memory of their answers. They never wait, so that more of
    /// them than processors would gain nothing.
    running: Arc<Semaphore>,
}

/// `POST /graphql` and `GET /schema.graphql`.
pub fn router(engine: Arc<Engine>) -> Router {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let server = Server { engine, running: Arc::new(Semaphore::new(2 * processors)) };
    Router::new()
        .route("/graphql", post(execute))
        .route("/schema.graphql", get(schema))
        .layer(DefaultBodyLimit::max(server.engine.limits().body_bytes))
        .with_state(server)
}

async fn execute(State(server): State<Server>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    match answer(&server, &headers, body).await {
        Ok((answer, media)) => respond(answer, media),
        Err(refusal) => refusal.into_response(),
    }
}

/// A status and a text, for what is not told in GraphQL.
type Refusal = (StatusCode, String);

async fn answer(
    server: &Server,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(Answer, Media), Refusal> {
    let media = accepted(headers).ok_or_else(|| {
        let text = "accept application/graphql-response+json or application/json";
        (StatusCode::NOT_ACCEPTABLE, text.to_owned())
    })?;
    if !is_json(headers) {
        let text = "the content type must be application/json, in UTF-8";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, text.to_owned()));
    }
    let body = body.map_err(|refusal| (refusal.status(), refusal.body_text()))?;
    let request = parse(&body)?;
    // The semaphore is never closed; a permit is held until the answer is written.
    let _permit = server.running.acquire().await;
    Ok((server.engine.execute_with(&request, off_the_worker), media))
}

fn parse(body: &[u8]) -> Result<Request<'_>, Refusal> {
    let bad = |text: String| (StatusCode::BAD_REQUEST, text);
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(bad("one request at a time: batches are not answered".to_owned()));
    }
    serde_json::from_slice(body).map_err(|error| bad(format!("the body is no GraphQL request: {error}")))
}

fn respond(Answer { body, outcome }: Answer, media: Media) -> Response {
    let status = StatusCode::from_u16(status(outcome, media)).unwrap_or(StatusCode::OK);
    let content_type = match media {
        Media::Json => "application/json; charset=utf-8",
        Media::GraphqlResponse => "application/graphql-response+json; charset=utf-8",
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    if outcome != Outcome::Complete {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
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

/// The form of the answer: the one that the client ranks highest, `application/json` when it does not mind.
fn accepted(headers: &HeaderMap) -> Option<Media> {
    let mut ranges = headers.get_all(ACCEPT).iter().peekable();
    if ranges.peek().is_none() {
        return Some(Media::Json);
    }
    let mut best = None;
    for range in ranges.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let media = match parts.next().map(str::to_ascii_lowercase).as_deref() {
            Some("application/graphql-response+json") => Media::GraphqlResponse,
            Some("application/json" | "application/*" | "*/*") => Media::Json,
            _ => continue,
        };
        let rank = parts.find_map(|part| part.strip_prefix("q=")).map_or(1.0, |q| q.parse().unwrap_or(0.0));
        if rank > best.map_or(0.0, |(_, other)| other) {
            best = Some((media, rank));
        }
    }
    best.map(|(media, _)| media)
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let mut parts = value.split(';').map(str::trim);
    let json = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    json && parts.filter_map(|part| part.split_once('=')).all(|(name, value)| {
        !name.eq_ignore_ascii_case("charset") || value.trim_matches('"').eq_ignore_ascii_case("utf-8")
    })
}

async fn schema(headers: HeaderMap) -> Response {
    let digest = fbc::Digest::new(Sha256::digest(SDL.as_bytes()).into());
    let tag = format!("\"{}\"", digest.hex());
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let fresh = known.flat_map(|value| value.split(',')).any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    });
    let head = [(ETAG, tag), (CACHE_CONTROL, "public, no-cache".to_owned())];
    if fresh {
        // Or else it would be said to be 0, which caches take for the length of what they have.
        return (StatusCode::NOT_MODIFIED, head, [(CONTENT_LENGTH, SDL.len())]).into_response();
    }
    (head, [(CONTENT_TYPE, "text/plain; charset=utf-8")], SDL).into_response()
}

#[cfg(test)]
mod tests;
