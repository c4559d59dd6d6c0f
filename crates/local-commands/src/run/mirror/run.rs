//! `catalogql mirror run` and `mirror load`: copy a mirror set to a registry or an OCI layout.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::bail;
use images::copy::{
    CopiedBlobs, CopyFailure, CopyOrigin, CopyOutcome, CopyPlan, PlannedSize, layout_images,
};
use images::{LayoutReference, Registries};
use indicatif::HumanBytes;
use loading::LoadStep;
use mirror::PlannedImage;

use super::catalog::scratch;
use super::set::{Destination, MirroredCatalog, MirroredSet};
use crate::args::{MirrorLoadArgs, MirrorRunArgs};
use crate::run::once::runtime;
use crate::run::output::{error, ignore_closed_pipe, stderr, stdout, table};
use crate::run::registries::RegistryAccess;
use crate::run::terminal::Terminal;

/// A copy that a command makes.
struct CopyRun {
    registries: Registries,
    destination: Destination,
    origin: CopyOrigin,
    is_dry: bool,
    catalogs: Vec<MirroredCatalog>,
}

/// Copies what a configuration selects, with its catalogs.
pub(super) fn run(args: &MirrorRunArgs) -> anyhow::Result<ExitCode> {
    let destination = Destination::parse(&args.destination)?;
    let Some(set) = MirroredSet::load(&args.selection, &destination)? else {
        return Ok(ExitCode::FAILURE);
    };
    let registries = &args.selection.images.registries;
    let run = CopyRun {
        registries: RegistryAccess::default().update(registries, true)?,
        destination,
        origin: CopyOrigin::Registries,
        is_dry: args.dry_run,
        catalogs: set.catalogs,
    };
    runtime()?.block_on(run.copy(set.images))
}

/// Copies everything of a layout.
pub(super) fn load(args: &MirrorLoadArgs) -> anyhow::Result<ExitCode> {
    let destination = Destination::parse(&args.destination)?;
    let layout = args.layout.strip_prefix("oci:").unwrap_or(&args.layout);
    let layout = LayoutReference::parse(layout, Path::new(""))?;
    let images = layout_images(&layout)?.into_iter().map(|image| {
        let digest = image.digest().map(|digest| digest.to_string());
        PlannedImage {
            reference: image.to_string(),
            kind: "RELATED",
            by_tag: digest.is_none(),
            digest,
            used_by: Vec::new(),
        }
    });
    let images = destination.places(&images.collect::<Vec<_>>())?;
    if images.is_empty() {
        bail!("there is no image in `{}`", args.layout);
    }
    let run = CopyRun {
        registries: RegistryAccess::default().update(&args.registries, true)?,
        destination,
        origin: CopyOrigin::Layout(layout),
        is_dry: args.dry_run,
        catalogs: Vec::new(),
    };
    runtime()?.block_on(run.copy(images))
}

impl CopyRun {
    /// Prints the plan, copies, and prints what was done.
    async fn copy(self, images: Vec<images::copy::ImageToCopy>) -> anyhow::Result<ExitCode> {
        let (mut plan, failures) = self.registries.plan_copies(images, &self.origin).await?;
        let unreadable = failures.len();
        print_failures(failures)?;
        if unreadable > 0 {
            bail!("nothing was copied, because {unreadable} images cannot be read");
        }
        // The layers stay until they are copied.
        let mut folders = Vec::new();
        for catalog in self.catalogs {
            plan.add_packed(catalog.packed, catalog.image).await?;
            folders.push(catalog.folder);
        }
        ignore_closed_pipe(stdout().write_all(plan_text(&plan).as_bytes()))?;
        if self.is_dry {
            return Ok(ExitCode::SUCCESS);
        }

        let scratch = scratch()?;
        let target = self.destination.target();
        let progress = copy_progress(&plan);
        let outcome = plan
            .copy(&self.registries, &target, scratch.path(), progress)
            .await?;
        let mut text = outcome_text(&outcome);
        let is_complete = outcome.failures.is_empty();
        print_failures(outcome.failures)?;
        if matches!(self.destination, Destination::Registry(_)) {
            let catalogs = plan.targets().skip(plan.targets().count() - folders.len());
            for catalog in catalogs {
                let _ = writeln!(text, "{catalog}");
            }
        }
        ignore_closed_pipe(stdout().write_all(text.as_bytes()))?;
        if is_complete {
            Ok(ExitCode::SUCCESS)
        } else {
            Ok(ExitCode::FAILURE)
        }
    }
}

fn print_failures(failures: Vec<CopyFailure>) -> anyhow::Result<()> {
    for CopyFailure {
        image,
        error: cause,
    } in failures
    {
        let cause = anyhow::Error::from(cause);
        writeln!(stderr(), "{} `{image}`: {cause:#}", error())?;
    }
    Ok(())
}

/// Returns the images with their sizes. What several images share counts once in the last line.
fn plan_text(plan: &CopyPlan) -> String {
    let rows = plan.sizes().map(|size| {
        [
            size.image.clone(),
            size.manifests.to_string(),
            size.artifacts.to_string(),
            size.blobs.to_string(),
            HumanBytes(size.bytes).to_string(),
        ]
    });
    let header = ["IMAGE", "MANIFESTS", "ARTIFACTS", "BLOBS", "SIZE"];
    let PlannedSize {
        manifests,
        blobs,
        bytes,
        ..
    } = plan.total();
    let images = plan.targets().count();
    let size = HumanBytes(bytes);
    format!(
        "{}{images} images, {manifests} manifests, {blobs} blobs, {size}\n",
        table(header, rows)
    )
}

fn outcome_text(outcome: &CopyOutcome) -> String {
    let part = |blobs: CopiedBlobs| format!("{} ({})", blobs.blobs, HumanBytes(blobs.bytes));
    format!(
        "blobs copied: {}, mounted: {}, there already: {}; manifests written: {}\n",
        part(outcome.copied),
        part(outcome.mounted),
        part(outcome.present),
        outcome.manifests
    )
}

/// Returns a function that shows a bar for each registry.
fn copy_progress(plan: &CopyPlan) -> impl Fn(&str, u64) + Send + Sync + 'static {
    let terminal = Terminal::default();
    let totals = plan.bytes_by_registry();
    let done: Mutex<BTreeMap<String, u64>> = Mutex::default();
    move |registry, bytes| {
        let mut done = done.lock().expect("no holder of this lock panics");
        let sum = done.entry(registry.to_owned()).or_default();
        *sum += bytes;
        let total = totals.get(registry).copied().unwrap_or_default();
        terminal.progress(registry, LoadStep::Fetch, *sum, total);
        if *sum >= total {
            terminal.done(registry);
        }
    }
}
