//! `catalogql mirror verify`: compares a mirror with what is selected.

use std::io::Write as _;
use std::process::ExitCode;

use images::copy::{ExpectedImage, MirrorCheck, MirrorState};
use indicatif::HumanBytes;

use super::catalog::scratch;
use super::set::{Destination, MirroredSet};
use crate::args::MirrorVerifyArgs;
use crate::run::once::runtime;
use crate::run::output::{ignore_closed_pipe, stderr, stdout, table, warning};
use crate::run::registries::RegistryAccess;

/// Prints the differences. The exit status is 1 if there are some.
pub(super) fn verify(args: &MirrorVerifyArgs) -> anyhow::Result<ExitCode> {
    let destination = Destination::parse(&args.destination)?;
    let Some(set) = MirroredSet::load(&args.selection, &destination)? else {
        return Ok(ExitCode::FAILURE);
    };
    let images = set.images.into_iter().map(|image| {
        let digest = image.source.digest();
        ExpectedImage { image, digest }
    });
    let catalogs = set.catalogs.into_iter().map(|catalog| ExpectedImage {
        image: catalog.image,
        digest: Some(catalog.packed.digest),
    });
    let expected: Vec<_> = images.chain(catalogs).collect();
    let registries = RegistryAccess::default().update(&args.selection.images.registries, true)?;
    let scratch = scratch()?;
    let check = runtime()?.block_on(registries.verify_copies(
        &expected,
        &destination.target(),
        destination.prefix(),
        scratch.path(),
    ))?;
    print_check(&check, expected.len())?;
    if check.findings.is_empty() {
        Ok(ExitCode::SUCCESS)
    } else {
        Ok(ExitCode::FAILURE)
    }
}

fn print_check(check: &MirrorCheck, images: usize) -> anyhow::Result<()> {
    if !check.findings.is_empty() {
        let rows = check.findings.iter().map(|finding| {
            let state = finding.state.as_str().to_owned();
            [state, finding.image.clone(), finding.detail.clone()]
        });
        let text = table(["STATE", "IMAGE", "DETAIL"], rows);
        ignore_closed_pipe(stdout().write_all(text.as_bytes()))?;
    }
    let count = |state: MirrorState| {
        let found = check.findings.iter().filter(|one| one.state == state);
        found.count()
    };
    let summary = format!(
        "{images} images, {} blobs ({}) read: {} missing, {} broken, {} extra\n",
        check.blobs,
        HumanBytes(check.bytes),
        count(MirrorState::Missing),
        count(MirrorState::Broken),
        count(MirrorState::Extra),
    );
    ignore_closed_pipe(stdout().write_all(summary.as_bytes()))?;
    if !check.lists_repositories {
        writeln!(
            stderr(),
            "{} only repositories of the set were compared: the registry does not list others, or --to has no path",
            warning()
        )?;
    }
    Ok(())
}
