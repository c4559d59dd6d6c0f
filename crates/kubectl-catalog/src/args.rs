//! Commands and flags: what a user may write. Flags that kubectl and `catalogql` have mean the same
//! here.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use jiff::SignedDuration;

use crate::output::{OutputFormat, parse_output};

/// Colours of the help, as cargo has them.
const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold());

/// Search and compare packages, and plan upgrades, in the catalogs that a catalogql serves.
#[derive(Debug, Parser)]
#[command(name = "kubectl-catalog", bin_name = "kubectl catalog", version, styles = STYLES, max_term_width = 100)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Common options")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct CommonArgs {
    /// URL of the server, such as `https://catalogql.example.com`
    #[arg(
        long,
        global = true,
        env = "CATALOGQL_SERVER",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(crate) server: Option<String>,
    /// How to reach the server: `direct` by --server, `service` through the API server's proxy,
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
    /// Output format: table, wide, json, yaml, name, jsonpath=TEMPLATE; `images` also has lines,
    /// `graph` lanes, mermaid, dot and svg, `solve` mermaid
    #[arg(
        long,
        short,
        global = true,
        value_name = "FORMAT",
        default_value = "table",
        hide_default_value = true
    )]
    #[arg(value_parser = parse_output)]
    pub(crate) output: OutputFormat,
    /// Print tables without their headers
    #[arg(long, global = true)]
    pub(crate) no_headers: bool,
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
    #[arg(long, global = true, value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    /// Bearer token for the server
    #[arg(
        long,
        global = true,
        env = "CATALOGQL_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
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

/// Flags of kubectl that say which cluster is meant, and as whom.
#[derive(Clone, Debug, ClapArgs)]
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

/// How a server is reached.
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
pub(crate) enum Command {
    /// Find packages by words in their names, descriptions and keywords
    Search(SearchArgs),
    /// List objects of one kind
    Get(GetArgs),
    /// List the channels of packages with their heads
    Heads {
        /// Names of packages, each as NAME or CATALOG/NAME
        #[arg(required = true)]
        packages: Vec<String>,
    },
    /// List the bundles of a package, highest version first
    Versions(VersionsArgs),
    /// Show all that catalogs say of a package or a bundle
    Describe {
        /// What it is
        kind: DescribeKind,
        /// Name of the package, or of the bundle
        name: String,
        /// Package of the bundle
        #[arg(long, short, value_name = "NAME")]
        package: Option<String>,
    },
    /// Show a shortest sequence of upgrades between two bundles of a package
    ///
    /// The exit status is 1 if there is none.
    Path(PathArgs),
    /// List what an installed bundle can be upgraded to in one step
    Successors {
        /// Name of the package, as NAME or CATALOG/NAME
        package: String,
        /// The installed bundle, which need not be in the catalog
        #[arg(value_name = "NAME@VERSION", value_parser = parse_installed)]
        installed: InstalledArg,
        /// Only entries of this channel. May be repeated
        #[arg(long, value_name = "NAME")]
        channel: Vec<String>,
    },
    /// Show which bundle an install or an upgrade of a package would choose, and why
    ///
    /// The exit status is 1 if no bundle would be chosen.
    Resolve(ResolveArgs),
    /// Show what would have to be installed together, with dependencies, or why nothing fits
    ///
    /// The exit status is 1 if there is no solution.
    Solve(SolveArgs),
    /// List the images of a package, for mirroring
    Images(ImagesArgs),
    /// List bundles that provide an API at the head of a channel
    Providers {
        /// The API
        #[arg(value_name = "GROUP/KIND", value_parser = parse_api)]
        api: ApiArg,
    },
    /// Show which packages, channels and bundles differ between two contents
    Diff(DiffArgs),
    /// Compare two bundles of a package
    Compare {
        /// Name of the package, as NAME or CATALOG/NAME
        package: String,
        /// Name or version of a bundle
        a: String,
        /// Name or version of another
        b: String,
    },
    /// Show the update graph of a package
    Graph {
        /// Name of the package, as NAME or CATALOG/NAME
        package: String,
        /// Only this channel. May be repeated
        #[arg(long, value_name = "NAME")]
        channel: Vec<String>,
    },
    /// List what is installed in a cluster, with what it can be upgraded to
    ///
    /// Reads `ClusterExtensions` and `Subscriptions` of all namespaces.
    Outdated {
        /// Exit with status 1 if an upgrade is available
        #[arg(long)]
        exit_code: bool,
    },
    /// Print a manifest that installs a package, or adds its catalog to a cluster
    Manifest {
        /// Name of the package, as NAME or CATALOG/NAME
        package: String,
        /// Kind of the object
        #[arg(long, value_enum, default_value_t)]
        kind: ManifestKind,
        /// Channel of the package [default: its default channel]
        #[arg(long, value_name = "NAME")]
        channel: Option<String>,
        /// Version or range of versions
        #[arg(long = "version", value_name = "RANGE")]
        range: Option<String>,
    },
    /// Execute a GraphQL document and print its data
    Query(QueryArgs),
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
    /// Print a completion script for a shell
    Completion {
        /// The shell
        shell: Shell,
    },
    /// Print the versions of this program and of the server
    Version,
}

