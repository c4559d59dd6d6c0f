//! The listening socket: connections with limits, probes, and an end that lets requests finish.
//!
//! It serves HTTP/1.1 over hyper directly, because `axum::serve` has neither a time-out for headers nor a bound on
//! connections nor a deadline for its end. It does not know what the routes answer.

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

/// How much one listener does at once, and how long it waits for anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Open connections; more wait in the system's queue.
    pub connections: usize,
    /// How long a connection may take to send the headers of its next request, also when it sends nothing. Of the first
    /// request it counts from the first byte, which may take as long.
    pub headers: Duration,
    /// Bytes of the first line and the headers of a request together.
    pub header_bytes: usize,
    /// How long a request may take until its answer begins, its body included.
    pub request: Duration,
    /// How long a client may take to accept the next bytes of an answer.
    pub stall: Duration,
    /// How long requests may go on after the end was asked for.
    pub end: Duration,
}

/// A socket that listens.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// Whether requests should be sent here: clones see the same.
#[derive(Clone, Debug, Default)]
pub struct Ready(Arc<AtomicBool>);

/// The address cannot be listened on.
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
            headers: Duration::from_secs(15),
            header_bytes: 32 * 1024,
            request: Duration::from_secs(30),
            stall: Duration::from_secs(30),
            end: Duration::from_secs(10),
        }
    }
}

impl Ready {
    /// From now on requests should be sent here.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// `GET /healthz`: whether the process works. `GET /readyz`: whether requests should be sent here.
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
    /// Listens on `HOST:PORT`; port 0 is any that is free.
    pub async fn bind(address: &str) -> Result<Self, ListenError> {
        let error = |source| ListenError { address: address.to_owned(), source };
        let socket = TcpListener::bind(address).await.map_err(error)?;
        let address = socket.local_addr().map_err(error)?;
        Ok(Self { socket, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the routes until `end` is done. Requests that run then are finished, until their time is up.
    pub async fn serve(self, routes: Router, limits: ConnectionLimits, end: impl Future<Output = ()>) {
        let routes = routes.layer(from_fn(move |request, next| answer(request, next, limits.request)));
        let service = TowerToHyperService::new(routes);
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(limits.headers).max_buf_size(limits.header_bytes);
        let connections = Arc::new(Semaphore::new(limits.connections));
        // Each connection holds a receiver, so that the sender sees the last one end.
        let open = watch::Sender::new(());
        let mut end = pin!(end);
        loop {
            let next = async {
                let permit = Arc::clone(&connections).acquire_owned().await;
                (permit, accept(&self.socket, limits.stall).await)
            };
            let (permit, stream) = tokio::select! {
                next = next => next,
                () = &mut end => break,
            };
            let (http, service, mut ending) = (http.clone(), service.clone(), open.subscribe());
            tokio::spawn(async move {
                let _permit = permit;
                let speaks = tokio::select! {
                    heard = timeout(limits.headers, stream.readable()) => matches!(heard, Ok(Ok(()))),
                    _ = ending.changed() => false,
                };
                // The others may be many. Without buffers and all that a request takes they cost next to nothing.
                if speaks {
                    Box::pin(converse(&http, stream, service, ending)).await;
                }
            });
        }
        drop(self.socket);
        open.send_replace(());
        if timeout(limits.end, open.closed()).await.is_err() {
            tracing::warn!(after = ?limits.end, "requests were cut off at the end");
        }
    }
}

/// Answers the requests of a connection until it ends, or all do.
async fn converse(
    http: &http1::Builder,
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    mut ending: watch::Receiver<()>,
) {
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let ended = tokio::select! {
        ended = &mut connection => ended,
        _ = ending.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// The next connection. Refusals by the system, such as too many open files, pass when other connections end.
async fn accept(socket: &TcpListener, stall: Duration) -> TcpStream {
    loop {
        match socket.accept().await {
            Ok((stream, _)) => {
                // Both fail only where the connection ended already.
                // Answers are written whole, so waiting for more to send only delays them.
                let _ = stream.set_nodelay(true);
                // Who takes an answer and never reads it would hold it in memory for as long as it likes.
                let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(stall));
                return stream;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn answer(request: Request, next: Next, limit: Duration) -> Response {
    if let Some(fault) = host_fault(&request) {
        let text = format!("400 Bad Request: {fault} Host header");
        return (StatusCode::BAD_REQUEST, [(CONNECTION, "close")], text).into_response();
    }
    match timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::REQUEST_TIMEOUT, "the request took too long\n").into_response(),
    }
}

/// What is wrong with the host that a request names, in Go's words: RFC 9112 §3.2.
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
