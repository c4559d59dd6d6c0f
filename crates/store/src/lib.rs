//! The store of contents on disk: canonical lines addressed by their digest, written atomically,
//! and memory-mapped.
//!
//! Each content is stored once, with its analysis; for each source, a small record names the
//! content that it provided last. The folder is a cache: files that are damaged or of another
//! format are replaced and are never an error. The store survives a kill at any moment, is locked
//! against other processes, and keeps within a quota. No other crate knows that contents are
//! memory-mapped.
//!
//! ```text
//! FOLDER/catalogql.lock                          locked while a process uses the folder; marks it as a store, and has its id
//! FOLDER/content/<digest>.jsonl                  canonical lines of a content
//! FOLDER/content/<digest>.jsonl.gz, .jsonl.zst   the same compressed, if the quota allowed it
//! FOLDER/content/<digest>.index                  index of a content, if the quota allowed it
//! FOLDER/notes/<digest>.json                     analysis of a content, by the digest of this file
//! FOLDER/outlines/<digest>.outline               outline of a content, also of recent contents that were removed
//! FOLDER/changes/<digest>.log                    changes of a catalog, by the digest of its name
//! FOLDER/sources/<digest>.json                   record of a source, by the digest of the source's key
//! FOLDER/evidence/<digest>.json                  evidence of a source, such as signatures, by the digest of this file
//! FOLDER/scratch/                                layers and files of images that are being read
//! FOLDER/bundles/                                files of bundle images, which the crate `bundle-images` keeps
//! FOLDER/followed.json                           catalogs of followed servers, which the crate `loading` keeps
//! ```

mod analysis;
mod change_logs;
mod crash_points;
mod encoded;
mod evidence;
mod file;
mod garbage_collection;
mod index;
mod integrity;
mod outlines;
mod protection;
mod record;
mod repair;
mod scratch;
mod unnamed;
mod verified;
mod writer;

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use fbc_grammar::Digest;
use tempfile::TempDir;

pub use analysis::{ANALYSIS_FORMAT, Analysis};
pub use change_logs::MAX_CHANGE_LOGS;
pub use index::{INDEX_FORMAT, StoredIndex};
pub use record::{PreviousContent, RECORD_FORMAT, Record, SourceState};
pub use repair::UnprotectedFiles;
pub use scratch::ScratchFolder;
pub use unnamed::UnnamedFile;
pub use writer::{ContentWriter, WrittenContent};

use crash_points::FileKind;
use file::Durability;
use index::CurrentIndexes;
use protection::Protection;
use record::ContentSize;
use verified::VerifiedFiles;

/// Default quota of the folder in bytes.
pub const DEFAULT_QUOTA_BYTES: u64 = 10 * 1024 * 1024 * 1024;

/// Number of shares of the quota: with as many sources in use or more, the content of one takes at
/// most one share. With fewer sources, the quota has as many shares as sources. Sources that give
/// as much as they can fill their own shares.
pub const QUOTA_SHARES: u64 = 8;

/// Name of the folder that a new ext4 file system contains.
const LOST_AND_FOUND: &str = "lost+found";

const LOCK_FILE: &str = "catalogql.lock";

/// Number of hexadecimal digits of the id of a store.
const ID_DIGITS: usize = 32;

const CONTENT: &str = "content";
/// Holds analyses: the name is part of the format on disk.
const ANALYSES: &str = "notes";
const OUTLINES: &str = "outlines";
const CHANGE_LOGS: &str = "changes";
const SOURCES: &str = "sources";
const EVIDENCE: &str = "evidence";
const SCRATCH: &str = "scratch";

/// The folders of files that the store writes under digests.
const PARTS: [&str; 6] = [CONTENT, ANALYSES, OUTLINES, CHANGE_LOGS, EVIDENCE, SOURCES];

/// A store, which this process alone uses.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// Maximum number of bytes in the folder.
    quota: u64,
    /// Identity of the code that reads and checks contents. Problems that another build found are
    /// not used.
    build: String,
    /// Keys of the sources that this process serves. Their contents are not evicted.
    in_use: Mutex<HashSet<String>>,
    /// Held while writing and while removing unreferenced files, so that a content is not removed
    /// before a record refers to it, and two contents together do not exceed the quota.
    write_lock: Mutex<()>,
    /// Contents whose files were checked against their digests.
    verified: VerifiedFiles,
    indexes: Mutex<CurrentIndexes>,
    /// Decides which files are protected against other users.
    protection: Protection,
    unprotected: UnprotectedFiles,
    lock: File,
    /// Random id of the folder, in its lock file.
    id: String,
    /// The temporary folder of an ephemeral store.
    ephemeral: Option<TempDir>,
}

