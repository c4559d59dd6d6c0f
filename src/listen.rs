//! The HTTP server: connections with limits, health probes, and graceful shutdown.
//!
//! It uses hyper directly, because `axum::serve` has no time-out for headers, no bound on connections and no deadline
//! for shutdown. It does not know the routes of the application.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{CONNECTION, HOST};
use axum::http::{StatusCode, Version};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

/// Limits of the connections of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of open connections. Further ones wait in the accept queue of the operating system.
    pub connections: usize,
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

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// The readiness that `/readyz` reports. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Ready(Arc<AtomicBool>);

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
            header_timeout: Duration::from_secs(15),
            header_bytes: 32 * 1024,
            request_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            shutdown_grace: Duration::from_secs(10),
        }
    }
}

impl Ready {
    /// Marks the server as ready.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Returns the routes of the probes: `GET /healthz` (liveness) and `GET /readyz` (readiness).
pub fn probes(ready: Ready) -> Router {
    let readyz = async move || {
        if ready.0.load(Ordering::Acquire) {
            (StatusCode::OK, "ok\n")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "loading\n")
        }
    };
    Router::new().route("/healthz", get("ok\n")).route("/readyz", get(readyz))
}

impl Listener {
    /// Listens on `HOST:PORT`. Port 0 selects a free port.
    pub async fn bind(address: &str) -> Result<Self, ListenError> {
        let error = |source| ListenError { address: address.to_owned(), source };
        let socket = TcpListener::bind(address).await.map_err(error)?;
        let address = socket.local_addr().map_err(error)?;
        Ok(Self { socket, address })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the routes until `shutdown` completes, then waits for running requests within the grace period.
    pub async fn serve(self, routes: Router, limits: ConnectionLimits, shutdown: impl Future<Output = ()>) {
        let routes =
            routes.layer(from_fn(move |request, next| check_and_time_out(request, next, limits.request_timeout)));
        let service = TowerToHyperService::new(routes);
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_buf_size(limits.header_bytes);
        let connections = Arc::new(Semaphore::new(limits.connections));
        // Each connection holds a receiver, so that the sender notices when the last one is closed.
        let open = watch::Sender::new(());
        let mut shutdown = pin!(shutdown);
        loop {
            let next = async {
                let permit = Arc::clone(&connections).acquire_owned().await;
                (permit, accept(&self.socket, limits.write_timeout).await)
            };
            let (permit, stream) = tokio::select! {
                next = next => next,
                () = &mut shutdown => break,
            };
            let (http, service, mut closing) = (http.clone(), service.clone(), open.subscribe());
            tokio::spawn(async move {
                let _permit = permit;
                let is_readable = tokio::select! {
                    ready = timeout(limits.header_timeout, stream.readable()) => matches!(ready, Ok(Ok(()))),
                    _ = closing.changed() => false,
                };
                // Connections without a request may be many. Without buffers they need little memory.
                if is_readable {
                    Box::pin(serve_connection(&http, stream, service, closing)).await;
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

/// Serves the requests of a connection until it is closed or the server shuts down.
async fn serve_connection(
    http: &http1::Builder,
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    mut closing: watch::Receiver<()>,
) {
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let ended = tokio::select! {
        ended = &mut connection => ended,
        _ = closing.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection closed with an error");
    }
}

/// Accepts the next connection. Errors such as too many open files are temporary: other connections will be closed.
async fn accept(socket: &TcpListener, write_timeout: Duration) -> TcpStream {
    loop {
        match socket.accept().await {
            Ok((stream, _)) => {
                // Both fail only if the connection is closed already.
                // Responses are written at once, so that waiting for more data would only delay them.
                let _ = stream.set_nodelay(true);
                // A client that never reads its response would otherwise keep it in memory.
                let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(write_timeout));
                return stream;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Middleware that checks the `Host` header and applies the time-out of requests.
async fn check_and_time_out(request: Request, next: Next, limit: Duration) -> Response {
    if let Some(fault) = host_fault(&request) {
        let text = format!("400 Bad Request: {fault} Host header");
        return (StatusCode::BAD_REQUEST, [(CONNECTION, "close")], text).into_response();
    }
    match timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::REQUEST_TIMEOUT, "the request took too long\n").into_response(),
    }
}

/// Returns the fault of the `Host` header in the words of Go, if it has one (RFC 9112 §3.2).
fn host_fault(request: &Request) -> Option<&'static str> {
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => (request.version() >= Version::HTTP_11).then_some("missing required"),
        (Some(_), Some(_)) => Some("too many"),
        (Some(host), None) => {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"!$%&'()*+,-.:;=[]_~".contains(byte);
            (!host.as_bytes().iter().all(is_part)).then_some("malformed")
        }
    }
}

#[cfg(test)]
mod tests;
