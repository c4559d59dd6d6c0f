//! Arguments of the operations: what a user may write. Nothing is checked here beyond form.

use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::output::{OutputFormat, TableColumn, parse_output, with_column};
use crate::similar::{question, similar_names};
use crate::sorting::ListOrder;
use crate::{CommandError, ExitStatus};

/// Flags of the output.
#[derive(Clone, Debug, Args)]
pub struct OutputArgs {
    /// Output format: table, wide, json, yaml, name, jsonpath=TEMPLATE,
    /// custom-columns=HEADER:PATH,… Some commands have others, which their help names
    #[arg(
        long,
        short,
        global = true,
        value_name = "FORMAT",
        default_value = "table",
        hide_default_value = true
    )]
    #[arg(value_parser = parse_output)]
    pub output: OutputFormat,
    /// Print tables without their headers
    #[arg(long, global = true)]
    pub no_headers: bool,
}

/// Flags of lists.
#[derive(Clone, Debug, Default, Args)]
pub struct SortArgs {
    /// Sort the list by a column of its table, such as `VERSION`, or by a field of its objects,
    /// such as `.metadata.createdAt`
    #[arg(long, value_name = "COLUMN|PATH", value_parser = ListOrder::parse)]
    pub sort_by: Option<ListOrder>,
}

/// Flags of `search`, besides its words.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Only packages of this category: the whole value with its case, such as `Database`. May be
    /// repeated
    #[arg(long, value_name = "NAME")]
    pub category: Vec<String>,
    /// Only packages of this provider: the whole name with its case. May be repeated
    #[arg(long, value_name = "NAME")]
    pub provider: Vec<String>,
    /// Only packages with this keyword: the whole word with its case. May be repeated
    #[arg(long, value_name = "WORD")]
    pub keyword: Vec<String>,
    /// Only packages of this capability level. May be repeated
    #[arg(long, value_enum)]
    pub level: Vec<CapabilityLevelArg>,
    /// Only packages whose default channel provides this API at its head
    #[arg(long, value_name = "GROUP/KIND", value_parser = parse_api)]
    pub provides: Option<ApiArg>,
    /// List deprecated packages too, alone, or not at all
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(
        default_value = "include",
        default_missing_value = "include",
        hide_default_value = true
    )]
    pub deprecated: DeprecatedArg,
}

/// Kind of the objects of a list, and flags that select them.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Kind of objects
    #[arg(ignore_case = true)]
    pub kind: ListKind,
    /// Only objects of this package. May be repeated
    #[arg(long, short, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only bundles in this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub channel: Vec<String>,
    /// Only packages whose default channel provides this API at its head, or bundles that provide
    /// it
    #[arg(long, value_name = "GROUP/KIND", value_parser = parse_api)]
    pub provides: Option<ApiArg>,
    /// Only blobs of this schema
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,
    /// Show whether OLM v1 can install bundles, or the heads of the default channels of packages,
    /// with the codes of blockers; with values, list only those
    #[arg(long, value_enum, num_args = 0.., require_equals = true, value_delimiter = ',')]
    pub olm_v1: Option<Vec<OlmV1Arg>>,
    #[command(flatten)]
    pub support: SupportArgs,
}

/// Day on which phases of support are shown.
#[derive(Clone, Debug, Default, Args)]
pub struct SupportArgs {
    /// Also show the phase of support on a day, such as 2026-11-26
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    pub support_on: Option<String>,
}

impl SupportArgs {
    /// Returns `true` if phases of support are shown.
    pub fn is_shown(&self) -> bool {
        self.support_on.is_some()
    }

    /// Adds the variables of documents that ask for a phase of support.
    pub fn add_to(&self, variables: &mut Value) {
        variables["on"] = self.support_on.as_deref().unwrap_or_default().into();
        variables["withSupport"] = self.is_shown().into();
    }

    /// Returns the columns of a table, with that of the phase of support if it is shown.
    pub fn columns(&self, columns: &[TableColumn], support: TableColumn) -> Vec<TableColumn> {
        if self.is_shown() {
            with_column(columns, support)
        } else {
            columns.to_vec()
        }
    }
}

/// Installability of a bundle by OLM v1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OlmV1Arg {
    /// No hard blocker is known
    Yes,
    /// With a feature gate that is off by default
    TechPreview,
    /// A hard blocker is known
    No,
    /// The catalog does not say
    Unknown,
}

