//! `kubectl catalog`: a client of catalogql for people and scripts. It knows the API alone, and nothing of how catalogs are
//! read.

mod args;
mod commands;
mod documents;
mod failure;
mod jsonpath;
mod output;
mod selector;
mod session;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::args::{Args, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let args = Args::parse();
    if args.common.no_color || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        console::set_colors_enabled(false);
        console::set_colors_enabled_stderr(false);
    }
    if let Command::Completion { shell } = args.command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Args::command(), "kubectl-catalog", &mut script);
        let text = String::from_utf8_lossy(&script);
        return output::print(&text).map_or_else(|failure| report(&failure), |()| ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime needs what every process has");
    let ended = runtime.block_on(commands::run(&args));
    ended.unwrap_or_else(|failure| report(&failure))
}

/// Prints why a command failed, and returns its status.
fn report(failure: &Failure) -> ExitCode {
    let mut err = io::stderr();
    // Nothing is left to do when it cannot be printed.
    let _ = writeln!(err, "{} {}", printing::error(), failure.message);
    if let Some(hint) = &failure.hint {
        let _ = writeln!(err, "hint: {hint}");
    }
    ExitCode::from(failure.status as u8)
}
