//! WebSocket connections with the subprotocol `graphql-transport-ws` of the library graphql-ws:
//! several operations on one connection, each with its id.
//!
//! One task serves a connection. It reads only while it has nothing to write, so that a client that
//! does not read gets back-pressure. Operations run in tasks of their own, so that they hold no
//! permits while the connection writes, besides those for responses, which draw from the same
//! budget as those of HTTP.

mod authorization;
mod frames;
mod message;
mod metered_stream;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use admission::{FairPermit, Peer};
use axum::body::{Body, Bytes};
use axum::extract::Request as HttpRequest;
use axum::http::header::{HOST, ORIGIN, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::SinkExt as _;
use futures_util::stream::{self, BoxStream, StreamExt};
use graphql::errors::{Code, Error};
use graphql::metrics::OperationKind;
use graphql::{Request, Subscription};
use http_content::negotiation::AcceptableCodings;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serving::{Catalogs, RenewalError};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at, sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use super::budget::BytePermit;
use super::metrics::{CountedStream, StreamTransport};
use super::{GraphqlService, limit_errors, text_error, weight};
use message::{Incoming, Outgoing};
use metered_stream::MeteredStream;

pub use authorization::{Authorizing, ConnectionAuthorizer, ConnectionInitError};
pub use metered_stream::UNCOUNTED_MESSAGE_BYTES;

/// The subprotocol.
const PROTOCOL: &str = "graphql-transport-ws";

/// Size in bytes of the buffers of a connection, for reading and for writing.
const BUFFER_BYTES: usize = 16 << 10;

/// Timeout of the closing handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum size in bytes of the reason of a close frame (RFC 6455, section 5.5).
const MAX_REASON_BYTES: usize = 123;

/// Code and reason with which the server closes a connection; `None` if the client is gone.
type Close = Option<(u16, String)>;

/// A connection after its handshake.
type WebSocket = WebSocketStream<MeteredStream<TokioIo<Upgraded>>>;

/// The messages of an operation.
type Operation = BoxStream<'static, Outgoing>;

/// The running operations of a connection, by id.
type Operations = BTreeMap<String, Operation>;

/// The client of a connection.
struct SocketClient {
    /// The catalogs that it may see.
    catalogs: Catalogs,
    /// Authorizes the client at its `connection_init`, and is then taken.
    authorizer: Option<ConnectionAuthorizer>,
    peer: Peer,
}

/// Returns whether a request asks to upgrade to a WebSocket.
pub fn is_upgrade(headers: &HeaderMap) -> bool {
    headers
        .get(UPGRADE)
        .is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Opens a WebSocket.
///
/// The server checks the origin, because browsers let pages of every origin open a WebSocket. Other
/// clients send none. The listener has checked that the host is one of the server's own.
pub(super) fn open(server: Arc<GraphqlService>, mut request: HttpRequest) -> Response {
    if !is_allowed(request.headers(), &server.settings.origins) {
        let text = "this origin is not allowed to connect: add it with --cors-origin";
        return text_error(StatusCode::FORBIDDEN, text);
    }
    let mut response = match create_response_with_body(&request, Body::empty) {
        Ok(response) => response,
        Err(error) => {
            let text = format!("not a WebSocket handshake: {error}");
            return text_error(StatusCode::BAD_REQUEST, &text);
        }
    };
    let peer = Peer::from_extensions(request.extensions());
    let Some(permit) = server.sockets.try_acquire(&peer) else {
        return server.respond_max_streams();
    };
    let has_protocol = offers_protocol(request.headers());
    if has_protocol {
        response
            .headers_mut()
            .insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    let maximum = Some(server.engine.limits().body_bytes);
    let limits = WebSocketConfig::default()
        .max_message_size(maximum)
        .max_frame_size(maximum);
    let limits = limits
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES);
    let upgrade = hyper::upgrade::on(&mut request);
    let catalogs = request
        .extensions_mut()
        .remove()
        .unwrap_or_else(|| server.engine.catalogs().clone());
    let client = SocketClient {
        catalogs,
        authorizer: request.extensions_mut().remove(),
        peer,
    };
    tokio::spawn(async move {
        // If it fails, the client is gone.
        let Ok(upgraded) = upgrade.await else { return };
        // Held until the end, because a listener may count connections by what it added
        // to the request.
        let _extensions = std::mem::take(request.extensions_mut());
        let maximum = server.engine.limits().body_bytes;
        let stream = MeteredStream::new(
            TokioIo::new(upgraded),
            server.reading.clone(),
            peer,
            maximum,
        );
        let socket = WebSocket::from_raw_socket(stream, Role::Server, Some(limits)).await;
        serve(socket, server, client, has_protocol, permit).await;
    });
    response
}

/// Returns whether the client speaks the subprotocol.
fn offers_protocol(headers: &HeaderMap) -> bool {
    let offers = headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|offers| offers.to_str().ok());
    offers
        .flat_map(|offers| offers.split(','))
        .any(|offer| offer.trim() == PROTOCOL)
}

fn is_allowed(headers: &HeaderMap, origins: &[HeaderValue]) -> bool {
    let Some(origin) = headers.get(ORIGIN) else {
        return true;
    };
    let text = |value: &HeaderValue| {
        value
            .to_str()
            .map(str::to_ascii_lowercase)
            .unwrap_or_default()
    };
    let host = headers.get(HOST).map(text);
    let is_own = text(origin)
        .split_once("://")
        .is_some_and(|(_, own)| host.as_deref() == Some(own));
    is_own || origins.iter().any(|named| named == "*" || named == origin)
}

async fn serve(
    mut socket: WebSocket,
    server: Arc<GraphqlService>,
    client: SocketClient,
    has_protocol: bool,
    _permit: FairPermit,
) {
    // Held until the end, so that `Engine::streams_ended` waits for this connection.
    let mut ending = server.engine.ending();
    let is_ending = async move || ending.wait_for(|ending| *ending).await.is_ok();
    let reason = if has_protocol {
        exchange_messages(&mut socket, &server, client, is_ending)
            .await
            .err()
            .flatten()
    } else {
        Some((4406, "Subprotocol not acceptable".to_owned()))
    };
    let handshake = async {
        if let Some((code, reason)) = reason {
            // If sending fails, the client is gone.
            let _ = socket
                .send(Message::Close(Some(CloseFrame {
                    code: code.into(),
                    reason: reason.into(),
                })))
                .await;
        }
        // Reading answers the client's own close frame. Unread bytes would make the kernel reset
        // the connection before the client has read the reason.
        while let Some(Ok(_)) = socket.next().await {}
    };
    let _ = timeout(CLOSE_TIMEOUT, handshake).await;
}

/// Reads and writes messages until the connection is to be closed or is gone.
async fn exchange_messages(
    socket: &mut WebSocket,
    server: &Arc<GraphqlService>,
    client: SocketClient,
    mut until_ending: impl AsyncFnMut() -> bool,
) -> Result<Infallible, Close> {
    let limits = &server.engine.limits().streams;
    let mut connection = WebSocketConnection {
        server,
        client,
        operations: Operations::new(),
        is_ready: false,
    };
    let mut late = std::pin::pin!(sleep(limits.init));
    let mut pings = interval_at(Instant::now() + limits.ping, limits.ping);
    let mut is_alive = true;
    let mut is_ending = false;
    loop {
        let message = tokio::select! {
            received = socket.next() => {
                is_alive = true;
                match received {
                    Some(Ok(Message::Text(text))) => {
                        socket.get_mut().complete();
                        connection.receive(&text).await?.map(message::whole)
                    }
                    Some(Ok(Message::Binary(_))) => return close(4400, "Invalid message received"),
                    Some(Ok(Message::Ping(payload) | Message::Pong(payload))) => {
                        socket.get_mut().ignore_control(payload.len());
                        None
                    }
                    Some(Ok(Message::Frame(_))) => None,
                    Some(Ok(Message::Close(_))) | None => return Err(None),
                    Some(Err(error)) => return close_for_error(&error),
                }
            }
            (id, outgoing) = connection.next() => Some(outgoing.into_parts(&id)),
            () = &mut late, if !connection.is_ready => return close(4408, "Connection initialisation timeout"),
            _ = pings.tick() => {
                if !std::mem::replace(&mut is_alive, false) {
                    return Err(None);
                }
                socket.send(Message::Ping(Bytes::new())).await.map_err(|_| None)?;
                None
            }
            _ = until_ending(), if !is_ending => {
                is_ending = true;
                None
            }
        };
        if let Some(message) = message {
            frames::send(socket, message).await.map_err(|_| None)?;
        }
        if is_ending && connection.operations.is_empty() {
            return close(1001, "Going away");
        }
    }
}

/// Protocol state of one connection.
struct WebSocketConnection<'s> {
    server: &'s Arc<GraphqlService>,
    client: SocketClient,
    operations: Operations,
    is_ready: bool,
}

