//! Subcommands and flags: what a user may write, and what its help says. Nothing is opened or checked here beyond form.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::store::QUOTA;

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
    Serve(ServeArgs),
    /// Say what is wrong with a catalog
    ///
    /// The exit status is 1 when `opm validate` would refuse the catalog, 0 otherwise.
    Validate(ValidateArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Flags of `serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Catalogs: dir:PATH or PATH, named after the last part of the path unless NAME says otherwise
    #[arg(value_name = "[NAME=]SOURCE", value_hint = ValueHint::DirPath, required_unless_present = "config")]
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
    #[arg(long, value_name = "BYTES", default_value_t = QUOTA)]
    pub store_quota: u64,
    /// Load a catalog again when its directory changed
    #[arg(long)]
    pub watch: bool,
}

/// Flags of `validate`.
#[derive(Debug, clap::Args)]
pub struct ValidateArgs {
    /// The catalog: dir:PATH or PATH
    #[arg(value_hint = ValueHint::DirPath)]
    pub source: String,
    /// How to print what is wrong
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn serving_needs_a_source_or_a_configuration() {
        let parse = |line: &str| Args::try_parse_from(line.split(' ')).map(drop).map_err(|error| error.kind());
        assert_eq!(parse("catalogql serve"), Err(clap::error::ErrorKind::MissingRequiredArgument));
        assert_eq!(parse("catalogql serve examples"), Ok(()));
        assert_eq!(parse("catalogql serve --config catalogs.yaml"), Ok(()));
    }
}