/// A content that the store holds for a source.
#[derive(Debug)]
pub struct StoredContent {
    /// The record of the source.
    pub record: Record,
    /// The canonical lines.
    pub content: Bytes,
    /// Origins and problems of the lines.
    pub analysis: Analysis,
    /// The index of the lines.
    pub index: StoredIndex,
}

/// Size of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreUsage {
    /// Bytes that count towards the quota.
    pub bytes: u64,
    /// The quota in bytes.
    pub quota: u64,
    /// Number of contents.
    pub contents: usize,
}

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An operation on a file failed.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The operation, as in "cannot write".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The folder of the store cannot be created.
    #[error("cannot create the folder `{}` for the store: name another folder with --store", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file has the name of the folder.
    #[error("cannot open the store `{}`: it is a file; name a folder with --store", .0.display())]
    File(PathBuf),
    /// Another process uses the store.
    #[error("cannot open the store `{}`: another process uses it; stop that process or name another folder with --store", .0.display())]
    InUse(PathBuf),
    /// The folder is not empty and is not a store. The store would remove files from it.
    #[error("cannot use `{}` as the store: it contains files of other programs; name an empty folder with --store", .0.display())]
    NotAStore(PathBuf),
    /// A content does not fit into the quota.
    #[error("the store `{}` would exceed its quota of {quota} bytes: raise it with --store-quota", folder.display())]
    QuotaExceeded {
        /// Folder of the store.
        folder: PathBuf,
        /// The quota in bytes.
        quota: u64,
    },
    /// A content takes more than its source's share of the quota.
    #[error(
        "the content would have more than {share} bytes in the store `{}`, the share of each source of the quota of {quota} \
         bytes: raise it with --store-quota", folder.display()
    )]
    ShareExceeded {
        /// Folder of the store.
        folder: PathBuf,
        /// The share of one source in bytes.
        share: u64,
        /// The quota in bytes.
        quota: u64,
    },
}

impl Store {
    /// Opens a store, creating the folder if necessary, and removes unfinished and unreferenced
    /// files. Files that others can write to are protected or removed. `build` identifies the code
    /// that reads and checks contents.
    pub fn open(folder: &Path, quota: u64, build: &str) -> Result<Self, StoreError> {
        let mut lock = lock(folder)?;
        let id = read_or_create_id(&mut lock)
            .map_err(|source| io_error("read or write", &folder.join(LOCK_FILE), source))?;
        for part in PARTS {
            let part = folder.join(part);
            fs::create_dir_all(&part)
                .map_err(|source| io_error("create the folder", &part, source))?;
        }
        let mut store = Self {
            folder: folder.to_owned(),
            quota,
            build: build.to_owned(),
            in_use: Mutex::default(),
            write_lock: Mutex::default(),
            verified: VerifiedFiles::default(),
            indexes: Mutex::default(),
            protection: Protection::probe(&folder.join(CONTENT))?,
            unprotected: UnprotectedFiles::default(),
            lock,
            id,
            ephemeral: None,
        };
        store.sweep_unfinished()?;
        store.sweep_scratch()?;
        store.protect()?;
        store.collect_garbage()?;
        Ok(store)
    }

    /// Opens a store in a new folder within this one. The folder is removed with the store;
    /// contents that are in use stay readable. Nothing is synced to the disk, and there is no
    /// quota.
    pub fn ephemeral(within: &Path) -> Result<Self, StoreError> {
        let folder = tempfile::Builder::new()
            .prefix("catalogql-")
            .tempdir_in(within);
        let folder = folder.map_err(|source| io_error("create a folder in", within, source))?;
        let mut store = Self::open(folder.path(), u64::MAX, "")?;
        store.ephemeral = Some(folder);
        Ok(store)
    }

