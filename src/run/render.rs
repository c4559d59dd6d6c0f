//! `catalogql render`: prints the blobs of bundles and catalogs as `opm render` does.

mod image;

use std::fs;
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use edit::Value;
use edit::bundle::{BundleFile, BundleFiles, MAX_FILE_BYTES, Migration, RenderedBundle, arranged, migrate};
use edit::file::canonical;
use edit::format::Line;
use edit::meta::{Meta, Place};
use loading::Source;
use loading::directory::{self, ListedFile};

use super::output::{ignore_closed_pipe, warning};
use super::sources::SourceReference;
use super::{edit as command, once};
use crate::args::{ImageArgs, RenderArgs};

/// Number of blobs that a thread writes before their text is printed.
const BLOBS_OF_THREAD: usize = 64;

/// A blob as it was read.
struct Blob<'t> {
    text: &'t str,
    /// Its members, where its text can be printed by copying it.
    line: Option<Line<'t>>,
    place: Place<'t>,
}

/// How blobs are printed.
#[derive(Clone, Copy)]
struct Printing {
    format: edit::Format,
    migration: Migration,
}

/// Prints the blobs of all sources, in the order of their packages.
pub(super) fn render(args: &RenderArgs) -> anyhow::Result<ExitCode> {
    let bundles = args.sources.iter().filter(|source| is_bundle(Path::new(source))).count();
    if args.image.is_some() && (bundles, args.sources.len()) != (1, 1) {
        bail!("cannot use --image: it is for one directory with `manifests` and `metadata`");
    }
    let printing = Printing { format: args.output.into(), migration: args.migrate_level.migration() };
    let mut texts = Vec::new();
    for source in &args.sources {
        if is_bundle(Path::new(source)) {
            let image = args.image.as_deref().unwrap_or_default();
            texts.push(bundle(Path::new(source), image, printing.migration)?.blob.to_json());
            continue;
        }
        let reference = SourceReference::parse(source, args.images.configs_dir.as_deref())?;
        match image::bundle(source, &reference.source, &args.images, printing.migration)? {
            Some(bundle) => texts.push(bundle.blob.to_json()),
            None => texts.extend(lines(source, &args.images)?),
        }
    }
    let all: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    let mut blobs: Vec<Blob<'_>> = in_parallel(&all, all.len(), |text| Ok(Blob::new(text)))?;
    blobs.sort_by(|a, b| a.place.compare(&b.place));
    print(&blobs, printing)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints blobs, as many at a time as the threads of this machine write.
fn print(blobs: &[Blob<'_>], printing: Printing) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    for blobs in blobs.chunks(BLOBS_OF_THREAD * threads()) {
        let parts: Vec<&[Blob<'_>]> = blobs.chunks(BLOBS_OF_THREAD).collect();
        for text in in_parallel(&parts, parts.len(), |blobs| printing.text(blobs))? {
            if let Err(error) = out.write_all(text.as_bytes()) {
                return Ok(ignore_closed_pipe(Err(error))?);
            }
        }
    }
    Ok(ignore_closed_pipe(out.flush())?)
}

impl<'t> Blob<'t> {
    fn new(text: &'t str) -> Self {
        let line = Line::new(text);
        Self { place: Place::of(text, line.as_ref()), line, text }
    }
}

impl Printing {
    fn text(self, blobs: &[Blob<'_>]) -> anyhow::Result<String> {
        let mut text = String::with_capacity(2 * blobs.iter().map(|blob| blob.text.len()).sum::<usize>());
        let may_copy = self.format == edit::Format::Json && self.migration == Migration::None;
        for blob in blobs {
            if !may_copy || !blob.line.as_ref().is_some_and(|line| line.write(&mut text)) {
                let value = arranged(Meta::read(0, blob.text).value()?);
                self.format.write(&migrated(value, self.migration), &mut text);
            }
        }
        Ok(text)
    }
}

/// Applies a function to items on the threads of this machine, and returns the results in the order of the items.
fn in_parallel<'i, I: Copy + Sync + 'i, O: Send>(
    items: &'i [I],
    count: usize,
    work: impl Fn(I) -> anyhow::Result<O> + Sync,
) -> anyhow::Result<Vec<O>> {
    let work = |items: &[I]| items.iter().map(|item| work(*item)).collect::<anyhow::Result<Vec<O>>>();
    let work = &work;
    std::thread::scope(|scope| {
        let parts = items.chunks(count.div_ceil(threads()).max(1)).map(|part| scope.spawn(move || work(part)));
        let parts: Vec<_> = parts.collect();
        let mut all = Vec::with_capacity(count);
        for part in parts {
            all.extend(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(all)
    })
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
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
    for text in lines(source, images)? {
        let first = metas.len();
        metas.extend(text.lines().zip(first..).map(|(line, id)| Meta::read(id, line)));
    }
    Ok(())
}

/// Reads the canonical lines of a catalog. Those of a directory need no index.
fn lines(source: &str, images: &ImageArgs) -> anyhow::Result<Vec<String>> {
    let failed = || format!("cannot render `{source}`");
    let reference = SourceReference::parse(source, images.configs_dir.as_deref())?;
    if let Source::Directory(root) = &reference.source {
        return directory_lines(root).with_context(failed);
    }
    let content = once::load_one(&reference, images)?;
    let content = content.map_err(|error| anyhow::anyhow!("{}: {}", failed(), error.chain()))?;
    Ok(vec![std::str::from_utf8(content.catalog.content())?.to_owned()])
}

fn directory_lines(root: &Path) -> anyhow::Result<Vec<String>> {
    let listing = directory::list(root)?;
    let files: Vec<&ListedFile> = listing.files().iter().collect();
    let read = |file: &ListedFile| Ok(canonical(&file.path, &command::read_file(&listing, file)?)?);
    let texts = in_parallel(&files, files.len(), read);
    if directory::list(root)?.revision() != listing.revision() {
        bail!("its files changed while they were read: try again");
    }
    texts
}
