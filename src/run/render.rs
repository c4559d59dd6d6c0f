//! `catalogql render`: prints the blobs of bundles and catalogs as `opm render` does.

mod image;

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use edit::Value;
use edit::bundle::{
    BundleFile, BundleFiles, MAX_FILE_BYTES, Migration, RenderedBundle, arranged, migrate,
};
use edit::format::Line;
use edit::meta::{Meta, Place};

use super::lines;
use super::output::{ignore_closed_pipe, stderr, warning};
use super::parallel::in_order;
use super::sources::SourceReference;
use crate::args::RenderArgs;

pub(super) use image::BundleImages;

/// Number of blobs that one thread writes as text at a time. They have some hundred kilobytes as a
/// rule.
const BLOBS_AT_ONCE: usize = 32;

/// A blob that is printed.
struct PrintedBlob<'l> {
    text: &'l str,
    /// Its members; `None` where its line must be parsed.
    line: Option<Line<'l>>,
    place: Place<'l>,
}

/// How blobs are printed.
#[derive(Clone, Copy)]
struct Printing {
    format: edit::Format,
    migration: Migration,
}

/// Prints the blobs of all sources, in the order of their packages.
pub(super) fn render(args: &RenderArgs) -> anyhow::Result<ExitCode> {
    let bundles = args
        .sources
        .iter()
        .filter(|source| is_bundle(Path::new(source)))
        .count();
    if args.image.is_some() && (bundles, args.sources.len()) != (1, 1) {
        bail!("cannot use --image: it is for one directory with `manifests` and `metadata`");
    }
    let printing = Printing {
        format: args.output.into(),
        migration: args.migrate_level.migration(),
    };
    let mut images = BundleImages::new(&args.images.registries)?;
    let mut texts = Vec::new();
    for source in &args.sources {
        if is_bundle(Path::new(source)) {
            let image = args.image.as_deref().unwrap_or_default();
            let bundle = bundle(Path::new(source), image, printing.migration)?;
            print_warnings(source, &bundle);
            texts.push(bundle.blob.to_json());
            continue;
        }
        let reference = SourceReference::parse(source, args.images.configs_dir.as_deref())?;
        let bundle = images.render(source, &reference.source, printing.migration);
        match bundle.with_context(|| format!("cannot render `{source}`"))? {
            Some(bundle) => {
                print_warnings(source, &bundle);
                texts.push(bundle.blob.to_json());
            }
            None => texts.extend(lines::read(source, &args.images)?),
        }
    }
    printing.print(&texts)?;
    Ok(ExitCode::SUCCESS)
}

impl<'l> PrintedBlob<'l> {
    fn read(text: &'l str) -> Self {
        let line = Line::new(text);
        Self {
            place: Place::of(text, line.as_ref()),
            text,
            line,
        }
    }
}

impl Printing {
    /// Prints canonical lines in the order of their packages.
    fn print(self, texts: &[String]) -> anyhow::Result<()> {
        let mut blobs = Vec::new();
        let collect = |read| {
            blobs.extend(read);
            Ok(())
        };
        in_order(
            texts,
            || (),
            |(), text| Ok(text.lines().map(PrintedBlob::read).collect::<Vec<_>>()),
            collect,
        )?;
        blobs.sort_by(|a, b| a.place.compare(&b.place));
        let blobs: Vec<&[PrintedBlob<'_>]> = blobs.chunks(BLOBS_AT_ONCE).collect();
        let mut out = io::stdout().lock();
        let write = |text: String| Ok(out.write_all(text.as_bytes())?);
        match in_order(&blobs, || (), |(), blobs| self.text(blobs), write)
            .map_err(anyhow::Error::downcast)
        {
            Err(Ok(error)) => Ok(ignore_closed_pipe(Err(error))?),
            Err(Err(error)) => Err(error),
            Ok(()) => Ok(ignore_closed_pipe(out.flush())?),
        }
    }

    /// Writes blobs as text.
    fn text(self, blobs: &[PrintedBlob<'_>]) -> anyhow::Result<String> {
        let mut text =
            String::with_capacity(2 * blobs.iter().map(|blob| blob.text.len()).sum::<usize>());
        let may_copy = self.format == edit::Format::Json && self.migration == Migration::None;
        for blob in blobs {
            if !may_copy || !blob.line.as_ref().is_some_and(|line| line.write(&mut text)) {
                let value = arranged(Meta::read(0, blob.text).value()?);
                self.format
                    .write(&migrated(value, self.migration), &mut text);
            }
        }
        Ok(text)
    }
}

/// Tells whether a directory is a bundle: it has `manifests` and `metadata`.
pub(super) fn is_bundle(directory: &Path) -> bool {
    ["manifests", "metadata"]
        .iter()
        .all(|folder| directory.join(folder).is_dir())
}

/// Renders a bundle directory.
pub(super) fn bundle(
    directory: &Path,
    image: &str,
    migration: Migration,
) -> anyhow::Result<RenderedBundle> {
    let named = || format!("cannot render bundle `{}`", directory.display());
    let files = |folder: &str| files(&directory.join(folder)).with_context(named);
    let files = BundleFiles {
        manifests: files("manifests")?,
        metadata: files("metadata")?,
    };
    edit::bundle::render(&files, image, migration).with_context(named)
}

/// Prints which files of a bundle were not read, on standard error.
pub(super) fn print_warnings(name: &str, rendered: &RenderedBundle) {
    for text in &rendered.warnings {
        // Nothing is left to do when this cannot be printed.
        let _ = writeln!(stderr(), "{} {name}: {text}", warning());
    }
}

/// Reads the files of a folder, without those of folders in it.
fn files(folder: &Path) -> anyhow::Result<Vec<BundleFile>> {
    let mut files = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot open `{}`", folder.display()))?
    {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
        if !path.is_file() {
            continue;
        }
        let reading = || format!("cannot read `{}`", path.display());
        let mut bytes = Vec::new();
        let file = fs::File::open(&path).with_context(reading)?;
        file.take(MAX_FILE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .with_context(reading)?;
        if bytes.len() > MAX_FILE_BYTES {
            bail!(
                "cannot read `{}`: it has more than {MAX_FILE_BYTES} bytes",
                path.display()
            );
        }
        files.push(BundleFile {
            name: name.to_string_lossy().into_owned(),
            bytes,
        });
    }
    Ok(files)
}

/// Replaces the manifests of a bundle, if that is asked for.
pub(super) fn migrated(blob: Value, migration: Migration) -> Value {
    let is_bundle = blob.str("schema") == "olm.bundle";
    if is_bundle && migration == Migration::CsvMetadata {
        migrate(&blob)
    } else {
        blob
    }
}
