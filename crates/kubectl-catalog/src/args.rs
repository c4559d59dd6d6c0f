//! Commands and flags: what a user may write. Flags that kubectl and `catalogql` have mean the same
//! here.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{
    ArgGroup, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    ValueHint,
};
use clap_complete::Shell;
use commands::ListOrder;
use commands::args::{
    CatalogAlias, CertificateProviderArg, DiffArgs, GraphArgs, ListArgs, MigrationArgs,
    MirrorNeedArgs, MirrorRulesArgs, MirrorTargetArgs, OperationArgs, OutputArgs, ResolveArgs,
    SearchArgs, SolveArgs, SortArgs, SupportArgs, UpgradePlanArgs, WantedArg, parse_catalog_alias,
    parse_count, parse_wanted,
};
use commands::output::with_command_formats;
use commands::preview::PERMISSION_FLAGS;
use jiff::SignedDuration;

use crate::run::ReleaseVersion;

/// Variable with the URL of the server. clap does not read it: a flag that a variable sets is shown
/// as if it were required.
pub(crate) const SERVER_VARIABLE: &str = "CATALOGQL_SERVER";

/// Variable with the bearer token.
const TOKEN_VARIABLE: &str = "CATALOGQL_TOKEN";

/// Colours of the help, as cargo has them.
const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold());

/// Search and compare packages, and plan upgrades, in the catalogs that a catalogql serves.
#[derive(Debug, Parser)]
#[command(name = "kubectl-catalog", bin_name = "kubectl catalog", version, styles = STYLES, max_term_width = 100)]
#[command(arg_required_else_help = true)]
pub(crate) struct PluginArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

/// Flags of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct CommonArgs {
    /// URL of the server, such as `https://catalogql.example.com` [env: `CATALOGQL_SERVER`]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Route to the server: `direct` by --server, `service` through the API server's proxy,
    /// `port-forward` through a forwarded port of a pod; `auto` is the first of these that is
    /// possible
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        hide_default_value = true
    )]
    pub(crate) via: Via,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Only this catalog. May be repeated
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) catalog: Vec<String>,
    /// Only catalogs with labels that match, such as `tier=demo`
    #[arg(long, short = 'l', global = true, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print no colours; so does the variable `NO_COLOR`
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Answer from the cache, without the server
    #[arg(long, global = true)]
    pub(crate) offline: bool,
    /// Fail with status 5 unless a catalog has this content
    #[arg(long, global = true, value_name = "DIGEST")]
    pub(crate) digest: Option<String>,
    /// Maximum number of items; 0 for all [default: 50 on a terminal, otherwise all]
    #[arg(long, global = true, value_name = "COUNT", value_parser = parse_count::<usize>)]
    pub(crate) limit: Option<usize>,
    /// Bearer token for the server [env: `CATALOGQL_TOKEN`]
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Certificate authorities to trust for the server instead of the system's (PEM)
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) certificate_authority: Option<PathBuf>,
    /// Accept any certificate of the server
    #[arg(long, global = true)]
    pub(crate) insecure_skip_tls_verify: bool,
    /// Time limit of one request, such as `10s`
    #[arg(
        long,
        global = true,
        value_name = "DURATION",
        default_value = "30s",
        hide_default_value = true
    )]
    #[arg(value_parser = parse_duration)]
    pub(crate) request_timeout: Duration,
}

/// Flags of kubectl that select the cluster and the user.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// The kubeconfig file [default: that of `KUBECONFIG`, or of the home folder]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig file
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Cluster of the kubeconfig file
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// User of the kubeconfig file
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Namespace of the server [default: a few usual ones, then all]
    #[arg(long, short, global = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// User to impersonate
    #[arg(long = "as", global = true, value_name = "NAME")]
    pub(crate) impersonate: Option<String>,
    /// Group to impersonate. May be repeated
    #[arg(long = "as-group", global = true, value_name = "NAME")]
    pub(crate) impersonate_groups: Vec<String>,
}

/// Flag of commands over all catalogs.
#[derive(Clone, Debug, Args)]
pub(crate) struct AllCatalogsArgs {
    /// Objects of all catalogs, which is the default
    #[arg(long, short = 'A', alias = "all-namespaces", conflicts_with_all = ["catalog", "selector"])]
    pub(crate) all_catalogs: bool,
}

/// Route to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    /// By --server if it is given, otherwise through the API server
    #[default]
    Auto,
    /// Through the API server's proxy of Services
    Service,
    /// Through a forwarded port of a pod
    PortForward,
    /// By --server
    Direct,
}

