//! Keeps each content once, on disk: canonical lines addressed by their digest, written atomically, memory-mapped.
//!
//! Beside the lines stands what was found out about them, and for each source a small record of which content it gave,
//! and when. The folder is a cache: whatever in it is damaged or of another version is made anew, never an error. It
//! survives a kill at any moment, is locked against a second process and holds a quota. Nobody else knows of mapping.
//!
//! ```text
//! FOLDER/catalogql.lock           held while a process uses the folder; marks the folder as ours
//! FOLDER/content/<digest>.jsonl   canonical lines
//! FOLDER/content/<digest>.jsonl.gz, .jsonl.zst   the same compressed, where there was room and time for it
//! FOLDER/notes/<digest>.json      where lines came from and their problems, by the digest of this file
//! FOLDER/outlines/<digest>.outline   what a content held, by name and hash, also of the last contents that are gone
//! FOLDER/sources/<key>.json       which content and notes a source gave, by the digest of the source's key
//! FOLDER/scratch/                 layers and contents of images that are being read
//! ```

mod analysis;
#[cfg(any(test, feature = "crash-points"))]
mod crash_points;
mod encoded;
mod file;
mod outlines;
mod record;
mod scratch;
mod sweep;
mod writer;

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use fbc::Digest;
use tempfile::TempDir;

pub use analysis::Analysis;
pub use record::{Record, SourceState};
pub use scratch::ScratchFolder;
pub use writer::{ContentWriter, WrittenContent};

use file::{Durability, FileKind, io_error};

/// How many bytes the folder may hold unless said otherwise.
pub const DEFAULT_QUOTA_BYTES: u64 = 10 * 1024 * 1024 * 1024;

const LOCK_FILE: &str = "catalogql.lock";
const CONTENT: &str = "content";
const NOTES: &str = "notes";
const OUTLINES: &str = "outlines";
const SOURCES: &str = "sources";
const SCRATCH: &str = "scratch";

/// A folder of contents, held by this process alone.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// The most bytes the folder may hold.
    quota: u64,
    /// What decides about lines and problems in this build; what another build found out is found out again.
    build: String,
    /// Keys of sources that this process serves: their contents are not given up for others.
    in_use: Mutex<HashSet<String>>,
    /// Held by who writes or sweeps, so that nothing is swept on its way and two contents do not exceed the quota.
    guard: Mutex<()>,
    lock: File,
    /// The temporary folder of a store that does not outlive this value; nothing of it need survive a crash.
    ephemeral: Option<TempDir>,
}

/// A content as the store gives it back.
#[derive(Debug)]
pub struct StoredContent {
    /// Which source gave it, and when.
    pub record: Record,
    /// The canonical lines.
    pub content: Bytes,
    /// Where they came from and what is odd in them.
    pub analysis: Analysis,
}

/// Why the store cannot do what it should.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another process holds the folder.
    #[error("the store `{}` is in use by another process: end that one or name another folder with --store", .0.display())]
    InUse(PathBuf),
    /// The folder was not made by a store, so that nothing in it may be swept.
    #[error("`{}` holds other files than a store's: name an empty folder with --store", .0.display())]
    NotAStore(PathBuf),
    /// A content does not fit.
    #[error("the store `{}` may hold {quota} bytes and a new content does not fit: raise --store-quota", folder.display())]
    QuotaExceeded {
        /// The folder.
        folder: PathBuf,
        /// What it may hold.
        quota: u64,
    },
}

impl Store {
    /// Opens the folder, makes it where it is missing, and sweeps it. `build` tells what another build wrote from what
    /// this one did.
    pub fn open(folder: &Path, quota: u64, build: &str) -> Result<Self, StoreError> {
        let lock = lock(folder)?;
        for part in [CONTENT, NOTES, OUTLINES, SOURCES] {
            let part = folder.join(part);
            fs::create_dir_all(&part).map_err(|source| io_error("make the folder", &part, source))?;
        }
        let store = Self {
            folder: folder.to_owned(),
            quota,
            build: build.to_owned(),
            in_use: Mutex::default(),
            guard: Mutex::default(),
            lock,
            ephemeral: None,
        };
        store.sweep_unfinished()?;
        store.sweep_scratch()?;
        store.sweep()?;
        Ok(store)
    }

    /// Opens a store in a new folder within this one. The folder is removed with the store; contents that are in use stay
    /// readable. Nothing is synced to the disk, and there is no quota.
    pub fn ephemeral(within: &Path) -> Result<Self, StoreError> {
        let folder = tempfile::Builder::new().prefix("catalogql-").tempdir_in(within);
        let folder = folder.map_err(|source| io_error("create a folder in", within, source))?;
        let mut store = Self::open(folder.path(), u64::MAX, "")?;
        store.ephemeral = Some(folder);
        Ok(store)
    }

