//! Flags that say how a server is observed: metrics, traces and the access log.

use clap::ValueEnum;

use super::values::parse_listen;

/// Metrics and the access log of a server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Metrics")]
pub struct ObserveArgs {
    /// Address to serve metrics on, such as `:7443`, at the path `/metrics` and with the certificate of the server if it has
    /// one [default: none]
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_listen)]
    pub metrics_listen: Option<String>,
    /// Who may read metrics
    #[arg(long, value_name = "WHO", value_enum, default_value_t)]
    pub metrics_auth: MetricsAuth,
    /// Write a line of JSON to the standard error output for each request, when its response has ended
    #[arg(long, help_heading = "Logs")]
    pub access_log: bool,
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
