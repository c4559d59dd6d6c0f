//! Flags of a server and their help texts. This module checks the form of values only; it opens no
//! file.

mod access;
mod assistants;
mod grpc;
mod kube_api;
mod observe;
mod server;
mod values;
mod webhook;

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use commands::args::parse_count;
use graphql::StreamLimits;
use graphql::documents::DocumentPolicy;
use graphql::limits::{IntrospectionPolicy, Limits};

pub use access::{AccessArgs, AuthMode};
pub use assistants::AssistantArgs;
pub use grpc::{GrpcAddress, GrpcArgs};
pub use kube_api::{KubeApiArgs, KubeApiAuth};
pub use observe::{MetricsAuth, ObserveArgs};
pub use server::{MinTlsVersion, PageArgs, ServerArgs, TlsArgs};
pub use values::{ByteSize, EditableArg, parse_editable, parse_external_address};
pub use webhook::WebhookArgs;

/// Flags for trusted documents and introspection.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Documents")]
pub struct DocumentArgs {
    /// File with trusted documents: a JSON object of documents by id, as relay-compiler and codegen
    /// write it. May be repeated
    #[arg(long = "documents", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Execute only trusted documents
    #[arg(long, requires = "files")]
    pub trusted_only: bool,
    /// Reject introspection, and do not serve the schema
    #[arg(long)]
    pub no_introspection: bool,
}

impl DocumentArgs {
    /// Returns the policy for executing documents.
    pub fn policy(&self) -> DocumentPolicy {
        if self.trusted_only {
            DocumentPolicy::TrustedOnly
        } else {
            DocumentPolicy::Any
        }
    }

    /// Returns whether introspection is allowed.
    pub fn introspection(&self) -> IntrospectionPolicy {
        if self.no_introspection {
            IntrospectionPolicy::Disabled
        } else {
            IntrospectionPolicy::Enabled
        }
    }
}

/// Limits of a GraphQL request.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits of a request")]
pub struct LimitArgs {
    /// Maximum size of a request body
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::from_bytes(Limits::default().body_bytes))]
    pub max_body: ByteSize,
    /// Maximum size of the query string of a URL
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::from_bytes(Limits::default().url_bytes))]
    pub max_url: ByteSize,
    /// Maximum number of tokens of a document
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().tokens)]
    pub max_tokens: usize,
    /// Maximum nesting depth of fields
    #[arg(long, value_name = "COUNT", default_value_t = at_least_one(Limits::default().depth), value_parser = parse_at_least_one)]
    pub max_depth: NonZeroU64,
    /// Maximum number of aliased fields
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().aliases)]
    pub max_aliases: u64,
    /// Maximum number of root fields
    #[arg(long, value_name = "COUNT", default_value_t = at_least_one(Limits::default().root_fields), value_parser = parse_at_least_one)]
    pub max_root_fields: NonZeroU64,
    /// Maximum number of directives
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().directives)]
    pub max_directives: u64,
    /// Maximum cost of a request: the number of objects that its page sizes allow
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().cost)]
    pub max_cost: u64,
    /// Maximum work of a request in units: the objects that it returns and the effort to find them
    #[arg(long, value_name = "UNITS", default_value_t = Limits::default().work)]
    pub max_work: u64,
    /// Maximum page size
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().page_size)]
    pub max_page_size: usize,
    /// Maximum size of a response
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::from_bytes(Limits::default().response_bytes))]
    pub max_answer: ByteSize,
    /// Maximum total size of responses in flight
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::from_bytes(Limits::default().in_flight_bytes))]
    pub max_in_flight: ByteSize,
    /// Maximum time to produce a response, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().time.as_secs())]
    pub max_seconds: u64,
    /// Maximum size of a response to compress; larger ones are sent uncompressed
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::from_bytes(Limits::default().compressed_bytes))]
    pub max_compressed: ByteSize,
    /// Size of the response cache in memory, compressed forms included; `0` disables it
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::from_bytes(Limits::default().cache_bytes))]
    pub cache_size: ByteSize,
    /// Maximum size of a cached response
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::from_bytes(Limits::default().cached_response_bytes))]
    pub max_cached_response: ByteSize,
    /// Maximum number of concurrent streams: event streams and WebSocket operations
    #[arg(long, value_name = "COUNT", default_value_t = StreamLimits::default().streams)]
    pub max_streams: usize,
}

/// Parses a limit that is 1 or more, because 0 lets no request pass.
fn parse_at_least_one(text: &str) -> Result<NonZeroU64, String> {
    let number = parse_count(text)?;
    NonZeroU64::new(number).ok_or_else(|| "write 1 or more: 0 lets no request pass".to_owned())
}

/// Returns a limit, of which the least is 1.
fn at_least_one(limit: u64) -> NonZeroU64 {
    NonZeroU64::new(limit).unwrap_or(NonZeroU64::MIN)
}

impl LimitArgs {
    /// Returns the limits; those without a flag have their default.
    pub fn limits(&self) -> Limits {
        Limits {
            body_bytes: self.max_body.in_memory(),
            url_bytes: self.max_url.in_memory(),
            tokens: self.max_tokens,
            depth: self.max_depth.get(),
            aliases: self.max_aliases,
            root_fields: self.max_root_fields.get(),
            directives: self.max_directives,
            cost: self.max_cost,
            work: self.max_work,
            page_size: self.max_page_size,
            response_bytes: self.max_answer.in_memory(),
            in_flight_bytes: self.max_in_flight.in_memory(),
            time: Duration::from_secs(self.max_seconds),
            compressed_bytes: self.max_compressed.in_memory(),
            cache_bytes: self.cache_size.in_memory(),
            cached_response_bytes: self.max_cached_response.in_memory(),
            streams: StreamLimits {
                streams: self.max_streams,
                ..StreamLimits::default()
            },
            ..Limits::default()
        }
    }
}
