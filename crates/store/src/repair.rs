//! Repairs the protection of stored files when a store is opened.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::garbage_collection::is_store_file;
use super::protection::{MAPPED_MODE, WRITABLE_BY_OTHERS};
use super::{PARTS, Store, StoreError, file, io_error};

/// Mode of files that are read, not mapped.
const READ_MODE: u32 = 0o600;

/// Numbers of files that other users could write to when the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnprotectedFiles {
    /// Number of files whose permissions were repaired.
    pub repaired: usize,
    /// Number of files of other users, which were removed.
    pub removed: usize,
}

impl Store {
    /// Returns the numbers of files that other users could write to when the store was opened.
    pub fn unprotected_files(&self) -> UnprotectedFiles {
        self.unprotected
    }

    /// Removes the write permission of other users from files of the store, and removes files that
    /// belong to other users. Their contents are read from the source again.
    pub(super) fn protect(&mut self) -> Result<(), StoreError> {
        for part in PARTS {
            let folder = self.folder.join(part);
            let metadata = fs::metadata(&folder)
                .map_err(|source| io_error("read the metadata of", &folder, source))?;
            if self.protection.is_writable_by_others(&metadata) {
                // It fails if the folder belongs to another user. The files are checked one by one.
                let _ = set_mode(&folder, metadata.mode() & !WRITABLE_BY_OTHERS);
            }
        }
        for path in self.files(&PARTS)? {
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                continue;
            };
            if !is_store_file(&path) || self.protection.covers(&metadata) {
                continue;
            }
            let is_read = path.extension().is_some_and(|end| end == "json");
            let mode = if is_read { READ_MODE } else { MAPPED_MODE };
            // Refusing to start would be wrong: the store is a cache, and the kubelet makes files of a
            // volume with `fsGroup` writable for the group at each mount.
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