/// A subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Find packages by words in their names, descriptions and keywords
    Search {
        /// Words; each must be found
        text: Vec<String>,
        #[command(flatten)]
        filter: SearchArgs,
        #[command(flatten)]
        sort: SortArgs,
        #[command(flatten)]
        all: AllCatalogsArgs,
    },
    /// List objects of one kind
    ///
    /// The exit status is 1 if an object that is named does not exist.
    Get(GetArgs),
    /// List the channels of packages with their heads
    Heads {
        /// Names of packages, each as NAME or CATALOG/NAME
        #[arg(required = true)]
        packages: Vec<String>,
        #[command(flatten)]
        sort: SortArgs,
        #[command(flatten)]
        all: AllCatalogsArgs,
    },
    /// List the bundles of a package, highest version first
    Versions(VersionsArgs),
    /// Show all that catalogs say of a package or a bundle
    Describe {
        /// The object: `package NAME`, `bundle NAME`, a name as `-o name` prints it, or the name of
        /// a package, or else of a bundle, alone
        #[arg(value_name = "[KIND] NAME", required = true, num_args = 1..=2)]
        object: Vec<String>,
        /// Package of the bundle
        #[arg(long, short, value_name = "NAME")]
        package: Option<String>,
        #[command(flatten)]
        support: SupportArgs,
        #[command(flatten)]
        all: AllCatalogsArgs,
    },
    /// Show a shortest sequence of upgrades between two bundles of a package
    ///
    /// The exit status is 1 if there is none.
    Path(PathArgs),
    /// List what an installed bundle can be upgraded to in one step
    Successors {
        /// Name of the package, as NAME or CATALOG/NAME
        package: String,
        /// The installed bundle: NAME@VERSION, or the name or the version of one that the catalog
        /// has
        #[arg(value_name = "BUNDLE")]
        installed: String,
        /// Only entries of this channel. May be repeated
        #[arg(long, value_name = "NAME")]
        channel: Vec<String>,
        #[command(flatten)]
        sort: SortArgs,
    },
    /// Show which bundle an install or an upgrade of a package would choose, and why
    ///
    /// The exit status is 1 if no bundle would be chosen.
    Resolve(ResolveArgs),
    /// Show what would have to be installed together, with dependencies, or why nothing fits
    ///
    /// The rules are those of OLM v0. The exit status is 1 if there is no solution, and 6 if the
    /// request cannot be solved as it stands.
    Solve {
        /// Packages, as --want
        #[arg(value_name = "PACKAGE[:CHANNEL][@BUNDLE|@RANGE]", value_parser = parse_wanted)]
        packages: Vec<WantedArg>,
        #[command(flatten)]
        solve: SolveArgs,
    },
    /// List the images of a package, for mirroring
    Images(ImagesArgs),
    /// List bundles that provide an API at the head of a channel
    Providers {
        /// The API; its kind alone if only one group has it
        #[arg(value_name = "[GROUP/]KIND")]
        api: String,
        #[command(flatten)]
        sort: SortArgs,
        #[command(flatten)]
        all: AllCatalogsArgs,
    },
    /// Show which packages, channels and bundles differ between two contents
    Diff {
        /// The older content: name of a catalog, or a digest
        from: String,
        /// The newer content, likewise
        to: String,
        #[command(flatten)]
        diff: DiffArgs,
    },
    /// Compare two bundles of a package
    Compare {
        /// Name of the package, as NAME or CATALOG/NAME
        package: String,
        /// A bundle: its name, its version, or NAME@VERSION
        a: String,
        /// Another, likewise
        b: String,
    },
    /// Show the update graph of a package
    Graph(GraphArgs),
    /// List what is installed in a cluster, with what it can be upgraded to
    ///
    /// Reads `ClusterExtensions` and `Subscriptions` of all namespaces.
    Outdated(OutdatedArgs),
    /// Plan what happens to what is installed in a cluster when its platform is upgraded
    ///
    /// Reads `ClusterExtensions`, `Subscriptions` and `ClusterServiceVersions` of all namespaces, and
    /// the version of the platform. The exit status is 0 if everything stays or follows by itself, 1 if
    /// something must be switched or is blocked, and 2 if something is unknown or cannot be read.
    UpgradePlan(ClusterUpgradeArgs),
    /// Show which operators of OLM v0 in a cluster can be moved to OLM v1, and print the manifests
    ///
    /// Nothing is changed. The checks are those of upstream's migration tool, under its letters. The
    /// exit status is 0 if all operators can be moved as they are, 1 if one cannot or only with an
    /// acknowledgement, and 2 if something could not be read.
    Migration(MigrationArgs),
    /// Print a manifest that installs a package, adds its catalog to a cluster, or lets a cluster
    /// install reviewed versions alone
    Manifest {
        /// Name of the package, as NAME or CATALOG/NAME; with `--policy` any number of them, each
        /// with @VERSION
        #[arg(required = true)]
        package: Vec<String>,
        /// Print a `ValidatingAdmissionPolicy`, with its binding, that refuses every
        /// `ClusterExtension` but those of these packages in these versions
        #[arg(long, conflicts_with_all = ["kind", "channel", "range", "olm_v1_release"])]
        policy: bool,
        /// Kind of the object
        #[arg(long, value_enum, default_value_t)]
        kind: ManifestKind,
        /// Channel of the package [default: the default channel for a Subscription, every channel for
        /// a `ClusterExtension`]
        #[arg(long, value_name = "NAME")]
        channel: Option<String>,
        /// Version or range of versions
        #[arg(long = "version", value_name = "RANGE")]
        range: Option<String>,
        /// Release of OLM v1 (operator-controller) that the manifest is for. Up to 1.10, a
        /// `ClusterExtension` names a `ServiceAccount`; later releases ignore it
        #[arg(
            long,
            value_name = "VERSION",
            default_value_t,
            hide_default_value = true
        )]
        olm_v1_release: OlmV1Release,
    },
    /// Show what an install of a package creates in a cluster, and what it may do there
    ///
    /// Nothing is changed. The exit status is 1 if the install would be refused, or has a risk of
    /// --fail-on.
    Preview(PreviewArgs),
    /// Print which bundles and images a disconnected cluster needs, by a configuration of oc-mirror,
    /// by packages, or by what is installed in a cluster, and copy nothing
    ///
    /// The exit status is 1 if the selection is refused.
    Mirror(MirrorArgs),
    /// Execute a GraphQL document and print its data
    Query {
        /// The document, such as `{ catalogs { name } }`, or a file with it: FILE, @FILE, or `-` for
        /// standard input
        #[arg(required_unless_present = "file")]
        document: Option<String>,
        /// File with the document
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "document")]
        file: Option<PathBuf>,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Print each change of a catalog as it happens
    Watch,
    /// Print the address of the explorer, and forward a port to it if the server is in a cluster
    Open {
        /// Name of the package to show, as NAME or CATALOG/NAME
        package: Option<String>,
        /// Also show it in a browser
        #[arg(long)]
        browser: bool,
    },
    /// Print the documents that this program sends, for servers that execute trusted documents only
    Documents,
    /// Print the manual page of the program, or of one of its commands (roff)
    Man {
        /// Name of the command
        command: Option<String>,
    },
    /// Print a completion script for a shell
    #[command(alias = "completions")]
    Completion {
        /// The shell
        shell: Shell,
    },
    /// Print the versions of this program and of the server
    Version,
}

