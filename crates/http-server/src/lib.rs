//! HTTP server: listening sockets with TLS, HTTP/1.1 and HTTP/2, limits of connections and
//! requests, health probes, and what operators observe of them (request metrics, access log,
//! traces, and the text format of metrics).
//!
//! It serves the routers that it is given. It does not know the views behind them, where catalogs
//! come from, or the commands of the program: handlers are names that the program gives, and
//! client certificates become extensions of requests by a function of the program.

mod access_log;
mod allowed_hosts;
mod coalescing;
mod connection;
mod connection_slots;
mod cors;
mod http1_body;
mod http2_streams;
mod http_error;
mod limits;
mod listen_options;
mod listener;
mod metrics_text;
mod paths;
mod probes;
mod process_metrics;
mod requests;
mod server_metrics;
mod service;
mod span;
mod tls;
mod traces;

pub use access_log::{AccessLog, WAITING_LINES};
pub use allowed_hosts::AllowedHosts;
pub use coalescing::COALESCED_BYTES;
pub use connection_slots::{ConnectionCounter, ConnectionCounts};
pub use cors::cors;
pub use http_error::{ErrorFormat, HttpError};
pub use http1_body::FAIR_BYTES;
pub use limits::{ConnectionLimits, Http2Limits};
pub use listen_options::ListenOptions;
pub use listener::{ACCEPT_QUEUE, ListenError, Listener};
pub use metrics_text::{Labels, MetricsFormat, MetricsWriter, Scale, render_metrics};
pub use probes::ServerReadiness;
pub use process_metrics::write_process_metrics;
pub use requests::{RequestHandler, RequestMetrics, RequestObserver};
pub use server_metrics::{
    write_catalogd_metrics, write_certificate_metrics, write_connection_metrics,
    write_request_metrics, write_span_metrics,
};
pub use span::add_span_attributes;
pub use tls::{CertificateExtensions, RELOAD_INTERVAL, Tls, TlsError, TlsFiles, TlsVersion};
pub use traces::{
    BATCH_DELAY, BATCH_SPANS, EXPORT_TIMEOUT, LAST_EXPORT_TIMEOUT, SpanCounts, SpanResult,
    TraceError, TraceExporter, TraceOptions, WAITING_SPANS, parse_endpoint,
};
