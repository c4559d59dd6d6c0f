//! Subcommands and flags: what a user may write, and what its help says. Nothing is opened or checked here beyond form.

use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderValue;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use graphql::StreamLimits;
use graphql::documents::Policy;
use graphql::limits::{Introspection, Limits};
use jiff::SignedDuration;
use store::DEFAULT_QUOTA_BYTES;

/// The version with the commit it was built from, where that is known.
pub const VERSION: &str = env!("CATALOGQL_VERSION");

/// One GraphQL endpoint over file-based catalogs of the Operator Lifecycle Manager.
#[derive(Debug, Parser)]
#[command(name = "catalogql", version = VERSION, max_term_width = 100, styles = STYLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load catalogs and answer GraphQL over them
    Serve(Box<ServeArgs>),
    /// Say what is wrong with a catalog
    ///
    /// The exit status is 1 when `opm validate` would refuse the catalog, 0 otherwise.
    Validate(ValidateArgs),
    /// Show what can be upgraded to what in a package
    ///
    /// Heads of channels and deprecated and stranded bundles are marked. A bundle is stranded when no run of upgrades
    /// leads from it to the head of its channel.
    Graph(GraphArgs),
    /// Say which bundle an install or an upgrade of a package would pick, and why not another
    ///
    /// The rules are those of the OLM v1 controller. The exit status is 1 when nothing would be picked.
    Resolve(ResolveArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Flags of `serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH, named after the last
    /// part of the path unless NAME says otherwise
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath, required_unless_present = "config")]
    pub sources: Vec<String>,
    /// More catalogs, with priorities, labels, display names and publishers (YAML)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    pub listen: String,
    /// Where contents are kept between runs [default: catalogql/store in the user's cache folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
    /// How many bytes the store may hold
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_QUOTA_BYTES)]
    pub store_quota: u64,
    /// Load a catalog again when its directory changed, and read the configuration file again when it did
    #[arg(long)]
    pub watch: bool,
    /// How often it is asked which image a tag names now, such as `30s`, `10m` or `1h`; `0` is never
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub poll: Duration,
    /// How long a content is served before it is compressed for those who download all of it, such as `30s` or `1m`; one
    /// that is replaced sooner never is
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_duration)]
    pub compress_after: Duration,
    /// An origin whose pages may read answers, such as `https://console.example.com`; `*` is every one. May be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub cors_origin: Vec<HeaderValue>,
    #[command(flatten)]
    pub images: ImageArgs,
    #[command(flatten)]
    pub documents: DocumentArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// How images are reached, and where their catalogs are.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Images")]
pub struct ImageArgs {
    /// A registry that may be asked over plain HTTP, or have any certificate. May be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    pub insecure_registry: Vec<String>,
    /// Certificate authorities that registries are believed by, besides the system's (PEM). May be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub registry_ca: Vec<PathBuf>,
    /// Credentials of registries [default: what `podman login` and `docker login` wrote]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub authfile: Option<PathBuf>,
    /// Mirrors, blocked and insecure registries [default: the registries.conf of the user or the system]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub registries_conf: Option<PathBuf>,
    /// Which directory of an image holds its catalog [default: what its label says]
    #[arg(long, value_name = "PATH")]
    pub configs_dir: Option<String>,
}

/// Which documents are executed.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Documents")]
pub struct DocumentArgs {
    /// Documents that clients may name by an id: a JSON object, as relay-compiler and codegen write it. May be repeated
    #[arg(long = "documents", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Execute only those documents
    #[arg(long, requires = "files")]
    pub trusted_only: bool,
    /// Do not tell the schema
    #[arg(long)]
    pub no_introspection: bool,
}

impl DocumentArgs {
    /// Which documents are executed.
    pub fn policy(&self) -> Policy {
        if self.trusted_only { Policy::TrustedOnly } else { Policy::Any }
    }

    /// Whether the schema is told.
    pub fn introspection(&self) -> Introspection {
        if self.no_introspection { Introspection::Refused } else { Introspection::Told }
    }
}

/// What one GraphQL request may ask for.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits of a request")]
pub struct LimitArgs {
    /// Bytes of a request's body
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().body_bytes)]
    pub max_body: usize,
    /// Bytes of the parameters of a URL
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().url_bytes)]
    pub max_url: usize,
    /// Tokens of a document
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().tokens)]
    pub max_tokens: usize,
    /// Fields within one another
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().depth)]
    pub max_depth: u64,
    /// Fields with an alias
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().aliases)]
    pub max_aliases: u64,
    /// Fields at the root
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().root_fields)]
    pub max_root_fields: u64,
    /// Directives
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().directives)]
    pub max_directives: u64,
    /// Objects that a request may produce by its page sizes
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().cost)]
    pub max_cost: u64,
    /// Objects that a request really produces
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().objects)]
    pub max_objects: u64,
    /// Items of a page
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().page_size)]
    pub max_page_size: usize,
    /// Bytes of an answer
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().answer_bytes)]
    pub max_answer: usize,
    /// Bytes of answers that clients have not taken yet
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().in_flight_bytes)]
    pub max_in_flight: usize,
    /// Seconds for writing an answer
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().time.as_secs())]
    pub max_seconds: u64,
    /// Bytes of an answer that is compressed
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().compressed_bytes)]
    pub max_compressed: usize,
    /// Memory for cached responses in bytes, compressed forms included; 0 disables the cache
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().cache_bytes)]
    pub cache_size: usize,
    /// Maximum size of a cached response in bytes
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().cached_response_bytes)]
    pub max_cached_response: usize,
    /// Streams at one time: of events, and operations of a WebSocket
    #[arg(long, value_name = "COUNT", default_value_t = StreamLimits::default().streams)]
    pub max_streams: usize,
}

