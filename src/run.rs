//! Entry point of each command: one function in one file.

mod access;
mod background;
mod certificate;
mod configuration;
mod controller;
mod edit;
mod edits;
mod grpc;
mod kube_api;
mod lines;
mod listeners;
mod local;
mod metrics;
mod mirror;
mod once;
mod output;
mod preview;
mod push;
mod registries;
mod render;
mod serve;
mod server;
mod solve;
mod sources;
mod template;
mod terminal;
mod upgrade_plan;
mod validate;
mod version;

use std::io::{self, Write};
use std::process::ExitCode;

pub use self::controller::SETTINGS_INTERVAL;

use crate::args::{Args, Command};

/// Runs a command. Prints its error, if any, to standard error.
pub fn run(args: Args) -> ExitCode {
    let done = match args.command {
        Command::Serve(args) => serve::serve(*args),
        Command::Controller(args) => controller::controller(*args),
        Command::Validate(args) => validate::validate(&args),
        Command::Query(args) => Ok(local::query(&args)),
        Command::List(args) => local::list(&args),
        Command::Show(args) => local::show(&args),
        Command::Search(args) => local::search(&args),
        Command::Diff(args) => local::diff(&args),
        Command::Render(args) => render::render(&args),
        Command::Edit(args) => edit::edit(&args),
        Command::Push(args) => push::push(&args),
        Command::RenderTemplate(args) => template::render_template(&args),
        Command::ConvertTemplate(args) => template::convert_template(&args),
        Command::Init(args) => template::init(&args),
        Command::Migrate(args) => template::migrate(&args),
        Command::Graph(args) => local::graph(&args),
        Command::Resolve(args) => local::resolve(&args),
        Command::Preview(args) => preview::preview(&args),
        Command::Solve(args) => solve::solve(&args),
        Command::Mirror(command) => mirror::mirror(&command),
        Command::UpgradePlan(args) => upgrade_plan::upgrade_plan(&args),
        Command::Certificate(args) => certificate::certificate(&args),
        Command::Version { output } => version::version(output),
        Command::Licenses => version::licenses(),
        Command::Man { command } => Ok(version::man(command.as_deref())),
        Command::Completion { shell } => completion(shell),
    };
    done.unwrap_or_else(|error| {
        // A failed write to standard error cannot be reported anywhere.
        let _ = writeln!(output::stderr(), "{} {error:#}", output::error());
        ExitCode::FAILURE
    })
}

fn completion(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::with_variables(), "catalogql", &mut script);
    output::ignore_closed_pipe(io::stdout().write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}
