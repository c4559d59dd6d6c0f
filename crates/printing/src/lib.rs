//! Output of commands: tables, JSON, colours, and output whose reader is gone. It knows nothing of
//! catalogs.

mod terminal;

use std::error::Error;
use std::io;
use std::io::Write;
use std::iter;
use std::ops::Range;

use comfy_table::{CellAlignment, Row, Table, presets};
use console::{StyledObject, Term, style, truncate_str};
use serde::Serialize;
use serde_json::Value;

pub use terminal::{TerminalWriter, stderr, stdout};

/// Turns the error of a reader that closed our output early, as `head` does, into success: the exit
/// status tells the result of the command, and the result does not depend on its reader.
pub fn ignore_closed_pipe(printed: io::Result<()>) -> io::Result<()> {
    printed.or_else(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Ok(())
        } else {
            Err(error)
        }
    })
}

/// Returns the word before an error on the standard error output.
pub fn error() -> StyledObject<&'static str> {
    style("error:").for_stderr().red().bold()
}

/// Returns the word before a warning on the standard error output.
pub fn warning() -> StyledObject<&'static str> {
    style("warning:").for_stderr().yellow().bold()
}

/// Returns the message of an error with its causes. Some libraries have the cause in the message of
/// its error already: it is not repeated then.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut chain = String::new();
    for cause in iter::successors(Some(error), |&error| error.source()) {
        let message = cause.to_string();
        if chain.is_empty() {
            chain = message;
        } else if !chain.ends_with(&message) {
            chain = format!("{chain}: {message}");
        }
    }
    chain
}

/// Prints a value as JSON on several lines.
pub fn json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    // The conversion of the error keeps its kind, by which a closed pipe is known.
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// Returns the value at a JSON pointer as text; empty where it is `null`, and the texts of a list separated
/// by commas.
pub fn text(item: &Value, pointer: &str) -> String {
    match item.pointer(pointer) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        Some(value) => value.to_string(),
    }
}

/// Returns a table without lines, whose columns are in the order of their weight: on a terminal,
/// what does not fit is cut off at the end of each line. Only the last column may hold colours,
/// whose escape sequences count as letters.
pub fn table<'h, R: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = &'h str>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    counted_table(header, rows, 0..0)
}

/// Returns such a table of which nothing is cut off.
pub fn whole_table<'h, R: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = &'h str>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    lines(header, rows, 0..0)
}

/// Returns such a table in which some columns hold counts, which are aligned to the right. An empty
/// header is left out.
pub fn counted_table<'h, R: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = &'h str>,
    rows: impl IntoIterator<Item = R>,
    counts: Range<usize>,
) -> String {
    cut(&lines(header, rows, counts), terminal_width())
}

fn lines<'h, R: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = &'h str>,
    rows: impl IntoIterator<Item = R>,
    counts: Range<usize>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let header: Vec<_> = header.into_iter().collect();
    if !header.is_empty() {
        table.set_header(header);
    }
    table.add_rows(rows.into_iter().map(|cells| {
        let mut row = Row::from(cells.into_iter().collect::<Vec<_>>());
        row.max_height(1);
        row
    }));
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if counts.contains(&at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.trim_fmt();
    if lines.is_empty() {
        lines
    } else {
        lines + "\n"
    }
}

/// Width of the standard output in letters; `None` unless it is a terminal.
fn terminal_width() -> Option<u16> {
    let stdout = Term::stdout();
    stdout
        .size_checked()
        .filter(|_| stdout.is_term())
        .map(|(_, width)| width)
}

/// Cuts each line to this width in letters, if it is given.
fn cut(lines: &str, width: Option<u16>) -> String {
    let Some(width) = width else {
        return lines.to_owned();
    };
    lines
        .lines()
        .flat_map(|line| [truncate_str(line, width.into(), "…"), "\n".into()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_too_wide_are_cut_at_their_end() {
        let rows = [[
            "etcd".to_owned(),
            "old".to_owned(),
            "a, b, c, d, e, f, g, h".to_owned(),
        ]];
        let whole = table(["NAME", "CATALOG", "CHANNELS"], rows.clone());
        assert_eq!(
            whole,
            "NAME  CATALOG  CHANNELS\netcd  old      a, b, c, d, e, f, g, h\n"
        );
        assert_eq!(
            cut(&whole, Some(25)),
            "NAME  CATALOG  CHANNELS\netcd  old      a, b, c, …\n"
        );
        assert_eq!(cut(&whole, None), whole);
        assert_eq!(table([], rows), "etcd  old  a, b, c, d, e, f, g, h\n");
        assert_eq!(table([], Vec::<Vec<String>>::new()), "");
    }
}