impl OlmV1Arg {
    /// Returns the name in the schema.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Yes => "YES",
            Self::TechPreview => "TECH_PREVIEW",
            Self::No => "NO",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// Kind of objects that are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListKind {
    /// Catalogs that are served
    #[value(alias = "catalog")]
    Catalogs,
    /// Packages with the heads of their default channels
    #[value(alias = "package")]
    Packages,
    /// Channels with their heads
    #[value(alias = "channel")]
    Channels,
    /// Bundles with their versions
    #[value(alias = "bundle")]
    Bundles,
    /// Blobs of any schema
    #[value(alias = "meta")]
    Metas,
    /// Faults in the contents of catalogs
    #[value(alias = "problem")]
    Problems,
}

/// Flags of `diff`, besides the two contents.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Only this package. May be repeated
    #[arg(long, short, value_name = "NAME")]
    pub package: Vec<String>,
    /// Exit with status 1 if the contents differ
    #[arg(long)]
    pub exit_code: bool,
}

/// Flags of `graph`.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// Name of the package, as NAME or CATALOG/NAME
    pub package: String,
    /// Only this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub channel: Vec<String>,
}

/// Flags of `resolve`.
#[derive(Debug, Args)]
pub struct ResolveArgs {
    /// Name of the package, as NAME or CATALOG/NAME
    pub package: String,
    /// Only versions in this range, such as `>=1.2, <2`
    #[arg(long, value_name = "RANGE")]
    pub version: Option<String>,
    /// Only bundles and upgrades of this channel. May be repeated
    #[arg(long, value_name = "NAME")]
    pub channel: Vec<String>,
    /// Bundle that is installed now: NAME@VERSION, or the name or the version of one that a catalog
    /// has
    #[arg(long, value_name = "BUNDLE")]
    pub installed: Option<String>,
    /// Allow any other version, as the upgrade constraint policy `SelfCertified` does
    #[arg(long)]
    pub self_certified: bool,
    /// Only catalogs whose image is signed as the signature policy of the server requires
    #[arg(long)]
    pub require_verified: bool,
    /// Only bundles that run on this version of Kubernetes, such as `1.31`. The controller does not
    /// check this
    #[arg(long, value_name = "VERSION")]
    pub kubernetes: Option<String>,
    /// Only bundles that support this version of `OpenShift`, such as `4.18`. The controller does
    /// not check this
    #[arg(long, value_name = "VERSION")]
    pub openshift: Option<String>,
    /// Only bundles for this CPU architecture, such as `arm64`. The controller does not check this
    #[arg(long, value_name = "NAME", value_parser = parse_architecture)]
    pub architecture: Option<String>,
}

/// Flags of `solve`.
#[derive(Clone, Debug, Args)]
pub struct SolveArgs {
    /// Package to install or to upgrade, as NAME or CATALOG/NAME, from any channel unless one is
    /// named, beginning with a bundle if one is named; by the rules of OLM v1 a range of versions.
    /// May be repeated
    #[arg(long, value_name = "PACKAGE[:CHANNEL][@BUNDLE|@RANGE]", value_parser = parse_wanted)]
    pub want: Vec<WantedArg>,
    /// Bundle that is installed now, or a file with `ClusterServiceVersion` and `Subscription`
    /// objects as `kubectl get csv,subscription -o json` prints them (`-` is the standard input).
    /// May be repeated
    #[arg(long, value_name = "NAME@VERSION|FILE")]
    pub installed: Vec<String>,
    /// Rules to follow
    #[arg(long, value_enum, default_value_t)]
    pub policy: SolvePolicyArg,
    /// Also show which better bundles were impossible, and why
    #[arg(long)]
    pub explain: bool,
}

/// Provider of certificates for webhooks, as it is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CertificateProviderArg {
    /// An `Issuer` and a `Certificate` of cert-manager for each deployment with webhooks
    CertManager,
    /// Annotations for the service CA of `OpenShift`
    ServiceCa,
}

impl CertificateProviderArg {
    /// Returns the name in the schema.
    pub fn in_schema(self) -> &'static str {
        match self {
            Self::CertManager => "CERT_MANAGER",
            Self::ServiceCa => "SERVICE_CA",
        }
    }
}

