//! Files that are written atomically, and memory maps of them.
//!
//! A file is written under a temporary name, synced to the disk, and renamed. Temporary files that
//! a kill leaves behind are recognized by their names and removed at the next start. This module
//! does not know what the files contain.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tempfile::TempPath;

use super::crash_points::{CrashPoint, FileKind, reached};
use super::protection::{MAPPED_MODE, Protection};
use super::{StoreError, io_error};

/// Prefix of the names of temporary files and folders.
const TEMPORARY_PREFIX: &str = "new-";

/// Suffix of the names of temporary files and folders.
const TEMPORARY_SUFFIX: &str = ".tmp";

/// Durability of a file across a crash of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Its bytes and its name are synced to the disk.
    Synced,
    /// It does not outlive the process, and is not synced.
    Ephemeral,
}

/// A temporary file. If it is dropped before it is persisted, it is removed.
#[derive(Debug)]
pub(super) struct TempFile {
    file: File,
    temporary: TempPath,
    /// Path for error messages.
    shown_path: PathBuf,
    kind: FileKind,
}

impl TempFile {
    /// Creates a temporary file in a folder. If the process is killed, the file is removed at the
    /// next start.
    pub(super) fn create(folder: &Path, kind: FileKind) -> Result<Self, StoreError> {
        let created = temporary_builder().tempfile_in(folder);
        let created = created.and_then(|file| reached(kind, CrashPoint::Created).map(|()| file));
        let (file, path) = created
            .map_err(|source| io_error("create a file in", folder, source))?
            .into_parts();
        Ok(Self {
            file,
            shown_path: path.to_path_buf(),
            temporary: path,
            kind,
        })
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let written = self
            .file
            .write_all(bytes)
            .and_then(|()| reached(self.kind, CrashPoint::Written));
        written.map_err(|source| io_error("write", &self.shown_path, source))
    }

    /// Appends the output of a function.
    pub(super) fn write_with(
        &mut self,
        write: impl FnOnce(&File) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let written = write(&self.file).and_then(|()| reached(self.kind, CrashPoint::Written));
        written.map_err(|source| io_error("write", &self.shown_path, source))
    }

    /// Maps the file as far as it is written.
    pub(super) fn map(&self) -> Result<Bytes, StoreError> {
        map_file(&self.file).map_err(|source| io_error("map", &self.shown_path, source))
    }

    /// Syncs the file to the disk, unless it is ephemeral, and renames it, replacing the file of
    /// that name.
    pub(super) fn persist(self, path: &Path, durability: Durability) -> Result<(), StoreError> {
        if matches!(
            self.kind,
            FileKind::Content
                | FileKind::Encoded
                | FileKind::Index
                | FileKind::Outline
                | FileKind::ChangeLog
        ) {
            // Nobody writes to a file that is mapped by mistake. A file system without permissions
            // has no such protection.
            let _ = self
                .file
                .set_permissions(Permissions::from_mode(MAPPED_MODE));
        }
        let is_synced = durability == Durability::Synced;
        let synced = if is_synced {
            self.file.sync_all()
        } else {
            Ok(())
        };
        let synced = synced.and_then(|()| reached(self.kind, CrashPoint::Synced));
        synced.map_err(|source| io_error("write", &self.shown_path, source))?;
        let renamed = self.temporary.persist(path).map_err(|error| error.error);
        let renamed = renamed.and_then(|()| reached(self.kind, CrashPoint::Renamed));
        renamed.map_err(|source| io_error("write", path, source))?;
        if !is_synced {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(path);
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        let synced = synced.and_then(|()| reached(self.kind, CrashPoint::FolderSynced));
        synced.map_err(|source| io_error("write", folder, source))
    }
}

/// Writes a file atomically.
pub(super) fn write(
    path: &Path,
    bytes: &[u8],
    kind: FileKind,
    durability: Durability,
) -> Result<(), StoreError> {
    let mut file = TempFile::create(path.parent().unwrap_or(path), kind)?;
    file.write(bytes)?;
    file.persist(path, durability)
}

/// Removes a file if it exists.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Returns a builder of files and folders with temporary names.
pub(super) fn temporary_builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX);
    builder
}

/// Returns whether a file or folder with this name is temporary.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX)
}

/// Maps a file; `None` if there is none, or others can write to it.
pub(super) fn map(path: &Path, protection: Protection) -> Option<Bytes> {
    let file = File::open(path).ok()?;
    if !protection.covers(&file.metadata().ok()?) {
        return None;
    }
    map_file(&file).ok()
}

/// Maps an open file. The map exists for as long as the bytes, also after the file is removed.
#[expect(
    unsafe_code,
    reason = "a map is undefined behaviour if its file changes; these files are not written to again"
)]
pub(super) fn map_file(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: this program wrote the file and renamed it once it was complete, in a folder that is
    // locked against other processes of this program (or the file has no name). It is replaced and
    // removed, but never changed. It belongs to the user of this process, and no user has the
    // permission to write to it. Root, and processes with the rights of this one, can write to it
    // nevertheless; they can end this process anyway, as the reference of the store says.
    let map = unsafe { memmap2::Mmap::map(file)? };
    Ok(Bytes::from_owner(map))
}