    /// Returns whether the folder is removed with the store.
    pub fn is_ephemeral(&self) -> bool {
        self.ephemeral.is_some()
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the random id of the store, by which servers that follow each other know this one.
    pub fn instance_id(&self) -> &str {
        &self.id
    }

    /// Returns the digest of the content that a source provided last, without opening it.
    pub fn last_digest(&self, key: &str) -> Option<Digest> {
        self.record(key).map(|record| record.content)
    }

    /// Marks a source as in use: its content is not evicted until [`Store::release`].
    pub fn hold(&self, key: &str) {
        lock_mutex(&self.in_use).insert(key.to_owned());
    }

    /// Marks a source as no longer in use. Its content stays until the quota needs the room.
    pub fn release(&self, key: &str) {
        lock_mutex(&self.in_use).remove(key);
    }

    /// Returns the content that a source provided last; `None` if it is unknown or damaged.
    pub fn get(&self, key: &str) -> Option<StoredContent> {
        self.open_record(self.record(key)?)
    }

    /// Returns whether the content that a source provided last is of this revision, without opening
    /// it.
    pub fn has_revision(&self, key: &str, revision: Option<&str>) -> bool {
        self.record(key)
            .is_some_and(|record| record.revision.as_deref() == revision)
    }

    /// Returns the state in which a source provided its last content, without the evidence.
    pub fn last_state(&self, key: &str) -> Option<SourceState> {
        self.record(key).map(|record| SourceState {
            revision: record.revision,
            image: record.image,
            validators: record.validators,
            evidence: None,
        })
    }

    /// Returns the file of the analysis of the content that a source provided last; `None` if it is
    /// unknown or damaged. [`Store::parse_analysis`] reads it in the store of another process.
    pub fn analysis_file(&self, key: &str) -> Option<Vec<u8>> {
        let record = self.record(key)?;
        let text = fs::read(self.analysis_path(&record.analysis)).ok()?;
        (content_digest::digest(&text) == record.analysis).then_some(text)
    }

    /// Parses the file of an analysis; `None` if it is damaged, or another build made it.
    pub fn parse_analysis(&self, text: &[u8]) -> Option<Analysis> {
        Analysis::parse(text, &self.build).filter(|analysis| analysis.problems.is_some())
    }

    /// Replaces the validators of a source whose content is unchanged.
    pub fn set_validators(&self, key: &str, validators: Option<String>) -> Result<(), StoreError> {
        let _writing = lock_mutex(&self.write_lock);
        let Some(mut record) = self.record(key) else {
            return Ok(());
        };
        record.validators = validators;
        self.write_file(&self.record_path(key), &record.to_json(), FileKind::Record)
    }

    /// Replaces the revision of a source whose content is unchanged.
    pub fn set_revision(&self, key: &str, revision: Option<String>) -> Result<(), StoreError> {
        let _writing = lock_mutex(&self.write_lock);
        let Some(mut record) = self.record(key) else {
            return Ok(());
        };
        record.revision = revision;
        self.write_file(&self.record_path(key), &record.to_json(), FileKind::Record)
    }

    /// Returns the size in bytes of the content that a source provided last; 0 if it is unknown.
    pub fn last_bytes(&self, key: &str) -> u64 {
        self.record(key).map_or(0, |record| record.bytes)
    }

    /// Finds the content that another source provided in the same state, and records it for this
    /// source too. `None` if there is none, or this build has not checked it.
    pub fn reuse(
        &self,
        key: &str,
        state: &SourceState,
    ) -> Result<Option<StoredContent>, StoreError> {
        let _writing = lock_mutex(&self.write_lock);
        let others = self
            .records()?
            .into_iter()
            .filter_map(|path| Record::read(&path));
        let mut others = others.filter(|other| {
            other.key != key && other.revision.as_deref() == state.revision.as_deref()
        });
        let usable = |other| {
            self.open_record(other)
                .filter(|stored| stored.analysis.problems.is_some())
        };
        let Some(StoredContent {
            record,
            content,
            analysis,
            index,
        }) = others.find_map(usable)
        else {
            return Ok(None);
        };
        let record = Record::new(
            key,
            state,
            ContentSize {
                digest: record.content,
                bytes: record.bytes,
            },
            record.analysis,
            self.record(key),
        );
        let record = Record {
            evidence: self.write_evidence(state.evidence.as_deref())?,
            ..record
        };
        self.write_file(&self.record_path(key), &record.to_json(), FileKind::Record)?;
        self.collect_garbage()?;
        Ok(Some(StoredContent {
            record,
            content,
            analysis,
            index,
        }))
    }

    /// Maps the content of a record; `None` if a file is missing or damaged, or does not have the
    /// bytes of its digest. A content is hashed when this process opens it first, unless its index
    /// seals it, and again when its file has changed.
    fn open_record(&self, record: Record) -> Option<StoredContent> {
        let index = self.open_index(&record.content);
        let content = self.verified.open(
            &self.content_path(&record.content),
            record.content,
            self.protection,
        )?;
        if content.len() as u64 != record.bytes {
            return None;
        }
        let analysis = Analysis::read(&self.analysis_path(&record.analysis), &self.build)?;
        Some(StoredContent {
            record,
            content,
            analysis,
            index,
        })
    }

    /// Returns the maximum size of a content in bytes, as [`QUOTA_SHARES`] says.
    fn share(&self) -> u64 {
        let sources = lock_mutex(&self.in_use).len() as u64;
        self.quota / sources.clamp(1, QUOTA_SHARES)
    }

    /// Starts writing a content. Blocks while another content is being written, until that is
    /// committed or dropped.
    pub fn writer(&self) -> Result<ContentWriter<'_>, StoreError> {
        ContentWriter::new(self, lock_mutex(&self.write_lock))
    }

