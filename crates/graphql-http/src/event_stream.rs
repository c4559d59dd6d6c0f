//! Server-Sent Events, as the distinct connections mode of graphql-sse defines them. One request has one stream, which
//! ends with `complete`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use graphql::errors::{Error, Outcome};
use graphql::{PreparedRequest, Subscription, SubscriptionEvent};
use http_facts::negotiation::AcceptableCodings;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::response::{InFlight, budget_units};
use super::{GraphqlService, overloaded};

/// State of an event stream.
enum Phase {
    /// Nothing was sent yet.
    Opening,
    Running,
    /// The end was sent.
    Done,
}

/// The events of one subscription.
struct EventStream {
    server: Arc<GraphqlService>,
    subscription: Subscription,
    phase: Phase,
    _permit: OwnedSemaphorePermit,
}

/// A comment, which shows browsers and proxies that the stream is alive.
const COMMENT: &[u8] = b":\n\n";

/// The last event of a stream.
const COMPLETE: &[u8] = b"event: complete\ndata: \n\n";

/// Stops nginx from buffering the stream.
const NO_BUFFER: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Responds to a request with an event stream.
pub(super) async fn respond(server: &Arc<GraphqlService>, prepared: Result<PreparedRequest<'_>, Error>) -> Response {
    match prepared {
        Ok(prepared) if prepared.is_subscription() => subscribe(server, &prepared),
        Ok(prepared) => respond_once(server, &prepared).await,
        Err(error) => send_errors(&[error]),
    }
}

fn subscribe(server: &Arc<GraphqlService>, prepared: &PreparedRequest<'_>) -> Response {
    let Ok(permit) = Arc::clone(&server.streams).try_acquire_owned() else { return too_many_streams() };
    match prepared.subscribe() {
        Ok(subscription) => {
            let server = Arc::clone(server);
            let events = EventStream { server, subscription, phase: Phase::Opening, _permit: permit };
            let events = stream::unfold(events, EventStream::next).map(Ok::<_, Infallible>);
            stream_response(Body::from_stream(events))
        }
        Err(errors) => send_errors(&errors),
    }
}

/// Sends errors as a stream: browsers' readers of event streams do not read the body of a failure.
fn send_errors(errors: &[Error]) -> Response {
    stream_response(whole_stream(&graphql::Response::from_errors(errors, Outcome::Refused).body).into())
}

/// Sends one response as a stream.
async fn respond_once(server: &GraphqlService, prepared: &PreparedRequest<'_>) -> Response {
    let response = match prepared.respond(&AcceptableCodings::default()).await {
        Ok(response) => response,
        Err(errors) => return send_errors(&errors),
    };
    let body = Bytes::from(whole_stream(&response.bytes));
    match Arc::clone(&server.in_flight).try_acquire_many_owned(budget_units(body.len())) {
        Ok(permit) => stream_response(InFlight::hold(body, permit).into()),
        Err(_) => overloaded(),
    }
}

impl EventStream {
    /// Returns the next text to send.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        match self.phase {
            Phase::Opening => {
                self.phase = Phase::Running;
                return Some((Bytes::from_static(COMMENT), self));
            }
            Phase::Running => {}
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

impl GraphqlService {
    /// Waits until the budget for unread responses has room for an event, and returns its text as it is sent.
    pub(super) async fn hold(&self, event: SubscriptionEvent, format: impl FnOnce(&[u8]) -> Vec<u8>) -> Option<Bytes> {
        let SubscriptionEvent { text, permit } = event;
        let bytes = Bytes::from(format(&text));
        let held = Arc::clone(&self.in_flight).acquire_many_owned(budget_units(bytes.len())).await.ok()?;
        drop(permit);
        Some(InFlight::hold(bytes, held))
    }
}

/// A `next` event. JSON that the engine writes has no line feed, which would end the field.
fn next_event(json: &[u8]) -> Vec<u8> {
    [b"event: next\ndata: ", json, b"\n\n"].concat()
}

/// A whole stream with one response.
fn whole_stream(json: &[u8]) -> Vec<u8> {
    [COMMENT, b"event: next\ndata: ", json, b"\n\n", COMPLETE].concat()
}

fn stream_response(body: Body) -> Response {
    let content_type = (CONTENT_TYPE, "text/event-stream; charset=utf-8");
    ([content_type, (CACHE_CONTROL, "no-store"), (NO_BUFFER, "no")], body).into_response()
}

/// The response while the maximum number of streams is open.
pub(super) fn too_many_streams() -> Response {
    let text = "as many streams are open as may be: try again";
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "10"), (CACHE_CONTROL, "no-store")], text).into_response()
}

#[cfg(test)]
mod tests;
