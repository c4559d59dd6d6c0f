//! `catalogql mirror catalog`: writes the catalog that has only what a configuration selects.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use commands::mirror::print_problems;
use commands::{CommandError, ExitStatus};
use edit::file::{self, ChangeError, SourceFile};
use edit::{CatalogBlob, CatalogBlobs, FileFormat};
use fbc::Catalog;
use fbc::work::Work;
use fbc_read::origin::FileOrigin;
use fbc_read::{Origins, Severity};
use images::{LayoutReference, LayoutSelector, PackedImage, Packer, RegistryReference};
use loading::Source;
use loading::directory;
use mirror::filtered::filtered_blobs;
use mirror::{CatalogSelection, MirrorRules, MirrorSet, select};
use tempfile::TempDir;

use super::{LoadedSource, Selection, as_values};
use crate::args::MirrorCatalogArgs;
use crate::run::output::{ignore_closed_pipe, stdout};
use crate::run::push::push_image;

/// A file to write.
pub(super) struct NewFile {
    path: String,
    bytes: Vec<u8>,
}

/// Target that a catalog is written to.
enum CatalogTarget {
    Directory(PathBuf),
    Layout(LayoutReference),
    Registry(RegistryReference),
}

impl CatalogTarget {
    /// Parses the value of `-o`.
    fn parse(text: &str) -> anyhow::Result<Self> {
        if let Some(reference) = text.strip_prefix("docker://") {
            return Ok(Self::Registry(RegistryReference::parse(reference)?));
        }
        if let Some(path) = text.strip_prefix("dir:") {
            return Ok(Self::Directory(path.into()));
        }
        let Some(layout) = text.strip_prefix("oci:") else {
            if is_like_an_image(text) {
                bail!(
                    "cannot write to `{text}`: write docker://{text} to push an image, or dir:{text} for a directory"
                );
            }
            return Ok(Self::Directory(text.into()));
        };
        let layout = LayoutReference::parse(layout, Path::new(""))?;
        if matches!(layout.selector(), LayoutSelector::Digest(_)) {
            bail!(
                "cannot write to `{text}`: an image gets the digest that it has: write oci:DIR[:NAME]"
            );
        }
        Ok(Self::Layout(layout))
    }

    /// Returns the folder to write to; `None` for a registry.
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Layout(layout) => Some(layout.path()),
            Self::Registry(_) => None,
        }
    }

    /// Writes the files of a valid catalog; prints the reference of an image.
    fn write(&self, files: &[NewFile], args: &MirrorCatalogArgs) -> anyhow::Result<()> {
        match self {
            Self::Directory(root) => replace_folder(root, |folder| {
                for file in files {
                    let path = folder.join(&file.path);
                    fs::create_dir_all(path.parent().unwrap_or(folder))?;
                    fs::write(&path, &file.bytes)?;
                }
                Ok(())
            }),
            Self::Layout(layout) => {
                let scratch = scratch()?;
                let image = pack(files, scratch.path())?;
                let name = match layout.selector() {
                    LayoutSelector::Name(name) => Some(&**name),
                    _ => None,
                };
                replace_folder(
                    layout.path(),
                    |folder| Ok(image.write_layout(folder, name)?),
                )?;
                let path = layout.path().display();
                print_reference(&format!("oci:{path}@{}", image.digest))
            }
            Self::Registry(reference) => {
                let scratch = scratch()?;
                let image = pack(files, scratch.path())?;
                let pinned = push_image(reference, &image, &args.selection.images.registries)?;
                print_reference(&pinned)
            }
        }
    }
}

/// Returns `true` for what names no directory, and has a registry and a tag or digest, as `push`
/// takes it.
fn is_like_an_image(text: &str) -> bool {
    let has_registry = begins_with_registry(text) || text.starts_with("localhost/");
    has_registry && !Path::new(text).exists() && RegistryReference::parse(text).is_ok()
}

/// Returns `true` if a text has a host with a domain or a port before its first slash.
pub(super) fn begins_with_registry(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(host, _)| host.contains(['.', ':']) && !host.starts_with('.'))
}

/// Creates a temporary folder.
pub(super) fn scratch() -> anyhow::Result<TempDir> {
    tempfile::tempdir().context("cannot create a temporary folder")
}

fn print_reference(reference: &str) -> anyhow::Result<()> {
    Ok(ignore_closed_pipe(writeln!(stdout(), "{reference}"))?)
}

/// Packs files into an image; its layer is in the folder `scratch`.
pub(super) fn pack(files: &[NewFile], scratch: &Path) -> anyhow::Result<PackedImage> {
    let mut packer = Packer::new(scratch)?;
    for file in files {
        packer.add(&file.path, file.bytes.len() as u64, &*file.bytes)?;
    }
    Ok(packer.finish()?)
}

/// Writes a folder that is there as a whole or not at all: in a sibling, which takes its place at
/// the end.
fn replace_folder(
    root: &Path,
    write: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let writing = || format!("cannot write to `{}`", root.display());
    let root = std::path::absolute(root).with_context(writing)?;
    let parent = root.parent().unwrap_or(&root);
    fs::create_dir_all(parent).with_context(writing)?;
    let sibling = tempfile::Builder::new()
        .prefix(".catalogql-")
        .tempdir_in(parent)
        .with_context(writing)?;
    // Of the usual mode, unlike the temporary folder.
    let folder = sibling.path().join("catalog");
    fs::create_dir(&folder).with_context(writing)?;
    write(&folder).with_context(writing)?;
    // An empty directory is replaced; one that was filled meanwhile is not.
    fs::rename(&folder, &root).with_context(writing)
}

