//! Files of a catalog by their blobs, and their changes when the catalog is edited. Blobs that do
//! not change keep their bytes.

mod layout;

use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use content_digest::DigestHasher;
use fbc_grammar::Digest;
use fbc_grammar::ignore::compare_paths;
use fbc_read::{FileReader, ReadError, ReadEvent, ReadLimits};

use crate::blob::CatalogBlob;
use crate::catalog::CatalogBlobs;
use crate::format::FileFormat;
use crate::value::{BlobValue, MAX_DEPTH};

use layout::FileLayout;

/// A file of a catalog by its blobs. Its bytes are not held: those of the few files that change are
/// read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    path: String,
    /// Canonical lines of its blobs.
    lines: Vec<Arc<str>>,
}

/// Reads files one after the other with the same buffers.
#[derive(Debug)]
pub struct LineReader(FileReader);

/// A file does not parse.
#[derive(Debug, thiserror::Error)]
#[error("{path}:{}: {}", error.line, error.kind)]
pub struct FileError {
    /// Path from the root of the catalog.
    pub path: String,
    /// The error, and the line of the file that has it.
    pub error: ReadError,
}

/// A file that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Path from the root of the catalog, with `/` between its parts.
    pub path: String,
    /// Its bytes before; `None` for a new file.
    pub before: Option<Vec<u8>>,
    /// Its bytes afterwards; `None` for a file that is removed.
    pub after: Option<Vec<u8>>,
}

/// Files cannot be changed to those of an edited catalog.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The name of a package cannot name the folder of its file.
    #[error(transparent)]
    PackageName(#[from] PackageNameError),
    /// A file has other blobs than when it was read first.
    #[error("cannot edit `{0}`: it was changed meanwhile: try again")]
    Conflict(String),
}

/// The name of a package cannot name the folder of its file.
#[derive(Debug, thiserror::Error)]
#[error("invalid package name {0:?}: must be a single local path element")]
pub struct PackageNameError(String);

impl Default for LineReader {
    fn default() -> Self {
        Self(FileReader::new(ReadLimits {
            // Deeper blobs could be read, but not edited.
            depth: MAX_DEPTH,
            ..ReadLimits::default()
        }))
    }
}

impl LineReader {
    /// Reads a file. `input` writes the next bytes of the file to a buffer and returns their
    /// number, 0 at the end; `each` is passed the canonical line of each blob, without its line
    /// feed, and the line of the file on which it begins.
    pub fn read<E: From<FileError>>(
        &mut self,
        path: &str,
        mut input: impl FnMut(&mut [u8]) -> Result<usize, E>,
        mut each: impl FnMut(&str, u32),
    ) -> Result<(), E> {
        let reader = &mut self.0;
        reader.restart();
        loop {
            match reader.next().map_err(|error| FileError {
                path: path.to_owned(),
                error,
            })? {
                ReadEvent::Blob(blob) => {
                    let line = blob.line.trim_ascii_end();
                    // The reader writes valid text. `from_utf8_lossy` would take a seventh of the
                    // time of `render`.
                    let text = str::from_utf8(line)
                        .map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
                    each(&text, blob.at);
                }
                ReadEvent::Notice(_) => {}
                ReadEvent::NeedInput => {
                    let length = input(reader.room())?;
                    reader.filled(length);
                }
                ReadEvent::End => return Ok(()),
            }
        }
    }
}

impl SourceFile {
    /// Creates a file of its canonical lines, which have no line feeds. Its path is from the root
    /// of the catalog, with `/` between its parts.
    pub fn new(path: &str, lines: Vec<Arc<str>>) -> Self {
        Self {
            path: path.to_owned(),
            lines,
        }
    }

    /// Reads a file from its bytes.
    pub fn read(path: &str, bytes: &[u8]) -> Result<Self, FileError> {
        Self::read_with_positions(path, bytes).map(|(file, _)| file)
    }

    /// Reads a file, and finds the lines on which its blobs begin.
    fn read_with_positions(path: &str, mut bytes: &[u8]) -> Result<(Self, Vec<u32>), FileError> {
        let mut lines = Vec::new();
        let mut begins = Vec::new();
        let input = |buffer: &mut [u8]| {
            let (next, rest) = bytes.split_at(bytes.len().min(buffer.len()));
            buffer[..next.len()].copy_from_slice(next);
            bytes = rest;
            Ok::<_, FileError>(next.len())
        };
        LineReader::default().read(path, input, |line, begin| {
            lines.push(line.into());
            begins.push(begin);
        })?;
        Ok((Self::new(path, lines), begins))
    }

