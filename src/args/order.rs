//! The order of a command line: options may be anywhere.
//!
//! clap takes the last word before an option for the last argument, so that of `query SOURCE
//! --var a=1 DOCUMENT` the document would be one argument too many.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

/// Word after which no word is an option.
const END_OF_OPTIONS: &str = "--";

/// Returns the words of a command line with the options of the subcommand before its other
/// arguments, if that is a command whose last argument follows several or optional ones.
pub(super) fn options_first(program: &Command, line: Vec<OsString>) -> Vec<OsString> {
    let command = line.get(1).and_then(|word| program.find_subcommand(word));
    let Some(command) = command.filter(|command| depends_on_order(command)) else {
        return line;
    };
    let mut words = line.into_iter();
    let mut ordered: Vec<_> = words.by_ref().take(2).collect();
    let mut arguments = Vec::new();
    while let Some(word) = words.next() {
        if word == END_OF_OPTIONS {
            ordered.push(word);
            arguments.extend(words);
            break;
        }
        match word.to_str().filter(|word| is_option(word)) {
            Some(option) => {
                let takes_next = takes_next_word(command, option);
                ordered.push(word);
                ordered.extend(takes_next.then(|| words.next()).flatten());
            }
            None => arguments.push(word),
        }
    }
    ordered.extend(arguments);
    ordered
}

fn depends_on_order(command: &Command) -> bool {
    let positionals: Vec<_> = command.get_positionals().collect();
    let Some((_, before)) = positionals.split_last() else {
        return false;
    };
    let is_many = |arg: &&Arg| matches!(arg.get_action(), ArgAction::Append);
    let is_optional = |arg: &&Arg| !arg.is_required_set();
    !command.has_subcommands() && before.iter().any(|arg| is_many(arg) || is_optional(arg))
}

/// Returns `true` for an option; `-` is the standard input.
fn is_option(word: &str) -> bool {
    word.starts_with('-') && word != "-"
}

/// Returns `true` for an option whose value is the next word.
fn takes_next_word(command: &Command, option: &str) -> bool {
    let found = match option.strip_prefix("--") {
        Some(long) if long.contains('=') => None,
        Some(long) => command
            .get_arguments()
            .find(|arg| arg.get_long() == Some(long)),
        None => {
            let letters = option.trim_start_matches('-');
            let mut letters = letters.chars();
            let first = letters.next();
            // `-ojson` has its value.
            let is_alone = letters.as_str().is_empty();
            command
                .get_arguments()
                .filter(|_| is_alone)
                .find(|arg| first.is_some() && arg.get_short() == first)
        }
    };
    found.is_some_and(|arg| {
        matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
            && !arg.is_require_equals_set()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;

    #[test]
    fn options_may_be_anywhere() {
        let program = Args::with_variables();
        for (line, expected) in [
            (
                "catalogql query a --var n=1 {q}",
                "catalogql query --var n=1 a {q}",
            ),
            (
                "catalogql show a -o json b --no-headers c",
                "catalogql show -o json --no-headers a b c",
            ),
            (
                "catalogql resolve a --self-certified b --channel=x",
                "catalogql resolve --self-certified --channel=x a b",
            ),
            (
                "catalogql search a --deprecated -oyaml words",
                "catalogql search --deprecated -oyaml a words",
            ),
            (
                "catalogql query a - --var b=1",
                "catalogql query --var b=1 a -",
            ),
            ("catalogql query a -- --b", "catalogql query -- a --b"),
            (
                "catalogql render-template semver -o yaml t.yaml",
                "catalogql render-template -o yaml semver t.yaml",
            ),
            ("catalogql serve a --watch b", "catalogql serve a --watch b"),
            (
                "catalogql edit d --dry-run rm a",
                "catalogql edit d --dry-run rm a",
            ),
            ("catalogql", "catalogql"),
            ("catalogql none a -b", "catalogql none a -b"),
        ] {
            let words = line.split(' ').map(OsString::from).collect();
            let ordered = options_first(&program, words);
            let ordered: Vec<_> = ordered.iter().filter_map(|word| word.to_str()).collect();
            assert_eq!(ordered.join(" "), expected, "{line}");
        }
    }
}
