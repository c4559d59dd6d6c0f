//! The HTTP server: connections with limits, health probes, and graceful shutdown.
//!
//! It uses hyper directly, because `axum::serve` has no time-out for headers, no bound on
//! connections and no deadline for shutdown. It does not know the routes of the application.

mod connection;
mod connections;
mod cors;
mod gathered;
mod hosts;
mod probes;
mod refusal;
mod service;
mod streams;
mod tls;

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rustix::io::Errno;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::exchange::{Exchanges, Handler};

use connection::Acceptor;
use connections::Connections;
use service::Services;

pub use connections::{ConnectionCounts, OpenConnections};
pub use cors::cors;
pub use gathered::GATHERED_BYTES;
pub use hosts::AllowedHosts;
pub use probes::Ready;
pub use refusal::{ErrorFormat, Refusal};
pub use service::FAIR_BYTES;
pub use tls::{RELOAD_INTERVAL, Tls, TlsError, TlsFiles, TlsVersion};

/// Every address, as `:PORT` stands for it.
const EVERY_ADDRESS: &str = "[::]:";

/// The same on a machine without IPv6.
const EVERY_IPV4_ADDRESS: &str = "0.0.0.0:";

/// Limits of the connections of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of open connections, those of `WebSocket`s included. For a further one, the
    /// connection that has been idle longest is closed.
    pub connections: usize,
    /// Maximum number of open connections from one address, or from one /64 network of IPv6: half
    /// of all, so that no address takes the server from others, and a proxy in front of it has
    /// enough. Loopback addresses count as others do: a proxy beside the server has one, and so has
    /// whoever shares its network namespace.
    pub peer_connections: usize,
    /// Number of further connections on which only probes are answered, while all others are busy.
    pub probe_connections: usize,
    /// Time-out for the headers of the next request, which also closes idle connections. For the
    /// first request of a connection it applies once to the first byte and once to the headers.
    pub header_timeout: Duration,
    /// Maximum length in bytes of the request line and the headers of a request.
    pub header_bytes: usize,
    /// Time-out from the headers of a request until its response begins.
    pub request_timeout: Duration,
    /// Time-out for a client to acknowledge sent bytes.
    pub write_timeout: Duration,
    /// Time for running requests to finish after a shutdown is requested.
    pub shutdown_grace: Duration,
    /// Maximum number of TLS handshakes in progress, of which one address or /64 network may have
    /// the same part as of connections. For a further one, the one is given up that began earliest:
    /// a client may make the server hold 64 KiB for a handshake that it never completes.
    pub handshakes: usize,
    /// Time-out for a TLS handshake, from its first byte on.
    pub handshake_timeout: Duration,
    /// Limits of HTTP/2.
    pub http2: Http2Limits,
}

/// Limits of the HTTP/2 connections of a listener, in addition to those of all connections. All
/// requests over HTTP/2 together are as many as connections may be, also those of one address: what
/// a request holds that no budget counts is bounded as for HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Limits {
    /// Maximum number of concurrent requests (streams) of a connection. As many queries of one
    /// address may wait for their turn, so that a client which sends more of them waits and is not
    /// refused.
    pub streams: u32,
    /// Initial flow-control window in bytes of a stream and of a connection: what a client may send
    /// before the server has read it.
    pub window_bytes: u32,
    /// Bytes of a response that are queued for a stream before the next ones are produced.
    pub unsent_bytes: usize,
    /// Maximum number of requests that a client has cancelled before the server has looked at them
    /// (rapid reset).
    pub reset_streams: usize,
    /// Maximum number of requests of a connection that end with a protocol error of the client.
    pub error_streams: usize,
    /// Time without requests after which the server says that a connection ends (GOAWAY).
    pub idle_timeout: Duration,
    /// Time between two pings that find out whether a client is still there; `None` sends none.
    pub ping_interval: Option<Duration>,
    /// Time for a client to answer a ping.
    pub ping_timeout: Duration,
    /// Time for a client to close a connection without requests after the server has said that it
    /// ends (GOAWAY).
    pub goodbye: Duration,
}

/// Maximum number of connections that the system has established and that are not accepted yet, if
/// it allows so many: beyond it, it ignores new ones, and clients try again a second later.
pub const ACCEPT_QUEUE: i32 = 4096;

/// Delay after a connection could not be accepted, until the one that was closed for it has freed
/// its file.
const ACCEPT_RETRY: Duration = Duration::from_millis(10);

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// How a listener serves.
#[derive(Clone, Debug, Default)]
pub struct ListenOptions {
    /// Limits of connections.
    pub limits: ConnectionLimits,
    /// The hosts that requests may name; probes may name any.
    pub hosts: AllowedHosts,
    /// What the readiness probe reports.
    pub ready: Ready,
    /// Whether its routes answer probes themselves. On the connections that are reserved for
    /// probes, they are answered here.
    pub own_probes: bool,
    /// TLS with HTTP/2 and HTTP/1.1; `None` is plain HTTP/1.1, and HTTP/2 for clients that begin
    /// with it.
    pub tls: Option<Tls>,
    /// Whether connections speak HTTP/2 alone, without TLS too (RFC 9113 §3.3): what gRPC needs.
    pub http2_only: bool,
    /// What counts its requests, except probes; `None` counts nothing.
    pub exchanges: Option<Arc<Exchanges>>,
    /// What answers all its requests, where that does not depend on the path.
    pub handler: Option<Handler>,
    /// Where its connections can be counted from while it serves.
    pub open: OpenConnections,
}

