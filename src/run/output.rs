//! Output for people: the table of served catalogs, and where a server listens.

use std::io::{self, Write};
use std::ops::Range;

use fbc_read::Severity;
use loading::{Report, SyncStatus};
use pages::Pages;
use printing::counted_table;
pub(super) use printing::{ignore_closed_pipe, json, stdout};
use serving::Content;

/// Number of hexadecimal digits of a digest that people need to tell contents apart.
const SHORT_DIGEST: usize = 12;

/// Columns of the table of served catalogs that hold counts.
const COUNTS: Range<usize> = 1..5;

/// Prints the catalogs that are served, and those that are not with their errors, in the order of
/// the reports.
pub(super) fn served<'a>(
    out: &mut impl Write,
    reports: impl Iterator<Item = &'a Report> + Clone,
) -> io::Result<()> {
    let header = [
        "CATALOG", "PACKAGES", "BUNDLES", "ERRORS", "WARNINGS", "CONTENT", "TOOK",
    ];
    let rows = reports
        .clone()
        .filter_map(|report| Some(row(report, report.content.as_ref()?)));
    if reports.clone().any(|report| report.content.is_some()) {
        write!(out, "{}", counted_table(header, rows, COUNTS))?;
    }
    let has_problems = |content: &Content| {
        let counts = &content.catalog.all_problems().counts;
        [Severity::Error, Severity::Warning]
            .iter()
            .any(|severity| counts.of_severity(*severity) > 0)
    };
    if reports
        .clone()
        .any(|report| report.content.as_ref().is_some_and(has_problems))
    {
        writeln!(
            out,
            "`catalogql validate` lists the errors and warnings of a catalog"
        )?;
    }
    for report in reports.clone() {
        if let Some(image) = report
            .content
            .as_ref()
            .and_then(|content| content.image.as_ref())
        {
            writeln!(out, "{} is {image}", report.name)?;
        }
    }
    for report in reports {
        let name = &report.name;
        let read = report.age().map(|age| format!(", read {age:#} ago"));
        match &report.status {
            SyncStatus::Synced => {}
            SyncStatus::Pending => {
                writeln!(
                    out,
                    "{name} serves its stored content{} until its source answers",
                    read.unwrap_or_default()
                )?;
            }
            SyncStatus::Failed(error) => match read {
                Some(read) => writeln!(
                    out,
                    "{name} serves its former content{read}: {}",
                    error.chain()
                )?,
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
    let problems = &catalog.all_problems().counts;
    [
        report.name.to_string(),
        catalog.packages().len().to_string(),
        catalog.bundles().len().to_string(),
        problems.of_severity(Severity::Error).to_string(),
        problems.of_severity(Severity::Warning).to_string(),
        content.digest.hex()[..SHORT_DIGEST].to_owned(),
        format!("{:.1?}", report.duration),
    ]
}
