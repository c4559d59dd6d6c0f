//! Errors of values that come from variables of the environment: they name the variable, which clap
//! does not.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};

/// Replaces the flag that an error blames by its variable, if the value is from there.
pub(super) fn name_variable(
    mut error: clap::Error,
    program: &Command,
    line: &[OsString],
) -> clap::Error {
    // Only the arguments of a built command can be shown.
    let mut program = program.clone();
    program.build();
    let blamed = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let command = line
        .get(1)
        .and_then(|word| program.find_subcommand(word))
        .unwrap_or(&program);
    let arg = find_argument(command, blamed.as_deref().unwrap_or_default());
    let name = arg.and_then(Arg::get_env).and_then(OsStr::to_str);
    let is_on_line = arg.is_some_and(|arg| is_written(arg, line));
    let is_required = error.kind() == clap::error::ErrorKind::MissingRequiredArgument;
    if let Some(name) = name.filter(|_| !is_on_line && !is_required)
        && std::env::var_os(name).is_some()
    {
        let variable = ContextValue::String(name.to_owned());
        error.insert(ContextKind::InvalidArg, variable);
    }
    error
}

/// Finds the argument of a command, or of one of its subcommands, that an error shows as this.
fn find_argument<'c>(command: &'c Command, shown: &str) -> Option<&'c Arg> {
    let own = command
        .get_arguments()
        .find(|arg| arg.get_long().is_some() && arg.to_string() == shown);
    own.or_else(|| {
        let mut below = command.get_subcommands();
        below.find_map(|command| find_argument(command, shown))
    })
}

/// Returns `true` if the command line has a flag.
fn is_written(arg: &Arg, line: &[OsString]) -> bool {
    let long = arg.get_long().map(|name| format!("--{name}"));
    let short = arg.get_short().map(|letter| format!("-{letter}"));
    line.iter().filter_map(|word| word.to_str()).any(|word| {
        let is_long = long.as_deref().is_some_and(|long| {
            word.strip_prefix(long)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        });
        let is_short = short
            .as_deref()
            .is_some_and(|short| word.starts_with(short));
        is_long || is_short
    })
}