/// Flags of `upgrade-plan`, besides the steps.
#[derive(Debug, Default, Args)]
pub struct UpgradePlanArgs {
    /// Package that is installed, with its version and the channel that its Subscription follows
    /// [default: the default channel]. May be repeated
    #[arg(long, value_name = "PACKAGE@VERSION[:CHANNEL]", value_parser = parse_planned)]
    pub installed: Vec<PlannedArg>,
    /// File with `ClusterServiceVersion`, `Subscription` and `ClusterExtension` objects as `kubectl
    /// get csv,subscription,clusterextension -A -o json` prints them, or with the input of
    /// `platformUpgrade`, of which the member `installed` counts (`-` is the standard input). May
    /// be repeated
    #[arg(long, short, value_name = "FILE")]
    pub file: Vec<String>,
    /// CPU architecture of the nodes: upgrades go only to bundles for it
    #[arg(long, value_name = "NAME", value_parser = parse_architecture)]
    pub architecture: Option<String>,
    #[command(flatten)]
    pub support: SupportArgs,
}

/// Flags of `migration`.
#[derive(Debug, Default, Args)]
pub struct MigrationArgs {
    /// Only this Subscription. May be repeated
    #[arg(long = "subscription", value_name = "[NAMESPACE/]NAME")]
    pub operators: Vec<String>,
    /// File with the objects of the cluster as `kubectl get
    /// subscriptions.operators.coreos.com,csv,operatorgroups,operatorconditions,catalogsources,installplans,clusterextensions,clustercatalogs
    /// -A -o json` prints them (`-` is the standard input). May be repeated
    #[arg(long, short, value_name = "FILE")]
    pub file: Vec<String>,
    /// Also judge what is installed from the manifests in the images of the bundles, where catalogs
    /// have none. The server must fetch images (`--bundle-images`)
    #[arg(long)]
    pub bundle_images: bool,
    /// Print manifests for OLM v1 (YAML, or JSON with -o json) with the reasons as comments
    #[arg(long)]
    pub manifests: bool,
    /// Name of the `ClusterExtension` of one operator [default: that of the Subscription]
    #[arg(long, value_name = "NAME", requires = "manifests")]
    pub name: Option<String>,
}

/// Packages of `mirror`, in place of a configuration.
#[derive(Clone, Debug, Default, Args)]
pub struct MirrorNeedArgs {
    /// Select this package, in place of a configuration. May be repeated
    #[arg(long, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only this channel of the package [default: every channel, or the default channel with --from
    /// or --up-to]. May be repeated
    #[arg(long, value_name = "NAME", requires = "package")]
    pub channel: Vec<String>,
    /// Installed bundle, from which upgrades must be possible: its name, its version, or
    /// NAME@VERSION for one that the catalog does not have. May be repeated
    #[arg(long, value_name = "BUNDLE", requires = "package")]
    pub from: Vec<String>,
    /// Name or version of the bundle to upgrade to [default: the head of the channel]
    #[arg(long, value_name = "BUNDLE", requires = "package")]
    pub up_to: Option<String>,
    /// Also select what the selected bundles require
    #[arg(long, conflicts_with = "config")]
    pub dependencies: bool,
    /// Select only bundles that run on this version of `OpenShift`, such as 4.18
    #[arg(long, value_name = "VERSION", conflicts_with = "config")]
    pub openshift: Option<String>,
    /// Select only bundles that run on this version of Kubernetes, such as 1.31
    #[arg(long, value_name = "VERSION", conflicts_with = "config")]
    pub kubernetes: Option<String>,
}

/// Registry that `mirror` writes files for.
#[derive(Clone, Debug, Default, Args)]
pub struct MirrorTargetArgs {
    /// Registry to copy to, for the outputs `mapping`, `skopeo` and `idms`
    #[arg(long, value_name = "HOST[:PORT][/PATH]")]
    pub to: Option<String>,
    /// Maximum number of parts of a path in that registry; further parts are joined with `-`
    #[arg(long, value_name = "COUNT")]
    pub max_nested_paths: Option<i32>,
}

/// Rules of `mirror`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct MirrorRulesArgs {
    /// Select exactly what this program selects, also where its catalog would not be valid
    #[arg(long, value_name = "PROGRAM", value_enum)]
    pub like: Option<MirrorProgram>,
}

