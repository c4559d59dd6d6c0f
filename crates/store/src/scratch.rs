//! Scratch folders for the layers and files of an image while it is read.
//!
//! A scratch folder is removed when it is dropped; one that a kill leaves behind is removed at the
//! next start. It does not count against the quota, because it is short-lived: its user bounds what
//! it holds.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::crash_points::{CrashPoint, FileKind, reached};
use super::{SCRATCH, Store, StoreError, file, io_error};

/// A temporary folder, removed with everything in it when it is dropped.
#[derive(Debug)]
pub struct ScratchFolder(TempDir);

impl Store {
    /// Creates a scratch folder on the file system of the store.
    pub fn create_scratch_folder(&self) -> Result<ScratchFolder, StoreError> {
        // Within the store, so that layers lie on the disk that the user has chosen for such amounts.
        ScratchFolder::create_in_store(&self.folder)
    }

    /// Removes the scratch folders that a killed process left behind. This process must not have
    /// any.
    pub(super) fn sweep_scratch(&self) -> Result<(), StoreError> {
        let parent = self.folder.join(SCRATCH);
        let error = |source| io_error("read the folder", &parent, source);
        if !parent.exists() {
            return Ok(());
        }
        for entry in fs::read_dir(&parent).map_err(error)? {
            let path = entry.map_err(error)?.path();
            if path
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(file::is_temporary)
            {
                fs::remove_dir_all(&path).map_err(|source| io_error("remove", &path, source))?;
            }
        }
        Ok(())
    }
}

impl ScratchFolder {
    /// Creates a scratch folder in the folder of a store, which removes it at the next start if this
    /// process is killed.
    pub fn create_in_store(folder: &Path) -> Result<Self, StoreError> {
        let parent = folder.join(SCRATCH);
        // The parent is created on first use, and users may have removed it.
        fs::create_dir_all(&parent)
            .map_err(|source| io_error("create the folder", &parent, source))?;
        Self::create_in(&parent)
    }

    /// Creates a scratch folder in a folder.
    pub fn create_in(folder: &Path) -> Result<Self, StoreError> {
        let created = file::temporary_builder().tempdir_in(folder);
        let created = created
            .and_then(|folder| reached(FileKind::Scratch, CrashPoint::Created).map(|()| folder));
        created
            .map(Self)
            .map_err(|source| io_error("create a folder in", folder, source))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Creates a folder with this name in it and returns the path.
    pub fn create_folder(&self, name: &str) -> Result<PathBuf, StoreError> {
        let path = self.0.path().join(name);
        let made =
            fs::create_dir(&path).and_then(|()| reached(FileKind::Scratch, CrashPoint::Created));
        made.map_err(|source| io_error("create the folder", &path, source))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests;
