//! A listening socket: accepts connections within their limits, and shuts down gracefully.
//!
//! It uses hyper directly: `axum::serve` has no time-out for headers, no bound on connections and
//! no deadline for shutdown, and the automatic builder of hyper-util would give HTTP/1 and HTTP/2
//! one service and no place to evict idle connections.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use rustix::io::Errno;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::connection::ConnectionServer;
use crate::connection_slots::ConnectionSlots;
use crate::listen_options::ListenOptions;
use crate::service::ConnectionServices;

/// Prefix of the address that `:PORT` stands for: all addresses of the machine.
const EVERY_ADDRESS: &str = "[::]:";

/// Prefix of the same on a machine without IPv6.
const EVERY_IPV4_ADDRESS: &str = "0.0.0.0:";

/// Maximum length of the accept queue: connections that the system has established and the server
/// has not accepted. Linux bounds it by `net.core.somaxconn`, and drops the handshakes of further
/// connections, which clients repeat a second later.
pub const ACCEPT_QUEUE: i32 = 4096;

/// Delay after a failed `accept`, in which the connection that was evicted for the new one closes
/// its file descriptor.
const ACCEPT_RETRY: Duration = Duration::from_millis(10);

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// An error of listening on an address.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on `{address}`{}", advice(source))]
pub struct ListenError {
    address: String,
    source: io::Error,
}

/// Returns the advice for an address that cannot be listened on.
fn advice(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::AddrInUse {
        ": another program listens there; stop it or name another address (port 0 takes a free one)"
    } else {
        ""
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
            Err(error) if lacks_ipv6(&error) && address.starts_with(EVERY_ADDRESS) => {
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
        let server = ConnectionServer::new(ConnectionServices::new(routes, &options), &options);
        let slots = ConnectionSlots::new(limits);
        options.connections.set(&slots);

        // Each connection holds a receiver, so that the sender notices when the last one is closed.
        let open = watch::Sender::new(false);
        let mut shutdown = pin!(shutdown);
        loop {
            let (stream, peer) = tokio::select! {
                accepted = accept(&self.socket, &slots, limits.write_timeout) => accepted,
                () = &mut shutdown => break,
            };
            // Without a slot the connection is closed.
            let Some(slot) = slots.acquire(peer.ip()) else {
                continue;
            };
            tokio::spawn(server.clone().serve(stream, slot, open.subscribe()));
        }

        // New connections are refused at once, so that clients try another replica.
        drop(self.socket);
        drain(&open, limits.shutdown_grace).await;
    }
}

/// Asks open connections to end after their running requests, and waits for the last one, at most
/// for the grace period.
async fn drain(open: &watch::Sender<bool>, grace: Duration) {
    open.send_replace(true);
    if timeout(grace, open.closed()).await.is_err() {
        tracing::warn!(
            grace_seconds = grace.as_secs_f64(),
            "closed connections with running requests after the grace period"
        );
    }
}

/// Returns whether a socket cannot be bound because the machine has no IPv6.
fn lacks_ipv6(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
        || error.kind() == ErrorKind::AddrNotAvailable
}

/// Accepts the next connection. Errors such as too many open files are temporary: an idle
/// connection is closed.
async fn accept(
    socket: &TcpListener,
    slots: &ConnectionSlots,
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
                slots.evict_idle();
                sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