/// Program whose rules `mirror` can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MirrorProgram {
    /// oc-mirror v2
    OcMirror,
}

/// Name of a catalog, and the reference that stands for it in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogAlias {
    /// Name of the catalog.
    pub name: String,
    /// Reference of the catalog.
    pub reference: String,
}

impl MirrorRulesArgs {
    /// Returns the value of `MirrorRules`.
    pub fn as_str(self) -> &'static str {
        match self.like {
            Some(MirrorProgram::OcMirror) => "OC_MIRROR",
            None => "CATALOGQL",
        }
    }
}

/// Parses NAME=REFERENCE.
pub fn parse_catalog_alias(text: &str) -> Result<CatalogAlias, String> {
    match text.split_once('=') {
        Some((name, reference)) if !name.is_empty() && !reference.is_empty() => Ok(CatalogAlias {
            name: name.to_owned(),
            reference: reference.to_owned(),
        }),
        _ => Err(
            "expected NAME=REFERENCE, such as `community=registry.example.com/catalog:v4.18`"
                .to_owned(),
        ),
    }
}

/// Package that is installed, for `upgrade-plan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedArg {
    /// Name of the package.
    pub package: String,
    /// Its installed version.
    pub version: String,
    /// Channel that it follows; the default channel if absent.
    pub channel: Option<String>,
}

/// Variables and name of the operation of `query`.
#[derive(Debug, Args)]
pub struct OperationArgs {
    /// Values of variables: a JSON object
    #[arg(long, value_name = "JSON")]
    pub variables: Option<String>,
    /// Value of one variable: JSON, or else a text. May be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = parse_variable)]
    pub variable: Vec<VariableArg>,
    /// Name of the operation to execute, if the document has several
    #[arg(long, value_name = "NAME")]
    pub operation: Option<String>,
}

/// Rules of `solve`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SolvePolicyArg {
    /// OLM v0: dependencies are installed together with what needs them
    #[default]
    OlmV0,
    /// OLM v1, which installs no dependencies: what would have to be installed beforehand
    OlmV1,
}

/// Degree of an operator's automation, also by its name in the API, which tables show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CapabilityLevelArg {
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

/// Treatment of deprecated packages in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeprecatedArg {
    /// Also those
    Include,
    /// Only those
    Only,
    /// None of those
    Exclude,
}

/// API of Kubernetes in any version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApiArg {
    /// Its group; empty for the core group.
    pub group: String,
    /// Its kind.
    pub kind: String,
}

/// Installed bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstalledArg {
    /// Name of the bundle.
    pub name: String,
    /// Its version, as it was written.
    pub version: String,
}

/// Package that `solve` installs or keeps up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedArg {
    /// Name of the package, as NAME or CATALOG/NAME.
    pub package: String,
    /// Name of the channel; any channel if absent.
    pub channel: Option<String>,
    /// Name of the bundle to begin with, or by the rules of OLM v1 a range of versions.
    pub version: Option<String>,
}

/// Variable of a GraphQL operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableArg {
    /// Name without `$`.
    pub name: String,
    /// Value.
    pub value: Value,
}

impl OutputArgs {
    /// Returns the format of the output. That of `custom-columns` knows about `--no-headers`.
    pub fn format(&self) -> OutputFormat {
        let mut format = self.output.clone();
        if let OutputFormat::CustomColumns(columns) = &mut format {
            columns.has_headers = !self.no_headers;
        }
        format
    }
}

impl ListKind {
    /// Returns the name of one object of the kind.
    pub fn singular(self) -> &'static str {
        match self {
            Self::Catalogs => "catalog",
            Self::Packages => "package",
            Self::Channels => "channel",
            Self::Bundles => "bundle",
            Self::Metas => "meta",
            Self::Problems => "problem",
        }
    }
}

impl CapabilityLevelArg {
    /// Returns the name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::BasicInstall => "BASIC_INSTALL",
            Self::SeamlessUpgrades => "SEAMLESS_UPGRADES",
            Self::FullLifecycle => "FULL_LIFECYCLE",
            Self::DeepInsights => "DEEP_INSIGHTS",
            Self::AutoPilot => "AUTO_PILOT",
        }
    }
}