impl WebSocketConnection<'_> {
    /// Authorizes the client, and handles its message. Returns the immediate reply.
    async fn receive(&mut self, text: &str) -> Result<Option<String>, Close> {
        let message = Incoming::read(text);
        match (
            &message,
            self.client
                .authorizer
                .take_if(|_| matches!(message, Some(Incoming::Init(_)))),
        ) {
            (Some(Incoming::Init(payload)), Some(authorizer)) => {
                let Ok(authorization) = message::authorization(*payload) else {
                    return close(4400, "Invalid message received");
                };
                self.client.catalogs = authorizer.authorize(authorization).await?;
            }
            _ => self.renew().await?,
        }
        self.on_message(message).await
    }

    /// Renews the catalogs that the client may see, as for each request over HTTP.
    async fn renew(&mut self) -> Result<(), Close> {
        if self.client.catalogs.has_caller() {
            self.client.catalogs = match self.client.catalogs.renew().await {
                Ok(catalogs) => catalogs,
                Err(RenewalError::Refused) => return close(4403, "Forbidden"),
                Err(RenewalError::Undecided) => return close(1013, "Try again later"),
            };
        }
        Ok(())
    }

    /// Handles a message, `None` if it is malformed. Returns the immediate reply.
    async fn on_message(&mut self, message: Option<Incoming<'_>>) -> Result<Option<String>, Close> {
        match message {
            Some(Incoming::Init(_)) if self.is_ready => {
                close(4429, "Too many initialisation requests")
            }
            Some(Incoming::Init(_)) => {
                self.is_ready = true;
                Ok(Some(message::ACKNOWLEDGED.to_owned()))
            }
            Some(Incoming::Ping(payload)) => Ok(Some(message::pong(payload))),
            Some(Incoming::Pong) => Ok(None),
            Some(Incoming::Subscribe { .. }) if !self.is_ready => close(4401, "Unauthorized"),
            Some(Incoming::Subscribe { id, .. }) if self.operations.contains_key(&id) => {
                close(4409, &format!("Subscriber for {id} already exists"))
            }
            Some(Incoming::Subscribe { id, payload }) => {
                let operation = match self.server.acquire_queued(
                    self.client.peer,
                    weight::json_weight(payload.get().as_bytes()),
                ) {
                    Ok(queued) => match message::request(payload) {
                        Some(request) => self.start(request.into_owned(), queued).await,
                        None => return close(4400, "Invalid message received"),
                    },
                    Err(error) => self.refuse(OperationKind::Query, error),
                };
                self.operations.insert(id, operation);
                Ok(None)
            }
            Some(Incoming::Complete { id }) => {
                self.operations.remove(&id);
                Ok(None)
            }
            None => close(4400, "Invalid message received"),
        }
    }

    /// Returns an operation that ends with an error before it reaches the engine, and counts it.
    fn refuse(&self, kind: OperationKind, error: Error) -> Operation {
        self.server.engine.metrics().refuse(kind, error.code);
        failed(&[error])
    }

    /// Starts an operation, which holds the permit of its request.
    async fn start(&mut self, request: Request<'static>, queued: BytePermit) -> Operation {
        let maximum = self.server.engine.limits().streams.operations;
        let stream_permit = match self.server.streams.try_acquire(&self.client.peer) {
            Some(permit) if self.operations.len() < maximum => permit,
            _ => return self.refuse(OperationKind::Query, limit_errors::open_streams()),
        };
        let server = Arc::clone(self.server);
        let catalogs = self.client.catalogs.clone();
        let peer = self.client.peer;
        let subscription = match server
            .engine
            .prepare_offloaded(&request, &catalogs, peer)
            .await
        {
            Ok(prepared) if prepared.is_subscription() => {
                match server.subscription_bytes.try_acquire(peer, queued.bytes()) {
                    Some(request_permit) => {
                        let permits = SubscriptionPermits {
                            counted: server.metrics.open(StreamTransport::WebSocket),
                            _stream: stream_permit,
                            _request: request_permit,
                        };
                        prepared
                            .subscribe()
                            .map(|subscription| (subscription, permits))
                    }
                    None => {
                        return self
                            .refuse(OperationKind::Subscription, limit_errors::open_streams());
                    }
                }
            }
            Ok(_) => {
                let messages = async move {
                    let _permits = (stream_permit, queued);
                    let response = run_as_task(async move {
                        respond_once(&server, &request, &catalogs, peer).await
                    });
                    response.await.unwrap_or_else(|| {
                        vec![Outgoing::errors(&[Error::request(
                            Code::Internal,
                            "internal server error",
                        )])]
                    })
                };
                return stream::once(messages).flat_map(stream::iter).boxed();
            }
            Err(error) => Err(vec![error]),
        };
        match subscription {
            Ok((subscription, permits)) => {
                let running = RunningSubscription {
                    server,
                    peer,
                    subscription,
                };
                // The permits stay out of the task: an aborted task ends later, and a client that
                // has completed one operation may start another at once.
                stream::unfold(Some((running, permits)), async |state| {
                    let (running, permits) = state?;
                    let (outgoing, rest) = run_as_task(running.next()).await?;
                    if rest.is_some() {
                        permits.counted.event();
                    }
                    Some((outgoing, rest.map(|running| (running, permits))))
                })
                .boxed()
            }
            Err(errors) => failed(&errors),
        }
    }

    /// Waits for the next message of any operation, and removes the operation after its last one.
    /// Pending for ever if there is no operation.
    async fn next(&mut self) -> (String, Outgoing) {
        let (id, outgoing) = poll_fn(|context| {
            for (id, operation) in &mut self.operations {
                if let Poll::Ready(outgoing) = operation.poll_next_unpin(context) {
                    return Poll::Ready((id.clone(), outgoing.unwrap_or(Outgoing::Complete)));
                }
            }
            Poll::Pending
        })
        .await;
        if !matches!(outgoing, Outgoing::Next(_)) {
            self.operations.remove(&id);
        }
        (id, outgoing)
    }
}

