//! What is printed for people: tables, and that of what is served.

use std::io::{self, Write};
use std::ops::Range;

use comfy_table::{CellAlignment, Table, presets};
use fbc::{Catalog, Severity};
use jiff::{SignedDuration, Timestamp};

use crate::load::{Content, Report};

/// The hexadecimal digits of a digest that tell contents apart for people.
const SHORT_DIGEST: usize = 12;

/// The columns of the table that hold counts.
const COUNTS: Range<usize> = 1..5;

/// How many problems of one severity a catalog has.
pub(super) fn count(catalog: &Catalog, severity: Severity) -> usize {
    catalog.problems().iter().filter(|problem| problem.severity() == severity).count()
}

/// A table without lines. Only the last column may hold colours, which count as letters.
pub(super) fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// Prints what is served, and what is not and why.
pub(super) fn served(out: &mut impl Write, reports: &[Report]) -> io::Result<()> {
    let mut reports: Vec<_> = reports.iter().collect();
    reports.sort_by(|one, other| one.name.cmp(&other.name));
    let header = ["CATALOG", "PACKAGES", "BUNDLES", "ERRORS", "WARNINGS", "CONTENT", "TOOK"];
    let rows = reports.iter().filter_map(|report| Some(row(report, report.content.as_ref()?)));
    let mut table = table(header, rows);
    for column in table.column_iter_mut().enumerate().filter(|(at, _)| COUNTS.contains(at)).map(|(_, column)| column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    if table.row_count() > 0 {
        writeln!(out, "{}", table.trim_fmt())?;
    }
    for report in &reports {
        let Some(error) = &report.error else { continue };
        match report.content.as_ref().map(|content| content.at) {
            Some(at) => writeln!(out, "{} is served as it was{}: {}", report.name, ago(at), error.chain())?,
            None => writeln!(out, "{} is not served: {}", report.name, error.chain())?,
        }
    }
    Ok(())
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
        format!("{:.1?}", report.took),
    ]
}

/// How long ago that was, to the second.
fn ago(at: Option<Timestamp>) -> String {
    let Some(at) = at else { return String::new() };
    let age = SignedDuration::from_secs(Timestamp::now().duration_since(at).as_secs());
    format!(" {age:#} ago")
}
