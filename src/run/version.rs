//! The version of the program, its licences, and its manual pages.

use std::env::consts::{ARCH, OS};
use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::bail;
use commands::manual;
use flate2::read::GzDecoder;
use serde::Serialize;

use super::output;
use crate::args::{Args, COMMIT, SummaryFormat};

/// The licences of what it is made of, compressed by gzip; empty where they were not collected
/// before it was built.
const THIRD_PARTY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/third-party.txt.gz"));

/// Build information, as JSON.
#[derive(Serialize)]
pub(super) struct BuildInfo {
    pub(super) version: &'static str,
    /// In 12 hexadecimal digits; `None` if it is not known.
    pub(super) commit: Option<&'static str>,
    /// Operating system and architecture, as images name them, such as `linux/amd64`.
    pub(super) platform: String,
}

/// Returns what this program was built from and for.
pub(super) fn build_info() -> BuildInfo {
    let architecture = match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    BuildInfo {
        version: env!("CARGO_PKG_VERSION"),
        commit: Some(COMMIT).filter(|commit| !commit.is_empty()),
        platform: format!("{OS}/{architecture}"),
    }
}

/// Prints the version.
pub(super) fn version(format: SummaryFormat) -> anyhow::Result<ExitCode> {
    let build = build_info();
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
