//! Composes the parts of the program: one function for each command, each in its own file.

mod access;
mod background;
mod certificate;
mod configuration;
mod controller;
mod diff;
mod edit;
mod edits;
mod graph;
mod grpc;
mod kube_api;
mod lines;
mod listeners;
mod metrics;
mod once;
mod output;
mod parallel;
mod push;
mod queries;
mod registries;
mod render;
mod resolve;
mod serve;
mod server;
mod show;
mod similar;
mod solve;
mod sources;
mod template;
mod terminal;
mod validate;
mod version;

use std::io::{self, Write};
use std::process::ExitCode;

pub use self::controller::SETTINGS_INTERVAL;

use crate::args::{Args, Command};

/// Runs the command that the arguments name. Errors are printed.
pub fn run(args: Args) -> ExitCode {
    let done = match args.command {
        Command::Serve(args) => serve::serve(*args),
        Command::Controller(args) => controller::controller(*args),
        Command::Validate(args) => validate::validate(&args),
        Command::Query(args) => queries::query(&args),
        Command::List(args) => queries::list(&args),
        Command::Show(args) => show::show(&args),
        Command::Search(args) => queries::search(&args),
        Command::Diff(args) => queries::diff(&args),
        Command::Render(args) => render::render(&args),
        Command::Edit(args) => edit::edit(&args),
        Command::Push(args) => push::push(&args),
        Command::RenderTemplate(args) => template::render_template(&args),
        Command::ConvertTemplate(args) => template::convert_template(&args),
        Command::Init(args) => template::init(&args),
        Command::Migrate(args) => template::migrate(&args),
        Command::Graph(args) => graph::graph(&args),
        Command::Resolve(args) => resolve::resolve(&args),
        Command::Solve(args) => solve::solve(&args),
        Command::Certificate(args) => certificate::certificate(&args),
        Command::Version { output } => version::version(output),
        Command::Licenses => version::licenses(),
        Command::Man { command } => version::man(command.as_deref()),
        Command::Completions { shell } => completions(shell),
    };
    done.unwrap_or_else(|error| {
        // Nothing is left to do when this cannot be printed either.
        let _ = writeln!(output::stderr(), "{} {error:#}", output::error());
        ExitCode::FAILURE
    })
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::with_variables(), "catalogql", &mut script);
    output::ignore_closed_pipe(io::stdout().write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}
