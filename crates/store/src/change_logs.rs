//! Change logs of catalogs: bytes that the store does not interpret, by the name of the catalog.
//!
//! A catalog keeps its log when its source changes, and when it is not served for a while. So logs
//! are not collected with contents: those that were written longest ago are removed.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use bytes::Bytes;

use super::crash_points::FileKind;
use super::file;
use super::garbage_collection::is_store_file;
use super::{CHANGE_LOGS, Store, StoreError, lock_mutex};

/// Maximum number of change logs. Those that were written longest ago are removed.
pub const MAX_CHANGE_LOGS: usize = 1_000;

impl Store {
    /// Returns the change log of a catalog, mapped into memory; `None` if there is none.
    pub fn change_log(&self, catalog: &str) -> Option<Bytes> {
        file::map(&self.change_log_path(catalog), self.protection)
    }

    /// Replaces the change log of a catalog atomically. Returns whether it fits into the quota.
    pub fn save_change_log(&self, catalog: &str, bytes: &[u8]) -> Result<bool, StoreError> {
        let _writing = lock_mutex(&self.write_lock);
        let path = self.change_log_path(catalog);
        let replaced = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let others = self.used_bytes()?.saturating_sub(replaced);
        if others + bytes.len() as u64 > self.quota {
            return Ok(false);
        }
        self.write_file(&path, bytes, FileKind::ChangeLog)?;
        self.remove_oldest_change_logs()?;
        Ok(true)
    }

    fn remove_oldest_change_logs(&self) -> Result<(), StoreError> {
        let mut logs = self.files(&[CHANGE_LOGS])?;
        logs.retain(|path| is_store_file(path));
        let Some(excess) = logs.len().checked_sub(MAX_CHANGE_LOGS) else {
            return Ok(());
        };
        let written_at = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified());
        logs.sort_by_cached_key(|path| written_at(path).unwrap_or(SystemTime::UNIX_EPOCH));
        logs.iter()
            .take(excess)
            .try_for_each(|path| file::remove(path))
    }

    /// Path of the change log of a catalog. Its name is hashed: names come from others, and the store
    /// removes only files whose names are digests.
    fn change_log_path(&self, catalog: &str) -> PathBuf {
        let name = content_digest::digest(catalog.as_bytes());
        self.folder
            .join(CHANGE_LOGS)
            .join(format!("{}.log", name.hex()))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::crash_points::{CrashPoint, DIE_AT, DISK_FULL_AT};
    use super::super::tests::{open, open_with};
    use super::*;

    /// Name of the environment variable with the folder of the store that a child writes to.
    const FOLDER: &str = "CATALOGQL_TEST_CHANGE_LOGS";

    const STEPS: [CrashPoint; 5] = [
        CrashPoint::Created,
        CrashPoint::Written,
        CrashPoint::Synced,
        CrashPoint::Renamed,
        CrashPoint::FolderSynced,
    ];

    #[test]
    fn the_log_of_a_catalog_outlives_restarts_and_the_contents_of_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        assert_eq!(store.change_log("a"), None);
        assert!(store.save_change_log("a", b"one").unwrap());
        assert!(store.save_change_log("b", b"other").unwrap());
        assert!(store.save_change_log("a", b"two").unwrap());
        drop(store);
        let store = open(folder.path());
        assert_eq!(store.change_log("a").unwrap(), "two");
        assert_eq!(store.change_log("b").unwrap(), "other");
    }

    #[test]
    fn a_log_that_does_not_fit_into_the_quota_leaves_the_former_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = open_with(folder.path(), 10);
        assert!(store.save_change_log("a", b"0123456789").unwrap());
        assert!(store.save_change_log("a", b"abcdefghij").unwrap());
        assert!(!store.save_change_log("a", b"0123456789+").unwrap());
        assert!(!store.save_change_log("b", b"+").unwrap());
        assert_eq!(store.change_log("a").unwrap(), "abcdefghij");
    }

    #[test]
    fn as_many_logs_are_kept_as_the_limit_says_and_the_latest_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::ephemeral(folder.path()).unwrap();
        let name = |number: usize| format!("catalog-{number}");
        for number in 0..=MAX_CHANGE_LOGS {
            store.save_change_log(&name(number), b"log").unwrap();
            let path = store.change_log_path(&name(number));
            // Files that are written within one tick of the clock have one time.
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number as u64);
            let file = fs::OpenOptions::new().read(true).open(path).unwrap();
            file.set_modified(at).unwrap();
        }
        store.save_change_log(&name(1), b"log").unwrap();
        let is_kept = |number| store.change_log(&name(number)).is_some();
        let kept = (0..=MAX_CHANGE_LOGS).filter(|number| is_kept(*number));
        assert_eq!(kept.count(), MAX_CHANGE_LOGS);
        assert!(!is_kept(0) && is_kept(1) && is_kept(MAX_CHANGE_LOGS));
    }

    #[test]
    fn a_full_disk_leaves_the_former_log() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        store.save_change_log("a", b"former").unwrap();
        DISK_FULL_AT.set(Some((FileKind::ChangeLog, CrashPoint::Written)));
        let error = store.save_change_log("a", b"new").unwrap_err();
        DISK_FULL_AT.set(None);
        assert!(error.to_string().starts_with("cannot write"), "{error}");
        assert_eq!(store.change_log("a").unwrap(), "former");
    }

    #[test]
    fn a_kill_at_any_step_leaves_the_former_log_or_the_new_one() {
        if let Some(folder) = std::env::var_os(FOLDER) {
            let _ = open(folder.as_ref()).save_change_log("a", b"new");
            return;
        }
        for step in STEPS {
            let folder = tempfile::tempdir().unwrap();
            let store = open(folder.path());
            store.save_change_log("a", b"former").unwrap();
            drop(store);
            let name =
                "change_logs::tests::a_kill_at_any_step_leaves_the_former_log_or_the_new_one";
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name])
                .env(FOLDER, folder.path())
                .env(DIE_AT, format!("{:?} {step:?}", FileKind::ChangeLog))
                .output()
                .unwrap();
            assert!(!child.status.success(), "{step:?}");
            let is_renamed = matches!(step, CrashPoint::Renamed | CrashPoint::FolderSynced);
            let expected = if is_renamed { "new" } else { "former" };
            let store = open(folder.path());
            assert_eq!(store.change_log("a").unwrap(), expected, "{step:?}");
            let files = fs::read_dir(folder.path().join(CHANGE_LOGS)).unwrap();
            assert_eq!(files.count(), 1, "{step:?}");
        }
    }
}
