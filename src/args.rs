//! Subcommands and flags: what a user may write, and what its help says. Nothing is opened or
//! checked here beyond form.

mod access;
mod edit;
mod file;
mod grpc;
mod images;
mod kube_api;
mod observe;
mod queries;
mod server;
mod solve;
mod validate;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use controller::LeaseDurations;
use fbc::PlatformVersion;
use graphql::StreamLimits;
use graphql::documents::DocumentPolicy;
use graphql::limits::{IntrospectionPolicy, Limits};

pub use self::edit::{
    BlobFormat, ConvertTemplateArgs, EditArgs, EditOperation, InitArgs, MigrateArgs, MigrateLevel,
    Policy, PushArgs, RenderArgs, RenderTemplateArgs, TemplateType,
};
pub use access::{AccessArgs, AuthMode};
pub use file::FileFlags;
pub use grpc::{GrpcAddress, GrpcArgs};
pub use images::{ImageArgs, PullArgs, RegistryArgs};
pub use kube_api::{KubeApiArgs, KubeApiAuth};
pub use observe::{MetricsAuth, ObserveArgs};
pub use queries::{
    CatalogArgs, DiffArgs, DiffOutput, ListArgs, ListKind, OutputFormat, QueryArgs, SearchArgs,
    ShowArgs,
};
pub use server::{CertificateArgs, ServerArgs, ServiceName, TlsArgs};
pub use solve::{PolicyArg, SolveArgs, SolveOutput, WantedArg};
pub use validate::{ValidateArgs, ValidateOutput};
pub(crate) use values::parse_installed;
pub use values::{ByteSize, EditableArg, InstalledArg};

pub(crate) use values::parse_duration;
use values::{parse_editable, parse_external_address};

/// The version, with the commit that it was built from if that is known.
pub const VERSION: &str = env!("CATALOGQL_VERSION");

/// The commit that it was built from, in 12 hexadecimal digits; empty if that is not known.
pub const COMMIT: &str = env!("CATALOGQL_COMMIT");

/// One GraphQL endpoint over file-based catalogs of the Operator Lifecycle Manager.
#[derive(Debug, Parser)]
#[command(name = "catalogql", version = VERSION, max_term_width = 100, styles = STYLES, arg_required_else_help = true)]
#[command(after_help = VARIABLES_HELP)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// Prefix of the environment variables that stand for flags.
const VARIABLE_PREFIX: &str = "CATALOGQL_";

const VARIABLES_HELP: &str = "Each flag has an environment variable: CATALOGQL_ and its name in capitals, such as \
     CATALOGQL_STORE_QUOTA for --store-quota. A flag on the command line wins. Values of a flag that may be repeated \
     are separated by commas.";

