//! `catalogql sbom images`: the images of bundles as a `CycloneDX` document.

mod cyclonedx;
mod selection;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::anyhow;
use commands::ExitStatus;

use self::selection::BundleSelection;
use super::once;
use super::output::{ignore_closed_pipe, stdout};
use super::sources::{SourceReference, check_configs_dir};
use crate::args::{SbomCommand, SbomImagesArgs};

/// Runs a command of `sbom`.
pub(super) fn sbom(command: &SbomCommand) -> anyhow::Result<ExitCode> {
    match command {
        SbomCommand::Images(args) => images(args),
    }
}

fn images(args: &SbomImagesArgs) -> anyhow::Result<ExitCode> {
    let configs_dir = args.images.configs_dir.as_deref();
    check_configs_dir(std::slice::from_ref(&args.source), configs_dir)?;
    let source = SourceReference::parse(&args.source, configs_dir)?;
    let content = once::load_one(&source, &args.images)?
        .map_err(|error| anyhow!("cannot load `{}`: {}", args.source, error.chain()))?;
    let selection = BundleSelection {
        packages: &args.packages,
        channel: args.channel.as_deref(),
        only_heads: !args.all,
    };
    let bundles = selection.bundles(&content.catalog)?;
    let document = cyclonedx::document(&args.source, &content, &bundles);
    let json = serde_json::to_string_pretty(&document)?;
    ignore_closed_pipe(writeln!(stdout(), "{json}"))?;
    Ok(ExitStatus::Success.into())
}