/// Flags of `search`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SearchArgs {
    /// Words; each must be found
    pub(crate) text: Vec<String>,
    /// Only packages of this category: the whole value with its case, such as `Database`. May be
    /// repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) category: Vec<String>,
    /// Only packages of this provider: the whole name with its case. May be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Vec<String>,
    /// Only packages with this keyword: the whole word with its case. May be repeated
    #[arg(long, value_name = "WORD")]
    pub(crate) keyword: Vec<String>,
    /// Only packages of this capability level. May be repeated
    #[arg(long, value_enum)]
    pub(crate) level: Vec<Level>,
    /// Only packages whose default channel provides this API at its head
    #[arg(long, value_name = "GROUP/KIND", value_parser = parse_api)]
    pub(crate) provides: Option<ApiArg>,
    /// Whether to list deprecated packages
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(
        default_value = "include",
        default_missing_value = "include",
        hide_default_value = true
    )]
    pub(crate) deprecated: Deprecated,
}

/// Flags of `get`.
#[derive(Debug, ClapArgs)]
pub(crate) struct GetArgs {
    /// What to list
    pub(crate) kind: GetKind,
    /// Names of objects; every object when absent
    pub(crate) names: Vec<String>,
    /// Only objects of this package. May be repeated
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Vec<String>,
    /// Only blobs of this schema
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
}

/// Flags of `versions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct VersionsArgs {
    /// Name of the package, as NAME or CATALOG/NAME
    pub(crate) package: String,
    /// Only bundles of this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Vec<String>,
    /// Only versions in this range, such as `>=1.0.0 <2.0.0`
    #[arg(long)]
    pub(crate) range: Option<String>,
}

/// Flags of `path`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PathArgs {
    /// Name of the package, as NAME or CATALOG/NAME
    pub(crate) package: String,
    /// Name or version of the bundle to begin with
    pub(crate) from: String,
    /// Name or version of the bundle to reach [default: the head of the default channel]
    pub(crate) to: Option<String>,
    /// Only entries of this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Vec<String>,
}

/// Flags of `resolve`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ResolveArgs {
    /// Name of the package, as NAME or CATALOG/NAME
    pub(crate) package: String,
    /// Only versions in this range
    #[arg(long, value_name = "RANGE")]
    pub(crate) version: Option<String>,
    /// Only bundles of this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Vec<String>,
    /// What is installed now
    #[arg(long, value_name = "NAME@VERSION", value_parser = parse_installed)]
    pub(crate) installed: Option<InstalledArg>,
    /// Allow any other version, as the upgrade constraint policy `SelfCertified` does
    #[arg(long)]
    pub(crate) self_certified: bool,
}

/// Flags of `solve`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SolveArgs {
    /// Package to install or to upgrade, as NAME or CATALOG/NAME, from any channel unless one is
    /// named, beginning with a bundle if one is named; by the rules of OLM v1 a range of versions.
    /// May be repeated
    #[arg(long, value_name = "PACKAGE[:CHANNEL][@BUNDLE|@RANGE]", value_parser = parse_wanted)]
    #[arg(required_unless_present = "installed")]
    pub(crate) want: Vec<WantedArg>,
    /// Bundle that is installed now, or a file with `ClusterServiceVersion` and `Subscription`
    /// objects as `kubectl get csv,subscription -o json` prints them; `-` reads standard input. May
    /// be repeated
    #[arg(long, value_name = "NAME@VERSION|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) installed: Vec<String>,
    /// Rules to follow
    #[arg(long, value_enum, default_value_t)]
    pub(crate) policy: SolvePolicy,
    /// Also show which better bundles were impossible, and why
    #[arg(long)]
    pub(crate) explain: bool,
}

/// Flags of `images`.
#[derive(Debug, ClapArgs)]
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
}

/// Flags of `diff`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArgs {
    /// The older content: name of a catalog, or a digest
    pub(crate) from: String,
    /// The newer content, likewise
    pub(crate) to: String,
    /// Only this package. May be repeated
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Vec<String>,
    /// Exit with status 1 if the contents differ
    #[arg(long)]
    pub(crate) exit_code: bool,
}

/// Flags of `query`.
#[derive(Debug, ClapArgs)]
pub(crate) struct QueryArgs {
    /// The document, such as `{ catalogs { name } }`; `-` reads it from standard input
    #[arg(required_unless_present = "file")]
    pub(crate) document: Option<String>,
    /// File with the document
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "document")]
    pub(crate) file: Option<PathBuf>,
    /// Value of a variable: JSON, or else a text. May be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = parse_variable)]
    pub(crate) variables: Vec<(String, serde_json::Value)>,
    /// Name of the operation to execute, if the document has several
    #[arg(long, value_name = "NAME")]
    pub(crate) operation: Option<String>,
}