/// A subcommand.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load catalogs and serve them over GraphQL and HTTP
    Serve(Box<ServeArgs>),
    /// Serve the catalogs of a Kubernetes cluster and report their status
    ///
    /// The catalogs are those of its `ClusterCatalog` objects. Every replica serves all of them.
    Controller(Box<ControllerArgs>),
    /// List the problems of a catalog
    ///
    /// The exit status is 1 if `opm validate` would refuse the catalog, and 0 otherwise.
    Validate(ValidateArgs),
    /// Execute a GraphQL request over catalogs, without a server
    ///
    /// The exit status is 1 if the response has errors.
    Query(QueryArgs),
    /// List the catalogs, packages, channels or bundles of sources
    List(ListArgs),
    /// Show a package or a bundle
    Show(ShowArgs),
    /// Find packages by words in their names, descriptions and keywords
    Search(SearchArgs),
    /// Show which packages, channels and bundles differ between two catalogs
    Diff(DiffArgs),
    /// Print the blobs of bundles and catalogs, as `opm render` does
    Render(RenderArgs),
    /// Change the files of a catalog: add, remove and deprecate bundles, channels and packages
    ///
    /// What is not changed keeps its bytes. The exit status is 1 if the edit is refused, and 2 if
    /// the catalog or the operations cannot be read; nothing is written then.
    Edit(EditArgs),
    /// Push the files of a catalog to a registry, as an image that catalogd and OLM v0 read
    ///
    /// Prints the reference of the image by its digest, which depends on the files alone. A catalog
    /// that `opm validate` would refuse is not pushed unless that is asked for.
    Push(PushArgs),
    /// Print the blobs of a template (`olm.template.basic`, `olm.semver`,
    /// `olm.template.substitutes`)
    RenderTemplate(RenderTemplateArgs),
    /// Print a template that gives a catalog
    ConvertTemplate(ConvertTemplateArgs),
    /// Print the blob of a new package
    Init(InitArgs),
    /// Write a catalog into a folder for each package
    Migrate(MigrateArgs),
    /// Show the update graph of a package
    ///
    /// Channel heads, deprecated bundles and stranded bundles are marked. A bundle is stranded if
    /// no sequence of upgrades leads from it to the head of its channel.
    Graph(GraphArgs),
    /// Show which bundle an install or an upgrade of a package would choose, and why
    ///
    /// The rules are those of the OLM v1 controller. The exit status is 1 if no bundle would be
    /// chosen.
    Resolve(ResolveArgs),
    /// Show what would have to be installed together, with dependencies, or why nothing fits
    ///
    /// The rules are those of OLM v0. The exit status is 1 if there is no solution, and 2 if the
    /// request cannot be solved as it stands.
    Solve(SolveArgs),
    /// Print a Secret with a new certificate for the server, for clusters without cert-manager
    ///
    /// The Secret is of the type `kubernetes.io/tls`. Its certificate is valid for a year, for the
    /// names of the Service in its cluster. It is issued by an authority that is made for it alone:
    /// clients trust `ca.crt` of the Secret.
    Certificate(CertificateArgs),
    /// Print the version, the commit that it was built from, and the platform
    Version {
        /// Format of the output
        #[arg(long, short, value_enum, default_value_t)]
        output: OutputFormat,
    },
    /// Print the licences of the program and of what it is made of
    Licenses,
    /// Print the manual page of the program, or of one of its commands (roff)
    Man {
        /// The command
        command: Option<String>,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Flags of `serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH,
    /// named after the last part of the path unless NAME says otherwise
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath)]
    #[arg(required_unless_present_any = ["config", "editable"])]
    pub sources: Vec<String>,
    /// Catalog in a directory that requests to `/catalogs/NAME/edits` change. May be repeated
    #[arg(long, value_name = "NAME=DIR", value_parser = parse_editable)]
    pub editable: Vec<EditableArg>,
    /// More catalogs, with priorities, labels, display names and publishers, and flags by their
    /// names in camel case (YAML)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Reload a catalog when its directory changes, and the configuration file when it changes
    #[arg(long)]
    pub watch: bool,
    /// Interval between two polls of the tag of an image, such as `30s`, `10m` or `1h`; `0` never
    /// polls
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub poll: Duration,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub images: ImageArgs,
    #[command(flatten)]
    pub documents: DocumentArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// The flags that the configuration file sets.
    #[arg(skip)]
    pub file_flags: FileFlags,
}

/// Flags of `controller`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub struct ControllerArgs {
    /// Flags by their names in camel case (YAML)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Options")]
    pub config: Option<PathBuf>,
    /// File that says how to reach the API server [default: the one that KUBECONFIG names, or else
    /// the cluster of the pod]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,
    /// Namespace of the controller: of its Lease, its `ServiceAccount`, and the pull secrets that
    /// catalogs name [default: the namespace of the pod]
    #[arg(
        long,
        env = "POD_NAMESPACE",
        hide_env_values = true,
        value_name = "NAME"
    )]
    pub namespace: Option<String>,
    /// Address that clients reach the server at, which `status.urls.base` begins with; the scheme
    /// is `https` if the server has a certificate and `http` otherwise, unless it is given
    /// [default: catalogql.NAMESPACE.svc]
    #[arg(long, value_name = "[SCHEME://]HOST[:PORT]", value_parser = parse_external_address)]
    pub external_address: Option<String>,
    /// Load what the specs of `ClusterCatalogs` ask for, and write their status; `false` loads what
    /// catalogd has written to their status, and writes nothing
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1)]
    #[arg(require_equals = true, action = ArgAction::Set)]
    pub manage: bool,
    /// Let one of several replicas write status, the one that holds a Lease; `false` is for a
    /// process beside which no other ever runs, not even during a rollout
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1)]
    #[arg(require_equals = true, action = ArgAction::Set, help_heading = "Leader election")]
    pub leader_elect: bool,
    /// Time since the last renewal of the Lease after which another replica takes it
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    #[arg(help_heading = "Leader election")]
    pub leader_elect_lease_duration: Duration,
    /// Time since the last renewal of the Lease after which its holder stops writing
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = parse_duration)]
    #[arg(help_heading = "Leader election")]
    pub leader_elect_renew_deadline: Duration,
    /// Time between two attempts to take or to renew the Lease
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    #[arg(help_heading = "Leader election")]
    pub leader_elect_retry_period: Duration,
    /// Serve the images of `CatalogSources` too (OLM v0), as NAMESPACE.NAME
    #[arg(long)]
    pub catalog_sources: bool,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub pull: PullArgs,
    #[command(flatten)]
    pub documents: DocumentArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Features of catalogd, for its command lines; all of them are always there
    #[arg(long, value_name = "GATES", hide = true)]
    pub feature_gates: Option<String>,
}

/// Trusted documents and introspection.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Documents")]
pub struct DocumentArgs {
    /// Trusted documents by id: a JSON object as relay-compiler and codegen write it. May be
    /// repeated
    #[arg(long = "documents", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Execute only trusted documents
    #[arg(long, requires = "files")]
    pub trusted_only: bool,
    /// Refuse introspection, and do not serve the schema
    #[arg(long)]
    pub no_introspection: bool,
}

impl Args {
    /// Parses the command line, the environment and the configuration file; ends the process with a
    /// message if one of them is wrong.
    pub fn read() -> Self {
        let command = Self::with_variables();
        let line: Vec<_> = std::env::args_os().collect();
        let flags = FileFlags::read(&command, &line).unwrap_or_else(|error| error.exit());
        let matches = command.try_get_matches_from(flags.add_to(line));
        let matches = matches.unwrap_or_else(|error| queries::name_missing(error).exit());
        let mut args = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        if let Command::Serve(serve) = &mut args.command {
            serve.file_flags = flags;
        }
        args
    }

    /// The commands, their flags also set by environment variables.
    pub fn with_variables() -> clap::Command {
        set_variables(Self::command())
    }
}

/// Gives each flag of a command and its subcommands the environment variable of its name, unless it
/// has another.
fn set_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let Some(name) = arg.get_long().filter(|_| arg.get_env().is_none()) else {
            return arg;
        };
        let variable = VARIABLE_PREFIX.to_owned() + &name.to_uppercase().replace('-', "_");
        let arg = arg.env(variable).hide_env(true);
        if matches!(arg.get_action(), ArgAction::Append) {
            arg.value_delimiter(',')
        } else {
            arg
        }
    });
    command.mut_subcommands(set_variables)
}

impl ControllerArgs {
    /// Returns the URL that clients reach the server at, for a controller in this namespace.
    pub fn base_url(&self, namespace: &str) -> String {
        let address = self
            .external_address
            .clone()
            .unwrap_or_else(|| format!("catalogql.{namespace}.svc"));
        let scheme = if self.server.tls.files().is_some() {
            "https"
        } else {
            "http"
        };
        if address.contains("://") {
            address
        } else {
            format!("{scheme}://{address}")
        }
    }

    /// Returns how replicas take turns; `None` for one that is alone.
    pub fn lease(&self) -> Option<LeaseDurations> {
        self.leader_elect.then_some(LeaseDurations {
            lease: self.leader_elect_lease_duration,
            renew: self.leader_elect_renew_deadline,
            retry: self.leader_elect_retry_period,
        })
    }
}

impl DocumentArgs {
    /// Returns which documents may be executed.
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
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::of(Limits::default().body_bytes))]
    pub max_body: ByteSize,
    /// Maximum size of the query string of a URL
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::of(Limits::default().url_bytes))]
    pub max_url: ByteSize,
    /// Maximum number of tokens of a document
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().tokens)]
    pub max_tokens: usize,
    /// Maximum nesting depth of fields
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().depth)]
    pub max_depth: u64,
    /// Maximum number of aliased fields
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().aliases)]
    pub max_aliases: u64,
    /// Maximum number of root fields
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().root_fields)]
    pub max_root_fields: u64,
    /// Maximum number of directives
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().directives)]
    pub max_directives: u64,
    /// Maximum cost of a request: the objects that it may produce by its page sizes
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().cost)]
    pub max_cost: u64,
    /// Maximum work of a request in units: the objects that it produces and what it takes to find
    /// them
    #[arg(long, value_name = "UNITS", default_value_t = Limits::default().work)]
    pub max_work: u64,
    /// Maximum page size
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().page_size)]
    pub max_page_size: usize,
    /// Maximum size of a response
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::of(Limits::default().response_bytes))]
    pub max_answer: ByteSize,
    /// Maximum size of all responses in flight
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::of(Limits::default().in_flight_bytes))]
    pub max_in_flight: ByteSize,
    /// Time limit for producing a response in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().time.as_secs())]
    pub max_seconds: u64,
    /// Maximum size of a response that is compressed
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::of(Limits::default().compressed_bytes))]
    pub max_compressed: ByteSize,
    /// Memory for cached responses, compressed forms included; 0 disables the cache
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::of(Limits::default().cache_bytes))]
    pub cache_size: ByteSize,
    /// Maximum size of a cached response
    #[arg(long, value_name = "BYTES", default_value_t = ByteSize::of(Limits::default().cached_response_bytes))]
    pub max_cached_response: ByteSize,
    /// Maximum number of concurrent streams: event streams and WebSocket operations
    #[arg(long, value_name = "COUNT", default_value_t = StreamLimits::default().streams)]
    pub max_streams: usize,
}

impl LimitArgs {
    /// Returns these limits, with the defaults of those that have no flag.
    pub fn limits(&self) -> Limits {
        Limits {
            body_bytes: self.max_body.in_memory(),
            url_bytes: self.max_url.in_memory(),
            tokens: self.max_tokens,
            depth: self.max_depth,
            aliases: self.max_aliases,
            root_fields: self.max_root_fields,
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

/// Flags of `graph`.
#[derive(Debug, clap::Args)]
pub struct GraphArgs {
    /// The catalog: an image (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or
    /// PATH
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: String,
    /// Name of the package
    pub package: String,
    /// Only this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub channel: Vec<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: GraphOutput,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Output format of an update graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GraphOutput {
    /// Table of the entries of each channel
    #[default]
    Table,
    /// JSON: bundles and single upgrades
    Json,
    /// Mermaid source, which Mermaid draws
    Mermaid,
    /// DOT source, which Graphviz draws
    Dot,
    /// Picture with a lane for each channel
    Svg,
    /// The same with letters, for a terminal
    Lanes,
}

/// Flags of `resolve`.
#[derive(Debug, clap::Args)]
pub struct ResolveArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    /// Name of the package
    pub package: String,
    /// Only versions in this range, such as `>=1.2, <2`
    // In CATALOGQL_VERSION, scripts keep which version of the program they install.
    #[arg(
        long,
        value_name = "RANGE",
        env = "CATALOGQL_VERSION_RANGE",
        hide_env = true
    )]
    pub version: Option<String>,
    /// Only bundles and upgrades of this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub channel: Vec<String>,
    /// Bundle that is installed now
    #[arg(long, value_name = "NAME@VERSION", value_parser = parse_installed)]
    pub installed: Option<InstalledArg>,
    /// Only bundles that run on this version of Kubernetes, such as `1.31`. The controller does not
    /// check this
    #[arg(long, value_name = "VERSION")]
    pub kubernetes: Option<PlatformVersion>,
    /// Only bundles that support this version of `OpenShift`, such as `4.18`. The controller does
    /// not check this
    #[arg(long, value_name = "VERSION")]
    pub openshift: Option<PlatformVersion>,
    /// Only bundles for this CPU architecture, such as `arm64`. The controller does not check this
    #[arg(long, value_name = "NAME")]
    pub architecture: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
    #[command(flatten)]
    pub images: ImageArgs,
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::with_variables().debug_assert();
    }

    #[test]
    fn each_flag_has_a_variable_that_kubernetes_sets_for_no_service() {
        let mut variables = Vec::new();
        for command in Args::with_variables().get_subcommands() {
            for arg in command
                .get_arguments()
                .filter(|arg| arg.get_long().is_some())
            {
                let variable = arg
                    .get_env()
                    .and_then(|name| name.to_str())
                    .unwrap_or_default();
                assert!(
                    variable.starts_with(VARIABLE_PREFIX) || variable == "POD_NAMESPACE",
                    "{arg}"
                );
                variables.push(variable.to_owned());
            }
        }
        // Of a Service `catalogql`, the kubelet tells each pod of its namespace in variables of
        // these names.
        let is_taken = |name: &String| {
            let rest = name.strip_prefix(VARIABLE_PREFIX).unwrap_or_default();
            rest == "PORT"
                || ["PORT_", "SERVICE_HOST", "SERVICE_PORT"]
                    .iter()
                    .any(|start| rest.starts_with(start))
        };
        assert_eq!(
            variables.iter().filter(|name| is_taken(name)).count(),
            0,
            "{variables:?}"
        );
        assert!(
            variables.contains(&"CATALOGQL_STORE_QUOTA".to_owned()),
            "{variables:?}"
        );
    }

    #[test]
    fn tags_are_polled_as_the_loader_polls_them_unless_said_otherwise() {
        let Command::Serve(args) = Args::parse_from(["catalogql", "serve", "examples"]).command
        else {
            panic!()
        };
        let defaults = (loading::POLL, loading::COMPRESS_AFTER, loading::READY_AFTER);
        assert_eq!(
            (
                args.poll,
                args.server.compress_after,
                args.server.ready_after
            ),
            defaults
        );
    }

    #[test]
    fn replicas_take_turns_as_the_controller_does_unless_said_otherwise() {
        let Command::Controller(args) = Args::parse_from(["catalogql", "controller"]).command
        else {
            panic!()
        };
        assert_eq!(args.lease(), Some(LeaseDurations::default()));
        // The second as catalogd's manifests write it.
        for (flag, expected) in [
            ("--leader-elect=false", None),
            ("--leader-elect", Some(LeaseDurations::default())),
        ] {
            let Command::Controller(args) =
                Args::parse_from(["catalogql", "controller", flag]).command
            else {
                panic!()
            };
            assert_eq!(args.lease(), expected, "{flag}");
        }
    }

    #[test]
    fn the_url_of_the_controller_has_the_scheme_that_the_server_has() {
        let tls = ["--tls-cert-file=tls.crt", "--tls-private-key-file=tls.key"];
        for (address, plain, secure) in [
            (
                None,
                "http://catalogql.olm.svc",
                "https://catalogql.olm.svc",
            ),
            (
                Some("catalogd-service.olmv1-system.svc:8443"),
                "http://catalogd-service.olmv1-system.svc:8443",
                "https://catalogd-service.olmv1-system.svc:8443",
            ),
            (
                Some("https://catalogs.example.com"),
                "https://catalogs.example.com",
                "https://catalogs.example.com",
            ),
            (
                Some("http://10.0.0.1:8080"),
                "http://10.0.0.1:8080",
                "http://10.0.0.1:8080",
            ),
        ] {
            let url = |flags: &[&str]| {
                let address = address.map(|address| format!("--external-address={address}"));
                let line = ["catalogql", "controller"]
                    .into_iter()
                    .chain(flags.iter().copied())
                    .chain(address.as_deref());
                let Command::Controller(args) = Args::parse_from(line).command else {
                    panic!()
                };
                args.base_url("olm")
            };
            assert_eq!((url(&[]).as_str(), url(&tls).as_str()), (plain, secure));
        }
    }

    #[test]
    fn serving_needs_a_source_or_a_configuration() {
        let parse = |line: &str| {
            Args::try_parse_from(line.split(' '))
                .map(drop)
                .map_err(|error| error.kind())
        };
        assert_eq!(
            parse("catalogql serve"),
            Err(clap::error::ErrorKind::MissingRequiredArgument)
        );
        assert_eq!(parse("catalogql serve examples"), Ok(()));
        assert_eq!(parse("catalogql serve --config catalogs.yaml"), Ok(()));
    }
}
