//! `kubectl catalog`: a client of catalogql for people and scripts. It knows the API alone, and
//! nothing of how catalogs are read.

mod args;
mod checks;
mod commands;
mod completion;
mod config;
mod context;
mod documents;
mod error;
mod jsonpath;
mod output;
mod selector;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::args::{Args, Command};
use crate::error::CommandError;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    if completion::is_asked(words.next().as_deref()) {
        let words: Vec<_> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let candidates = runtime().block_on(completion::complete(&words));
        return output::print(&candidates)
            .map_or_else(|failure| report(&failure), |()| ExitCode::SUCCESS);
    }
    let mut args = Args::parse();
    if args.common.no_color || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        console::set_colors_enabled(false);
        console::set_colors_enabled_stderr(false);
    }
    if let Command::Completion { shell } = args.command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Args::command(), "kubectl-catalog", &mut script);
        let text = String::from_utf8_lossy(&script);
        return output::print(&text)
            .map_or_else(|failure| report(&failure), |()| ExitCode::SUCCESS);
    }
    let ended =
        config::complete(&mut args.common).and_then(|()| runtime().block_on(commands::run(&args)));
    ended.unwrap_or_else(|failure| report(&failure))
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime needs what every process has")
}

/// Prints why a command failed, and returns its status.
fn report(failure: &CommandError) -> ExitCode {
    let mut err = printing::stderr();
    // Nothing is left to do when it cannot be printed.
    let _ = writeln!(err, "{} {}", printing::error(), failure.message);
    if let Some(hint) = &failure.hint {
        let _ = writeln!(err, "hint: {hint}");
    }
    ExitCode::from(failure.status as u8)
}
