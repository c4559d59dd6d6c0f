//! `kubectl catalog`: a client of catalogql for people and scripts. It knows the API alone, and
//! nothing of how catalogs are read.

mod args;
mod completion;
mod config;
mod context;
mod documents;
mod error;
mod run;
mod selector;

use std::process::ExitCode;

use commands::output::print;
use commands::{CommandError, ExitStatus, manual};

use crate::args::{PluginArgs, PluginCommand};

fn main() -> ExitCode {
    let ended = execute();
    ended.unwrap_or_else(|error| error.report()).into()
}

fn execute() -> Result<ExitStatus, CommandError> {
    let mut words = std::env::args_os();
    if completion::is_completion(words.next().as_deref()) {
        let words: Vec<_> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        print(&runtime().block_on(completion::complete(&words)))?;
        return Ok(ExitStatus::Success);
    }
    let line = PluginArgs::parse_line(std::env::args_os());
    let mut args = line.unwrap_or_else(|error| error.exit());
    if args.common.no_color || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        console::set_colors_enabled(false);
        console::set_colors_enabled_stderr(false);
    }
    if let PluginCommand::Completion { shell } = args.command {
        let mut script = Vec::new();
        let mut command = PluginArgs::program();
        clap_complete::generate(shell, &mut command, "kubectl-catalog", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        return Ok(ExitStatus::Success);
    }
    if let PluginCommand::Man { command } = &args.command {
        manual::print_page(PluginArgs::program(), command.as_deref())?;
        return Ok(ExitStatus::Success);
    }
    config::complete(&mut args.common)?;
    runtime().block_on(run::run(&args))
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime needs what every process has")
}