impl OperationArgs {
    /// Returns the variables by name. `--var` wins over `--variables`.
    pub fn variables(&self) -> Result<Map<String, Value>, CommandError> {
        let text = self.variables.as_deref().unwrap_or("{}");
        let mut variables: Map<_, _> = serde_json::from_str(text).map_err(|error| {
            let message = format!(
                "cannot use --variables: write a JSON object, such as {{\"name\": \"etcd\"}}: {error}"
            );
            CommandError::new(ExitStatus::Usage, message)
        })?;
        let named = self.variable.iter();
        variables.extend(named.map(|variable| (variable.name.clone(), variable.value.clone())));
        Ok(variables)
    }
}

/// Parses a number of things. The message of the standard library speaks of digits.
pub fn parse_count<T: FromStr>(text: &str) -> Result<T, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().map_err(|_| {
        if is_number {
            "the number is too large".to_owned()
        } else {
            "write a whole number".to_owned()
        }
    })
}

/// Parses a duration with its unit, such as `30s`, or `0`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let parsed: Option<SignedDuration> = text.parse().ok();
    let duration = parsed.and_then(|duration| Duration::try_from(duration).ok());
    duration.ok_or_else(|| "write a number with its unit, such as 30s, 10m or 1h".to_owned())
}

/// Parses `GROUP/KIND`.
pub fn parse_api(text: &str) -> Result<ApiArg, String> {
    let (group, kind) = text
        .split_once('/')
        .ok_or("write GROUP/KIND, such as monitoring.coreos.com/Prometheus")?;
    if kind.contains('/') {
        let kind = kind.rsplit('/').next().unwrap_or_default();
        return Err(format!(
            "write GROUP/KIND without the version, such as {group}/{kind}"
        ));
    }
    Ok(ApiArg {
        group: group.to_owned(),
        kind: kind.to_owned(),
    })
}

/// Parses `NAME@VERSION`; returns `None` for another text. The server checks the version.
pub fn parse_installed(text: &str) -> Option<InstalledArg> {
    let (name, version) = text.rsplit_once('@')?;
    Some(InstalledArg {
        name: name.to_owned(),
        version: version.to_owned(),
    })
}

/// Returns whether a text begins as a version does: with a digit, or with `v` and a digit.
pub fn begins_like_version(text: &str) -> bool {
    let digits = text.strip_prefix('v').unwrap_or(text);
    digits.starts_with(|first: char| first.is_ascii_digit())
}

/// Architectures as Go names them, which labels of bundles do.
const ARCHITECTURES: [&str; 13] = [
    "386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64",
    "ppc64le", "riscv64", "s390x",
];

/// Checks the name of an architecture.
pub fn parse_architecture(text: &str) -> Result<String, String> {
    if ARCHITECTURES.contains(&text) {
        return Ok(text.to_owned());
    }
    // As `uname -m` has them.
    let other = match text {
        "x86_64" => Some("amd64"),
        "aarch64" => Some("arm64"),
        _ => None,
    };
    let similar = similar_names(text, ARCHITECTURES.into_iter());
    let meant: Vec<_> = other.into_iter().chain(similar).collect();
    Err(match question(&meant) {
        Some(question) => format!("no architecture has this name; {question}"),
        None => {
            "write the name that Go has for it, such as amd64, arm64, ppc64le or s390x".to_owned()
        }
    })
}

/// Checks that a text is a day.
fn parse_day(text: &str) -> Result<String, String> {
    match jiff::civil::Date::strptime("%Y-%m-%d", text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("write a day as YEAR-MONTH-DAY, such as 2026-11-26".to_owned()),
    }
}

/// Parses `PACKAGE@VERSION[:CHANNEL]`.
pub(crate) fn parse_planned(text: &str) -> Result<PlannedArg, String> {
    let form = "write PACKAGE@VERSION[:CHANNEL], such as etcd@0.9.2:stable";
    let (package, rest) = text.split_once('@').ok_or(form)?;
    let (version, channel) = match rest.split_once(':') {
        Some((version, channel)) => (version, Some(channel.to_owned())),
        None => (rest, None),
    };
    if package.is_empty() || version.is_empty() {
        return Err(form.to_owned());
    }
    if let Some((package, channel)) = package.split_once(':') {
        return Err(format!(
            "write the channel behind the version: {package}@{version}:{channel}"
        ));
    }
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    if numbers.matches('.').count() < 2 {
        return Err(format!(
            "write the whole version in place of `{version}`, such as 1.2.3"
        ));
    }
    Ok(PlannedArg {
        package: package.to_owned(),
        version: version.to_owned(),
        channel,
    })
}