/// An error of listening on an address.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on `{address}`")]
pub struct ListenError {
    address: String,
    source: io::Error,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            peer_connections: 2048,
            probe_connections: 64,
            header_timeout: Duration::from_secs(15),
            header_bytes: 32 * 1024,
            request_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            shutdown_grace: Duration::from_secs(10),
            handshakes: 1024,
            handshake_timeout: Duration::from_secs(10),
            http2: Http2Limits::default(),
        }
    }
}

impl ConnectionLimits {
    /// Returns how many TLS handshakes of one address or /64 network may be in progress.
    fn peer_handshakes(&self) -> usize {
        (self.handshakes * self.peer_connections / self.connections.max(1))
            .clamp(1, self.handshakes.max(1))
    }
}

impl Default for Http2Limits {
    fn default() -> Self {
        Self {
            streams: 32,
            window_bytes: 65_535,
            unsent_bytes: 64 * 1024,
            reset_streams: 20,
            error_streams: 64,
            idle_timeout: Duration::from_secs(15),
            ping_interval: None,
            ping_timeout: Duration::from_secs(20),
            goodbye: Duration::from_secs(2),
        }
    }
}

impl Http2Limits {
    /// Limits of connections of gRPC. OLM v0 reads a catalog again whenever its connection has
    /// ended, so that an idle one stays open for longer than the half an hour after which clients
    /// of Go end it themselves; pings find those that are gone.
    pub fn of_grpc() -> Self {
        Self {
            streams: 100,
            idle_timeout: Duration::from_hours(1),
            ping_interval: Some(Duration::from_mins(1)),
            ..Self::default()
        }
    }
}

impl Listener {
    /// Listens on `HOST:PORT`. Port 0 selects a free port.
    pub async fn bind(address: &str) -> Result<Self, ListenError> {
        let error = |source| ListenError {
            address: address.to_owned(),
            source,
        };
        let socket = match TcpListener::bind(address).await {
            Err(refusal) if lacks_ipv6(&refusal) && address.starts_with(EVERY_ADDRESS) => {
                TcpListener::bind(address.replacen(EVERY_ADDRESS, EVERY_IPV4_ADDRESS, 1)).await
            }
            bound => bound,
        };
        let socket = socket.map_err(error)?;
        SockRef::from(&socket).listen(ACCEPT_QUEUE).map_err(error)?;
        let address = socket.local_addr().map_err(error)?;
        Ok(Self { socket, address })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the routes and the probes until `shutdown` completes, then waits for running requests
    /// within the grace period.
    pub async fn serve(
        self,
        routes: Router,
        options: ListenOptions,
        shutdown: impl Future<Output = ()>,
    ) {
        let limits = options.limits;
        let acceptor = Acceptor::new(Services::new(routes, &options), &options);
        let connections = Connections::new(limits);
        options.open.set(&connections);
        // Each connection holds a receiver, so that the sender notices when the last one is closed.
        let open = watch::Sender::new(());
        let mut shutdown = pin!(shutdown);
        loop {
            let (stream, peer) = tokio::select! {
                accepted = accept(&self.socket, &connections, limits.write_timeout) => accepted,
                () = &mut shutdown => break,
            };
            // Without a place the connection is closed.
            let Some(place) = connections.take(peer.ip()) else {
                continue;
            };
            tokio::spawn(acceptor.clone().serve(stream, place, open.subscribe()));
        }
        drop(self.socket);
        open.send_replace(());
        if timeout(limits.shutdown_grace, open.closed()).await.is_err() {
            tracing::warn!(
                grace_seconds = limits.shutdown_grace.as_secs_f64(),
                "closed connections with running requests after the grace period"
            );
        }
    }
}

/// Returns whether a socket is refused because the machine has no IPv6.
fn lacks_ipv6(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
        || error.kind() == ErrorKind::AddrNotAvailable
}

/// Accepts the next connection. Errors such as too many open files are temporary: an idle
/// connection is closed.
async fn accept(
    socket: &TcpListener,
    connections: &Connections,
    write_timeout: Duration,
) -> (TcpStream, SocketAddr) {
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => {
                // Both fail only if the connection is closed already. Responses are written at
                // once, so that waiting for more data would only delay them.
                let _ = stream.set_nodelay(true);
                // A client that never reads its response would otherwise keep it in memory.
                let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(write_timeout));
                return (stream, peer);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                connections.evict();
                sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