    /// Returns the path from the root of the catalog.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the canonical lines of its blobs, without line feeds.
    pub fn lines(&self) -> &[Arc<str>] {
        &self.lines
    }

    fn has_json_path(&self) -> bool {
        self.path.to_ascii_lowercase().ends_with(".json")
    }

    /// Replaces blobs by others, or removes them (`None`), by their index in the file, and adds
    /// others at its end. The file is removed when it has no blob left.
    fn change(&self, bytes: Vec<u8>, changes: &BlobChanges) -> Result<FileChange, ChangeError> {
        // The positions of blobs are not held, because few files change. A file with other blobs
        // than before would get edits that were checked with the former ones.
        let (file, begins) = Self::read_with_positions(&self.path, &bytes)
            .ok()
            .filter(|(file, _)| file == self)
            .ok_or_else(|| ChangeError::Conflict(self.path.clone()))?;
        let removed = changes
            .changed
            .values()
            .filter(|change| change.is_none())
            .count();
        let is_empty = removed == self.lines.len() && changes.added.is_empty();
        let after = (!is_empty).then(|| {
            FileLayout::new(&file, &bytes, &begins)
                .with(changes)
                .into_bytes()
        });
        Ok(FileChange {
            path: self.path.clone(),
            before: Some(bytes),
            after,
        })
    }
}

/// Changes of the blobs of a file.
#[derive(Debug, Default)]
struct BlobChanges {
    /// Blobs by their index in the file; `None` for those that are removed.
    changed: BTreeMap<usize, Option<BlobValue>>,
    /// Blobs that are added at the end.
    added: Vec<BlobValue>,
}

/// Returns the digest of the content of files: the SHA-256 of their canonical lines, in the order
/// of the files.
pub fn digest(files: &[impl Borrow<SourceFile>]) -> Digest {
    let mut hash = DigestHasher::new();
    for line in files.iter().flat_map(|file| file.borrow().lines()) {
        hash.update(line.as_bytes());
        hash.update(b"\n");
    }
    hash.finish()
}

/// Returns the files after changes, in catalog order.
pub fn changed<'f>(
    files: &'f [SourceFile],
    changes: &[FileChange],
) -> Result<Vec<Cow<'f, SourceFile>>, FileError> {
    let is_changed = |file: &&SourceFile| changes.iter().any(|change| change.path == file.path);
    let mut all: Vec<_> = files
        .iter()
        .filter(|file| !is_changed(file))
        .map(Cow::Borrowed)
        .collect();
    for change in changes {
        if let Some(after) = &change.after {
            all.push(Cow::Owned(SourceFile::read(&change.path, after)?));
        }
    }
    // The digest depends on the order of the files, which is that of the loader.
    all.sort_by(|a, b| compare_paths(&a.path, &b.path));
    Ok(all)
}

/// Collects the blobs of files, in their order.
pub fn catalog(files: &[SourceFile]) -> CatalogBlobs {
    CatalogBlobs::from_lines(files.iter().flat_map(|file| file.lines.iter().cloned()))
}

/// Finds the changes of files when the catalog that was read from them becomes another one. `read`
/// returns the bytes of a file, which must not have changed.
///
/// New blobs go to the file that has their package, or else to `PACKAGE/catalog.yaml` (`.json`, if
/// most files are JSON), which may exist with blobs of other packages, or without any.
pub fn changes<E: From<ChangeError>>(
    files: &[SourceFile],
    from: &CatalogBlobs,
    to: &CatalogBlobs,
    read: impl Fn(&str) -> Result<Vec<u8>, E>,
) -> Result<Vec<FileChange>, E> {
    let positions = BlobPosition::list(files);
    let mut edits = FileEdits::default();
    for change in from.changes(to) {
        let value = change.after.as_ref().map(parse_written);
        match (change.before, change.after, value) {
            (Some(before), _, value) => {
                let position = positions[before.id];
                let file = edits.existing.entry(position.file).or_default();
                file.changed.insert(position.index, value);
            }
            (None, Some(after), Some(value)) => edits.add(&after.package, value, || {
                package_file(&after.package, from, &positions)
            }),
            (None, ..) => {}
        }
    }

    let format = majority_format(files);
    let mut changes = Vec::new();
    for (package, blobs) in edits.new_packages {
        let path = path_of_package(&package, format).map_err(ChangeError::from)?;
        match files.iter().position(|file| file.path == path) {
            Some(taken) => edits.existing.entry(taken).or_default().added.extend(blobs),
            None => changes.push(FileChange::create(path, &blobs, format)),
        }
    }
    for (index, blobs) in edits.existing {
        let file = &files[index];
        let bytes = read(&file.path)?;
        changes.push(file.change(bytes, &blobs)?);
    }
    Ok(changes)
}

