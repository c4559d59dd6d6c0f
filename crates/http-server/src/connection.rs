//! One connection: its TLS handshake, the protocol that it settles on, and its end.

use std::future::poll_fn;
use std::sync::Arc;

use admission::ConnectionDrain;
use axum::http::Extensions;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_rustls::server::TlsStream;

use crate::coalescing::CoalescingStream;
use crate::connection_slots::{ConnectionSlot, ConnectionSlots, SlotKind};
use crate::http2_streams::Http2Streams;
use crate::limits::{ConnectionLimits, Http2Limits};
use crate::listen_options::ListenOptions;
use crate::service::ConnectionServices;
use crate::tls::{AlpnProtocols, HTTP2, Tls};

/// Client preface of HTTP/2: the first bytes of a connection that speaks it without negotiation
/// (RFC 9113 §3.4). No request of HTTP/1.1 begins with it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Number of checks of an HTTP/2 connection within the shortest time-out that applies to it.
const CHECKS: u32 = 4;

/// Serves accepted connections. Clones share everything.
#[derive(Clone)]
pub(crate) struct ConnectionServer {
    tls: Option<Tls>,
    /// Slots of connections that are in their TLS handshake. None of these is ever busy, so that a
    /// further one evicts the one that began earliest.
    handshakes: ConnectionSlots,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    services: ConnectionServices,
    limits: ConnectionLimits,
    http2_only: bool,
}

impl ConnectionServer {
    pub(crate) fn new(services: ConnectionServices, options: &ListenOptions) -> Self {
        let limits = options.limits;
        let handshakes = ConnectionSlots::new(ConnectionLimits {
            connections: limits.handshakes,
            peer_connections: limits.peer_handshakes(),
            probe_connections: 0,
            ..limits
        });
        Self {
            tls: options.tls.clone(),
            handshakes,
            http1: http1(limits),
            http2: http2(limits),
            services,
            limits,
            http2_only: options.http2_only,
        }
    }

    /// Serves the requests of a connection until it is closed or evicted, or the server shuts down.
    pub(crate) async fn serve(
        self,
        stream: TcpStream,
        slot: Arc<ConnectionSlot>,
        mut closing: watch::Receiver<bool>,
    ) {
        // Idle connections may be many. Until the first byte, a connection has neither buffers nor
        // a TLS session; the futures below are boxed, so that this one stays small meanwhile.
        let mut first = [0; PREFACE.len()];
        let peeked = tokio::select! {
            // Not `readable`, which may return before there is anything to read.
            peeked = timeout(self.limits.header_timeout, stream.peek(&mut first)) => peeked,
            () = idle_end(&mut closing, self.limits) => return,
            () = slot.evicted() => return,
        };
        let Ok(Ok(length)) = peeked else { return };

        let Some(tls) = self.tls.clone() else {
            let client = Extensions::new();
            if self.http2_only || is_http2(&first[..length], &slot) {
                let stream = CoalescingStream::plain(stream);
                return Box::pin(self.serve_http2(stream, slot, client, closing)).await;
            }
            return Box::pin(self.serve_http1(stream, slot, client, closing)).await;
        };

        let Some(stream) = Box::pin(self.handshake(&tls, stream, &slot, &mut closing)).await else {
            return;
        };
        let session = stream.get_ref().1;
        let client = session
            .peer_certificates()
            .map(|chain| tls.client_extensions(chain))
            .unwrap_or_default();
        if self.http2_only || session.alpn_protocol() == Some(HTTP2) {
            let stream = CoalescingStream::tls(stream);
            Box::pin(self.serve_http2(stream, slot, client, closing)).await;
        } else {
            Box::pin(self.serve_http1(stream, slot, client, closing)).await;
        }
    }

    /// Completes the TLS handshake; `None` if it fails or takes too long, or the connection is
    /// evicted.
    async fn handshake(
        &self,
        tls: &Tls,
        stream: TcpStream,
        slot: &ConnectionSlot,
        closing: &mut watch::Receiver<bool>,
    ) -> Option<TlsStream<TcpStream>> {
        let handshake_slot = self.handshakes.acquire(slot.address())?;
        // A connection with a reserved slot is closed after one response. Only in HTTP/1.1 does
        // the response announce that to the client.
        let protocols = if slot.kind() == SlotKind::Ordinary {
            AlpnProtocols::All
        } else {
            AlpnProtocols::Http1
        };
        let handshake = timeout(
            self.limits.handshake_timeout,
            tls.acceptor(protocols).accept(stream),
        );
        let error = tokio::select! {
            done = handshake => match done {
                Ok(Ok(stream)) => return Some(stream),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "time-out".to_owned(),
            },
            () = handshake_slot.evicted() => "another handshake began".to_owned(),
            () = slot.evicted() => return None,
            () = idle_end(closing, self.limits) => return None,
        };
        tracing::debug!(error, "TLS handshake failed");
        None
    }

