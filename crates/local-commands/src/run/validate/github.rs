//! Problems as workflow commands of GitHub, which show them beside the lines of a pull request.

use std::io::{self, Write};

use super::Finding;

/// Prints a command for each problem. GitHub shows ten errors and ten warnings of a step.
pub(super) fn print(out: &mut impl Write, findings: &[Finding<'_>]) -> io::Result<()> {
    for finding in findings {
        write!(out, "::{} ", finding.level())?;
        if let Some(file) = &finding.file {
            write!(out, "file={},", property(file))?;
        }
        if let Some(line) = finding.line {
            write!(out, "line={line},")?;
        }
        writeln!(
            out,
            "title={}::{}",
            property(finding.code),
            data(&finding.text())
        )?;
    }
    Ok(())
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