    /// Marks the contents of a source as in use: they are not evicted for others until [`Store::release`].
    pub fn hold(&self, key: &str) {
        lock_mutex(&self.in_use).insert(key.to_owned());
    }

    /// Marks the contents of a source as no longer in use. They stay until the quota needs their room.
    pub fn release(&self, key: &str) {
        lock_mutex(&self.in_use).remove(key);
    }

    /// What the source of this key gave last; nothing when that is unknown or no longer whole.
    pub fn get(&self, key: &str) -> Option<StoredContent> {
        self.open_record(self.record(key)?)
    }

    /// What some source gave when it was in this very state, remembered for the source of this key too. Nothing when
    /// none did, or this build has not looked at it.
    pub fn reuse(&self, key: &str, state: &SourceState<'_>) -> Result<Option<StoredContent>, StoreError> {
        let _pen = lock_mutex(&self.guard);
        let others = self.records()?.into_iter().filter_map(|path| Record::read(&path));
        let mut others = others.filter(|other| other.key != key && other.revision.as_deref() == state.revision);
        let usable = |other| self.open_record(other).filter(|kept| kept.analysis.problems.is_some());
        let Some(StoredContent { record, content, analysis }) = others.find_map(usable) else { return Ok(None) };
        let record = Record::new(key, state, (record.content, record.bytes), record.analysis, self.record(key));
        self.write_file(&self.record_path(key), &record.to_json(), FileKind::Record)?;
        self.sweep()?;
        Ok(Some(StoredContent { record, content, analysis }))
    }

    fn open_record(&self, record: Record) -> Option<StoredContent> {
        let content = file::map(&self.content_path(&record.content)).ok()?;
        if content.len() as u64 != record.bytes {
            return None;
        }
        let analysis = Analysis::read(&self.analysis_path(&record.analysis), &self.build)?;
        Some(StoredContent { record, content, analysis })
    }

    /// Begins to write a content. Another one waits until something refers to this one, or it is dropped.
    pub fn writer(&self) -> Result<ContentWriter<'_>, StoreError> {
        ContentWriter::new(self, lock_mutex(&self.guard))
    }

    /// Forgets what a source gave: it was damaged.
    pub fn forget(&self, key: &str) -> Result<(), StoreError> {
        let _pen = lock_mutex(&self.guard);
        file::remove(&self.record_path(key))?;
        self.sweep()
    }

    /// Remembers what a source gave. A content that was there before keeps its time. The guard must be held.
    fn keep(
        &self,
        key: &str,
        state: &SourceState<'_>,
        content: &WrittenContent<'_>,
        notes: &Analysis,
    ) -> Result<Record, StoreError> {
        let text = notes.to_json(&self.build);
        let content = (content.digest, content.content.len() as u64);
        let record = Record::new(key, state, content, record::digest(&text), self.record(key));
        self.write_file(&self.analysis_path(&record.analysis), &text, FileKind::Analysis)?;
        self.write_file(&self.record_path(key), &record.to_json(), FileKind::Record)?;
        self.sweep()?;
        Ok(record)
    }

    /// Writes a whole file under its name.
    pub(crate) fn write_file(&self, path: &Path, bytes: &[u8], kind: FileKind) -> Result<(), StoreError> {
        file::write(path, bytes, kind, self.durability())
    }

    pub(crate) fn durability(&self) -> Durability {
        if self.ephemeral.is_some() { Durability::Ephemeral } else { Durability::Synced }
    }

    fn record(&self, key: &str) -> Option<Record> {
        Record::read(&self.record_path(key)).filter(|record| record.key == key)
    }

    fn content_path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(CONTENT).join(format!("{}.jsonl", digest.hex()))
    }

    fn analysis_path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(NOTES).join(format!("{}.json", digest.hex()))
    }

    fn record_path(&self, key: &str) -> PathBuf {
        self.folder.join(SOURCES).join(format!("{}.json", record::digest(key.as_bytes()).hex()))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // The lock would end with the file, but a child process that is just being started may have a copy of it.
        let _ = self.lock.unlock();
    }
}

/// Makes the folder and takes its lock, which the system gives back when the process ends, however it ends.
fn lock(folder: &Path) -> Result<File, StoreError> {
    fs::create_dir_all(folder).map_err(|source| io_error("make the folder", folder, source))?;
    let names = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
    let names: Vec<_> = names.map_err(|source| io_error("read the folder", folder, source))?;
    // The lock is the first file that a store makes.
    if !names.is_empty() && names.iter().all(|name| name != LOCK_FILE) {
        return Err(StoreError::NotAStore(folder.to_owned()));
    }
    let path = folder.join(LOCK_FILE);
    let lock = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = lock.map_err(|source| io_error("open", &path, source))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse(folder.to_owned())),
        Err(TryLockError::Error(source)) => Err(io_error("lock", &path, source)),
    }
}

/// What these locks guard is whole between any two statements, so a panic elsewhere does not spoil it.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