impl LimitArgs {
    /// These limits, and the fixed ones.
    pub fn limits(&self) -> Limits {
        Limits {
            body_bytes: self.max_body,
            url_bytes: self.max_url,
            tokens: self.max_tokens,
            depth: self.max_depth,
            aliases: self.max_aliases,
            root_fields: self.max_root_fields,
            directives: self.max_directives,
            cost: self.max_cost,
            objects: self.max_objects,
            page_size: self.max_page_size,
            answer_bytes: self.max_answer,
            in_flight_bytes: self.max_in_flight,
            time: Duration::from_secs(self.max_seconds),
            compressed_bytes: self.max_compressed,
            cache_bytes: self.cache_size,
            cached_response_bytes: self.max_cached_response,
            streams: StreamLimits { streams: self.max_streams, ..StreamLimits::default() },
            ..Limits::default()
        }
    }
}

/// Flags of `validate`.
#[derive(Debug, clap::Args)]
pub struct ValidateArgs {
    /// The catalog: an image (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: String,
    /// How to print what is wrong
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `graph`.
#[derive(Debug, clap::Args)]
pub struct GraphArgs {
    /// The catalog: an image (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: String,
    /// Name of the package
    pub package: String,
    /// Only this channel; may be given several times
    #[arg(long, value_name = "NAME")]
    pub channel: Vec<String>,
    /// How to print it [default: table on a terminal, json elsewhere]
    #[arg(short, long, value_enum)]
    pub output: Option<GraphOutput>,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// How an update graph is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphOutput {
    /// For Mermaid, which draws it
    Mermaid,
    /// For programs: bundles and single upgrades
    Json,
    /// For people: the entries of each channel
    Table,
}

/// Flags of `resolve`.
#[derive(Debug, clap::Args)]
pub struct ResolveArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH, named after the last
    /// part of the path unless NAME says otherwise
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath, required = true, num_args = 1..)]
    pub sources: Vec<String>,
    /// Name of the package
    pub package: String,
    /// Only versions in this range, such as `>=1.2, <2`
    #[arg(long, value_name = "RANGE")]
    pub version: Option<String>,
    /// Only bundles and upgrades of this channel; may be given several times
    #[arg(long, value_name = "NAME")]
    pub channel: Vec<String>,
    /// What is installed now
    #[arg(long, value_name = "NAME@VERSION", value_parser = parse_installed)]
    pub installed: Option<InstalledArg>,
    /// How to print it [default: table on a terminal, json elsewhere]
    #[arg(short, long, value_enum)]
    pub output: Option<ResolveOutput>,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// How a resolution is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResolveOutput {
    /// For programs
    Json,
    /// For people
    Table,
}

/// A bundle that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledArg {
    /// Name of the bundle.
    pub name: String,
    /// Its version, as it was written.
    pub version: String,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// A duration with its unit, or 0.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let parsed: Option<SignedDuration> = text.parse().ok();
    let duration = parsed.and_then(|duration| Duration::try_from(duration).ok());
    duration.ok_or_else(|| "write a number with its unit, such as 30s, 10m or 1h".to_owned())
}

fn parse_installed(text: &str) -> Result<InstalledArg, String> {
    let (name, version) = text.rsplit_once('@').ok_or("write NAME@VERSION, such as etcd.v0.9.4@0.9.4")?;
    Ok(InstalledArg { name: name.to_owned(), version: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn tags_are_polled_as_the_loader_polls_them_unless_said_otherwise() {
        let Command::Serve(args) = Args::parse_from(["catalogql", "serve", "examples"]).command else { panic!() };
        assert_eq!((args.poll, args.compress_after), (loading::POLL, loading::COMPRESS_AFTER));
    }

    #[test]
    fn a_duration_has_a_unit() {
        let parsed = |text: &str| parse_duration(text).map(|duration| duration.as_millis());
        assert_eq!(["0", "100ms", "30s", "10m", "1h30m"].map(parsed), [0, 100, 30_000, 600_000, 5_400_000].map(Ok));
        for text in ["", "10", "-1s", "m", "ten minutes"] {
            assert_eq!(parsed(text), Err("write a number with its unit, such as 30s, 10m or 1h".to_owned()), "{text}");
        }
    }

    #[test]
    fn serving_needs_a_source_or_a_configuration() {
        let parse = |line: &str| Args::try_parse_from(line.split(' ')).map(drop).map_err(|error| error.kind());
        assert_eq!(parse("catalogql serve"), Err(clap::error::ErrorKind::MissingRequiredArgument));
        assert_eq!(parse("catalogql serve examples"), Ok(()));
        assert_eq!(parse("catalogql serve --config catalogs.yaml"), Ok(()));
    }
}
