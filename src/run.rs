//! Where the parts meet, and nowhere else: one function a subcommand, each in its own file.

mod graph;
mod once;
mod output;
mod registries;
mod resolve;
mod serve;
mod sources;
mod terminal;
mod validate;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Args, Command};

/// Does what the arguments say. What goes wrong is printed.
pub fn run(args: Args) -> ExitCode {
    let done = match args.command {
        Command::Serve(args) => serve::serve(*args),
        Command::Validate(args) => validate::validate(&args),
        Command::Graph(args) => graph::graph(&args),
        Command::Resolve(args) => resolve::resolve(&args),
        Command::Completions { shell } => completions(shell),
    };
    done.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        // Nothing is left to do when this cannot be printed either.
        let _ = writeln!(io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "catalogql", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether it is only that who read our output wants no more of it.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