/// Rules of `solve`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SolvePolicy {
    /// OLM v0: dependencies are installed together with what needs them
    #[default]
    OlmV0,
    /// OLM v1, which installs no dependencies: what would have to be installed beforehand
    OlmV1,
}

/// A package that `solve` is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedArg {
    pub(crate) package: String,
    /// Any when absent.
    pub(crate) channel: Option<String>,
    /// Name of the bundle to begin with, or a range of versions.
    pub(crate) version: Option<String>,
}

/// Kind of objects that `get` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GetKind {
    /// Catalogs that are served
    Catalogs,
    /// Packages with the heads of their default channels
    Packages,
    /// Channels with their heads
    Channels,
    /// Bundles with their versions
    Bundles,
    /// Blobs of any schema
    Metas,
    /// Faults in the contents of catalogs
    Problems,
}

/// Kind of object that `describe` describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DescribeKind {
    /// A package
    Package,
    /// A bundle
    Bundle,
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

/// Degree of an operator's automation, also by the name that the API has and tables show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Basic Install
    #[value(alias = "BASIC_INSTALL")]
    BasicInstall,
    /// Seamless Upgrades
    #[value(alias = "SEAMLESS_UPGRADES")]
    SeamlessUpgrades,
    /// Full Lifecycle
    #[value(alias = "FULL_LIFECYCLE")]
    FullLifecycle,
    /// Deep Insights
    #[value(alias = "DEEP_INSIGHTS")]
    DeepInsights,
    /// Auto Pilot
    #[value(alias = "AUTO_PILOT")]
    AutoPilot,
}

/// Whether deprecated packages are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deprecated {
    /// Also those
    Include,
    /// Only those
    Only,
    /// None of those
    Exclude,
}

/// An API of Kubernetes in any version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiArg {
    pub(crate) group: String,
    pub(crate) kind: String,
}

/// A bundle that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstalledArg {
    pub(crate) name: String,
    pub(crate) version: String,
}

impl Level {
    /// The name that the API has.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BasicInstall => "BASIC_INSTALL",
            Self::SeamlessUpgrades => "SEAMLESS_UPGRADES",
            Self::FullLifecycle => "FULL_LIFECYCLE",
            Self::DeepInsights => "DEEP_INSIGHTS",
            Self::AutoPilot => "AUTO_PILOT",
        }
    }
}

fn parse_api(text: &str) -> Result<ApiArg, String> {
    let (group, kind) = text
        .split_once('/')
        .ok_or("write GROUP/KIND, such as monitoring.coreos.com/Prometheus")?;
    Ok(ApiArg {
        group: group.to_owned(),
        kind: kind.to_owned(),
    })
}

pub(crate) fn parse_installed(text: &str) -> Result<InstalledArg, String> {
    let (name, version) = text
        .rsplit_once('@')
        .ok_or("write NAME@VERSION, such as etcd.v0.9.4@0.9.4")?;
    Ok(InstalledArg {
        name: name.to_owned(),
        version: version.to_owned(),
    })
}

fn parse_wanted(text: &str) -> Result<WantedArg, String> {
    let split = |text: &str, separator| match str::split_once(text, separator) {
        Some((name, rest)) => (name.to_owned(), Some(rest.to_owned())),
        None => (text.to_owned(), None),
    };
    let (rest, version) = split(text, '@');
    let (package, channel) = split(&rest, ':');
    if package.is_empty() {
        let form = "write PACKAGE[:CHANNEL][@BUNDLE|@RANGE], such as etcd:stable, etcd@etcd.v0.9.4 or etcd@>=0.9";
        return Err(form.to_owned());
    }
    Ok(WantedArg {
        package,
        channel,
        version,
    })
}

fn parse_variable(text: &str) -> Result<(String, serde_json::Value), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write NAME=VALUE, such as name=etcd")?;
    Ok((
        name.to_owned(),
        serde_json::from_str(value).unwrap_or_else(|_| value.into()),
    ))
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
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn values_of_flags_have_forms() {
        let is_read = |line: &str| Args::try_parse_from(line.split_whitespace()).is_ok();
        for line in [
            "x search --level FULL_LIFECYCLE --level deep-insights",
            "x heads a b -o wide",
            "x query {a} --var n=1",
            "x manifest p --kind Subscription",
        ] {
            assert!(is_read(line), "{line}");
        }
        let unknown = Args::try_parse_from(["x", "graph", "a", "-o", "foo"])
            .expect_err("it is no format")
            .to_string();
        assert!(
            unknown.contains("for `graph` lanes, mermaid, dot or svg"),
            "{unknown}"
        );
        for line in [
            "x heads",
            "x search -o none",
            "x successors p a",
            "x providers Kind",
            "x query {a} --var n",
        ] {
            assert!(!is_read(line), "{line}");
        }
    }
}
