//! Subcommands, flags and their help texts. This module checks the form of values only; it opens no
//! file except the configuration file.

mod certificate;
mod file;
mod order;
mod pull;
mod variables;

use std::any::TypeId;
use std::path::PathBuf;
use std::time::Duration;

use build_info::VERSION;
use catalog_server::args::{
    DocumentArgs, EditableArg, LimitArgs, ServerArgs, parse_editable, parse_external_address,
};
use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use commands::args::{parse_count, parse_duration};
use commands::output::with_command_formats;
use controller::LeaseDurations;
use local_commands::args::{ImageArgs, LocalCommand, SummaryFormat, name_missing};

pub use certificate::{CertificateArgs, ServiceName};
pub use file::FileFlags;
pub use pull::PullArgs;

/// One GraphQL endpoint over file-based catalogs of the Operator Lifecycle Manager.
#[derive(Debug, Parser)]
#[command(name = "catalogql", version = VERSION, max_term_width = 100, styles = STYLES, arg_required_else_help = true)]
#[command(after_help = VARIABLES_HELP)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// Prefix of the environment variables that set flags.
const VARIABLE_PREFIX: &str = "CATALOGQL_";

const VARIABLES_HELP: &str = "Each flag has an environment variable: CATALOGQL_ and its name in capitals, such as \
     CATALOGQL_STORE_QUOTA for --store-quota. Flags on the command line take precedence. Commas separate the values of \
     a flag that may be repeated.";

/// A subcommand.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load catalogs and serve them over GraphQL and HTTP
    Serve(Box<ServeArgs>),
    /// Serve the catalogs of a Kubernetes cluster and report their status
    ///
    /// `ClusterCatalog` objects define the catalogs. Every replica serves all of them.
    Controller(Box<ControllerArgs>),
    #[command(flatten)]
    Local(Box<LocalCommand>),
    /// Print a Secret with a new certificate for the server, for clusters without cert-manager
    ///
    /// The Secret has the type `kubernetes.io/tls`. Its certificate is valid for one year, for the
    /// Service's names in the cluster. A new authority issues only this certificate; clients trust
    /// `ca.crt` of the Secret.
    Certificate(CertificateArgs),
    /// Print the version, the commit of the build, and the platform
    Version {
        /// Output format
        #[arg(long, short, value_enum, default_value_t)]
        output: SummaryFormat,
    },
    /// Print the licences of the program and of its dependencies
    Licenses,
    /// Print the manual page of the program, or of one of its commands (roff)
    Man {
        /// Name of the command
        command: Option<String>,
    },
    /// Print a completion script for a shell
    #[command(alias = "completions")]
    Completion {
        /// Name of the shell
        shell: Shell,
    },
}

/// Flags of `serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH.
    /// The default NAME is the last part of the path
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath)]
    #[arg(required_unless_present_any = ["config", "editable"])]
    pub sources: Vec<String>,
    /// Catalog in a directory that clients may change through `/catalogs/NAME/edits`. May be
    /// repeated
    #[arg(long, value_name = "NAME=DIR", value_parser = parse_editable)]
    pub editable: Vec<EditableArg>,
    /// Configuration file (YAML): flags by their names in camel case, and more catalogs with
    /// priorities, labels, display names and publishers
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Reload a catalog when its directory changes, and the configuration file when it changes
    #[arg(long)]
    pub watch: bool,
    /// Interval at which the tag of an image is checked for a new digest, such as `30s`, `10m` or
    /// `1h`; `0` disables it
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
    /// Flags that the configuration file sets.
    #[arg(skip)]
    pub file_flags: FileFlags,
}

