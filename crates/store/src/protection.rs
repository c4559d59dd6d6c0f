//! Protection of stored files against other users. Only protected files are mapped: they belong to the
//! user of this process, and no other user has the permission to write to them.
//!
//! A user with write access to the folder can remove and replace files, which does not change the
//! mapped ones. The user of this process, and root, can always write to the files:
//! [`Store::find_damage`](super::Store::find_damage) detects that later.

use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::{StoreError, io_error};

/// Mode of files that are mapped: read-only, and for their owner alone.
pub(super) const MAPPED_MODE: u32 = 0o400;

/// Permissions of a group and of others to write.
pub(super) const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Decides whether a file is protected against other users.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protection {
    /// User id of the files that this process creates.
    owner: u32,
    /// The file system supports permissions.
    has_permissions: bool,
}

impl Protection {
    /// Probes the owner and the permissions of files in a folder with a temporary file.
    pub(super) fn probe(folder: &Path) -> Result<Self, StoreError> {
        let error = |source| io_error("create a file in", folder, source);
        let probe = match tempfile::tempfile_in(folder) {
            Ok(probe) => probe,
            // On a full disk, stored contents must still be served.
            Err(source) => return Self::for_process().ok_or_else(|| error(source)),
        };
        // Some file systems have no permissions: the mode stays as it is.
        let _ = probe.set_permissions(Permissions::from_mode(MAPPED_MODE));
        let metadata = probe.metadata().map_err(error)?;
        Ok(Self {
            owner: metadata.uid(),
            has_permissions: metadata.mode() & 0o777 == MAPPED_MODE,
        })
    }

    /// Assumes that files belong to the user of this process; `None` if it cannot be determined.
    fn for_process() -> Option<Self> {
        let owner = fs::metadata("/proc/self").ok()?.uid();
        Some(Self {
            owner,
            has_permissions: true,
        })
    }

    /// Returns whether a file is protected.
    //
    // The folder is not checked: volumes of Kubernetes belong to root and are writable by a group
    // (`fsGroup`) or by all (`emptyDir`), and renames do not change mapped files.
    pub(super) fn covers(self, file: &Metadata) -> bool {
        self.is_own(file) && !self.is_writable_by_others(file)
    }

    pub(super) fn is_own(self, file: &Metadata) -> bool {
        file.uid() == self.owner
    }

    pub(super) fn is_writable_by_others(self, file: &Metadata) -> bool {
        self.has_permissions && file.mode() & WRITABLE_BY_OTHERS != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_the_process_is_the_one_to_whom_its_files_belong() {
        let folder = tempfile::tempdir().unwrap();
        let found = Protection::probe(folder.path()).unwrap();
        let assumed = Protection::for_process().unwrap();
        assert_eq!(
            (found.owner, found.has_permissions),
            (assumed.owner, assumed.has_permissions)
        );
        let gone = folder.path().join("gone");
        assert_eq!(
            Protection::probe(&gone).unwrap().owner,
            assumed.owner,
            "where no file can be created"
        );
    }
}