/// Index of the file of a blob, and of the blob in it.
#[derive(Clone, Copy, Debug)]
struct BlobPosition {
    file: usize,
    index: usize,
}

impl BlobPosition {
    /// Lists the positions of all blobs, in the order of their numbers.
    fn list(files: &[SourceFile]) -> Vec<Self> {
        let mut positions = Vec::new();
        for (file, source) in files.iter().enumerate() {
            positions.extend((0..source.lines.len()).map(|index| Self { file, index }));
        }
        positions
    }
}

/// Changes of blobs by the files that they are written to.
#[derive(Default)]
struct FileEdits {
    /// Changes of files, by their index.
    existing: BTreeMap<usize, BlobChanges>,
    /// Blobs of packages that no file has, by the name of the package.
    new_packages: BTreeMap<String, Vec<BlobValue>>,
    /// Index of the file of each package with new blobs; `None` if no file has it.
    files_of_packages: HashMap<Arc<str>, Option<usize>>,
}

impl FileEdits {
    /// Adds a new blob of a package, whose file `find` finds.
    fn add(&mut self, package: &Arc<str>, blob: BlobValue, find: impl FnOnce() -> Option<usize>) {
        let file = self
            .files_of_packages
            .entry(Arc::clone(package))
            .or_insert_with(find);
        match *file {
            Some(file) => self.existing.entry(file).or_default().added.push(blob),
            None => self
                .new_packages
                .entry(package.to_string())
                .or_default()
                .push(blob),
        }
    }
}

impl FileChange {
    fn create(path: String, blobs: &[BlobValue], format: FileFormat) -> Self {
        let mut text = String::new();
        for blob in blobs {
            format.write(blob, &mut text);
        }
        Self {
            path,
            before: None,
            after: Some(text.into_bytes()),
        }
    }
}

/// Returns the format that most files of a catalog have.
fn majority_format(files: &[SourceFile]) -> FileFormat {
    let json = files.iter().filter(|file| file.has_json_path()).count();
    if 2 * json > files.len() {
        FileFormat::Json
    } else {
        FileFormat::Yaml
    }
}

/// Returns the path of the file of a package in a catalog with a folder for each; that of blobs
/// without one if it is empty.
pub fn path_of_package(package: &str, format: FileFormat) -> Result<String, PackageNameError> {
    // A name from a request must not lead out of the catalog.
    let is_invalid = package.contains(['/', '\\', '\0']) || matches!(package, "." | "..");
    match package {
        _ if is_invalid => Err(PackageNameError(package.to_owned())),
        "" => Ok(format!("catalog.{}", format.extension())),
        _ => Ok(format!("{package}/catalog.{}", format.extension())),
    }
}

/// Finds the file that has the `olm.package` of a package, or else its last blob.
fn package_file(
    package: &str,
    catalog: &CatalogBlobs,
    positions: &[BlobPosition],
) -> Option<usize> {
    if package.is_empty() {
        return None;
    }
    let mut blobs = catalog.package_blobs(package);
    let found = blobs
        .find(|blob| &*blob.schema == "olm.package")
        .or_else(|| catalog.package_blobs(package).last());
    found.map(|blob| positions[blob.id].file)
}

/// Parses a line that an operation wrote. It is no deeper than the blobs that it was made of, so
/// that it can be parsed.
fn parse_written(blob: &CatalogBlob) -> BlobValue {
    BlobValue::parse(&blob.line).unwrap_or(BlobValue::Null)
}

#[cfg(test)]
mod tests;
