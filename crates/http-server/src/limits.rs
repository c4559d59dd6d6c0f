//! Limits of a listener: connections, their requests, and the time that each step may take.

use std::time::Duration;

/// Limits of the connections of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of open connections, those of `WebSocket`s included. For a further one, the
    /// connection that has been idle longest is closed.
    pub connections: usize,
    /// Maximum number of open connections from one address, or from one /64 network of IPv6: half
    /// of all, so that no address takes the server from others, and a proxy in front of it has
    /// enough. Loopback addresses count as others do: a proxy on the same machine has one, and so
    /// have other processes in the same network namespace.
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
    /// Time to drain: for running requests to finish after a shutdown is requested.
    pub shutdown_grace: Duration,
    /// Time after a shutdown is requested for which connections of HTTP/1.1 without a running request
    /// stay open. A request that a client sends meanwhile is answered, with `Connection: close`.
    pub idle_grace: Duration,
    /// Maximum number of TLS handshakes in progress, of which one address or /64 network may have
    /// the same part as of connections. For a further one, the handshake that began earliest is
    /// given up: a client may make the server hold 64 KiB for one that it never completes.
    pub handshakes: usize,
    /// Time-out for a TLS handshake, from its first byte on.
    pub handshake_timeout: Duration,
    /// Limits of HTTP/2.
    pub http2: Http2Limits,
}

/// Limits of the HTTP/2 connections of a listener, in addition to those of all connections. The
/// number of requests over HTTP/2 has the bounds of the number of connections, in total and for one
/// address: memory of a request that no budget counts is bounded as for HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Limits {
    /// Maximum number of concurrent requests (streams) of a connection. As many queries of one
    /// address may be queued for execution, so that a client with more of them waits and receives
    /// no errors.
    pub streams: u32,
    /// Initial flow-control window of a stream and of a connection, in bytes: data that a client
    /// may send before the server has read it.
    pub window_bytes: u32,
    /// Bytes of a response that are queued for a stream before the next ones are produced.
    pub unsent_bytes: usize,
    /// Maximum number of requests that a client has cancelled before the server has accepted them
    /// (rapid reset, CVE-2023-44487).
    pub reset_streams: usize,
    /// Maximum number of requests of a connection that end with a protocol error of the client.
    pub error_streams: usize,
    /// Time without requests after which the server ends a connection (GOAWAY).
    pub idle_timeout: Duration,
    /// Interval between pings that detect dead clients; `None` sends none.
    pub ping_interval: Option<Duration>,
    /// Time for a client to answer a ping.
    pub ping_timeout: Duration,
    /// Time for a client to close a connection without requests after the server's GOAWAY.
    pub goodbye: Duration,
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
            idle_grace: Duration::from_secs(1),
            handshakes: 1024,
            handshake_timeout: Duration::from_secs(10),
            http2: Http2Limits::default(),
        }
    }
}

impl ConnectionLimits {
    /// Returns the maximum number of TLS handshakes in progress of one address or /64 network.
    pub(crate) fn peer_handshakes(&self) -> usize {
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
    /// Returns the limits for gRPC. OLM v0 reads a catalog again whenever its connection has ended,
    /// so that an idle one stays open for longer than the half an hour after which Go's clients
    /// close it themselves; pings detect dead ones.
    pub fn for_grpc() -> Self {
        Self {
            streams: 100,
            idle_timeout: Duration::from_hours(1),
            ping_interval: Some(Duration::from_mins(1)),
            ..Self::default()
        }
    }
}
