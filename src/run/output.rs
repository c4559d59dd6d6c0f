//! Output for people: tables, the table of served catalogs, and output whose reader went away.

use std::io::{self, Write};
use std::ops::Range;

use comfy_table::{CellAlignment, Row, Table, presets};
use console::{StyledObject, Term, style, truncate_str};
use fbc::{Catalog, Severity};
use loading::{Report, SyncStatus};
use pages::Pages;
use serde::Serialize;
use serving::Content;

/// Number of hexadecimal digits of a digest that people need to tell contents apart.
const SHORT_DIGEST: usize = 12;

/// Columns of the table of served catalogs that hold counts.
const COUNTS: Range<usize> = 1..5;

/// Turns the error of a reader that closed our output early, as `head` does, into success: what was asked for was
/// computed all the same, and the exit status says how it went.
pub(super) fn ignore_closed_pipe(printed: io::Result<()>) -> io::Result<()> {
    printed.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

/// The word before an error on the standard error output.
pub(super) fn error() -> StyledObject<&'static str> {
    style("error:").for_stderr().red().bold()
}

/// The word before a warning on the standard error output.
pub(super) fn warning() -> StyledObject<&'static str> {
    style("warning:").for_stderr().yellow().bold()
}

/// Prints a value as JSON on several lines.
pub(super) fn json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    // The conversion of the error keeps its kind, by which a closed pipe is known.
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// Returns JSON text on several lines, its members in the order in which they are.
pub(super) fn indented(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut is_escaped) = (0, false, false);
    let mut rest = json.iter().copied().filter(|byte| !byte.is_ascii_control()).peekable();
    while let Some(byte) = rest.next() {
        if in_text {
            in_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            out.push(byte);
            continue;
        }
        if matches!(byte, b'}' | b']') {
            depth -= 1;
            new_line(&mut out, depth);
        }
        out.push(byte);
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => {
                if let Some(end) = rest.next_if(|next| matches!(next, b'}' | b']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            b',' => new_line(&mut out, depth),
            b':' => out.push(b' '),
            _ => {}
        }
    }
    out.push(b'\n');
    out
}

fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * depth));
}

/// Counts the problems of one severity in a catalog, listed or not.
pub(super) fn count(catalog: &Catalog, severity: Severity) -> u64 {
    catalog.all_problems().counts.of_severity(severity)
}

/// Returns a table without lines, whose columns are in the order of their weight: on a terminal, what does not fit is cut
/// off at the end of each line. Only the last column may hold colours, whose escape sequences count as letters.
pub(super) fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    counted_table(header, rows, 0..0)
}

/// Returns such a table in which some columns hold counts, which are aligned to the right.
fn counted_table<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    counts: Range<usize>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    table.add_rows(rows.into_iter().map(|cells| {
        let mut row = Row::from(cells);
        row.max_height(1);
        row
    }));
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if counts.contains(&at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let stdout = Term::stdout();
    let width = stdout.size_checked().filter(|_| stdout.is_term()).map(|(_, width)| width);
    cut(&(table.trim_fmt() + "\n"), width)
}

/// Cuts each line to this width in letters, if it is given.
fn cut(lines: &str, width: Option<u16>) -> String {
    let Some(width) = width else { return lines.to_owned() };
    lines.lines().flat_map(|line| [truncate_str(line, width.into(), "…"), "\n".into()]).collect()
}

/// Prints the catalogs that are served, and those that are not with their errors, in the order of the reports.
pub(super) fn served<'a>(out: &mut impl Write, reports: impl Iterator<Item = &'a Report> + Clone) -> io::Result<()> {
    let header = ["CATALOG", "PACKAGES", "BUNDLES", "ERRORS", "WARNINGS", "CONTENT", "TOOK"];
    let rows = reports.clone().filter_map(|report| Some(row(report, report.content.as_ref()?)));
    if reports.clone().any(|report| report.content.is_some()) {
        write!(out, "{}", counted_table(header, rows, COUNTS))?;
    }
    let has_problems = |content: &Content| {
        let counts = &content.catalog.all_problems().counts;
        [Severity::Error, Severity::Warning].iter().any(|severity| counts.of_severity(*severity) > 0)
    };
    if reports.clone().any(|report| report.content.as_ref().is_some_and(has_problems)) {
        writeln!(out, "`catalogql validate` lists the errors and warnings of a catalog")?;
    }
    for report in reports.clone() {
        if let Some(image) = report.content.as_ref().and_then(|content| content.image.as_ref()) {
            writeln!(out, "{} is {image}", report.name)?;
        }
    }
    for report in reports {
        let (name, read) = (&report.name, report.age().map(|age| format!(", read {age:#} ago")));
        match &report.status {
            SyncStatus::Synced => {}
            SyncStatus::Pending => {
                writeln!(out, "{name} serves its stored content{} until its source answers", read.unwrap_or_default())?;
            }
            SyncStatus::Failed(error) => match read {
                Some(read) => writeln!(out, "{name} serves its former content{read}: {}", error.chain())?,
                None => writeln!(out, "{name} is not served: {}", error.chain())?,
            },
        }
    }
    Ok(())
}

/// Prints where a server listens, and where its pages are.
pub(super) fn listening(out: &mut impl Write, url: &str, pages: Pages) -> io::Result<()> {
    writeln!(out, "Listening on {url}/graphql")?;
    if pages.has_explorer() {
        writeln!(out, "Explorer at {url}/")?;
    }
    if pages.has_playground() {
        writeln!(out, "Playground at {url}/playground/")?;
    }
    out.flush()
}

fn row(report: &Report, content: &Content) -> [String; 7] {
    let catalog = &content.catalog;
    [
        report.name.to_string(),
        catalog.packages().len().to_string(),
        catalog.bundles().len().to_string(),
        count(catalog, Severity::Error).to_string(),
        count(catalog, Severity::Warning).to_string(),
        content.digest.hex()[..SHORT_DIGEST].to_owned(),
        format!("{:.1?}", report.duration),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_too_wide_are_cut_at_their_end() {
        let rows = [["etcd".to_owned(), "old".to_owned(), "a, b, c, d, e, f, g, h".to_owned()]];
        let whole = table(["NAME", "CATALOG", "CHANNELS"], rows);
        assert_eq!(whole, "NAME  CATALOG  CHANNELS\netcd  old      a, b, c, d, e, f, g, h\n");
        assert_eq!(cut(&whole, Some(25)), "NAME  CATALOG  CHANNELS\netcd  old      a, b, c, …\n");
        assert_eq!(cut(&whole, None), whole);
    }
}
