//! Garbage collection: removes unreferenced files and evicts contents to keep the quota. Files
//! whose names a store does not use are never removed.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use fbc_grammar::Digest;
use http_content::coding::Coding;

use super::crash_points::{CrashPoint, FileKind, reached};
use super::file;
use super::record::Record;
use super::{
    ANALYSES, CONTENT, EVIDENCE, OUTLINES, PARTS, SOURCES, Store, StoreError, StoreUsage, io_error,
    lock_mutex,
};

impl Store {
    /// Removes the temporary files that a killed process left behind. This process must not be
    /// writing any.
    pub(super) fn sweep_unfinished(&self) -> Result<(), StoreError> {
        for path in self.files(&PARTS)? {
            if file_name(&path).is_some_and(file::is_temporary) {
                file::remove(&path)?;
            }
        }
        Ok(())
    }

    /// Removes unusable records, and contents, analyses, outlines and evidence that no record refers
    /// to. The caller must hold the write lock.
    pub(super) fn collect_garbage(&self) -> Result<(), StoreError> {
        let mut referenced = HashSet::new();
        for path in self.records()? {
            match Record::read(&path) {
                Some(record) => {
                    referenced.insert(self.content_path(&record.content));
                    referenced.extend(
                        Coding::ALL.map(|coding| self.encoded_path(&record.content, coding)),
                    );
                    referenced.insert(self.index_path(&record.content));
                    referenced.insert(self.analysis_path(&record.analysis));
                    let evidence = record.evidence.as_ref();
                    referenced.extend(evidence.map(|digest| self.evidence_path(digest)));
                    referenced.extend(
                        record
                            .contents()
                            .map(|content| self.outline_path(&content.digest)),
                    );
                }
                None => file::remove(&path)?,
            }
        }
        self.verified
            .retain(|digest| referenced.contains(&self.content_path(digest)));
        lock_mutex(&self.indexes).retain(|digest| referenced.contains(&self.content_path(digest)));
        for path in self.files(&[CONTENT, ANALYSES, OUTLINES, EVIDENCE])? {
            if is_store_file(&path) && !referenced.contains(&path) {
                file::remove(&path)?;
                reached(FileKind::Content, CrashPoint::Removed)
                    .map_err(|source| io_error("remove", &path, source))?;
            }
        }
        Ok(())
    }

    /// Returns the number of bytes in the folder, without temporary files and scratch folders.
    pub(super) fn used_bytes(&self) -> Result<u64, StoreError> {
        let files = self.files(&PARTS)?;
        let lengths = files.iter().filter(|path| is_store_file(path)).map(|path| {
            fs::metadata(path)
                .map(|metadata| metadata.len())
                .map_err(|source| io_error("read the metadata of", path, source))
        });
        lengths.sum()
    }

    /// Returns the size of the store. It reads the metadata of each file without the write lock; a file
    /// that is removed meanwhile is not counted.
    pub fn usage(&self) -> Result<StoreUsage, StoreError> {
        let mut files = self.files(&PARTS)?;
        files.retain(|path| is_store_file(path));
        let bytes = files
            .iter()
            .filter_map(|path| Some(fs::metadata(path).ok()?.len()))
            .sum();
        let contents = files
            .iter()
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .count();
        Ok(StoreUsage {
            bytes,
            quota: self.quota,
            contents,
        })
    }

    /// Evicts contents that this process does not serve, oldest first, and then compressed forms,
    /// until a new content of `needed` bytes fits or nothing is left to evict. Returns the number
    /// of free bytes.
    pub(super) fn evict(&self, needed: u64) -> Result<u64, StoreError> {
        let in_use = lock_mutex(&self.in_use).clone();
        let records = self
            .records()?
            .into_iter()
            .filter_map(|path| Some((Record::read(&path)?, path)));
        let mut unused: Vec<_> = records
            .filter(|(record, _)| !in_use.contains(&record.key))
            .collect();
        unused.sort_by_key(|(record, _)| std::cmp::Reverse(record.first_read_at));
        loop {
            let free = self.quota.saturating_sub(self.used_bytes()?);
            let oldest = if free < needed { unused.pop() } else { None };
            let Some((_, path)) = oldest else { break };
            file::remove(&path)?;
            self.collect_garbage()?;
        }
        // Compressed forms of served contents come last: they are optional, but expensive to make.
        for path in self.files(&[CONTENT])?.iter().filter(|path| {
            is_store_file(path) && path.extension().is_some_and(|end| end != "jsonl")
        }) {
            if self.quota.saturating_sub(self.used_bytes()?) >= needed {
                break;
            }
            file::remove(path)?;
        }
        Ok(self.quota.saturating_sub(self.used_bytes()?))
    }

    /// Returns the paths of all records.
    pub(super) fn records(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut records = self.files(&[SOURCES])?;
        records.retain(|path| is_store_file(path));
        Ok(records)
    }

    /// Returns the paths of all files in some folders of the store.
    pub(super) fn files(&self, parts: &[&str]) -> Result<Vec<PathBuf>, StoreError> {
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

fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Returns whether a store uses names like this one for its complete files.
pub(super) fn is_store_file(path: &Path) -> bool {
    let parts = file_name(path).and_then(|name| name.split_once('.'));
    parts.is_some_and(|(hex, extension)| {
        Digest::parse(&format!("sha256:{hex}")).is_some()
            && matches!(
                extension,
                "json" | "log" | "outline" | "index" | "jsonl" | "jsonl.gz" | "jsonl.zst"
            )
    })
}
