//! `catalogql render`: prints the blobs of bundles and catalogs as `opm render` does.

mod image;

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use edit::blob::{BlobKey, CatalogBlob};
use edit::bundle::{
    BundleFile, BundleFiles, MAX_FILE_BYTES, Migration, RenderedBundle, arrange, migrate,
};
use edit::{BlobValue, EditError, FileFormat};
use edit_directory::parallel::in_order;

use super::lines;
use super::output::{ignore_closed_pipe, stderr, warning};
use super::sources::SourceReference;
use crate::args::RenderArgs;

pub(super) use image::BundleImageRenderer;

/// Number of blobs that one thread writes as text at a time, typically some hundred kilobytes:
/// large enough for the hand-over to cost nothing, and small enough to be held for each thread.
const BLOBS_AT_ONCE: usize = 32;

/// A canonical line with the key that it is sorted by.
struct SortableLine<'l> {
    line: &'l str,
    key: BlobKey<'l>,
}

/// Options of the output.
#[derive(Clone, Copy)]
struct PrintOptions {
    format: FileFormat,
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
    let options = PrintOptions {
        format: args.output.into(),
        migration: args.migrate_level.migration(),
    };
    let mut images = BundleImageRenderer::new(&args.images.registries)?;
    let mut texts = Vec::new();
    for source in &args.sources {
        if is_bundle(Path::new(source)) {
            let image = args.image.as_deref().unwrap_or_default();
            let bundle = bundle(Path::new(source), image, options.migration)?;
            print_warnings(source, &bundle);
            texts.push(bundle.blob.to_json());
            continue;
        }
        let reference = SourceReference::parse(source, args.images.configs_dir.as_deref())?;
        let bundle = images.render(source, &reference.source, options.migration);
        match bundle.with_context(|| format!("cannot render `{source}`"))? {
            Some(bundle) => {
                print_warnings(source, &bundle);
                texts.push(bundle.blob.to_json());
            }
            None => texts.extend(lines::read(source, &args.images)?),
        }
    }
    options.print(&texts)?;
    Ok(ExitCode::SUCCESS)
}

/// Blobs cannot be printed.
#[derive(Debug, thiserror::Error)]
enum PrintError {
    /// A blob cannot be read.
    #[error(transparent)]
    Blob(#[from] EditError),
    /// Standard output cannot be written to.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl<'l> SortableLine<'l> {
    fn new(line: &'l str) -> Self {
        Self {
            key: BlobKey::from_line(line),
            line,
        }
    }
}

impl PrintOptions {
    /// Prints canonical lines in the order of their packages.
    fn print(self, texts: &[String]) -> anyhow::Result<()> {
        let mut lines = Vec::new();
        let collect = |read| {
            lines.extend(read);
            Ok::<_, PrintError>(())
        };
        in_order(
            texts,
            || (),
            |(), text| Ok(text.lines().map(SortableLine::new).collect::<Vec<_>>()),
            collect,
        )?;
        lines.sort_by(|a, b| a.key.compare(&b.key));

        let chunks: Vec<&[SortableLine<'_>]> = lines.chunks(BLOBS_AT_ONCE).collect();
        let mut out = io::stdout().lock();
        let write = |text: String| Ok(out.write_all(text.as_bytes())?);
        let printed = in_order(&chunks, || (), |(), lines| self.format_lines(lines), write)
            .and_then(|()| Ok(out.flush()?));
        match printed {
            Err(PrintError::Write(error)) => Ok(ignore_closed_pipe(Err(error))?),
            Err(error @ PrintError::Blob(_)) => Err(error.into()),
            Ok(()) => Ok(()),
        }
    }

    /// Formats blobs as text.
    fn format_lines(self, lines: &[SortableLine<'_>]) -> Result<String, PrintError> {
        let bytes: usize = lines.iter().map(|line| line.line.len()).sum();
        let mut text = String::with_capacity(2 * bytes);
        for line in lines {
            let value = arrange(CatalogBlob::from_line(0, line.line).value()?);
            self.format
                .write(&migrate_if_needed(value, self.migration), &mut text);
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

/// Replaces the manifests of a bundle, if the migration says so.
pub(super) fn migrate_if_needed(blob: BlobValue, migration: Migration) -> BlobValue {
    let is_bundle = blob.str("schema") == "olm.bundle";
    if is_bundle && migration == Migration::CsvMetadata {
        migrate(&blob)
    } else {
        blob
    }
}
