//! Files that appear whole or not at all, and memory maps of them.
//!
//! A file is written under a temporary name, its bytes reach the disk, and only then does it get its name; what a kill
//! leaves behind is swept by its name. It knows nothing of what is in the files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tempfile::TempPath;

use super::StoreError;

/// How the name of a file or a folder begins that is not whole yet.
const NEW: &str = "new-";

/// How the name of a file or a folder ends that is not whole yet.
const TEMPORARY: &str = ".tmp";

/// What is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Content,
    Encoded,
    Analysis,
    Outline,
    Record,
    Scratch,
}

/// How far a file has come. Tests stop at each of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrashPoint {
    Created,
    Written,
    Synced,
    Renamed,
    FolderSynced,
    Removed,
}

/// Whether a file must survive a crash of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Its bytes and its name are on the disk before it counts as written.
    Synced,
    /// It does not outlive the process.
    Ephemeral,
}

/// A file on its way to its name. Dropped before that, it is removed.
#[derive(Debug)]
pub(super) struct TempFile {
    file: File,
    temporary: TempPath,
    /// What errors call it.
    shown: PathBuf,
    what: FileKind,
}

impl TempFile {
    /// A new file in this folder, under a name that is swept when the process ends before it is whole.
    pub(super) fn create(folder: &Path, what: FileKind) -> Result<Self, StoreError> {
        let created = temporary().tempfile_in(folder);
        let created = created.and_then(|file| reached(what, CrashPoint::Created).map(|()| file));
        let (file, path) = created.map_err(|source| io_error("create a file in", folder, source))?.into_parts();
        Ok(Self { file, shown: path.to_path_buf(), temporary: path, what })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let written = self.file.write_all(bytes).and_then(|()| reached(self.what, CrashPoint::Written));
        written.map_err(|source| io_error("write", &self.shown, source))
    }

    /// Lets something write.
    pub(super) fn write_with(&mut self, write: impl FnOnce(&File) -> io::Result<()>) -> Result<(), StoreError> {
        let written = write(&self.file).and_then(|()| reached(self.what, CrashPoint::Written));
        written.map_err(|source| io_error("write", &self.shown, source))
    }

    /// What was written, mapped.
    pub(super) fn map(&self) -> Result<Bytes, StoreError> {
        map_file(&self.file).map_err(|source| io_error("map", &self.shown, source))
    }

    /// Gives the file its name, in place of the one that had it, once its bytes are on the disk.
    pub(super) fn name(self, path: &Path, durability: Durability) -> Result<(), StoreError> {
        let is_synced = durability == Durability::Synced;
        let synced = if is_synced { self.file.sync_all() } else { Ok(()) };
        let synced = synced.and_then(|()| reached(self.what, CrashPoint::Synced));
        synced.map_err(|source| io_error("write", &self.shown, source))?;
        let renamed = self.temporary.persist(path).map_err(|error| error.error);
        let renamed = renamed.and_then(|()| reached(self.what, CrashPoint::Renamed));
        renamed.map_err(|source| io_error("write", path, source))?;
        if !is_synced {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(path);
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        let synced = synced.and_then(|()| reached(self.what, CrashPoint::FolderSynced));
        synced.map_err(|source| io_error("write", folder, source))
    }
}

/// Writes a whole file under its name.
pub(super) fn write(path: &Path, bytes: &[u8], what: FileKind, durability: Durability) -> Result<(), StoreError> {
    let mut file = TempFile::create(path.parent().unwrap_or(path), what)?;
    file.write(bytes)?;
    file.name(path, durability)
}

/// Removes a file if it is there.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path, error)),
        _ => Ok(()),
    }
}

/// Makes files and folders with names that are swept.
pub(super) fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(NEW).suffix(TEMPORARY);
    builder
}

/// Whether this is the name of a file or a folder that is not whole yet.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(NEW) && name.ends_with(TEMPORARY)
}

/// The bytes of a file, mapped.
pub(super) fn map(path: &Path) -> Result<Bytes, StoreError> {
    let file = File::open(path).map_err(|source| io_error("open", path, source))?;
    map_file(&file).map_err(|source| io_error("map", path, source))
}

/// The bytes of an open file, mapped. The map lives as long as the bytes do, also when the file loses its name.
#[expect(
    unsafe_code,
    reason = "a map is undefined behaviour when its file changes; these files are never written again"
)]
fn map_file(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the file was written by this program, got its final name only when it was complete, lies in a folder that
    // is locked against other processes of this program (or has no name at all), and is replaced but never changed.
    let map = unsafe { memmap2::Mmap::map(file)? };
    Ok(Bytes::from_owner(map))
}

pub(super) fn io_error(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { action, path: path.to_owned(), source }
}

/// Marks the points at which tests kill the process or fill the disk.
#[cfg(not(any(test, feature = "crash-points")))]
#[expect(clippy::unnecessary_wraps, reason = "in tests a point can fail")]
pub(super) fn reached(_: FileKind, _: CrashPoint) -> io::Result<()> {
    Ok(())
}

#[cfg(any(test, feature = "crash-points"))]
pub(super) use super::crash_points::reached;
