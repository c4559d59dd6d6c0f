//! Entry point of each command: one function in one file. `sources` and `registries` have the
//! catalogs and registries that a user names, also to a server; `once` and `lines` read catalogs.

mod edit;
#[cfg_attr(not(feature = "export-parquet"), path = "run/no_export.rs")]
mod export;
mod lines;
mod local;
mod mirror;
mod once;
mod output;
mod packages;
mod preview;
mod push;
pub mod registries;
mod render;
mod sbom;
pub mod signature_policy;
mod solve;
pub mod sources;
mod support_bundle;
mod template;
pub mod terminal;
mod upgrade_plan;
mod validate;
mod verify;

use std::process::ExitCode;

use commands::{CommandError, ExitStatus};
use printing::error_chain;

use crate::args::LocalCommand;

/// Runs a command. Prints its error, if any, to standard error.
pub fn run(command: &LocalCommand) -> ExitCode {
    let ended = execute(command);
    ended.unwrap_or_else(|error| command_error(&error, ExitStatus::Usage).report().into())
}

/// Returns an error with its exit status; `otherwise` if it has none of its own. For commands that
/// have negative answers, that is 2: an input cannot be read or an output cannot be written.
pub fn command_error(error: &anyhow::Error, otherwise: ExitStatus) -> CommandError {
    let inner = error.downcast_ref::<CommandError>();
    let status = inner.map_or(otherwise, |inner| inner.status);
    let hint = inner.and_then(|inner| inner.hint.clone());
    CommandError::new(status, error_chain(error.as_ref())).hint_if(hint)
}

fn execute(command: &LocalCommand) -> anyhow::Result<ExitCode> {
    match command {
        LocalCommand::Validate(args) => validate::validate(args),
        LocalCommand::Query(args) => Ok(local::query(args)),
        LocalCommand::List(args) => local::list(args),
        LocalCommand::Show(args) => local::show(args),
        LocalCommand::Search(args) => local::search(args),
        LocalCommand::Diff(args) => local::diff(args),
        LocalCommand::Render(args) => render::render(args),
        LocalCommand::Edit(args) => edit::edit(args),
        LocalCommand::Push(args) => push::push(args),
        LocalCommand::RenderTemplate(args) => template::render_template(args),
        LocalCommand::ConvertTemplate(args) => template::convert_template(args),
        LocalCommand::Init(args) => template::init(args),
        LocalCommand::Migrate(args) => template::migrate(args),
        LocalCommand::Graph(args) => local::graph(args),
        LocalCommand::Resolve(args) => local::resolve(args),
        LocalCommand::Preview(args) => preview::preview(args),
        LocalCommand::Solve(args) => solve::solve(args),
        LocalCommand::Mirror(command) => mirror::mirror(command),
        LocalCommand::UpgradePlan(args) => upgrade_plan::upgrade_plan(args),
        LocalCommand::Export(args) => export::export(args),
        LocalCommand::Sbom(command) => sbom::sbom(command),
        LocalCommand::SupportBundle(args) => support_bundle::support_bundle(args),
        LocalCommand::Verify(args) => verify::verify(args),
    }
}
