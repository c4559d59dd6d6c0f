//! Flags for metrics, traces and the access log of a server.

use axum::http::Uri;
use build_info::VERSION;
use clap::ValueEnum;
use http_server::{TraceOptions, parse_endpoint};

use super::values::{parse_listen, parse_ratio};

/// Flags for metrics, traces and the access log.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Metrics")]
pub struct ObserveArgs {
    /// Address to serve metrics on, at the path `/metrics`, such as `:7443`. It uses the server's
    /// certificate if there is one [default: none]
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_listen)]
    pub metrics_listen: Option<String>,
    /// Authorization of requests for metrics
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    pub metrics_auth: MetricsAuth,
    /// Write one line of JSON to standard error for each request, when its response ends
    #[arg(long, help_heading = "Logs")]
    pub access_log: bool,
    /// Base URL of the collector that receives traces by OTLP over HTTP, such as
    /// `http://collector:4318`. Traces are sent to its path `/v1/traces` [default: none]
    #[arg(long, value_name = "URL", value_parser = parse_endpoint, help_heading = "Traces")]
    pub otlp_endpoint: Option<Uri>,
    /// Fraction of new traces to sample, from 0 to 1. The sampling decision in a caller's
    /// `traceparent` header is honoured
    #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = parse_ratio, help_heading = "Traces")]
    pub otlp_sampling_ratio: f64,
}

impl ObserveArgs {
    /// Returns whether the API server must authorize scrapers of metrics.
    pub fn needs_authorizer(&self) -> bool {
        self.metrics_listen.is_some() && self.metrics_auth == MetricsAuth::Delegated
    }

    /// Returns the options of the trace exporter; `None` without an endpoint.
    pub fn traces(&self) -> Option<TraceOptions> {
        Some(TraceOptions {
            endpoint: self.otlp_endpoint.clone()?,
            sampling_ratio: self.otlp_sampling_ratio,
            service_version: VERSION,
        })
    }
}

/// Authorization mode of requests for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MetricsAuth {
    /// Requests need a bearer token for which a `SubjectAccessReview` allows `get` on `/metrics`
    #[default]
    Delegated,
    /// No authorization: every caller reads metrics
    None,
}
