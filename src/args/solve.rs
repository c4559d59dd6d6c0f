//! Flags of `solve`.

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};

use super::ImageArgs;

/// Flags of `solve`.
#[derive(Debug, clap::Args)]
pub struct SolveArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH, named after the
    /// last part of the path unless NAME says otherwise
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath, required_unless_present = "request")]
    pub sources: Vec<String>,
    /// Package to install or to upgrade, from any channel unless one is named, beginning with a bundle if one is named.
    /// May be repeated
    #[arg(long, value_name = "PACKAGE[:CHANNEL][@BUNDLE]", value_parser = parse_wanted)]
    pub want: Vec<WantedArg>,
    /// Bundle that is installed now, or a file with `ClusterServiceVersion` and `Subscription` objects as
    /// `kubectl get csv,subscription -o json` prints them. May be repeated
    #[arg(long, value_name = "NAME@VERSION|FILE", value_hint = ValueHint::AnyPath)]
    pub installed: Vec<String>,
    /// JSON file with catalogs (`metas`, or the `path` of a directory), subscriptions and installed operators
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["sources", "want", "installed"]
    )]
    pub request: Option<PathBuf>,
    /// Also show which better bundles were impossible, and why
    #[arg(long)]
    pub explain: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: SolveOutput,
    #[command(flatten)]
    pub images: ImageArgs,
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
    /// Name of the bundle to begin with; empty for the best.
    pub bundle: String,
}

fn parse_wanted(text: &str) -> Result<WantedArg, String> {
    let (rest, bundle) = text.split_once('@').unwrap_or((text, ""));
    let (package, channel) = rest.split_once(':').unwrap_or((rest, ""));
    if package.is_empty() {
        return Err("write PACKAGE[:CHANNEL][@BUNDLE], such as etcd:stable or etcd@etcd.v0.9.4".to_owned());
    }
    let [package, channel, bundle] = [package, channel, bundle].map(str::to_owned);
    Ok(WantedArg { package, channel, bundle })
}
