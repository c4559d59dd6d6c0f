//! Flags that say how a server is observed: metrics, traces and the access log.

use axum::http::Uri;
use clap::ValueEnum;
use http_server::{TraceOptions, parse_endpoint};

use super::VERSION;
use super::values::{parse_listen, parse_ratio};

/// Metrics, traces and the access log of a server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Metrics")]
pub struct ObserveArgs {
    /// Address to serve metrics on, such as `:7443`, at the path `/metrics` and with the
    /// certificate of the server if it has one [default: none]
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_listen)]
    pub metrics_listen: Option<String>,
    /// Who may read metrics
    #[arg(long, value_name = "WHO", value_enum, default_value_t)]
    pub metrics_auth: MetricsAuth,
    /// Write a line of JSON to the standard error output for each request, when its response has
    /// ended
    #[arg(long, help_heading = "Logs")]
    pub access_log: bool,
    /// Collector to send traces to by OTLP over HTTP, such as `http://collector:4318`, which
    /// receives them at the path `/v1/traces` [default: none]
    #[arg(long, value_name = "URL", value_parser = parse_endpoint, help_heading = "Traces")]
    pub otlp_endpoint: Option<Uri>,
    /// Part of the traces to send, from 0 to 1, of those that begin here; whether others are sent,
    /// their client has decided
    #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = parse_ratio, help_heading = "Traces")]
    pub otlp_sampling_ratio: f64,
}

impl ObserveArgs {
    /// Returns whether the API server must authorize scrapers of metrics.
    pub fn needs_authorizer(&self) -> bool {
        self.metrics_listen.is_some() && self.metrics_auth == MetricsAuth::Delegated
    }

    /// Returns where traces are sent, if they are.
    pub fn traces(&self) -> Option<TraceOptions> {
        Some(TraceOptions {
            endpoint: self.otlp_endpoint.clone()?,
            sampling_ratio: self.otlp_sampling_ratio,
            service_version: VERSION,
        })
    }
}

/// Who may read metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MetricsAuth {
    /// Bearers of a token whose user the API server lets `get` the path `/metrics`
    #[default]
    Delegated,
    /// Everybody who can connect
    None,
}
