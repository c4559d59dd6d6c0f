//! `catalogql render`: prints the blobs of bundles and catalogs as `opm render` does.

mod image;

use std::fs;
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Blobs as they are printed.
#[derive(Default)]
struct Printed {
    text: String,
    /// Places of the blobs in their catalog, and in the text.
    blobs: Vec<(Place<'static>, Range<usize>)>,
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
    let mut printed = Vec::new();
    for source in &args.sources {
        if is_bundle(Path::new(source)) {
            let image = args.image.as_deref().unwrap_or_default();
            let bundle = bundle(Path::new(source), image, printing.migration)?;
            printed.push(printing.printed(&bundle.blob.to_json())?);
            continue;
        }
        let reference = SourceReference::parse(source, args.images.configs_dir.as_deref())?;
        match image::bundle(source, &reference.source, &args.images, printing.migration)? {
            Some(bundle) => printed.push(printing.printed(&bundle.blob.to_json())?),
            None => printed.extend(lines(source, &args.images, |lines| printing.printed(lines))?),
        }
    }
    print(&printed)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints blobs in the order of their packages.
fn print(printed: &[Printed]) -> io::Result<()> {
    let all = printed
        .iter()
        .flat_map(|Printed { text, blobs }| blobs.iter().map(move |(place, at)| (place, &text[at.clone()])));
    let mut all: Vec<(&Place<'_>, &str)> = all.collect();
    all.sort_by(|(a, _), (b, _)| a.compare(b));
    let mut out = io::stdout().lock();
    let written = all.iter().try_for_each(|(_, text)| out.write_all(text.as_bytes()));
    ignore_closed_pipe(written.and_then(|()| out.flush()))
}

impl Printing {
    /// Prints canonical lines.
    fn printed(self, lines: &str) -> anyhow::Result<Printed> {
        let mut printed = Printed { text: String::with_capacity(2 * lines.len()), blobs: Vec::new() };
        let may_copy = self.format == edit::Format::Json && self.migration == Migration::None;
        for text in lines.lines() {
            let (line, start) = (Line::new(text), printed.text.len());
            if !may_copy || !line.as_ref().is_some_and(|line| line.write(&mut printed.text)) {
                let value = arranged(Meta::read(0, text).value()?);
                self.format.write(&migrated(value, self.migration), &mut printed.text);
            }
            let place = Place::of(text, line.as_ref()).into_owned();
            printed.blobs.push((place, start..printed.text.len()));
        }
        Ok(printed)
    }
}

/// Applies a function to items on the threads of this machine, and returns the results in the order of the items. Threads
/// take items one by one, because some are much larger than others.
fn in_parallel<I: Copy + Sync, O: Send>(
    items: &[I],
    work: impl Fn(I) -> anyhow::Result<O> + Sync,
) -> anyhow::Result<Vec<O>> {
    let next = AtomicUsize::new(0);
    let take = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        items.get(at).map(|item| (at, work(*item)))
    };
    let mut done: Vec<(usize, anyhow::Result<O>)> = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| std::iter::from_fn(take).collect::<Vec<_>>())).collect();
        let done = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.flatten().collect()
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
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
    for text in lines(source, images, |lines| Ok(lines.to_owned()))? {
        let first = metas.len();
        metas.extend(text.lines().zip(first..).map(|(line, id)| Meta::read(id, line)));
    }
    Ok(())
}

/// Applies a function to the canonical lines of a catalog, or to those of each of its files. Those of a directory need no
/// index.
fn lines<O: Send>(
    source: &str,
    images: &ImageArgs,
    work: impl Fn(&str) -> anyhow::Result<O> + Sync,
) -> anyhow::Result<Vec<O>> {
    let failed = || format!("cannot render `{source}`");
    let reference = SourceReference::parse(source, images.configs_dir.as_deref())?;
    if let Source::Directory(root) = &reference.source {
        return directory_lines(root, work).with_context(failed);
    }
    let content = once::load_one(&reference, images)?;
    let content = content.map_err(|error| anyhow::anyhow!("{}: {}", failed(), error.chain()))?;
    Ok(vec![work(std::str::from_utf8(content.catalog.content())?)?])
}

fn directory_lines<O: Send>(root: &Path, work: impl Fn(&str) -> anyhow::Result<O> + Sync) -> anyhow::Result<Vec<O>> {
    let listing = directory::list(root)?;
    let files: Vec<&ListedFile> = listing.files().iter().collect();
    let read = |file: &ListedFile| work(&canonical(&file.path, &command::read_file(&listing, file)?)?);
    let done = in_parallel(&files, read);
    if directory::list(root)?.revision() != listing.revision() {
        bail!("its files changed while they were read: try again");
    }
    done
}