/// Flags of `controller`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub struct ControllerArgs {
    /// Configuration file (YAML): flags by their names in camel case
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Options")]
    pub config: Option<PathBuf>,
    /// Kubeconfig of the API server [default: the file that KUBECONFIG names, or else the cluster
    /// of the pod]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,
    /// Namespace of the Lease, the `ServiceAccount`, and the pull secrets that catalogs name
    /// [default: the namespace of the pod]
    #[arg(
        long,
        env = "POD_NAMESPACE",
        hide_env_values = true,
        value_name = "NAME"
    )]
    pub namespace: Option<String>,
    /// Address of the server for clients, with which `status.urls.base` begins. The default scheme
    /// is `https` if the server has a certificate, and `http` otherwise [default:
    /// catalogql.NAMESPACE.svc]
    #[arg(long, value_name = "[SCHEME://]HOST[:PORT]", value_parser = parse_external_address)]
    pub external_address: Option<String>,
    /// Load catalogs from the spec of each `ClusterCatalog` and write its status. `false` loads the
    /// images that catalogd resolved in the status, and writes nothing
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1)]
    #[arg(require_equals = true, action = ArgAction::Set)]
    pub manage: bool,
    /// Elect the replica that writes status with a Lease. `false` is for a single process that
    /// never overlaps with another, not even during a rollout
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1)]
    #[arg(require_equals = true, action = ArgAction::Set, help_heading = "Leader election")]
    pub leader_elect: bool,
    /// Time after the last renewal of the Lease at which another replica may acquire it
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    #[arg(help_heading = "Leader election")]
    pub leader_elect_lease_duration: Duration,
    /// Time after the last renewal of the Lease at which its holder stops writing
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = parse_duration)]
    #[arg(help_heading = "Leader election")]
    pub leader_elect_renew_deadline: Duration,
    /// Interval between attempts to acquire or renew the Lease
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    #[arg(help_heading = "Leader election")]
    pub leader_elect_retry_period: Duration,
    /// Also serve the images of `CatalogSources` (OLM v0), as NAMESPACE.NAME
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
    /// Accepted and ignored, for compatibility with catalogd: all features are enabled
    #[arg(long, value_name = "GATES", hide = true)]
    pub feature_gates: Option<String>,
}

impl Args {
    /// Parses the command line, the environment and the configuration file. Prints a message and
    /// exits if one of them is invalid.
    pub fn read() -> Self {
        let command = Self::with_variables();
        let line = order::options_first(&command, std::env::args_os().collect());
        let flags = FileFlags::read(&command, &line).unwrap_or_else(|error| error.exit());
        let matches = command
            .clone()
            .try_get_matches_from(flags.add_to(line.clone()));
        let matches = matches.unwrap_or_else(|error| {
            let error = variables::name_variable(error, &command, &line);
            name_missing(error).exit()
        });
        let mut args = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        if let Command::Serve(serve) = &mut args.command {
            serve.file_flags = flags;
        }
        args
    }

    /// Returns the commands, with an environment variable for each flag.
    pub fn with_variables() -> clap::Command {
        set_variables(with_command_formats(Self::command()))
    }
}

/// Gives each flag of a command and its subcommands an environment variable, unless it already has
/// one.
fn set_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let Some(name) = arg.get_long().filter(|_| arg.get_env().is_none()) else {
            return arg;
        };
        let name = match name {
            // In CATALOGQL_VERSION, scripts keep which version of the program they install.
            "version" => "version-range",
            name => name,
        };
        let variable = VARIABLE_PREFIX.to_owned() + &name.to_uppercase().replace('-', "_");
        let arg = with_number_parser(arg.env(variable).hide_env(true));
        // The value of `--var` is JSON, and that of `--step` a list: they have commas of their own.
        let has_commas = matches!(arg.get_long(), Some("var" | "step"));
        let is_list = matches!(arg.get_action(), ArgAction::Append) && !has_commas;
        if is_list {
            arg.value_delimiter(',')
        } else {
            arg
        }
    });
    command.mut_subcommands(set_variables)
}

/// Gives an argument that is a number a parser whose messages do not speak of digits.
fn with_number_parser(arg: clap::Arg) -> clap::Arg {
    let parsed = arg.get_value_parser().type_id();
    if parsed == TypeId::of::<u64>() {
        arg.value_parser(parse_count::<u64>)
    } else if parsed == TypeId::of::<usize>() {
        arg.value_parser(parse_count::<usize>)
    } else {
        arg
    }
}

impl ControllerArgs {
    /// Returns the server's base URL for clients, for a controller in this namespace.
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

    /// Returns the durations of leader election; `None` if it is disabled.
    pub fn lease(&self) -> Option<LeaseDurations> {
        self.leader_elect.then_some(LeaseDurations {
            lease: self.leader_elect_lease_duration,
            renew: self.leader_elect_renew_deadline,
            retry: self.leader_elect_retry_period,
        })
    }
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
        // For a Service `catalogql`, the kubelet sets variables of these names in each pod of its
        // namespace. A flag with such a name would be set by accident.
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
