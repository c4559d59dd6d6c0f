//! Each WebSocket speaks `graphql-transport-ws`, the protocol of the library graphql-ws: several operations
//! on one connection, each with its id.
//!
//! One task serves a socket: it reads only while it need not write, so a client that takes nothing is asked nothing.

mod message;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts, Request as HttpRequest};
use axum::http::header::{HOST, ORIGIN, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, interval_at, sleep, timeout};

use super::stream::full;
use super::{Server, block_in_place};
use crate::Request;
use crate::errors::{self, Code, Error, Outcome};
use message::{Incoming, Outgoing};

/// The subprotocol.
const PROTOCOL: &str = "graphql-transport-ws";

/// How long a client may take to answer that the connection closes.
const CLOSING: Duration = Duration::from_secs(1);

/// Why a socket is closed: the code and the reason that the protocol has for it; nothing when the client is gone.
type Close = Option<(u16, String)>;

/// What an operation tells, one after the other.
type Operation = BoxStream<'static, Outgoing>;

/// The operations of a socket, by id.
type Operations = BTreeMap<String, Operation>;

/// Whether a request asks for a WebSocket.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    headers.get(UPGRADE).is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Opens a WebSocket.
///
/// Browsers let pages of every origin open one, so it is the server that asks where they come from. Who is no browser
/// does not say.
pub(super) async fn open(server: Arc<Server>, request: HttpRequest) -> Response {
    let (mut parts, _) = request.into_parts();
    if !is_allowed(&parts.headers, &server.origins) {
        let text = "pages of this origin may not connect: name it with --cors-origin";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Ok(place) = Arc::clone(&server.sockets).try_acquire_owned() else { return full() };
    let maximum = server.engine.limits().body_bytes;
    let upgrade = upgrade.protocols([PROTOCOL]).max_message_size(maximum).max_frame_size(maximum);
    upgrade.on_upgrade(move |socket| serve(socket, server, place))
}

fn is_allowed(headers: &HeaderMap, origins: &[HeaderValue]) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let text = |value: &HeaderValue| value.to_str().map(str::to_ascii_lowercase).unwrap_or_default();
    let host = headers.get(HOST).map(text);
    let is_own = text(origin).split_once("://").is_some_and(|(_, own)| host.as_deref() == Some(own));
    is_own || origins.iter().any(|named| named == "*" || named == origin)
}

async fn serve(mut socket: WebSocket, server: Arc<Server>, _place: OwnedSemaphorePermit) {
    // Held until the end, so that whoever ends the streams waits for this one.
    let mut ending = server.engine.ending();
    let is_over = async move || ending.wait_for(|ending| *ending).await.is_ok();
    let reason = converse(&mut socket, &server, is_over).await.err().flatten();
    let goodbye = async {
        if let Some((code, reason)) = reason {
            // When it fails, there is nobody to tell.
            let _ = socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
        }
        // Reading on answers the client's own goodbye, and unread bytes would make the system cut the connection before
        // the client has read why.
        while let Some(Ok(_)) = socket.recv().await {}
    };
    let _ = timeout(CLOSING, goodbye).await;
}

/// Talks until the connection is to close, for a reason or because it is gone.
async fn converse(
    socket: &mut WebSocket,
    server: &Arc<Server>,
    mut is_over: impl AsyncFnMut() -> bool,
) -> Result<Infallible, Close> {
    if socket.protocol().is_none() {
        return close(4406, "Subprotocol not acceptable");
    }
    let limits = &server.engine.limits().streams;
    let mut talk = Connection { server, operations: Operations::new(), is_ready: false };
    let mut late = std::pin::pin!(sleep(limits.init));
    let mut pings = interval_at(Instant::now() + limits.ping, limits.ping);
    let mut is_alive = true;
    let mut is_ending = false;
    loop {
        // Counts among what clients have not taken yet until it is sent.
        let mut held = None;
        let text = tokio::select! {
            received = socket.recv() => {
                is_alive = true;
                match received {
                    Some(Ok(Message::Text(text))) => talk.on_message(&text)?,
                    Some(Ok(Message::Binary(_))) => return close(4400, "Invalid message received"),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => None,
                    Some(Ok(Message::Close(_))) | None => return Err(None),
                    Some(Err(_)) => return close(1009, "Message too big"),
                }
            }
            (id, outgoing) = talk.next() => Some(held.insert(outgoing).to_json(&id)),
            () = &mut late, if !talk.is_ready => return close(4408, "Connection initialisation timeout"),
            _ = pings.tick() => {
                if !std::mem::replace(&mut is_alive, false) {
                    return Err(None);
                }
                socket.send(Message::Ping(Bytes::new())).await.map_err(|_| None)?;
                None
            }
            _ = is_over(), if !is_ending => {
                is_ending = true;
                None
            }
        };
        if let Some(text) = text {
            socket.send(Message::text(text)).await.map_err(|_| None)?;
        }
        drop(held);
        if is_ending && talk.operations.is_empty() {
            return close(1001, "Going away");
        }
    }
}

