//! Which files of the store nobody else can write to: those that belong to the user of this process
//! and that others have no permission to write to. Only such files are mapped.
//!
//! Whoever may write to the folder can remove and replace files, which changes nothing of what is
//! mapped. The user of this process, and root, can always write to its files:
//! [`Store::find_damage`] finds that later.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::file::{self, MAPPED_MODE, io_error};
use super::sweep::is_store_file;
use super::{ANALYSES, CONTENT, OUTLINES, SOURCES, Store, StoreError};

/// Permissions of a group and of others to write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Mode of files that are read, not mapped.
const READ_MODE: u32 = 0o600;

/// Tells which files nobody else can write to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protection {
    /// The user to whom files belong that this process creates.
    owner: u32,
    /// Whether the file system has permissions.
    has_permissions: bool,
}

/// Files that somebody else could write to, or could have written to, when the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnprotectedFiles {
    /// Number of files that others may not write to any more.
    pub repaired: usize,
    /// Number of files of other users, which were removed.
    pub removed: usize,
}

impl Protection {
    /// Finds out which files a process creates in a folder.
    pub(super) fn of_folder(folder: &Path) -> Result<Self, StoreError> {
        let error = |source| io_error("create a file in", folder, source);
        let probe = match tempfile::tempfile_in(folder) {
            Ok(probe) => probe,
            // On a full disk, what is stored is served as before.
            Err(source) => return Self::of_process().ok_or_else(|| error(source)),
        };
        // It has no effect where the file system has no permissions.
        let _ = probe.set_permissions(Permissions::from_mode(MAPPED_MODE));
        let metadata = probe.metadata().map_err(error)?;
        Ok(Self {
            owner: metadata.uid(),
            has_permissions: metadata.mode() & 0o777 == MAPPED_MODE,
        })
    }

    /// Assumes that files belong to the user of this process; `None` if the system does not tell
    /// which one that is.
    fn of_process() -> Option<Self> {
        let owner = fs::metadata("/proc/self").ok()?.uid();
        Some(Self {
            owner,
            has_permissions: true,
        })
    }

    /// Returns whether nobody else can write to a file.
    pub(super) fn covers(self, file: &Metadata) -> bool {
        self.is_own(file) && !self.is_writable_by_others(file)
    }

    fn is_own(self, file: &Metadata) -> bool {
        file.uid() == self.owner
    }

    fn is_writable_by_others(self, file: &Metadata) -> bool {
        self.has_permissions && file.mode() & WRITABLE_BY_OTHERS != 0
    }
}

impl Store {
    /// Returns which files others could write to when the store was opened.
    pub fn unprotected_files(&self) -> UnprotectedFiles {
        self.unprotected
    }

    /// Takes the permission to write to files of the store from others, and removes files that
    /// belong to others: what they hold is read from its source again.
    pub(super) fn protect(&mut self) -> Result<(), StoreError> {
        for part in [CONTENT, ANALYSES, OUTLINES, SOURCES] {
            let folder = self.folder.join(part);
            let metadata = fs::metadata(&folder)
                .map_err(|source| io_error("read the metadata of", &folder, source))?;
            if self.protection.is_writable_by_others(&metadata) {
                // Where it belongs to somebody else, its files still have an owner each.
                let _ = set_mode(&folder, metadata.mode() & !WRITABLE_BY_OTHERS);
            }
        }
        for path in self.files(&[CONTENT, ANALYSES, OUTLINES, SOURCES])? {
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                continue;
            };
            if !is_store_file(&path) || self.protection.covers(&metadata) {
                continue;
            }
            let is_read = path.extension().is_some_and(|end| end == "json");
            let mode = if is_read { READ_MODE } else { MAPPED_MODE };
            if metadata.is_file()
                && self.protection.is_own(&metadata)
                && set_mode(&path, mode).is_ok()
            {
                self.unprotected.repaired += 1;
            } else {
                file::remove(&path)?;
                self.unprotected.removed += 1;
            }
        }
        Ok(())
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests;
