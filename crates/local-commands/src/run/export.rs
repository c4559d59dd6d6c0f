//! `catalogql export`: writes catalogs as tables, one content after another.

mod directory;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use commands::ExitStatus;
use export::ExportedContent;
use jiff::Timestamp;
use serving::Content;

use self::directory::{ExportDirectory, WrittenContent};
use super::output::{ignore_closed_pipe, stdout};
use super::sources::{self, CatalogEntry, with_name};
use super::{command_error, once};
use crate::args::{ExportArgs, ExportFormat};

/// Exports each catalog and prints what was written. A catalog that fails does not stop the others.
pub(super) fn export(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let ExportFormat::Parquet = args.format;
    if args.to.to_string_lossy().contains("://") {
        bail!(
            "cannot export to `{0}`: `--to` names a directory: export to one, and copy it with the tools of the object store",
            args.to.display()
        );
    }
    let named: Vec<String> = args
        .sources
        .iter()
        .map(|source| with_name(source))
        .collect();
    let entries = sources::catalogs(&named, None, args.images.configs_dir.as_deref())?;
    let directory = ExportDirectory::open(&args.to)?;
    let mut status = ExitStatus::Success;
    for entry in &entries {
        match export_catalog(entry, &directory, args) {
            Ok(line) => ignore_closed_pipe(writeln!(stdout(), "{line}"))?,
            Err(failure) => {
                status = command_error(&failure, ExitStatus::Usage).report();
            }
        }
    }
    Ok(status.into())
}

/// Exports the current content of a catalog. Returns the line to print.
fn export_catalog(
    entry: &CatalogEntry,
    directory: &ExportDirectory,
    args: &ExportArgs,
) -> anyhow::Result<String> {
    let name = entry.name.as_str();
    let loaded = once::load(&[(name, &entry.reference)], &args.images)?.remove(0);
    let Content {
        catalog,
        digest,
        image,
        ..
    } = loaded
        .map_err(|failure| anyhow!("cannot load the catalog `{name}`: {}", failure.chain()))?
        .content;
    if directory.has(name, &digest) {
        return Ok(format!("{name} {digest}: unchanged"));
    }
    let content = ExportedContent {
        catalog: &catalog,
        digest,
        image: image.as_deref(),
        exported_at: Timestamp::now(),
    };
    let WrittenContent { files, bytes } = directory
        .write(name, &content)
        .with_context(|| format!("cannot export the catalog `{name}`"))?;
    Ok(format!(
        "{name} {digest}: {} packages and {} bundles in {files} files, {bytes} bytes",
        catalog.packages().len(),
        catalog.bundles().len(),
    ))
}
