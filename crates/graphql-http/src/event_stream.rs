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
use super::metrics::{CountedStream, StreamTransport};
use super::response::MediaType;
use super::{GraphqlService, refusal};

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
    waiting: Waiting,
    phase: Phase,
    counted: CountedStream,
    peer: Peer,
    _turn: FairPermit,
    /// For the document and the variables, which the subscription keeps.
    _room: BytePermit,
}

/// The subscription while its next event is waited for, and made: neither begins anew after a sign
/// of life.
type Waiting = BoxFuture<'static, (Option<SubscriptionEvent>, Subscription)>;

/// The texts of an event, which are sent one after the other.
type Texts = [Bytes; 3];

/// Time-out of waiting for room in the budget for unread responses. An event that finds none by
/// then is replaced by an error, so that clients which do not read hold up no other stream.
pub const EVENT_TIMEOUT: Duration = Duration::from_secs(1);

/// A comment, which shows browsers and proxies that the stream is alive.
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
    room: BytePermit,
) -> Response {
    match prepared {
        Ok(prepared) if prepared.is_subscription() => subscribe(server, &prepared, peer, &room),
        Ok(prepared) => respond_once(server, &prepared, peer).await,
        Err(error) => send_errors(&[error]),
    }
}

fn subscribe(
    server: &Arc<GraphqlService>,
    prepared: &PreparedRequest<'_>,
    peer: Peer,
    room: &BytePermit,
) -> Response {
    let Some(turn) = server.streams.try_acquire(&peer) else {
        return server.no_stream();
    };
    let Some(room) = server.subscriptions.try_acquire(peer, room.bytes()) else {
        return server.no_stream();
    };
    match prepared.subscribe() {
        Ok(subscription) => {
            let server = Arc::clone(server);
            let phase = Phase::Opening;
            let counted = server.metrics.open(StreamTransport::Sse);
            let waiting = wait(subscription);
            let events = EventStream {
                server,
                waiting,
                phase,
                counted,
                peer,
                _turn: turn,
                _room: room,
            };
            stream_response(stream_body(stream::unfold(events, EventStream::next)))
        }
        Err(errors) => send_errors(&errors),
    }
}

/// Sends errors as a stream: browsers' readers of event streams do not read the body of a failure.
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
        None => refusal::overloaded(&server.unread(), MediaType::Json),
    }
}

impl EventStream {
    /// Returns the next texts to send.
    async fn next(mut self) -> Option<(Texts, Self)> {
        match self.phase {
            Phase::Opening => {
                self.phase = Phase::Running;
                return Some((single(COMMENT), self));
            }
            Phase::Running => {}
            Phase::Done => return None,
        }
        let ping = self.server.engine.limits().streams.ping;
        let texts = match timeout(ping, &mut self.waiting).await {
            Ok((Some(event), subscription)) => {
                self.waiting = wait(subscription);
                self.counted.event();
                next_event(self.server.hold(self.peer, event).await)
            }
            Ok((None, _)) => {
                self.phase = Phase::Done;
                single(COMPLETE)
            }
            Err(_) => single(COMMENT),
        };
        Some((texts, self))
    }
}

fn wait(mut subscription: Subscription) -> Waiting {
    async move { (subscription.next().await, subscription) }.boxed()
}

impl GraphqlService {
    /// Responds that as many streams are open as may be, and counts it.
    pub(super) fn no_stream(&self) -> Response {
        let error = refusal::streams();
        self.engine
            .metrics()
            .refuse(OperationKind::Subscription, error.code);
        refusal::overloaded(&error, MediaType::Json)
    }

    /// Waits until the budget for unread responses has room for an event, and returns its text. An
    /// event that finds no room in time is replaced by an error.
    pub(super) async fn hold(&self, peer: Peer, event: SubscriptionEvent) -> Bytes {
        let SubscriptionEvent { text, permit } = event;
        let room = timeout(EVENT_TIMEOUT, self.in_flight.acquire(peer, text.len())).await;
        drop(permit);
        match room {
            Ok(room) => room.hold(text),
            Err(_) => graphql::Response::from_errors(&[self.unread()], Outcome::Abandoned)
                .body
                .into(),
        }
    }
}

fn single(text: &'static [u8]) -> Texts {
    [Bytes::from_static(text), Bytes::new(), Bytes::new()]
}

/// A `next` event. JSON that the engine writes has no line feed, which would end the field. It is
/// not copied, because streams of equal requests share it.
fn next_event(json: Bytes) -> Texts {
    [
        Bytes::from_static(b"event: next\ndata: "),
        json,
        Bytes::from_static(b"\n\n"),
    ]
}

/// The body of a whole stream with one response.
fn whole_stream(json: Bytes) -> Body {
    stream_body(stream::iter([
        single(COMMENT),
        next_event(json),
        single(COMPLETE),
    ]))
}

fn stream_body(events: impl Stream<Item = Texts> + Send + 'static) -> Body {
    let texts = events
        .flat_map(stream::iter)
        .filter(|text| future::ready(!text.is_empty()));
    Body::from_stream(texts.map(Ok::<_, Infallible>))
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
