//! `man`: manual pages of a program and of its commands.

use std::io;

use clap::Command;

use crate::output::print;
use crate::{CommandError, ExitStatus};

/// Prints the manual page of a program (roff), or of the command with this name, which may be one
/// of another command: `edit-add`.
pub fn print_page(mut program: Command, command: Option<&str>) -> Result<(), CommandError> {
    program.build();
    let program_name = program.get_name().to_owned();
    let version = program.get_version().unwrap_or_default().to_owned();
    let page = match command {
        None => program,
        Some(name) => {
            let found = find_command(&program, name).cloned();
            // The name of the page, which `man` takes as `man catalogql serve` too.
            let named = found.map(|found| found.display_name(format!("{program_name}-{name}")));
            named.ok_or_else(|| {
                let message = format!("cannot print a manual page: there is no command `{name}`");
                CommandError::new(ExitStatus::Usage, message)
            })?
        }
    };
    print(&render(page, &program_name, &version)?)
}

fn render(page: Command, program: &str, version: &str) -> io::Result<String> {
    let mut roff = Vec::new();
    clap_mangen::Man::new(page)
        .manual(program)
        .source(format!("{program} {version}"))
        .render(&mut roff)?;
    Ok(String::from_utf8_lossy(&roff).into_owned())
}

/// Finds a command by its name, or one of another command by the name of its page, such as
/// `edit-add`.
fn find_command<'c>(program: &'c Command, name: &str) -> Option<&'c Command> {
    program.find_subcommand(name).or_else(|| {
        program.get_subcommands().find_map(|command| {
            let below = name.strip_prefix(command.get_name())?.strip_prefix('-')?;
            find_command(command, below)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_that_a_page_lists_is_found_by_its_name() {
        let mut program = Command::new("program")
            .subcommand(
                Command::new("edit")
                    .subcommand(Command::new("add"))
                    .subcommand(Command::new("set-package")),
            )
            .subcommand(Command::new("render-template"));
        program.build();
        for (name, expected) in [
            ("edit", Some("edit")),
            ("render-template", Some("render-template")),
            ("edit-add", Some("add")),
            ("edit-set-package", Some("set-package")),
            ("edit-", None),
            ("add", None),
        ] {
            assert_eq!(
                find_command(&program, name).map(Command::get_name),
                expected,
                "{name}"
            );
        }
    }
}
