//! The HTTP server: connections with limits, health probes, and graceful shutdown.
//!
//! It uses hyper directly, because `axum::serve` has no time-out for headers, no bound on connections and no deadline
//! for shutdown. It does not know the routes of the application.

mod connections;
mod cors;
mod hosts;
mod probes;
mod refusal;
mod service;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use connections::{Connections, Place};
use service::Services;

pub use cors::cors;
pub use hosts::AllowedHosts;
pub use probes::Ready;

/// Limits of the connections of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of open connections, those of `WebSocket`s included. For a further one, the connection that has
    /// been idle longest is closed.
    pub connections: usize,
    /// Maximum number of open connections from one address, or from one /64 network of IPv6: half of all, so that no
    /// address takes the server from others, and a proxy in front of it has enough. Loopback addresses count as others
    /// do: a proxy beside the server has one, and so has whoever shares its network namespace.
    pub peer_connections: usize,
    /// Number of further connections on which only probes are answered, while all others are busy.
    pub probe_connections: usize,
    /// Time-out for the headers of the next request, which also closes idle connections. For the first request of a
    /// connection it applies once to the first byte and once to the headers.
    pub header_timeout: Duration,
    /// Maximum length in bytes of the request line and the headers of a request.
    pub header_bytes: usize,
    /// Time-out from the headers of a request until its response begins.
    pub request_timeout: Duration,
    /// Time-out for a client to acknowledge sent bytes.
    pub write_timeout: Duration,
    /// Time for running requests to finish after a shutdown is requested.
    pub shutdown_grace: Duration,
}

/// Maximum number of connections that the system has established and that are not accepted yet, if it allows so many:
/// beyond it, it ignores new ones, and clients try again a second later.
pub const ACCEPT_QUEUE: i32 = 4096;

/// Delay after a connection could not be accepted, until the one that was closed for it has freed its file.
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
        }
    }
}

impl Listener {
    /// Listens on `HOST:PORT`. Port 0 selects a free port.
    pub async fn bind(address: &str) -> Result<Self, ListenError> {
        let error = |source| ListenError { address: address.to_owned(), source };
        let socket = TcpListener::bind(address).await.map_err(error)?;
        SockRef::from(&socket).listen(ACCEPT_QUEUE).map_err(error)?;
        let address = socket.local_addr().map_err(error)?;
        Ok(Self { socket, address })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the routes and the probes until `shutdown` completes, then waits for running requests within the grace
    /// period.
    pub async fn serve(self, routes: Router, options: ListenOptions, shutdown: impl Future<Output = ()>) {
        let limits = options.limits;
        let services = Services::new(routes, &options);
        let connections = Connections::new(limits);
        let http = protocol(limits);
        // Each connection holds a receiver, so that the sender notices when the last one is closed.
        let open = watch::Sender::new(());
        let mut shutdown = pin!(shutdown);
        loop {
            let (stream, peer) = tokio::select! {
                accepted = accept(&self.socket, &connections, limits.write_timeout) => accepted,
                () = &mut shutdown => break,
            };
            // Without a place the connection is closed.
            let Some(place) = connections.take(peer.ip()) else { continue };
            let (http, services, mut closing) = (http.clone(), services.clone(), open.subscribe());
            tokio::spawn(async move {
                let is_readable = tokio::select! {
                    ready = timeout(limits.header_timeout, stream.readable()) => matches!(ready, Ok(Ok(()))),
                    _ = closing.changed() => false,
                    () = place.evicted() => false,
                };
                // Connections without a request may be many. Without buffers they need little memory.
                if is_readable {
                    Box::pin(serve_connection(&http, stream, services, place, closing)).await;
                }
            });
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

fn protocol(limits: ConnectionLimits) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout);
    // The buffer bounds the memory, and not exactly what a request may have.
    http.max_buf_size(limits.header_bytes).max_header_size(limits.header_bytes);
    http
}

/// Serves the requests of a connection until it is closed or evicted, or the server shuts down.
async fn serve_connection(
    http: &http1::Builder,
    stream: TcpStream,
    services: Services,
    place: Arc<Place>,
    mut closing: watch::Receiver<()>,
) {
    let service = services.for_connection(&place);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = place.evicted() => return,
        _ = closing.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection closed with an error");
    }
}

/// Accepts the next connection. Errors such as too many open files are temporary: an idle connection is closed.
async fn accept(socket: &TcpListener, connections: &Connections, write_timeout: Duration) -> (TcpStream, SocketAddr) {
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => {
                // Both fail only if the connection is closed already.
                // Responses are written at once, so that waiting for more data would only delay them.
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
