//! Flags of `solve`.

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};

use super::ImageArgs;

/// Flags of `solve`.
#[derive(Debug, clap::Args)]
pub struct SolveArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH,
    /// named after the last part of the path unless NAME says otherwise
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath, required_unless_present = "request")]
    pub sources: Vec<String>,
    /// Package to install or to upgrade, from any channel unless one is named, beginning with a
    /// bundle if one is named; by the rules of OLM v1 a range of versions. May be repeated
    #[arg(long, value_name = "PACKAGE[:CHANNEL][@BUNDLE|@RANGE]", value_parser = parse_wanted)]
    pub want: Vec<WantedArg>,
    /// Bundle that is installed now, or a file with `ClusterServiceVersion` and `Subscription`
    /// objects as `kubectl get csv,subscription -o json` prints them. May be repeated
    #[arg(long, value_name = "NAME@VERSION|FILE", value_hint = ValueHint::AnyPath)]
    pub installed: Vec<String>,
    /// JSON file with catalogs (`metas`, or the `path` of a directory), subscriptions and installed
    /// operators
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["sources", "want", "installed", "policy"]
    )]
    pub request: Option<PathBuf>,
    /// Rules to follow
    #[arg(long, value_enum, default_value_t)]
    pub policy: PolicyArg,
    /// Also show which better bundles were impossible, and why
    #[arg(long)]
    pub explain: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: SolveOutput,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Rules of `solve`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PolicyArg {
    /// OLM v0: dependencies are installed together with what needs them
    #[default]
    OlmV0,
    /// OLM v1, which installs no dependencies: what would have to be installed beforehand
    OlmV1,
}

/// Output format of a solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SolveOutput {
    /// Table of what to install, or the reasons of a conflict
    #[default]
    Table,
    /// JSON: `operators`, `unsatisfiable` or `error`
    Json,
    /// Mermaid source of who requires whom, which Mermaid draws
    Mermaid,
}

/// A wanted package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedArg {
    /// Name of the package.
    pub package: String,
    /// Name of the channel; empty for any.
    pub channel: String,
    /// Name of the bundle to begin with, or a range of versions; empty for the best.
    pub version: String,
}

fn parse_wanted(text: &str) -> Result<WantedArg, String> {
    let (rest, version) = text.split_once('@').unwrap_or((text, ""));
    let (package, channel) = rest.split_once(':').unwrap_or((rest, ""));
    if package.is_empty() {
        return Err(
            "write PACKAGE[:CHANNEL][@BUNDLE|@RANGE], such as etcd:stable, etcd@etcd.v0.9.4 or etcd@>=0.9".to_owned()
        );
    }
    let [package, channel, version] = [package, channel, version].map(str::to_owned);
    Ok(WantedArg {
        package,
        channel,
        version,
    })
}
