//! Folders for what is on its way into the store: the layers of an image and the contents of its files.
//!
//! A folder is gone when it is dropped, and what a kill left behind is swept at the next start. It counts against no
//! quota, because it is empty again a moment later: who fills it bounds what it may hold.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::file::{self, CrashPoint, FileKind, io_error, reached};
use super::{SCRATCH, Store, StoreError};

/// A folder of its own, removed with all that is in it when it is dropped.
#[derive(Debug)]
pub struct ScratchFolder(TempDir);

impl Store {
    /// A new folder on the file system of the store.
    pub fn create_scratch_folder(&self) -> Result<ScratchFolder, StoreError> {
        let parent = self.folder.join(SCRATCH);
        // It is not there until somebody needs it, and users may have removed it.
        fs::create_dir_all(&parent).map_err(|source| io_error("make the folder", &parent, source))?;
        ScratchFolder::create_in(&parent)
    }

    /// Removes what a process left behind. Nothing may be on its way now.
    pub(super) fn sweep_scratch(&self) -> Result<(), StoreError> {
        let parent = self.folder.join(SCRATCH);
        let error = |source| io_error("read the folder", &parent, source);
        if !parent.exists() {
            return Ok(());
        }
        for entry in fs::read_dir(&parent).map_err(error)? {
            let path = entry.map_err(error)?.path();
            if path.file_name().and_then(|name| name.to_str()).is_some_and(file::is_temporary) {
                fs::remove_dir_all(&path).map_err(|source| io_error("remove", &path, source))?;
            }
        }
        Ok(())
    }
}

impl ScratchFolder {
    /// A new folder in this one.
    pub fn create_in(folder: &Path) -> Result<Self, StoreError> {
        let created = file::temporary().tempdir_in(folder);
        let created = created.and_then(|folder| reached(FileKind::Scratch, CrashPoint::Created).map(|()| folder));
        created.map(Self).map_err(|source| io_error("create a folder in", folder, source))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Makes a folder of this name in it, and says where that is.
    pub fn create_folder(&self, name: &str) -> Result<PathBuf, StoreError> {
        let path = self.0.path().join(name);
        let made = fs::create_dir(&path).and_then(|()| reached(FileKind::Scratch, CrashPoint::Created));
        made.map_err(|source| io_error("make the folder", &path, source))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests;
