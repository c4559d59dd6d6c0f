//! Options of a listener.

use crate::allowed_hosts::AllowedHosts;
use crate::connection_slots::ConnectionCounter;
use crate::limits::ConnectionLimits;
use crate::probes::ServerReadiness;
use crate::requests::RequestObserver;
use crate::tls::Tls;

/// Options of [`Listener::serve`](crate::Listener::serve).
#[derive(Clone, Debug, Default)]
pub struct ListenOptions {
    /// Limits of connections.
    pub limits: ConnectionLimits,
    /// Hosts that requests may name; probes may name any.
    pub hosts: AllowedHosts,
    /// Readiness that the readiness probe reports.
    pub ready: ServerReadiness,
    /// Leaves probes to the routes. On the connections that are reserved for probes, the listener
    /// answers them all the same.
    pub own_probes: bool,
    /// TLS with HTTP/2 and HTTP/1.1; `None` is plain HTTP/1.1, and HTTP/2 for clients that begin
    /// with it.
    pub tls: Option<Tls>,
    /// Speaks HTTP/2 alone, without TLS too (RFC 9113 §3.3), as gRPC needs it.
    pub http2_only: bool,
    /// Counts, logs and traces requests, except probes; `None` observes none.
    pub observer: Option<RequestObserver>,
    /// Counts the open connections while the listener serves.
    pub connections: ConnectionCounter,
}