/// Flags of `get`.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// Names of objects; every object when absent
    pub(crate) names: Vec<String>,
    /// Then print each object again when it changes, until the command is interrupted
    #[arg(long, short)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) sort: SortArgs,
    #[command(flatten)]
    pub(crate) all: AllCatalogsArgs,
}

/// Flags of `versions`.
#[derive(Debug, Args)]
pub(crate) struct VersionsArgs {
    /// Name of the package, as NAME or CATALOG/NAME
    pub(crate) package: String,
    /// Only bundles of this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Vec<String>,
    /// Only versions in this range, such as `>=1.0.0 <2.0.0`
    #[arg(long)]
    pub(crate) range: Option<String>,
    #[command(flatten)]
    pub(crate) support: SupportArgs,
    #[command(flatten)]
    pub(crate) sort: SortArgs,
    #[command(flatten)]
    pub(crate) all: AllCatalogsArgs,
}

/// Flags of `path`.
#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    /// Name of the package, as NAME or CATALOG/NAME
    pub(crate) package: String,
    /// The bundle to begin with: its name, its version, or NAME@VERSION
    pub(crate) from: String,
    /// The bundle to reach, likewise [default: the head of the default channel]
    pub(crate) to: Option<String>,
    /// Only entries of this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Vec<String>,
}