/// Parses `PACKAGE[:CHANNEL][@BUNDLE|@RANGE]`.
pub fn parse_wanted(text: &str) -> Result<WantedArg, String> {
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

fn parse_variable(text: &str) -> Result<VariableArg, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write NAME=VALUE, such as name=etcd")?;
    Ok(VariableArg {
        name: name.to_owned(),
        value: serde_json::from_str(value).unwrap_or_else(|_| value.into()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wanted_package_may_have_a_channel_and_a_version() {
        let parsed = |text| {
            parse_wanted(text).map(|wanted| (wanted.package, wanted.channel, wanted.version))
        };
        let text = |text: &str| Some(text.to_owned());
        for (argument, package, channel, version) in [
            ("etcd", "etcd", None, None),
            ("a/etcd:stable", "a/etcd", text("stable"), None),
            ("etcd@>=0.9", "etcd", None, text(">=0.9")),
            (
                "etcd:stable@etcd.v1",
                "etcd",
                text("stable"),
                text("etcd.v1"),
            ),
        ] {
            let expected = (package.to_owned(), channel, version);
            assert_eq!(parsed(argument), Ok(expected), "{argument}");
        }
        assert!(parsed(":stable").is_err());
    }

    #[test]
    fn an_installed_package_has_a_whole_version_before_its_channel() {
        let installed = |channel: Option<&str>| PlannedArg {
            package: "etcd".to_owned(),
            version: "0.9.2".to_owned(),
            channel: channel.map(str::to_owned),
        };
        assert_eq!(parse_planned("etcd@0.9.2"), Ok(installed(None)));
        assert_eq!(
            parse_planned("etcd@0.9.2:stable"),
            Ok(installed(Some("stable")))
        );
        for (text, expected) in [
            (
                "etcd",
                "write PACKAGE@VERSION[:CHANNEL], such as etcd@0.9.2:stable",
            ),
            (
                "etcd:stable@0.9.2",
                "write the channel behind the version: etcd@0.9.2:stable",
            ),
            (
                "etcd@0.9",
                "write the whole version in place of `0.9`, such as 1.2.3",
            ),
        ] {
            assert_eq!(parse_planned(text), Err(expected.to_owned()));
        }
    }

    #[test]
    fn an_architecture_has_the_name_that_go_has_for_it() {
        assert_eq!(parse_architecture("arm64").as_deref(), Ok("arm64"));
        for (text, expected) in [
            ("amd65", "no architecture has this name; did you mean amd64"),
            (
                "aarch64",
                "no architecture has this name; did you mean arm64",
            ),
            ("power", "write the name that Go has for it, such as amd64"),
        ] {
            let error = parse_architecture(text).expect_err(text);
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_count_is_a_whole_number_that_fits() {
        assert_eq!(parse_count::<u64>("15"), Ok(15));
        for (text, expected) in [
            ("x", "write a whole number"),
            ("", "write a whole number"),
            ("-1", "write a whole number"),
            ("1.5", "write a whole number"),
            ("99999999999999999999", "the number is too large"),
        ] {
            assert_eq!(parse_count::<u64>(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_duration_has_a_unit() {
        let parsed = |text: &str| parse_duration(text).map(|duration| duration.as_millis());
        assert_eq!(
            ["0", "100ms", "30s", "10m", "1h30m"].map(parsed),
            [0, 100, 30_000, 600_000, 5_400_000].map(Ok)
        );
        for text in ["", "10", "-1s", "m", "ten minutes"] {
            assert_eq!(
                parsed(text),
                Err("write a number with its unit, such as 30s, 10m or 1h".to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_variable_wins_over_the_object_of_variables() {
        let mut args = OperationArgs {
            variables: Some(r#"{"name": "a", "first": 1}"#.to_owned()),
            variable: vec![parse_variable("name=etcd").expect("it is a variable")],
            operation: None,
        };
        let variables = args.variables().map(Value::Object);
        assert_eq!(variables, Ok(json!({"name": "etcd", "first": 1})));

        args.variables = Some("1".to_owned());
        let error = args.variables().expect_err("it is no object");
        assert_eq!(error.status, ExitStatus::Usage);
    }
}
