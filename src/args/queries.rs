//! Flags of the commands that are one GraphQL request over catalogs which are loaded for it.

use clap::error::{ContextKind, ContextValue};
use clap::{ValueEnum, ValueHint};
use serde::Serialize;

use super::ImageArgs;

/// The catalogs that a command reads.
#[derive(Debug, clap::Args)]
pub struct CatalogArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH,
    /// named after the last part of the path unless NAME says otherwise
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath, required = true, num_args = 1..)]
    pub sources: Vec<String>,
}

/// Flags of `query`.
#[derive(Debug, clap::Args)]
pub struct QueryArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    /// GraphQL document, such as `{ packages { nodes { name } } }`; `-` reads it from standard
    /// input
    pub document: String,
    /// Values of the variables of the operation: a JSON object
    #[arg(long, value_name = "JSON")]
    pub variables: Option<String>,
    /// Name of the operation to execute, if the document has several
    #[arg(long, value_name = "NAME")]
    pub operation: Option<String>,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `list`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// What to list
    pub kind: ListKind,
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    /// Only this package, its channels or its bundles. May be repeated
    #[arg(long, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only packages whose default channel provides this API at its head, or bundles that provide
    /// it
    #[arg(long, value_name = "GROUP/KIND", value_parser = parse_api)]
    pub provides: Option<ApiArg>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// An API of Kubernetes in any version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApiArg {
    /// Its group; empty for the core group.
    pub group: String,
    /// Its kind.
    pub kind: String,
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

/// Kind of objects that `list` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListKind {
    /// The catalogs themselves
    Catalogs,
    /// Packages with the heads of their default channels
    Packages,
    /// Channels with their heads
    Channels,
    /// Bundles with their versions
    Bundles,
}

/// Flags of `search`.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    /// Words; each must be found, and a typo is forgiven
    pub text: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `show`.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    /// Name of the package
    pub package: String,
    /// Show this bundle of the package
    #[arg(long, value_name = "NAME")]
    pub bundle: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `diff`.
#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// The older catalog: an image (such as quay.io/operatorhubio/catalog:latest), oci:PATH,
    /// dir:PATH or PATH
    #[arg(value_hint = ValueHint::AnyPath)]
    pub from: String,
    /// The newer catalog, likewise
    #[arg(value_hint = ValueHint::AnyPath)]
    pub to: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: DiffOutput,
    /// Exit with status 1 if the catalogs differ
    #[arg(long)]
    pub exit_code: bool,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Output format of `diff`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DiffOutput {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
    /// For a comment of a pull request
    Markdown,
}

/// Output format of most commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
}

/// Adds what follows the sources to an error that only they are missing: clap takes a single
/// argument for the last one.
pub(super) fn name_missing(mut error: clap::Error) -> clap::Error {
    const SOURCES: &str = "<[NAME=]SOURCE>...";
    let missing = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let usage = error
        .get(ContextKind::Usage)
        .map(ToString::to_string)
        .unwrap_or_default();
    let last = usage
        .split_once(SOURCES)
        .map(|(_, last)| last.trim())
        .unwrap_or_default();
    if missing.as_deref() == Some(SOURCES) && !last.is_empty() {
        error.insert(
            ContextKind::InvalidArg,
            ContextValue::Strings(vec![format!("{SOURCES} or {last}")]),
        );
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;

    #[test]
    fn a_single_argument_may_be_the_source_or_what_follows_it() {
        let missing = |line: &str| {
            let error = Args::with_variables()
                .try_get_matches_from(line.split(' '))
                .unwrap_err();
            name_missing(error)
                .to_string()
                .lines()
                .nth(1)
                .map(str::to_owned)
        };
        for (line, expected) in [
            ("catalogql show a", "  <[NAME=]SOURCE>... or <PACKAGE>"),
            ("catalogql query a", "  <[NAME=]SOURCE>... or <DOCUMENT>"),
            ("catalogql list packages", "  <[NAME=]SOURCE>..."),
        ] {
            assert_eq!(missing(line).as_deref(), Some(expected), "{line}");
        }
    }
}