/// A subscription whose events are sent on a connection.
struct RunningSubscription {
    server: Arc<GraphqlService>,
    peer: Peer,
    subscription: Subscription,
}

/// Permits of a subscription, released when it ends.
struct SubscriptionPermits {
    counted: CountedStream,
    _stream: FairPermit,
    /// Accounts for the document and the variables, which the subscription keeps.
    _request: BytePermit,
}

impl RunningSubscription {
    /// Waits for the next message and its permit. Returns the subscription too, unless it has
    /// ended.
    async fn next(mut self) -> (Outgoing, Option<Self>) {
        match self.subscription.next().await {
            Some(event) => {
                let json = self.server.hold(self.peer, event).await;
                (Outgoing::Next(json), Some(self))
            }
            None => (Outgoing::Complete, None),
        }
    }
}

fn close<T>(code: u16, reason: &str) -> Result<T, Close> {
    let end = (0..=MAX_REASON_BYTES.min(reason.len()))
        .rev()
        .find(|end| reason.is_char_boundary(*end));
    Err(Some((code, reason[..end.unwrap_or_default()].to_owned())))
}

/// Closes a connection after an error of reading.
fn close_for_error<T>(error: &tungstenite::Error) -> Result<T, Close> {
    match error {
        tungstenite::Error::Capacity(_) => close(1009, "Message too big"),
        tungstenite::Error::Utf8(_) => close(1007, "Invalid UTF-8"),
        tungstenite::Error::Protocol(_) => close(1002, "Protocol error"),
        tungstenite::Error::Io(error) if metered_stream::is_budget_exhausted(error) => {
            close(1013, "Try again later")
        }
        // The client is gone.
        _ => Err(None),
    }
}

