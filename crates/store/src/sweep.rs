//! Removes from the folder what nothing refers to. It removes only names that a store gives.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use fbc::Digest;
use http_facts::coding::Coding;

use super::file::{self, CrashPoint, FileKind, io_error, reached};
use super::record::Record;
use super::{CONTENT, NOTES, OUTLINES, SOURCES, Store, StoreError, lock_mutex};

impl Store {
    /// Removes what a process left unfinished. Nothing may be on its way now.
    pub(super) fn sweep_unfinished(&self) -> Result<(), StoreError> {
        for path in self.files(&[CONTENT, NOTES, OUTLINES, SOURCES])? {
            if name(&path).is_some_and(file::is_temporary) {
                file::remove(&path)?;
            }
        }
        Ok(())
    }

    /// Removes records that cannot be used, and contents, notes and outlines that no record names. The guard must be held.
    pub(super) fn sweep(&self) -> Result<(), StoreError> {
        let mut wanted = HashSet::new();
        for path in self.records()? {
            match Record::read(&path) {
                Some(record) => {
                    wanted.insert(self.content_path(&record.content));
                    wanted.extend(Coding::ALL.map(|coding| self.encoded_path(&record.content, coding)));
                    wanted.insert(self.analysis_path(&record.analysis));
                    let contents = record.previous.iter().chain([&record.content]);
                    wanted.extend(contents.map(|digest| self.outline_path(digest)));
                }
                None => file::remove(&path)?,
            }
        }
        for path in self.files(&[CONTENT, NOTES, OUTLINES])? {
            if is_ours(&path) && !wanted.contains(&path) {
                file::remove(&path)?;
                reached(FileKind::Content, CrashPoint::Removed).map_err(|source| io_error("remove", &path, source))?;
            }
        }
        Ok(())
    }

    /// How many bytes the folder holds, without what is on its way.
    pub(super) fn used(&self) -> Result<u64, StoreError> {
        let files = self.files(&[CONTENT, NOTES, OUTLINES, SOURCES])?;
        let lengths = files.iter().filter(|path| is_ours(path)).map(|path| {
            fs::metadata(path).map(|metadata| metadata.len()).map_err(|source| io_error("look at", path, source))
        });
        lengths.sum()
    }

    /// Gives up contents that this process does not serve, oldest first, and then compressed forms, until a new one of
    /// this length fits or nothing more can be given up. Says how long the new one may be.
    pub(super) fn make_room(&self, needed: u64) -> Result<u64, StoreError> {
        let in_use = lock_mutex(&self.in_use).clone();
        let records = self.records()?.into_iter().filter_map(|path| Some((Record::read(&path)?, path)));
        let mut unused: Vec<_> = records.filter(|(record, _)| !in_use.contains(&record.key)).collect();
        unused.sort_by_key(|(record, _)| std::cmp::Reverse(record.first_read_at));
        loop {
            let room = self.quota.saturating_sub(self.used()?);
            let oldest = if room < needed { unused.pop() } else { None };
            let Some((_, path)) = oldest else { break };
            file::remove(&path)?;
            self.sweep()?;
        }
        for path in self
            .files(&[CONTENT])?
            .iter()
            .filter(|path| is_ours(path) && path.extension().is_some_and(|end| end != "jsonl"))
        {
            if self.quota.saturating_sub(self.used()?) >= needed {
                break;
            }
            file::remove(path)?;
        }
        Ok(self.quota.saturating_sub(self.used()?))
    }

    pub(super) fn records(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut records = self.files(&[SOURCES])?;
        records.retain(|path| is_ours(path));
        Ok(records)
    }

    fn files(&self, parts: &[&str]) -> Result<Vec<PathBuf>, StoreError> {
        let mut files = Vec::new();
        for part in parts {
            let folder = self.folder.join(part);
            let error = |source| io_error("read the folder", &folder, source);
            for entry in fs::read_dir(&folder).map_err(error)? {
                files.push(entry.map_err(error)?.path());
            }
        }
        Ok(files)
    }
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Whether a store gives whole files names like this one.
fn is_ours(path: &Path) -> bool {
    let parts = name(path).and_then(|name| name.split_once('.'));
    parts.is_some_and(|(hex, end)| {
        Digest::parse(&format!("sha256:{hex}")).is_some()
            && matches!(end, "json" | "outline" | "jsonl" | "jsonl.gz" | "jsonl.zst")
    })
}