/// One socket, as far as it is understood.
struct Connection<'s> {
    server: &'s Arc<Server>,
    operations: Operations,
    is_ready: bool,
}

impl Connection<'_> {
    /// Does what a message asks. Gives what is to be said at once.
    fn on_message(&mut self, text: &str) -> Result<Option<String>, Close> {
        match Incoming::read(text) {
            Some(Incoming::Init) if self.is_ready => close(4429, "Too many initialisation requests"),
            Some(Incoming::Init) => {
                self.is_ready = true;
                Ok(Some(message::ACKNOWLEDGED.to_owned()))
            }
            Some(Incoming::Ping(payload)) => Ok(Some(message::pong(payload))),
            Some(Incoming::Pong) => Ok(None),
            Some(Incoming::Subscribe { .. }) if !self.is_ready => close(4401, "Unauthorized"),
            Some(Incoming::Subscribe { id, .. }) if self.operations.contains_key(&id) => {
                close(4409, &format!("Subscriber for {id} already exists"))
            }
            Some(Incoming::Subscribe { id, request }) => {
                let operation = self.start(request.into_owned());
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

    fn start(&self, request: Request<'static>) -> Operation {
        let maximum = self.server.engine.limits().streams.operations;
        let place = Arc::clone(&self.server.streams).try_acquire_owned();
        let place = match place {
            Ok(place) if self.operations.len() < maximum => place,
            _ => {
                let error = Error::request(Code::MaxStreams, "as many streams are open as may be: try again");
                return refused(&[error]);
            }
        };
        let server = Arc::clone(self.server);
        let subscription = match server.engine.known(&request) {
            Ok(known) if known.is_subscription() => server.engine.subscribe(&known, block_in_place),
            Ok(_) => {
                let answer = async move {
                    let _place = place;
                    once(&server, &request).await
                };
                return stream::once(answer).flat_map(stream::iter).boxed();
            }
            Err(error) => Err(vec![error]),
        };
        match subscription {
            Ok(subscription) => stream::unfold(Some((server, subscription, place)), async |state| {
                let (server, mut subscription, place) = state?;
                match subscription.next().await {
                    Some(event) => {
                        let json = server.hold(event, <[u8]>::to_vec).await?;
                        Some((Outgoing::Next(json), Some((server, subscription, place))))
                    }
                    None => Some((Outgoing::Complete, None)),
                }
            })
            .boxed(),
            Err(errors) => refused(&errors),
        }
    }

    /// What an operation tells next; one that has told all is forgotten. It waits for ever where there is none.
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

fn close<T>(code: u16, reason: &str) -> Result<T, Close> {
    Err(Some((code, reason.to_owned())))
}

fn refused(errors: &[Error]) -> Operation {
    let outgoing = Outgoing::errors(errors);
    stream::once(async move { outgoing }).boxed()
}

/// Everything that is told of an operation with one answer.
async fn once(server: &Server, request: &Request<'_>) -> Vec<Outgoing> {
    let _permit = server.running.acquire().await;
    let snapshot = server.engine.catalogs.snapshot();
    let known = server.engine.known(request).map_err(|error| (vec![error], Outcome::Refused));
    match known.and_then(|known| server.engine.run(&snapshot, &known, block_in_place)) {
        Ok(answer) => vec![Outgoing::Next(answer.body.into()), Outgoing::Complete],
        Err((errors, Outcome::Abandoned)) => {
            vec![Outgoing::Next(errors::body(&errors).into()), Outgoing::Complete]
        }
        Err((errors, _)) => vec![Outgoing::errors(&errors)],
    }
}

#[cfg(test)]
mod tests;
