//! Flags of the commands over catalogs that are loaded for them: the arguments of the operation,
//! which the plugin of kubectl has too, with sources and access to images.

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ValueEnum, ValueHint};
use commands::args::{
    DiffArgs, GraphArgs, ListArgs, OperationArgs, OutputArgs, ResolveArgs, SearchArgs, SolveArgs,
    SortArgs, SupportArgs, UpgradePlanArgs,
};

use super::ImageArgs;

/// Sources of the catalogs that a command reads.
#[derive(Debug, clap::Args)]
pub struct CatalogArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH,
    /// named after the last part of the path unless NAME says otherwise
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath, required = true, num_args = 1..)]
    pub sources: Vec<String>,
}

/// Flags of `query`.
#[derive(Debug, clap::Args)]
pub struct LocalQueryArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    /// GraphQL document, such as `{ packages { nodes { name } } }`, or a file with it: FILE, @FILE,
    /// or `-` for standard input
    pub document: String,
    #[command(flatten)]
    pub operation: OperationArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `list`.
#[derive(Debug, clap::Args)]
pub struct LocalListArgs {
    #[command(flatten)]
    pub list: ListArgs,
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH,
    /// named after the last part of the path unless NAME says otherwise. Words behind them that are
    /// no sources are packages, as --package
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath, required = true, num_args = 1..)]
    pub sources: Vec<String>,
    #[command(flatten)]
    pub sort: SortArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `search`.
#[derive(Debug, clap::Args)]
pub struct LocalSearchArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH,
    /// named after the last part of the path unless NAME says otherwise
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath, required = true, num_args = 1..)]
    pub sources: Vec<String>,
    /// Words; each must be found, and a typo is forgiven. Several words may also be written without
    /// quotes
    pub text: String,
    #[command(flatten)]
    pub filter: SearchArgs,
    #[command(flatten)]
    pub sort: SortArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `show`.
#[derive(Debug, clap::Args)]
pub struct LocalShowArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    /// Name of the package, as NAME or CATALOG/NAME
    pub package: String,
    /// Show this bundle of the package
    #[arg(long, value_name = "NAME")]
    pub bundle: Option<String>,
    #[command(flatten)]
    pub support: SupportArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `mcp`.
#[derive(Debug, clap::Args)]
pub struct LocalMcpArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `diff`.
#[derive(Debug, clap::Args)]
pub struct LocalDiffArgs {
    /// The older catalog: an image (such as quay.io/operatorhubio/catalog:latest), oci:PATH,
    /// dir:PATH or PATH
    #[arg(value_hint = ValueHint::AnyPath)]
    pub from: String,
    /// The newer catalog, likewise
    #[arg(value_hint = ValueHint::AnyPath)]
    pub to: String,
    #[command(flatten)]
    pub diff: DiffArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `graph`.
#[derive(Debug, clap::Args)]
pub struct LocalGraphArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    #[command(flatten)]
    pub graph: GraphArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `resolve`.
#[derive(Debug, clap::Args)]
pub struct LocalResolveArgs {
    #[command(flatten)]
    pub catalogs: CatalogArgs,
    #[command(flatten)]
    pub resolve: ResolveArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `solve`.
#[derive(Debug, clap::Args)]
pub struct LocalSolveArgs {
    /// Catalogs: images (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or PATH,
    /// named after the last part of the path unless NAME says otherwise. Words behind them that are
    /// no sources are packages, as --want
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::AnyPath, required_unless_present = "request")]
    pub sources: Vec<String>,
    #[command(flatten)]
    pub solve: SolveArgs,
    /// JSON file with catalogs (`metas`, or the `path` of a directory), subscriptions and installed
    /// operators. The answer is JSON: `operators`, `unsatisfiable` or `error`
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["sources", "want", "installed", "policy", "explain"]
    )]
    pub request: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `upgrade-plan`.
#[derive(Debug, clap::Args)]
pub struct LocalUpgradePlanArgs {
    /// Version of the platform with the catalogs of that version: images, oci:PATH, dir:PATH or
    /// PATH, named after the version unless NAME says otherwise. Commas separate the catalogs of one
    /// version. May be repeated, in order
    #[arg(
        long = "step",
        value_name = "VERSION=[NAME=]SOURCE[,…]",
        value_parser = parse_step,
        required = true
    )]
    pub steps: Vec<StepArg>,
    #[command(flatten)]
    pub plan: UpgradePlanArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Version of the platform with its catalogs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepArg {
    /// The version, as it was written.
    pub version: String,
    /// Its catalogs.
    pub sources: Vec<StepSourceArg>,
}

/// Source of a catalog of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepSourceArg {
    /// Name of the catalog; after the version if absent.
    pub name: Option<String>,
    /// The source.
    pub source: String,
}

fn parse_step(text: &str) -> Result<StepArg, String> {
    let form = "write VERSION=[NAME=]SOURCE[,…], such as 4.18=./catalog-4.18";
    let (version, sources) = text.split_once('=').ok_or(form)?;
    let sources = sources
        .split(',')
        .map(|source| match source.split_once('=') {
            Some((name, source)) => StepSourceArg {
                name: Some(name.to_owned()),
                source: source.to_owned(),
            },
            None => StepSourceArg {
                name: None,
                source: source.to_owned(),
            },
        });
    let sources: Vec<_> = sources.collect();
    if version.is_empty() || sources.iter().any(|source| source.source.is_empty()) {
        return Err(form.to_owned());
    }
    Ok(StepArg {
        version: version.to_owned(),
        sources,
    })
}

/// Output format of commands that print no objects of the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SummaryFormat {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
}

/// Completes an error that names a missing argument. Beside missing sources it names the argument
/// behind them: clap takes a single argument for the last one. For `edit` without a directory it
/// says where that is, and for `mirror` without a command what there is.
pub fn name_missing(mut error: clap::Error) -> clap::Error {
    const SOURCES: &str = "<[NAME=]SOURCE>...";
    const DIRECTORY: &str = "<DIR>";
    let missing = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let usage = error
        .get(ContextKind::Usage)
        .map(ToString::to_string)
        .unwrap_or_default();
    let last = usage
        .split_once(SOURCES)
        .map(|(_, last)| last.trim())
        .unwrap_or_default();
    if missing.as_deref() == Some(DIRECTORY) && usage.contains(" edit ") {
        let advice = "the directory comes before the operation: catalogql edit DIR OPERATION …";
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![advice.into()]),
        );
    }
    if error.kind() == ErrorKind::InvalidSubcommand && usage.contains(" mirror ") {
        let advice = "`catalogql mirror plan SOURCE -c FILE` prints what is selected, `catalogql mirror run` copies it";
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![advice.into()]),
        );
    }
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
    use clap::Subcommand as _;

    use super::*;
    use crate::args::LocalCommand;

    #[test]
    fn a_single_argument_may_be_the_source_or_what_follows_it() {
        let missing = |line: &str| {
            let program = clap::Command::new("catalogql");
            let error = LocalCommand::augment_subcommands(program)
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
