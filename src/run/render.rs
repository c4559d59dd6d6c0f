//! `catalogql render`: prints the blobs of bundles and catalogs as `opm render` does.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use edit::Value;
use edit::bundle::{BundleFile, BundleFiles, MAX_FILE_BYTES, Migration, RenderedBundle, migrate, with_manifests_last};
use edit::meta::{Meta, sort};

use super::once;
use super::output::{ignore_closed_pipe, warning};
use super::sources::SourceReference;
use crate::args::{ImageArgs, RenderArgs};

/// Prints the blobs of all sources, in the order of their packages.
pub(super) fn render(args: &RenderArgs) -> anyhow::Result<ExitCode> {
    let bundles = args.sources.iter().filter(|source| is_bundle(Path::new(source))).count();
    if args.image.is_some() && (bundles, args.sources.len()) != (1, 1) {
        bail!("cannot use --image: it is for one directory with `manifests` and `metadata`");
    }
    let migration = args.migrate_level.migration();
    let mut metas = Vec::new();
    for source in &args.sources {
        if is_bundle(Path::new(source)) {
            let image = args.image.as_deref().unwrap_or_default();
            let rendered = bundle(Path::new(source), image, migration)?;
            metas.push(Meta::of(metas.len(), &rendered.blob));
        } else {
            catalog(source, &args.images, &mut metas)?;
        }
    }
    sort(&mut metas);
    let (format, mut out, mut text) = (args.output.into(), io::stdout().lock(), String::new());
    for meta in &metas {
        text.clear();
        edit::Format::write(format, &migrated(with_manifests_last(meta.value()?), migration), &mut text);
        if let Err(error) = out.write_all(text.as_bytes()) {
            ignore_closed_pipe(Err(error))?;
            break;
        }
    }
    ignore_closed_pipe(out.flush())?;
    Ok(ExitCode::SUCCESS)
}

/// Tells whether a directory is a bundle: it has `manifests` and `metadata`.
pub(super) fn is_bundle(directory: &Path) -> bool {
    ["manifests", "metadata"].iter().all(|folder| directory.join(folder).is_dir())
}

/// Renders a bundle directory. Files that are not read are told on standard error.
pub(super) fn bundle(directory: &Path, image: &str, migration: Migration) -> anyhow::Result<RenderedBundle> {
    let named = || format!("cannot render bundle `{}`", directory.display());
    let files = |folder: &str| files(&directory.join(folder)).with_context(named);
    let files = BundleFiles { manifests: files("manifests")?, metadata: files("metadata")? };
    let rendered = edit::bundle::render(&files, image, migration).with_context(named)?;
    for text in &rendered.warnings {
        // Nothing is left to do when this cannot be printed.
        let _ = writeln!(io::stderr(), "{} {}: {text}", warning(), directory.display());
    }
    Ok(rendered)
}

/// Reads the files of a folder, without those of folders in it.
fn files(folder: &Path) -> anyhow::Result<Vec<BundleFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot open `{}`", folder.display()))? {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
        if !path.is_file() {
            continue;
        }
        let reading = || format!("cannot read `{}`", path.display());
        let mut bytes = Vec::new();
        let file = fs::File::open(&path).with_context(reading)?;
        file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).with_context(reading)?;
        if bytes.len() > MAX_FILE_BYTES {
            bail!("cannot read `{}`: it has more than {MAX_FILE_BYTES} bytes", path.display());
        }
        files.push(BundleFile { name: name.to_string_lossy().into_owned(), bytes });
    }
    Ok(files)
}

/// Replaces the manifests of a bundle, if that is asked for.
pub(super) fn migrated(blob: Value, migration: Migration) -> Value {
    let is_bundle = blob.str("schema") == "olm.bundle";
    if is_bundle && migration == Migration::CsvMetadata { migrate(&blob) } else { blob }
}

/// Reads the blobs of a catalog.
pub(super) fn catalog(source: &str, images: &ImageArgs, metas: &mut Vec<Meta>) -> anyhow::Result<()> {
    let reference = SourceReference::parse(source, images.configs_dir.as_deref())?;
    let content = once::load_one(&reference, images)?;
    let content = content.map_err(|error| anyhow::anyhow!("cannot render `{source}`: {}", error.chain()))?;
    let text = std::str::from_utf8(content.catalog.content())?;
    metas.extend(text.lines().zip(metas.len()..).map(|(line, id)| Meta::read(id, line)).collect::<Vec<_>>());
    Ok(())
}
