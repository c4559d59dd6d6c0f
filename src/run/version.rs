//! The version of the program, its licences, and its manual pages.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::bail;
use build_info::BuildInfo;
use commands::manual;
use flate2::read::GzDecoder;
use local_commands::args::SummaryFormat;

use super::output;
use crate::args::Args;

/// The licences of what it is made of, compressed by gzip; empty where they were not collected
/// before it was built.
const THIRD_PARTY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/third-party.txt.gz"));

/// Prints the version.
pub(super) fn version(format: SummaryFormat) -> anyhow::Result<ExitCode> {
    let build = BuildInfo::of_this_program();
    let printed = match format {
        SummaryFormat::Json => output::json(&mut io::stdout(), &build),
        SummaryFormat::Table => {
            let commit = build.commit.unwrap_or("unknown");
            writeln!(
                io::stdout(),
                "catalogql {}\ncommit {commit}\nplatform {}",
                build.version,
                build.platform
            )
        }
    };
    output::ignore_closed_pipe(printed)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the licences of the program and of what it is made of.
pub(super) fn licenses() -> anyhow::Result<ExitCode> {
    if THIRD_PARTY.is_empty() {
        bail!(
            "cannot print licences: this program was built without them; `make licenses` collects them for a build"
        );
    }
    let mut text = GzDecoder::new(THIRD_PARTY);
    output::ignore_closed_pipe(io::copy(&mut text, &mut io::stdout()).map(drop))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page of the program, or of this command, which may be one of another command:
/// `edit-add`.
pub(super) fn man(command: Option<&str>) -> ExitCode {
    match manual::print_page(Args::with_variables(), command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report().into(),
    }
}