    async fn serve_http1<S>(
        self,
        stream: S,
        slot: Arc<ConnectionSlot>,
        client: Extensions,
        mut closing: watch::Receiver<bool>,
    ) where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let limits = self.limits;
        let service = self.services.http1(&slot, client, closing.clone());
        let mut connection = std::pin::pin!(
            self.http1
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades()
        );
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = slot.evicted() => return,
            () = idle_end(&mut closing, limits) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        log_error(ended);
    }

    async fn serve_http2(
        self,
        stream: CoalescingStream,
        slot: Arc<ConnectionSlot>,
        mut client: Extensions,
        mut closing: watch::Receiver<bool>,
    ) {
        let write_timeout = self.limits.write_timeout;
        let idle_timeout = self.limits.http2.idle_timeout;
        let goodbye = self.limits.http2.goodbye;

        let streams = Http2Streams::new();
        let (drain, mut drained) = ConnectionDrain::new();
        // Views that HTTP/1.1 also reaches ask for no drain, and need not carry it.
        if self.http2_only {
            client.insert(drain.clone());
        }
        let service = self.services.http2(&slot, &streams, client);
        let mut connection = std::pin::pin!(
            self.http2
                .serve_connection(TokioIo::new(stream.clone()), service)
        );

        // hyper has no time-out for a client that grants no window, or sends no requests.
        let mut checks = interval(idle_timeout.min(write_timeout).min(goodbye) / CHECKS);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_ending = false;
        loop {
            let allowed_idle = if is_ending { goodbye } else { idle_timeout };
            tokio::select! {
                ended = poll_fn(|context| stream.poll(connection.as_mut(), context)) => return log_error(ended),
                () = slot.evicted() => return,
                () = is_closing(&mut closing), if !is_ending => {}
                _ = drained.wait_for(|is_requested| *is_requested), if !is_ending => {}
                _ = checks.tick() => {
                    // The whole connection is closed: hyper cannot be told to give up one response.
                    if streams.stalled().is_some_and(|time| time > write_timeout) {
                        return;
                    }
                    if streams.idle().is_none_or(|time| time < allowed_idle) {
                        continue;
                    }
                }
            }
            if is_ending {
                // The client has not closed the connection after GOAWAY.
                return;
            }
            // Sends GOAWAY; requests that were sent before the client reads it are still answered.
            connection.as_mut().graceful_shutdown();
            is_ending = true;
        }
    }
}

/// Waits until the server shuts down.
async fn is_closing(closing: &mut watch::Receiver<bool>) {
    // An error means that the listener is gone.
    let _ = closing.wait_for(|is_closing| *is_closing).await;
}

/// Waits until the server shuts down, and then for the time in which a connection without a running
/// request stays open.
//
// A request may be on its way: it would be lost with the connection, and clients repeat no `POST`.
async fn idle_end(closing: &mut watch::Receiver<bool>, limits: ConnectionLimits) {
    is_closing(closing).await;
    sleep(limits.idle_grace).await;
}

/// Returns whether the client of a connection without TLS speaks HTTP/2 without negotiation (prior
/// knowledge, RFC 9113 §3.3). Its first segment holds the whole preface; anything else is HTTP/1.1.
fn is_http2(first: &[u8], slot: &ConnectionSlot) -> bool {
    // As with TLS, connections with reserved slots speak HTTP/1.1.
    slot.kind() == SlotKind::Ordinary && first == PREFACE
}

fn http1(limits: ConnectionLimits) -> http1::Builder {
    let mut http = http1::Builder::new();
    // The response to a WebSocket handshake repeats it: see `ConnectionServices::http1`.
    http.preserve_header_case(true);
    // Waiting for the headers of the next request, so that it closes idle connections too.
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout);
    // The buffer bounds the memory, and not exactly what a request may have.
    http.max_buf_size(limits.header_bytes)
        .max_header_size(limits.header_bytes);
    http
}

fn http2(limits: ConnectionLimits) -> http2::Builder<TokioExecutor> {
    let Http2Limits {
        streams,
        window_bytes,
        unsent_bytes,
        reset_streams,
        error_streams,
        ping_interval,
        ping_timeout,
        ..
    } = limits.http2;
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .max_concurrent_streams(streams);
    // h2 rejects a header list of exactly this size.
    http.max_header_list_size(u32::try_from(limits.header_bytes + 1).unwrap_or(u32::MAX));
    http.initial_stream_window_size(window_bytes)
        .initial_connection_window_size(window_bytes);
    http.max_send_buf_size(unsent_bytes);
    http.keep_alive_interval(ping_interval)
        .keep_alive_timeout(ping_timeout);
    http.max_pending_accept_reset_streams(reset_streams)
        .max_local_error_reset_streams(error_streams);
    http
}

fn log_error(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "connection closed with an error");
    }
}
