//! Flags of every server: listeners, TLS, the store and the embedded pages.

use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderValue;
use clap::{ValueEnum, ValueHint};
use commands::args::parse_duration;
use http_server::{ConnectionLimits, TlsFiles, TlsVersion};
use pages::{PageState, Pages};
use store::DEFAULT_QUOTA_BYTES;

use super::DocumentArgs;
use super::access::AccessArgs;
use super::assistants::AssistantArgs;
use super::grpc::GrpcArgs;
use super::kube_api::KubeApiArgs;
use super::observe::ObserveArgs;
use super::values::{ByteSize, parse_host, parse_listen, parse_origin};
use super::webhook::WebhookArgs;

/// Flags that `serve` and `controller` share.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub struct ServerArgs {
    /// Address to listen on. `:PORT` listens on every address and `PORT` on the loopback address;
    /// port 0 takes any free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080", value_parser = parse_listen)]
    pub listen: String,
    /// Second address for `/healthz` and `/readyz`, always over plain HTTP, such as `:8081`
    /// [default: none]
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_listen)]
    pub health_probe_bind_address: Option<String>,
    /// Host that requests may name in the `Host` header; `*` allows every host. A server on a
    /// loopback address also allows the names of that address. May be repeated [default: every
    /// host, unless the server listens on a loopback address]
    #[arg(long, value_name = "HOST", value_parser = parse_host)]
    pub allowed_host: Vec<String>,
    /// Maximum number of open connections from one IPv4 address or IPv6 /64 network. Raise it
    /// behind a proxy that opens more
    #[arg(long, value_name = "COUNT", default_value_t = ConnectionLimits::default().peer_connections)]
    pub max_peer_connections: usize,
    /// Folder of the store, which keeps catalogs between runs [default: catalogql/store in the
    /// user's cache folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(help_heading = "Store")]
    pub store: Option<PathBuf>,
    /// Maximum size of the store on disk
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize(DEFAULT_QUOTA_BYTES))]
    #[arg(help_heading = "Store")]
    pub store_quota: ByteSize,
    /// Bucket or directory in which replicas share the contents of images, so that one replica pulls
    /// an image and the others copy its content: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`,
    /// `az://CONTAINER/PREFIX` or `file:///DIR`. Settings and credentials come from environment
    /// variables such as `AWS_REGION` [default: none]
    #[arg(long, value_name = "URL")]
    #[arg(help_heading = "Store")]
    pub shared_store: Option<String>,
    /// Delay before a new catalog content is compressed for downloads of the whole catalog, such as
    /// `30s` or `1m`. A content that is replaced sooner is not compressed
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    #[arg(help_heading = "Store")]
    pub compress_after: Duration,
    /// Interval at which the digests of all served contents are verified, such as `30m` or `1h`;
    /// `0` disables it
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    #[arg(help_heading = "Store")]
    pub store_check_interval: Duration,
    /// Maximum time that readiness waits for catalogs that load for the first time, such as `30s`
    /// or `2m`
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = parse_duration)]
    pub ready_after: Duration,
    /// Withdraw a catalog whose image the signature policy refuses, also from the store, until the
    /// policy accepts it. Otherwise it stays served, and only new images that are refused are not
    /// loaded
    #[arg(long)]
    #[arg(help_heading = "Images")]
    pub policy_withdraws: bool,
    /// Read manifests that a catalog does not have from the images of its bundles, when a request
    /// asks what an install creates. Images by digest are pulled with the settings for registries,
    /// and their manifests are kept in the folder of the store
    #[arg(long)]
    pub bundle_images: bool,
    /// Origin whose pages may read responses (CORS), such as `https://console.example.com`; `*`
    /// allows every origin. May be repeated [default: none]
    #[arg(long, value_name = "ORIGIN", value_parser = parse_origin)]
    pub cors_origin: Vec<HeaderValue>,
    /// Time for which shared caches (nginx, Varnish, a CDN) may reuse responses without asking, and
    /// for which they may go on while they ask, such as `2s`, in whole seconds. A new content is
    /// seen through them after twice this time. Browsers always ask; `0` makes shared caches ask, too
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = parse_duration)]
    pub shared_cache_max_age: Duration,
    /// Do not serve catalogd's alpha GraphQL at `/catalogs/CATALOG/api/v1/graphql`.
    /// `--trusted-only` implies this flag
    #[arg(long)]
    pub no_alpha_graphql: bool,
    #[command(flatten)]
    pub tls: TlsArgs,
    #[command(flatten)]
    pub pages: PageArgs,
    #[command(flatten)]
    pub access: AccessArgs,
    #[command(flatten)]
    pub observe: ObserveArgs,
    #[command(flatten)]
    pub webhooks: WebhookArgs,
    #[command(flatten)]
    pub kube_api: KubeApiArgs,
    #[command(flatten)]
    pub grpc: GrpcArgs,
    #[command(flatten)]
    pub assistants: AssistantArgs,
}

/// TLS flags of the server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsArgs {
    /// Certificate of the server, followed by intermediate certificates (PEM). The files are
    /// reloaded when they change
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Minimum version of TLS
    #[arg(long, value_name = "VERSION", value_enum, default_value_t)]
    pub tls_min_version: MinTlsVersion,
    /// Allow plain HTTP on an address that is not a loopback address, such as behind a proxy that
    /// terminates TLS
    #[arg(long, conflicts_with = "tls_cert_file")]
    pub plain_http: bool,
}

/// Lowest version of TLS that is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MinTlsVersion {
    /// TLS 1.2 and 1.3
    #[default]
    #[value(name = "VersionTLS12", alias = "1.2")]
    Tls12,
    /// TLS 1.3 only
    #[value(name = "VersionTLS13", alias = "1.3")]
    Tls13,
}

impl From<MinTlsVersion> for TlsVersion {
    fn from(version: MinTlsVersion) -> Self {
        match version {
            MinTlsVersion::Tls12 => Self::Tls12,
            MinTlsVersion::Tls13 => Self::Tls13,
        }
    }
}

impl TlsArgs {
    /// Returns the certificate and key files; `None` if the server has no certificate.
    pub fn files(&self) -> Option<TlsFiles> {
        let certificate = self.tls_cert_file.clone()?;
        let private_key = self.tls_private_key_file.clone()?;
        Some(TlsFiles {
            certificate,
            private_key,
        })
    }
}

/// Flags of the embedded web pages.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Pages")]
pub struct PageArgs {
    /// Do not serve the catalog explorer at `/`
    #[arg(long)]
    pub no_explorer: bool,
    /// Do not serve the playground at `/playground/`
    #[arg(long)]
    pub no_playground: bool,
}

impl PageArgs {
    /// Returns the pages to serve. With `--trusted-only`, the explorer works because its documents
    /// are known at build time; the playground does not, because users write its documents.
    pub fn pages(&self, documents: &DocumentArgs) -> Pages {
        let offer = |is_off| {
            if is_off {
                PageState::Disabled
            } else {
                PageState::Served
            }
        };
        let playground = match offer(self.no_playground) {
            PageState::Served if documents.trusted_only => PageState::TrustedOnly,
            playground => playground,
        };
        Pages {
            explorer: offer(self.no_explorer),
            playground,
        }
    }
}
