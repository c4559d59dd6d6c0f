//! Responses as streams of events: Server-Sent Events, as graphql-sse has them in its mode of distinct connections. One
//! request has one stream, which ends with `complete`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::answer::{InFlight, units};
use super::request::StreamPreference;
use super::{Refusal, Server, block_in_place, overload};
use crate::errors::{self, Error};
use crate::subscription::{Event, Subscription};
use crate::{PreparedRequest, Request};

/// Where a stream is.
enum Phase {
    Opening,
    Telling,
    Done,
}

/// A stream on its way.
struct Events {
    server: Arc<Server>,
    subscription: Subscription,
    phase: Phase,
    _place: OwnedSemaphorePermit,
}

/// A comment: it shows browsers and proxies that the stream is alive.
const COMMENT: &[u8] = b":\n\n";

/// How a stream ends.
const COMPLETE: &[u8] = b"event: complete\ndata: \n\n";

/// Tells nginx to send on what it gets at once.
const NO_BUFFER: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The answer to a request as a stream, when the client wants one.
pub(super) async fn answer(
    server: &Arc<Server>,
    wish: StreamPreference,
    request: &Result<Request<'_>, Refusal>,
) -> Option<Response> {
    if wish == StreamPreference::Never {
        return None;
    }
    let request = match request {
        Ok(request) => request,
        Err(refusal) => return (wish == StreamPreference::Always).then(|| refusal.clone().into_response()),
    };
    match server.engine.known(request) {
        Ok(known) if known.is_subscription() => Some(subscribe(server, &known)),
        _ if wish == StreamPreference::ForSubscriptions => None,
        Ok(known) => Some(once(server, &known).await),
        Err(error) => Some(refuse(&[error])),
    }
}

fn subscribe(server: &Arc<Server>, known: &PreparedRequest<'_>) -> Response {
    let Ok(place) = Arc::clone(&server.streams).try_acquire_owned() else { return full() };
    match server.engine.subscribe(known, block_in_place) {
        Ok(subscription) => {
            let events = Events { server: Arc::clone(server), subscription, phase: Phase::Opening, _place: place };
            let events = stream::unfold(events, Events::next).map(Ok::<_, Infallible>);
            respond(Body::from_stream(events))
        }
        Err(errors) => refuse(&errors),
    }
}

/// Tells errors as a stream: a status of failure would keep them from a browser's own reader of events.
fn refuse(errors: &[Error]) -> Response {
    respond(whole(&errors::body(errors)).into())
}

/// One answer as a stream.
async fn once(server: &Server, known: &PreparedRequest<'_>) -> Response {
    let _permit = server.running.acquire().await;
    let snapshot = server.engine.catalogs.snapshot();
    let answer = server.engine.execute_in(&snapshot, known, block_in_place);
    let body = Bytes::from(whole(&answer.body));
    match Arc::clone(&server.in_flight).try_acquire_many_owned(units(body.len())) {
        Ok(held) => respond(InFlight::hold(body, held).into()),
        Err(_) => overload(),
    }
}

impl Events {
    /// What to send next.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        match self.phase {
            Phase::Opening => {
                self.phase = Phase::Telling;
                return Some((Bytes::from_static(COMMENT), self));
            }
            Phase::Telling => {}
            Phase::Done => return None,
        }
        let ping = self.server.engine.limits().streams.ping;
        let text = match timeout(ping, self.subscription.next()).await {
            Ok(Some(event)) => self.server.hold(event, next_event).await?,
            Ok(None) => {
                self.phase = Phase::Done;
                Bytes::from_static(COMPLETE)
            }
            Err(_) => Bytes::from_static(COMMENT),
        };
        Some((text, self))
    }
}

impl Server {
    /// The text of an event as it is sent, once there is room for it among what clients have not taken yet.
    pub(super) async fn hold(&self, event: Event, shape: impl FnOnce(&[u8]) -> Vec<u8>) -> Option<Bytes> {
        let Event { text, turn } = event;
        let bytes = Bytes::from(shape(&text));
        let held = Arc::clone(&self.in_flight).acquire_many_owned(units(bytes.len())).await.ok()?;
        drop(turn);
        Some(InFlight::hold(bytes, held))
    }
}

/// An event with a result. JSON of ours has no line feed, which would end the field.
fn next_event(json: &[u8]) -> Vec<u8> {
    [b"event: next\ndata: ", json, b"\n\n"].concat()
}

/// A whole stream of one result.
fn whole(json: &[u8]) -> Vec<u8> {
    [COMMENT, b"event: next\ndata: ", json, b"\n\n", COMPLETE].concat()
}

fn respond(body: Body) -> Response {
    let content_type = (CONTENT_TYPE, "text/event-stream; charset=utf-8");
    ([content_type, (CACHE_CONTROL, "no-store"), (NO_BUFFER, "no")], body).into_response()
}

/// What is answered while as many streams are open as may be.
pub(super) fn full() -> Response {
    let text = "as many streams are open as may be: try again";
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "10"), (CACHE_CONTROL, "no-store")], text).into_response()
}

#[cfg(test)]
mod tests;