fn failed(errors: &[Error]) -> Operation {
    let outgoing = Outgoing::errors(errors);
    stream::once(async move { outgoing }).boxed()
}

/// Runs a future as a task, which is aborted when the returned future is dropped; `None` if it
/// panics. A task makes progress also while the connection writes and polls nothing; otherwise it
/// would keep the permits that it got meanwhile.
async fn run_as_task<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let mut tasks = JoinSet::new();
    tasks.spawn(future);
    tasks.join_next().await?.ok()
}

/// Returns every message of an operation with one response.
async fn respond_once(
    server: &GraphqlService,
    request: &Request<'_>,
    catalogs: &Catalogs,
    peer: Peer,
) -> Vec<Outgoing> {
    let response = match server
        .engine
        .prepare_offloaded(request, catalogs, peer)
        .await
    {
        Ok(prepared) => prepared.respond(&AcceptableCodings::default()).await,
        Err(error) => Err(vec![error]),
    };
    match response {
        Ok(response) => match server.in_flight.try_hold(peer, response.bytes) {
            Some(json) => vec![Outgoing::Next(json), Outgoing::Complete],
            None => vec![Outgoing::errors(&[server.unread()])],
        },
        Err(errors) => vec![Outgoing::errors(&errors)],
    }
}

#[cfg(test)]
mod tests;