/// Flags of `preview`.
#[derive(Debug, Args)]
pub(crate) struct PreviewArgs {
    /// Package, as NAME or CATALOG/NAME, and the version or the name of a bundle [default: the head
    /// of the default channel]
    #[arg(value_name = "PACKAGE[@VERSION]")]
    pub(crate) package: String,
    /// Namespace of the operator [default: the one that the package suggests, or its name]
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) install_namespace: Option<String>,
    /// Namespaces that the operator watches; an empty name stands for all [default: all, if the
    /// bundle supports that]
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',')]
    pub(crate) watch_namespaces: Vec<String>,
    /// Provider of certificates for webhooks
    #[arg(long, value_enum)]
    pub(crate) certificates: Option<CertificateProviderArg>,
    /// Show the differences from this bundle, such as the one that is installed: its name, its
    /// version, or NAME@VERSION
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) from: Option<String>,
    /// Risks that make the exit status 1; with `--from`, only those that the other bundle does not
    /// have
    #[arg(
        long,
        value_name = "FLAGS",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    #[arg(value_parser = PossibleValuesParser::new(PERMISSION_FLAGS))]
    pub(crate) fail_on: Vec<String>,
}

/// Flags of `images`.
#[derive(Debug, Args)]
pub(crate) struct ImagesArgs {
    /// Name of the package, as NAME or CATALOG/NAME
    pub(crate) package: String,
    /// Only bundles of this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Vec<String>,
    /// Only versions in this range
    #[arg(long, value_name = "RANGE")]
    pub(crate) version: Option<String>,
    /// Images of every bundle, and not only of those at the head of a channel
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) sort: SortArgs,
}

/// Flags of `outdated`.
#[derive(Debug, Args)]
pub(crate) struct OutdatedArgs {
    /// Exit with status 1 if an upgrade is available
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) support: SupportArgs,
    #[command(flatten)]
    pub(crate) sort: SortArgs,
    #[command(flatten)]
    pub(crate) all: AllCatalogsArgs,
}

/// Flags of `upgrade-plan`.
#[derive(Debug, Args)]
pub(crate) struct ClusterUpgradeArgs {
    /// Version to upgrade to, such as 4.18; one that begins with `1.` is of Kubernetes
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: ReleaseVersion,
    /// Version to begin with [default: that of the cluster]
    #[arg(long, value_name = "VERSION")]
    pub(crate) from: Option<ReleaseVersion>,
    /// Catalogs of a version on the way [default: the served ones whose images differ in the tag
    /// vMAJOR.MINOR alone; on Kubernetes, all]. May be repeated
    #[arg(long, value_name = "VERSION=NAME[,…]", value_parser = parse_step_catalogs)]
    pub(crate) catalogs: Vec<StepCatalogsArg>,
    #[command(flatten)]
    pub(crate) plan: UpgradePlanArgs,
}

/// Names of the catalogs of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepCatalogsArg {
    pub(crate) version: ReleaseVersion,
    pub(crate) catalogs: Vec<String>,
}

/// Flags of `mirror`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("selection").args(["config", "from_cluster", "package"]).required(true))]
pub(crate) struct MirrorArgs {
    /// Configuration: an `ImageSetConfiguration` of oc-mirror (YAML; `-` is standard input)
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Select upgrades of what is installed in the cluster, by `ClusterExtensions` and
    /// `Subscriptions` of all namespaces
    #[arg(long)]
    pub(crate) from_cluster: bool,
    /// Reference by which the configuration names a served catalog. May be repeated
    #[arg(long, value_name = "NAME=REFERENCE", value_parser = parse_catalog_alias)]
    pub(crate) reference: Vec<CatalogAlias>,
    #[command(flatten)]
    pub(crate) need: MirrorNeedArgs,
    #[command(flatten)]
    pub(crate) rules: MirrorRulesArgs,
    #[command(flatten)]
    pub(crate) target: MirrorTargetArgs,
}

/// A minor release of OLM v1; what is behind its numbers does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OlmV1Release {
    minor: u32,
}

/// The first release that ignores the service account of a `ClusterExtension`.
const WITHOUT_ACCOUNT: OlmV1Release = OlmV1Release { minor: 11 };

impl OlmV1Release {
    /// Returns whether a `ClusterExtension` must name a `ServiceAccount`.
    pub(crate) fn needs_service_account(self) -> bool {
        self.minor < WITHOUT_ACCOUNT.minor
    }
}

impl Default for OlmV1Release {
    /// Returns the newest release.
    fn default() -> Self {
        WITHOUT_ACCOUNT
    }
}

impl fmt::Display for OlmV1Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "1.{}", self.minor)
    }
}

impl FromStr for OlmV1Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.strip_prefix('v').unwrap_or(text);
        let mut numbers = plain.split('.');
        let major = numbers.next().unwrap_or_default();
        let minor = numbers.next().and_then(|minor| minor.parse().ok());
        minor
            .filter(|_| major == "1")
            .map(|minor| Self { minor })
            .ok_or_else(|| "expected a release of OLM v1, such as 1.10".to_owned())
    }
}

/// Kind of object that `manifest` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum ManifestKind {
    /// Installs the package (OLM v1)
    #[default]
    ClusterExtension,
    /// Installs the package (OLM v0)
    Subscription,
    /// Adds the catalog of the package to a cluster
    ClusterCatalog,
}

