//! `catalogql mirror catalog`: writes the catalog that has only what a configuration selects.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use edit::file::{self, ChangeError, SourceFile};
use edit::{CatalogBlob, CatalogBlobs, FileFormat};
use fbc::Catalog;
use fbc::work::Work;
use fbc_read::origin::FileOrigin;
use fbc_read::{Origins, Severity};
use loading::Source;
use loading::directory;
use mirror::filtered::filtered_blobs;
use mirror::plan::PlannedProblem;
use mirror::{MirrorRules, select};

use super::{LoadedSource, Selection, print_problems};
use crate::args::MirrorCatalogArgs;

/// A file to write.
struct NewFile {
    path: String,
    bytes: Vec<u8>,
}

/// Writes the selected part of a catalog. The exit status is 1 if the configuration is refused.
pub(super) fn write(args: &MirrorCatalogArgs) -> anyhow::Result<ExitCode> {
    let root = &args.output;
    let writing = || format!("cannot write to `{}`", root.display());
    if root.is_dir() && fs::read_dir(root).with_context(writing)?.next().is_some() {
        bail!("cannot write to `{}`: it must be empty", root.display());
    }
    let selection = match Selection::load(&args.selection)? {
        Ok(selection) => selection,
        Err(problems) => {
            print_problems(problems.into_iter().map(PlannedProblem::from));
            return Ok(ExitCode::FAILURE);
        }
    };
    let ([item], [at]) = (&*selection.configuration.operators, &*selection.by_item) else {
        bail!(
            "cannot write several catalogs to one directory: write a configuration with one item of `mirror.operators` for each"
        );
    };
    let source = &selection.sources[*at];
    let catalog = &*source.content.catalog;
    let set = select(catalog, item, MirrorRules::Catalogql, &Work::unlimited())
        .expect("an account without limit stops nothing");
    let is_refused = set.is_refused();
    print_problems(set.problems.into_iter().map(PlannedProblem::from));
    if is_refused {
        return Ok(ExitCode::FAILURE);
    }

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
        Source::Image(_) => new_files(&filtered)?,
    };
    validate(&files)?;
    for file in files {
        let path = root.join(&file.path);
        fs::create_dir_all(path.parent().unwrap_or(root)).with_context(writing)?;
        fs::write(&path, &file.bytes)
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
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
        Some(problem) => bail!(
            "cannot write the catalog: it would not be valid: {}",
            problem.message
        ),
    }
}
