//! One connection: its TLS handshake, the protocol that it settles on, and its end.

use std::future::poll_fn;
use std::sync::Arc;

use auth::ClientCertificate;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_rustls::server::TlsStream;

use super::connections::{Connections, Place, PlaceKind};
use super::gathered::GatheredWrites;
use super::service::Services;
use super::streams::Streams;
use super::tls::{HTTP2, Protocols};
use super::{ConnectionLimits, Http2Limits, ListenOptions, Tls};

/// What an HTTP/2 connection begins with where nothing was negotiated before (RFC 9113 §3.4). No
/// request of HTTP/1.1 begins so.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How often an HTTP/2 connection is looked at within the shortest time-out that applies to it.
const CHECKS: u32 = 4;

/// What serves connections. Clones share everything.
#[derive(Clone)]
pub(super) struct Acceptor {
    tls: Option<Tls>,
    /// Places of connections that are in their TLS handshake. None of these is ever busy, so that
    /// for a further one the one is closed that began earliest.
    handshakes: Connections,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    services: Services,
    limits: ConnectionLimits,
    http2_only: bool,
}

impl Acceptor {
    pub(super) fn new(services: Services, options: &ListenOptions) -> Self {
        let limits = options.limits;
        let handshakes = Connections::new(ConnectionLimits {
            connections: limits.handshakes,
            peer_connections: limits.peer_handshakes(),
            probe_connections: 0,
            ..limits
        });
        let http1 = http1(limits);
        let http2 = http2(limits);
        let tls = options.tls.clone();
        let http2_only = options.http2_only;
        Self {
            tls,
            handshakes,
            http1,
            http2,
            services,
            limits,
            http2_only,
        }
    }

    /// Serves the requests of a connection until it is closed or evicted, or the server shuts down.
    pub(super) async fn serve(
        self,
        stream: TcpStream,
        place: Arc<Place>,
        mut closing: watch::Receiver<()>,
    ) {
        let mut first = [0; PREFACE.len()];
        let peeked = tokio::select! {
            // Not `readable`, which may return before there is anything to read.
            peeked = timeout(self.limits.header_timeout, stream.peek(&mut first)) => peeked,
            _ = closing.changed() => return,
            () = place.evicted() => return,
        };
        // Connections that send nothing may be many. Without buffers they need little memory.
        let Ok(Ok(length)) = peeked else { return };
        let Some(tls) = self.tls.clone() else {
            if self.http2_only || is_http2(&first[..length], &place) {
                return Box::pin(self.serve_http2(
                    GatheredWrites::plain(stream),
                    place,
                    None,
                    closing,
                ))
                .await;
            }
            return Box::pin(self.serve_http1(stream, place, None, closing)).await;
        };
        let Some(stream) = Box::pin(self.handshake(&tls, stream, &place, &mut closing)).await
        else {
            return;
        };
        let session = stream.get_ref().1;
        let client = session
            .peer_certificates()
            .and_then(ClientCertificate::new)
            .map(Arc::new);
        if self.http2_only || session.alpn_protocol() == Some(HTTP2) {
            Box::pin(self.serve_http2(GatheredWrites::new(stream), place, client, closing)).await;
        } else {
            Box::pin(self.serve_http1(stream, place, client, closing)).await;
        }
    }

    /// Completes the TLS handshake; `None` if it fails or takes too long, or the connection is
    /// evicted.
    async fn handshake(
        &self,
        tls: &Tls,
        stream: TcpStream,
        place: &Place,
        closing: &mut watch::Receiver<()>,
    ) -> Option<TlsStream<TcpStream>> {
        let own = self.handshakes.take(place.address())?;
        // Connections of reserved places are closed after a response, which only HTTP/1.1 says in
        // the response.
        let protocols = if place.kind() == PlaceKind::Ordinary {
            Protocols::All
        } else {
            Protocols::Http1
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
            () = own.evicted() => "another handshake began".to_owned(),
            () = place.evicted() => return None,
            _ = closing.changed() => return None,
        };
        tracing::debug!(error, "TLS handshake failed");
        None
    }

    async fn serve_http1<S>(
        self,
        stream: S,
        place: Arc<Place>,
        client: Option<Arc<ClientCertificate>>,
        mut closing: watch::Receiver<()>,
    ) where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let service = self.services.http1(&place, client);
        let mut connection = std::pin::pin!(
            self.http1
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades()
        );
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = place.evicted() => return,
            _ = closing.changed() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        log_error(ended);
    }

    async fn serve_http2(
        self,
        stream: GatheredWrites,
        place: Arc<Place>,
        client: Option<Arc<ClientCertificate>>,
        mut closing: watch::Receiver<()>,
    ) {
        let ConnectionLimits {
            write_timeout,
            http2:
                Http2Limits {
                    idle_timeout,
                    goodbye,
                    ..
                },
            ..
        } = self.limits;
        let streams = Streams::new();
        let service = self.services.http2(&place, &streams, client);
        let mut connection = std::pin::pin!(
            self.http2
                .serve_connection(TokioIo::new(stream.clone()), service)
        );
        let mut checks = interval(idle_timeout.min(write_timeout).min(goodbye) / CHECKS);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_ending = false;
        loop {
            let allowed_idle = if is_ending { goodbye } else { idle_timeout };
            tokio::select! {
                ended = poll_fn(|context| stream.poll(connection.as_mut(), context)) => return log_error(ended),
                () = place.evicted() => return,
                _ = closing.changed(), if !is_ending => {}
                _ = checks.tick() => {
                    if streams.stalled().is_some_and(|time| time > write_timeout) {
                        return;
                    }
                    if streams.idle().is_none_or(|time| time < allowed_idle) {
                        continue;
                    }
                }
            }
            if is_ending {
                // The client does not answer what says goodbye.
                return;
            }
            // Says GOAWAY; requests that were sent before the client reads it are still answered.
            connection.as_mut().graceful_shutdown();
            is_ending = true;
        }
    }
}

/// Returns whether the client of a connection without TLS speaks HTTP/2 without negotiation (prior
/// knowledge, RFC 9113 §3.3). Its first segment holds the whole preface; anything else is HTTP/1.1.
fn is_http2(first: &[u8], place: &Place) -> bool {
    // As with TLS, connections of reserved places speak HTTP/1.1.
    place.kind() == PlaceKind::Ordinary && first == PREFACE
}

fn http1(limits: ConnectionLimits) -> http1::Builder {
    let mut http = http1::Builder::new();
    // So that the response to a handshake can have it: see `Services::http1`.
    http.preserve_header_case(true);
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
        ..
    } = limits.http2;
    let Http2Limits {
        ping_interval,
        ping_timeout,
        ..
    } = limits.http2;
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .max_concurrent_streams(streams);
    // A list of exactly this size is refused.
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