impl PluginArgs {
    /// Returns the commands, each with the formats that it prints.
    pub(crate) fn program() -> clap::Command {
        with_command_formats(Self::command())
    }

    /// Parses a command line.
    pub(crate) fn parse_line<I, T>(line: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item = T>,
        T: Into<OsString> + Clone,
    {
        Self::from_arg_matches(&Self::program().try_get_matches_from(line)?)
    }
}

impl CommonArgs {
    /// Takes what the command line does not say from the variables of the environment.
    pub(crate) fn read_variables(&mut self) {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        self.server = self.server.take().or_else(|| variable(SERVER_VARIABLE));
        self.token = self.token.take().or_else(|| variable(TOKEN_VARIABLE));
    }
}

impl PluginCommand {
    /// Returns the order of the list that the command prints, if the command line names one.
    pub(crate) fn sort_by(&self) -> Option<&ListOrder> {
        match self {
            Self::Search { sort, .. }
            | Self::Heads { sort, .. }
            | Self::Successors { sort, .. }
            | Self::Providers { sort, .. }
            | Self::Outdated(OutdatedArgs { sort, .. })
            | Self::Get(GetArgs { sort, .. })
            | Self::Versions(VersionsArgs { sort, .. })
            | Self::Images(ImagesArgs { sort, .. }) => sort.sort_by.as_ref(),
            _ => None,
        }
    }
}

/// Parses `VERSION=NAME,…`.
pub(crate) fn parse_step_catalogs(text: &str) -> Result<StepCatalogsArg, String> {
    let form = || "write VERSION=NAME[,…], such as 4.17=redhat-v4.17".to_owned();
    let (version, names) = text.split_once('=').ok_or_else(form)?;
    let catalogs: Vec<_> = names.split(',').map(str::to_owned).collect();
    if catalogs.iter().any(String::is_empty) {
        return Err(form());
    }
    Ok(StepCatalogsArg {
        version: version.parse()?,
        catalogs,
    })
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed: Option<SignedDuration> = text.parse().ok();
    let duration = parsed
        .and_then(|duration| Duration::try_from(duration).ok())
        .filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| "write a number with its unit, such as 10s or 1m".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        PluginArgs::program().debug_assert();
    }

    #[test]
    fn the_commands_and_flags_are_those_of_the_snapshot_of_the_interface() {
        let elements = testing::interface::command_elements(&PluginArgs::program());
        testing::interface::check("kubectl-catalog.txt", &elements);
    }

    #[test]
    fn values_of_flags_have_forms() {
        let is_read = |line: &str| match PluginArgs::parse_line(line.split_whitespace()) {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::DisplayHelp,
        };
        for line in [
            "x search --level FULL_LIFECYCLE --level deep-insights",
            "x heads a b -o wide",
            "x query {a} --var n=1",
            "x manifest p --kind Subscription",
            "x manifest p@1.0.0 c/q@2.0.0 --policy",
            "x get Package etcd -A",
            "x manifest p --olm-v1-release 1.10",
            "x get packages --olm-v1",
            "x get bundles --olm-v1=yes,tech-preview",
            "x get bundle -w --sort-by .version",
            "x help get",
            "x completions bash",
            "x providers Kind",
            "x upgrade-plan --to 4.18 --catalogs 4.17=a,b --catalogs v4.18=c -f objects.json",
            "x migration --subscription a --subscription n/b -f objects.json",
            "x migration --manifests --name other -o json",
            "x upgrade-plan --to v1.31 --from 1.29.4+k3s1 --installed etcd@0.9.2:stable",
        ] {
            assert!(is_read(line), "{line}");
        }
        let unknown = PluginArgs::parse_line(["x", "graph", "a", "-o", "foo"])
            .expect_err("it is no format")
            .to_string();
        assert!(
            unknown.contains("custom-columns=HEADER:PATH,…, lanes, mermaid, dot, svg"),
            "{unknown}"
        );
        for line in [
            "x heads",
            "x search -o none",
            "x describe a b c",
            "x get packages -A --catalog a",
            "x query {a} --var n",
            "x manifest p --olm-v1-release 2.0",
            "x get packages --olm-v1=maybe",
            "x migration --name other",
            "x migration a",
            "x upgrade-plan",
            "x upgrade-plan --to latest",
            "x upgrade-plan --to 4.18 --catalogs 4.17",
            "x upgrade-plan --to 4.18 --catalogs 4.17=a,",
        ] {
            assert!(!is_read(line), "{line}");
        }
    }
}
