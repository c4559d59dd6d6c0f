//! Files of a catalog by their blobs, and how they change with a content: what does not change
//! keeps its bytes.

mod layout;

use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use fbc_grammar::Digest;
use fbc_grammar::ignore::compare_paths;
use fbc_read::{FileReader, ReadError, ReadEvent, ReadLimits};
use sha2::{Digest as _, Sha256};

use crate::content::Content;
use crate::format::Format;
use crate::meta::Meta;
use crate::value::{MAX_DEPTH, Value};

use layout::Layout;

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

/// A file that does not parse.
#[derive(Debug, thiserror::Error)]
#[error("{path}:{}: {}", error.line, error.kind)]
pub struct FileError {
    /// Path from the root of the catalog.
    pub path: String,
    /// What is wrong with it, and on which line.
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

/// Why files cannot change with a content.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The name of a package cannot name the folder of its file.
    #[error(transparent)]
    PackageName(#[from] InvalidPackageName),
    /// The file of a new package would be no file of the catalog.
    #[error("cannot create `{0}`: an .indexignore file leaves it out of the catalog")]
    Ignored(String),
    /// A file has other blobs than when it was read first.
    #[error("cannot edit `{0}`: it was changed meanwhile: try again")]
    Conflict(String),
    /// A file cannot be read again.
    #[error("cannot read `{path}`")]
    Io {
        /// Path from the root of the catalog.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// A package whose name cannot name the folder of its file.
#[derive(Debug, thiserror::Error)]
#[error("invalid package name {0:?}: must be a single local path element")]
pub struct InvalidPackageName(String);

impl Default for LineReader {
    fn default() -> Self {
        Self(FileReader::new(ReadLimits {
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
                    // The reader writes valid text. `from_utf8_lossy` alone takes a seventh of the
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
        Self::read_with_places(path, bytes).map(|(file, _)| file)
    }

    /// Reads a file, and finds the lines of it on which its blobs begin.
    fn read_with_places(path: &str, mut bytes: &[u8]) -> Result<(Self, Vec<u32>), FileError> {
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
        let (file, begins) = Self::read_with_places(&self.path, &bytes)
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
            Layout::new(&file, &bytes, &begins)
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
    changed: BTreeMap<usize, Option<Value>>,
    /// Blobs that are added at the end.
    added: Vec<Value>,
}

/// Returns the digest of the content that files have: that of their canonical lines, in the order
/// of the files.
pub fn digest(files: &[impl Borrow<SourceFile>]) -> Digest {
    let mut hash = Sha256::new();
    for line in files.iter().flat_map(|file| file.borrow().lines()) {
        hash.update(&**line);
        hash.update("\n");
    }
    Digest::new(hash.finalize().into())
}

/// Returns files as they are after changes, in catalog order.
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
    all.sort_by(|a, b| compare_paths(&a.path, &b.path));
    Ok(all)
}

/// Makes a content of the blobs of files, in their order.
pub fn content(files: &[SourceFile]) -> Content {
    Content::of_lines(files.iter().flat_map(|file| file.lines.iter().cloned()))
}

/// Finds how files change when a content that was read from them becomes another one; `read`
/// returns the bytes of a file, which must not have changed. New blobs go to the file that has
/// their package, or to `PACKAGE/catalog.yaml` (or `.json`, if most files are JSON), which may be
/// there with blobs of other packages, or without any.
pub fn changes(
    files: &[SourceFile],
    from: &Content,
    to: &Content,
    read: impl Fn(&str) -> io::Result<Vec<u8>>,
) -> Result<Vec<FileChange>, ChangeError> {
    let mut places = Vec::new();
    for (at, file) in files.iter().enumerate() {
        places.extend((0..file.lines.len()).map(|index| (at, index)));
    }
    let mut changed: BTreeMap<usize, BlobChanges> = BTreeMap::new();
    let mut new_packages: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut homes: HashMap<String, Option<usize>> = HashMap::new();
    for change in from.changes(to) {
        let value = change.after.as_ref().map(parsed);
        match (change.before, value) {
            (Some(before), value) => {
                let (file, index) = places[before.id];
                changed
                    .entry(file)
                    .or_default()
                    .changed
                    .insert(index, value);
            }
            (None, Some(value)) => {
                let package = change
                    .after
                    .map(|meta| meta.package.to_string())
                    .unwrap_or_default();
                let home = homes
                    .entry(package.clone())
                    .or_insert_with(|| home(&package, from, &places));
                match *home {
                    Some(file) => changed.entry(file).or_default().added.push(value),
                    None => new_packages.entry(package).or_default().push(value),
                }
            }
            (None, None) => {}
        }
    }
    let json = files.iter().filter(|file| file.has_json_path()).count();
    let format = if 2 * json > files.len() {
        Format::Json
    } else {
        Format::Yaml
    };
    let mut all = Vec::new();
    for (package, blobs) in new_packages {
        let path = file_of(&package, format)?;
        if let Some(taken) = files.iter().position(|file| file.path == path) {
            changed.entry(taken).or_default().added.extend(blobs);
            continue;
        }
        let mut text = String::new();
        for blob in &blobs {
            format.write(blob, &mut text);
        }
        all.push(FileChange {
            path,
            before: None,
            after: Some(text.into_bytes()),
        });
    }
    for (at, blobs) in changed {
        let file = &files[at];
        let bytes = read(&file.path).map_err(|source| ChangeError::Io {
            path: file.path.clone(),
            source,
        })?;
        all.push(file.change(bytes, &blobs)?);
    }
    Ok(all)
}

/// Returns the path of the file of a package in a catalog with a folder for each; that of blobs
/// without one if it is empty.
pub fn file_of(package: &str, format: Format) -> Result<String, InvalidPackageName> {
    let is_invalid = package.contains(['/', '\\', '\0']) || matches!(package, "." | "..");
    match package {
        _ if is_invalid => Err(InvalidPackageName(package.to_owned())),
        "" => Ok(format!("catalog.{}", format.extension())),
        _ => Ok(format!("{package}/catalog.{}", format.extension())),
    }
}

/// Finds the file that has the `olm.package`, or else the last blob of a package.
fn home(package: &str, content: &Content, places: &[(usize, usize)]) -> Option<usize> {
    let of_package = || {
        content
            .metas()
            .iter()
            .filter(|meta| &*meta.package == package)
    };
    let found = of_package()
        .find(|meta| &*meta.schema == "olm.package")
        .or_else(|| of_package().next_back());
    found
        .filter(|_| !package.is_empty())
        .map(|meta| places[meta.id].0)
}

/// Parses a line that an operation wrote, which is no deeper than what it was made of.
fn parsed(meta: &Meta) -> Value {
    Value::parse(&meta.line).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests;
