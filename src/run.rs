//! Entry point of each command: one function in one file.

mod certificate;
mod configuration;
mod controller;
mod output;
mod serve;
mod version;

use std::io::{self, Write};
use std::process::ExitCode;

use commands::ExitStatus;
use local_commands::run::command_error;

pub use self::controller::SETTINGS_INTERVAL;

use crate::args::{Args, Command};

/// Runs a command. Prints its error, if any, to standard error.
pub fn run(args: Args) -> ExitCode {
    let done = match args.command {
        Command::Serve(args) => serve::serve(*args),
        Command::Controller(args) => controller::controller(*args),
        Command::Local(command) => Ok(local_commands::run::run(&command)),
        Command::Certificate(args) => certificate::certificate(&args),
        Command::Version { output } => version::version(output),
        Command::Licenses => version::licenses(),
        Command::Man { command } => Ok(version::man(command.as_deref())),
        Command::Completion { shell } => completion(shell),
    };
    done.unwrap_or_else(|error| command_error(&error, ExitStatus::Negative).report().into())
}

fn completion(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::with_variables(), "catalogql", &mut script);
    output::ignore_closed_pipe(io::stdout().write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}
