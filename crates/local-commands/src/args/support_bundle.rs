//! Flags of `support-bundle`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Flags of `support-bundle`.
#[derive(Args, Debug)]
pub struct SupportBundleArgs {
    /// URL of the server
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub server: String,
    /// URL of the server's metrics: that of `--metrics-listen`
    #[arg(long, value_name = "URL")]
    pub metrics: Option<String>,
    /// File with the log of the server, of which the last 8 MiB are taken; `-` is the standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub log: Option<PathBuf>,
    /// Configuration file of the server
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub server_config: Option<PathBuf>,
    /// Id of the server's process, whose flags are taken (Linux)
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// File to write [default: catalogql-support-TIME.tar.gz]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub to: Option<PathBuf>,
    /// File with credentials for the server, by prefixes of its URLs (YAML)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub http_auth: Option<PathBuf>,
    /// Certificate authorities to trust for the server, in addition to the system's (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub certificate_authority: Option<PathBuf>,
}