/// Writes the selected part of a catalog. The exit status is 1 if it is refused.
pub(super) fn write(args: &MirrorCatalogArgs) -> anyhow::Result<ExitCode> {
    let target = CatalogTarget::parse(&args.output)?;
    if let Some(root) = target.folder() {
        let writing = || format!("cannot write to `{}`", root.display());
        let is_empty = !root.exists()
            || root.is_dir() && fs::read_dir(root).with_context(writing)?.next().is_none();
        if !is_empty {
            bail!(
                "cannot write to `{}`: it must be empty, or not exist",
                root.display()
            );
        }
    }
    let selection = match Selection::load(&args.selection)? {
        Ok(selection) => selection,
        Err(problems) => {
            print_problems(&as_values(problems));
            return Ok(ExitCode::FAILURE);
        }
    };
    let ([item], [at]) = (&*selection.configuration.operators, &*selection.by_item) else {
        bail!(
            "cannot write several catalogs to one place: write a configuration with one item of `mirror.operators` for each"
        );
    };
    let source = &selection.sources[*at];
    let set = select_of(source, item);
    print_problems(&as_values(set.problems.clone()));
    if set.is_refused() {
        return Ok(ExitCode::FAILURE);
    }
    target.write(&selected_files(source, &set)?, args)?;
    Ok(ExitCode::SUCCESS)
}

/// Applies an item of a configuration to its catalog.
pub(super) fn select_of<'a>(source: &'a LoadedSource, item: &CatalogSelection) -> MirrorSet<'a> {
    select(
        &source.content.catalog,
        item,
        MirrorRules::Catalogql,
        &Work::unlimited(),
    )
    .expect("an account without limit stops nothing")
}

/// Returns the files of the catalog that has only what is selected, which is valid.
pub(super) fn selected_files(
    source: &LoadedSource,
    set: &MirrorSet<'_>,
) -> anyhow::Result<Vec<NewFile>> {
    let catalog = &*source.content.catalog;
    let blobs = filtered_blobs(catalog, &set.packages);
    let lines: Vec<Arc<str>> = content_lines(catalog)?;
    let stays = blobs.into_iter().map(|blob| {
        let line = blob
            .line
            .map_or_else(|| Arc::clone(&lines[blob.meta]), Arc::from);
        CatalogBlob::from_line(blob.meta, line)
    });
    let filtered = CatalogBlobs::new(stays.collect());
    let files = match &source.reference.source {
        Source::Directory(directory) => changed_files(source, directory, &filtered)?,
        Source::Image(_) | Source::Remote(_) => new_files(&filtered)?,
    };
    validate(&files)?;
    Ok(files)
}

fn content_lines(catalog: &Catalog) -> anyhow::Result<Vec<Arc<str>>> {
    let text = str::from_utf8(catalog.content())?;
    Ok(text.lines().map(Arc::from).collect())
}

/// Returns the files of a directory without the blobs that are not selected. Others keep their
/// bytes.
fn changed_files(
    source: &LoadedSource,
    root: &Path,
    filtered: &CatalogBlobs,
) -> anyhow::Result<Vec<NewFile>> {
    let listing = directory::list(root)?;
    let mut files = Vec::new();
    for file in listing.files() {
        let bytes = listing.read(file)?;
        files.push(NewFile {
            path: file.path.clone(),
            bytes,
        });
    }
    let read = files
        .iter()
        .map(|file| SourceFile::read(&file.path, &file.bytes));
    let read: Vec<_> = read.collect::<Result<_, _>>()?;
    if file::digest(&read) != source.content.digest {
        bail!(
            "cannot read `{}`: its files changed while they were read: try again",
            root.display()
        );
    }

    let bytes = |path: &str| {
        let file = files.iter().find(|file| file.path == path);
        file.map(|file| file.bytes.clone())
            .ok_or_else(|| ChangeError::Conflict(path.to_owned()))
    };
    let changes = file::changes(&read, &file::catalog(&read), filtered, bytes)?;
    let mut kept: Vec<_> = files
        .into_iter()
        .filter_map(
            |file| match changes.iter().find(|change| change.path == file.path) {
                None => Some(file),
                Some(change) => Some(NewFile {
                    path: file.path,
                    bytes: change.after.clone()?,
                }),
            },
        )
        .collect();
    // A file of which no blob is left may stay without any.
    kept.retain(|file| !file.bytes.trim_ascii().is_empty());
    Ok(kept)
}

/// Returns a file for each package of a catalog whose files are not at hand.
fn new_files(filtered: &CatalogBlobs) -> anyhow::Result<Vec<NewFile>> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for blob in filtered.blobs() {
        let path = file::path_of_package(&blob.package, FileFormat::Json)?;
        FileFormat::Json.write(&blob.value()?, texts.entry(path).or_default());
    }
    let files = texts.into_iter().map(|(path, text)| NewFile {
        path,
        bytes: text.into_bytes(),
    });
    Ok(files.collect())
}

/// Reads the files as a catalog; fails if `opm validate` would reject it.
fn validate(files: &[NewFile]) -> anyhow::Result<()> {
    let mut lines = String::new();
    let mut origins = Origins::default();
    for file in files {
        let read = SourceFile::read(&file.path, &file.bytes)?;
        for line in read.lines() {
            lines.push_str(line);
            lines.push('\n');
        }
        origins.files.push(FileOrigin {
            path: file.path.clone(),
            lines: vec![1; read.lines().len()],
            ..FileOrigin::default()
        });
    }
    let catalog = Catalog::build(lines.into_bytes().into(), &origins)?;
    let error = catalog
        .problems()
        .iter()
        .find(|problem| problem.severity() == Severity::Error);
    match error {
        None => Ok(()),
        Some(problem) => {
            let message = format!(
                "cannot write the catalog: it would not be valid: {}",
                problem.message
            );
            Err(CommandError::new(ExitStatus::Negative, message).into())
        }
    }
}
