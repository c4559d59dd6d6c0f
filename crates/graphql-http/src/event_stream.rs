//! Server-Sent Events, as the distinct connections mode of graphql-sse defines them. One request
//! has one stream, which ends with `complete`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use admission::{FairPermit, Peer};
use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};
use futures_util::stream::{self, Stream, StreamExt};
use graphql::errors::{Error, Outcome};
use graphql::metrics::OperationKind;
use graphql::{PreparedRequest, Subscription, SubscriptionEvent};
use http_content::negotiation::AcceptableCodings;
use tokio::time::timeout;

use super::budget::BytePermit;
use super::media_type::MediaType;
use super::metrics::{CountedStream, StreamTransport};
use super::{GraphqlService, limit_errors};

/// State of an event stream.
enum Phase {
    /// Nothing was sent yet.
    Opening,
    Running,
    /// The end was sent.
    Done,
}

/// The events of one subscription.
struct SseStream {
    server: Arc<GraphqlService>,
    next_event: NextEvent,
    phase: Phase,
    counted: CountedStream,
    peer: Peer,
    _stream_permit: FairPermit,
    /// Accounts for the document and the variables, which the subscription keeps.
    _request_permit: BytePermit,
}

/// The next event of a subscription. Kept across keep-alive comments, so that neither waiting for
/// the event nor writing it starts again.
type NextEvent = BoxFuture<'static, (Option<SubscriptionEvent>, Subscription)>;

/// Parts of an event's text. Separate, so that the JSON is not copied.
type EventParts = [Bytes; 3];

/// Timeout of an event that waits for the budget for unread responses. After it an error is sent
/// instead, so that clients that do not read cannot delay other streams.
pub const EVENT_TIMEOUT: Duration = Duration::from_secs(1);

/// A comment, which keeps browsers and proxies from closing an idle stream.
const COMMENT: &[u8] = b":\n\n";

/// The last event of a stream.
const COMPLETE: &[u8] = b"event: complete\ndata: \n\n";

/// Stops nginx from buffering the stream.
const NO_BUFFER: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Responds to a request with an event stream.
pub(super) async fn respond(
    server: &Arc<GraphqlService>,
    prepared: Result<PreparedRequest<'_>, Error>,
    peer: Peer,
    queued: BytePermit,
) -> Response {
    match prepared {
        Ok(prepared) if prepared.is_subscription() => {
            subscribe(server, &prepared, peer, queued.bytes())
        }
        Ok(prepared) => respond_once(server, &prepared, peer).await,
        Err(error) => send_errors(&[error]),
    }
}

fn subscribe(
    server: &Arc<GraphqlService>,
    prepared: &PreparedRequest<'_>,
    peer: Peer,
    request_bytes: usize,
) -> Response {
    let Some(stream_permit) = server.streams.try_acquire(&peer) else {
        return server.respond_max_streams();
    };
    let Some(request_permit) = server.subscription_bytes.try_acquire(peer, request_bytes) else {
        return server.respond_max_streams();
    };
    match prepared.subscribe() {
        Ok(subscription) => {
            let events = SseStream {
                server: Arc::clone(server),
                next_event: next_event_of(subscription),
                phase: Phase::Opening,
                counted: server.metrics.open(StreamTransport::Sse),
                peer,
                _stream_permit: stream_permit,
                _request_permit: request_permit,
            };
            stream_response(stream_body(stream::unfold(events, SseStream::next)))
        }
        Err(errors) => send_errors(&errors),
    }
}

/// Sends errors as a stream: `EventSource` of browsers does not read the body of an error status.
fn send_errors(errors: &[Error]) -> Response {
    let json = graphql::Response::from_errors(errors, Outcome::Refused).body;
    stream_response(whole_stream(json.into()))
}

/// Sends one response as a stream.
async fn respond_once(
    server: &GraphqlService,
    prepared: &PreparedRequest<'_>,
    peer: Peer,
) -> Response {
    let response = match prepared.respond(&AcceptableCodings::default()).await {
        Ok(response) => response,
        Err(errors) => return send_errors(&errors),
    };
    match server.in_flight.try_hold(peer, response.bytes) {
        Some(json) => stream_response(whole_stream(json)),
        None => limit_errors::overloaded(&server.unread(), MediaType::Json),
    }
}

impl SseStream {
    /// Returns the parts to send next.
    async fn next(mut self) -> Option<(EventParts, Self)> {
        match self.phase {
            Phase::Opening => {
                self.phase = Phase::Running;
                return Some((single(COMMENT), self));
            }
            Phase::Running => {}
            Phase::Done => return None,
        }
        let ping = self.server.engine.limits().streams.ping;
        let parts = match timeout(ping, &mut self.next_event).await {
            Ok((Some(event), subscription)) => {
                self.next_event = next_event_of(subscription);
                self.counted.event();
                event_parts(self.server.hold(self.peer, event).await)
            }
            Ok((None, _)) => {
                self.phase = Phase::Done;
                single(COMPLETE)
            }
            Err(_) => single(COMMENT),
        };
        Some((parts, self))
    }
}

fn next_event_of(mut subscription: Subscription) -> NextEvent {
    async move { (subscription.next().await, subscription) }.boxed()
}

impl GraphqlService {
    /// Responds that the maximum number of streams is open, and counts it.
    pub(super) fn respond_max_streams(&self) -> Response {
        let error = limit_errors::open_streams();
        self.engine
            .metrics()
            .refuse(OperationKind::Subscription, error.code);
        limit_errors::overloaded(&error, MediaType::Json)
    }

    /// Returns the text of an event once the budget for unread responses allows it, or an error
    /// after [`EVENT_TIMEOUT`].
    pub(super) async fn hold(&self, peer: Peer, event: SubscriptionEvent) -> Bytes {
        let SubscriptionEvent { text, permit } = event;
        let in_flight = timeout(EVENT_TIMEOUT, self.in_flight.acquire(peer, text.len())).await;
        // Only now: until then the event counts as being written, which bounds waiting events.
        drop(permit);
        match in_flight {
            Ok(in_flight) => in_flight.hold(text),
            Err(_) => graphql::Response::from_errors(&[self.unread()], Outcome::Abandoned)
                .body
                .into(),
        }
    }
}

fn single(text: &'static [u8]) -> EventParts {
    [Bytes::from_static(text), Bytes::new(), Bytes::new()]
}

/// Returns a `next` event. The engine's JSON has no line feed, which would end the field. It is not
/// copied, because streams of equal requests share it.
fn event_parts(json: Bytes) -> EventParts {
    [
        Bytes::from_static(b"event: next\ndata: "),
        json,
        Bytes::from_static(b"\n\n"),
    ]
}

/// Returns the body of a stream with one response.
fn whole_stream(json: Bytes) -> Body {
    stream_body(stream::iter([
        single(COMMENT),
        event_parts(json),
        single(COMPLETE),
    ]))
}

fn stream_body(events: impl Stream<Item = EventParts> + Send + 'static) -> Body {
    let parts = events
        .flat_map(stream::iter)
        .filter(|part| future::ready(!part.is_empty()));
    Body::from_stream(parts.map(Ok::<_, Infallible>))
}

fn stream_response(body: Body) -> Response {
    let content_type = (CONTENT_TYPE, "text/event-stream; charset=utf-8");
    (
        [content_type, (CACHE_CONTROL, "no-store"), (NO_BUFFER, "no")],
        body,
    )
        .into_response()
}

#[cfg(test)]
mod tests;