    /// Removes the record of a source, because its content turned out to be damaged.
    pub fn forget(&self, key: &str) -> Result<(), StoreError> {
        let _writing = lock_mutex(&self.write_lock);
        file::remove(&self.record_path(key))?;
        self.collect_garbage()
    }

    /// Writes the analysis of a content and the record of its source. The caller must hold the
    /// write lock.
    fn commit(
        &self,
        key: &str,
        state: &SourceState,
        content: &WrittenContent<'_>,
        analysis: &Analysis,
    ) -> Result<Record, StoreError> {
        let text = analysis.to_json(&self.build);
        let content = ContentSize {
            digest: content.digest,
            bytes: content.content.len() as u64,
        };
        let record = Record::new(
            key,
            state,
            content,
            content_digest::digest(&text),
            self.record(key),
        );
        let record = Record {
            evidence: self.write_evidence(state.evidence.as_deref())?,
            ..record
        };
        // The record comes last: a kill before leaves the former content, and the new files are swept.
        self.write_file(
            &self.analysis_path(&record.analysis),
            &text,
            FileKind::Analysis,
        )?;
        self.write_file(&self.record_path(key), &record.to_json(), FileKind::Record)?;
        self.collect_garbage()?;
        Ok(record)
    }

    /// Writes a file atomically.
    fn write_file(&self, path: &Path, bytes: &[u8], kind: FileKind) -> Result<(), StoreError> {
        file::write(path, bytes, kind, self.durability())
    }

    fn durability(&self) -> Durability {
        if self.ephemeral.is_some() {
            Durability::Ephemeral
        } else {
            Durability::Synced
        }
    }

    /// Reads the record of a source.
    fn record(&self, key: &str) -> Option<Record> {
        Record::read(&self.record_path(key)).filter(|record| record.key == key)
    }

    fn content_path(&self, digest: &Digest) -> PathBuf {
        self.folder
            .join(CONTENT)
            .join(format!("{}.jsonl", digest.hex()))
    }

    fn analysis_path(&self, digest: &Digest) -> PathBuf {
        self.folder
            .join(ANALYSES)
            .join(format!("{}.json", digest.hex()))
    }

    fn record_path(&self, key: &str) -> PathBuf {
        self.folder.join(SOURCES).join(format!(
            "{}.json",
            content_digest::digest(key.as_bytes()).hex()
        ))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Closing the file would unlock it, unless a child process that is just being started has
        // inherited it.
        let _ = self.lock.unlock();
    }
}

/// Creates the folder and locks it. The operating system releases the lock when the process ends,
/// however it ends.
fn lock(folder: &Path) -> Result<File, StoreError> {
    if folder.is_file() {
        return Err(StoreError::File(folder.to_owned()));
    }
    fs::create_dir_all(folder).map_err(|source| StoreError::Folder {
        path: folder.to_owned(),
        source,
    })?;
    let names = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
    let names: Vec<_> = names.map_err(|source| io_error("read the folder", folder, source))?;
    // The lock is the first file that a store creates: a folder with other files and without it
    // belongs to another program. A volume with a new file system may have `lost+found`.
    if names.iter().any(|name| name != LOST_AND_FOUND) && names.iter().all(|name| name != LOCK_FILE)
    {
        return Err(StoreError::NotAStore(folder.to_owned()));
    }
    let path = folder.join(LOCK_FILE);
    let lock = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path);
    let lock = lock.map_err(|source| io_error("open", &path, source))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse(folder.to_owned())),
        Err(TryLockError::Error(source)) => Err(io_error("lock", &path, source)),
    }
}

/// Reads the id in a lock file, or writes a new one.
fn read_or_create_id(lock: &mut File) -> io::Result<String> {
    let mut text = String::new();
    // A file with other bytes is replaced: the id only has to differ from those of other stores.
    let begin = &mut (&*lock).take(ID_DIGITS as u64 + 1);
    let read = begin.read_to_string(&mut text);
    let is_id = text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if read.is_ok() && is_id {
        return Ok(text);
    }
    let id = format!("{:032x}", fastrand::u128(..));
    lock.set_len(0)?;
    lock.rewind()?;
    lock.write_all(id.as_bytes())?;
    Ok(id)
}

/// Locks a mutex, also after a panic of another thread: what these guard is consistent between any
/// two statements.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

fn io_error(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}
