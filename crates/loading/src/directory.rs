//! Directories as sources: listing their files, reading them in pieces, and watching for changes.
//!
//! A file is never held in memory as a whole.

mod beneath;
mod error;
mod revision;
mod walk;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fbc_grammar::ignore::IgnoreRules;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use crate::{LoadError, WatchInterval};

pub use error::DirectoryError;
pub use revision::DirectoryRevision;

/// Maximum number of entries of a directory tree, of every kind. The listing is held in memory.
pub const ENTRIES: usize = 200_000;

/// The files of a source at one moment, in catalog order.
#[derive(Debug)]
pub struct Listing {
    root: PathBuf,
    /// The open root. Files are opened relative to it, so that a root that is replaced meanwhile is
    /// not mixed with its successor.
    folder: OwnedFd,
    /// Rules of all `.indexignore` files. [`list`] drops them, because they can be large.
    rules: Option<IgnoreRules>,
    files: Vec<ListedFile>,
    revision: DirectoryRevision,
    settled: bool,
}

/// One file of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Path from the root of the catalog, with `/` between its parts.
    pub path: String,
    /// Length in bytes at the time of the listing.
    pub bytes: u64,
    /// Path from the root, with all links resolved.
    real: PathBuf,
}

/// A file that is being read.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    path: PathBuf,
}

/// State of a directory as far as its listing shows it. The files are not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DirectoryFingerprint {
    Settled(DirectoryRevision),
    /// The last change is so recent that further ones may not be visible.
    Changing,
    /// The directory cannot be listed, with the message of the error.
    Unreadable(String),
}

/// Lists every file of the catalog below a directory. Only `.indexignore` files are opened. The list
/// may be empty.
pub fn list(directory: &Path) -> Result<Listing, DirectoryError> {
    Ok(Listing {
        rules: None,
        ..list_with_rules(directory)?
    })
}

/// Lists like [`list`], and keeps the rules for [`Listing::includes`].
pub fn list_with_rules(directory: &Path) -> Result<Listing, DirectoryError> {
    walk::list(directory, ENTRIES)
}

impl Listing {
    /// Returns the directory, with all links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the files, in catalog order.
    pub fn files(&self) -> &[ListedFile] {
        &self.files
    }

    /// Returns the total length of the files in bytes, at the time of the listing.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the revision. Two listings have the same one if nothing has changed between them.
    pub fn revision(&self) -> &DirectoryRevision {
        &self.revision
    }

    /// Returns whether a file at this path would belong to the catalog: no `.indexignore` excludes it.
    /// The listing must come from [`list_with_rules`].
    pub fn includes(&self, path: &str) -> bool {
        self.rules
            .as_ref()
            .is_none_or(|rules| !rules.is_ignored(path))
    }

    /// Returns whether the last change is so long ago that an equal revision proves an equal content.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Reads one of the files whole.
    ///
    /// # Errors
    /// Those of [`Self::open`] and [`OpenFile::read`].
    pub fn read(&self, file: &ListedFile) -> Result<Vec<u8>, DirectoryError> {
        let mut open = self.open(file)?;
        // One byte more than it had, so that a file that did not grow is read in one go.
        let mut bytes = vec![0; usize::try_from(file.bytes).unwrap_or_default() + 1];
        let mut length = 0;
        loop {
            match open.read(&mut bytes[length..])? {
                0 => break,
                read => length += read,
            }
            if length == bytes.len() {
                bytes.resize(2 * length, 0);
            }
        }
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Opens one of the files. It fails if a part of its path has become a link since the listing.
    pub fn open(&self, file: &ListedFile) -> Result<OpenFile, DirectoryError> {
        let path = self.root.join(&file.path);
        let file = beneath::open(&self.folder, &file.real)
            .map_err(|source| io_error("open", &path, source))?;
        let metadata = file
            .metadata()
            .map_err(|source| io_error("look at", &path, source))?;
        if !metadata.is_file() {
            return Err(DirectoryError::NotAFile {
                path,
                kind: walk::kind(metadata.file_type()),
            });
        }
        Ok(OpenFile { file, path })
    }
}

impl OpenFile {
    /// Reads the next bytes of the file into a buffer. Returns their number; 0 at the end.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, DirectoryError> {
        loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|source| io_error("read", &self.path, source)),
            }
        }
    }
}

/// Lists a directory on a blocking thread.
pub(crate) async fn poll(root: &Path) -> Result<Listing, LoadError> {
    let root = root.to_owned();
    match spawn_blocking(move || list(&root)).await {
        Ok(listing) => Ok(listing?),
        Err(error) => Err(LoadError::Panicked(error.to_string())),
    }
}

impl DirectoryFingerprint {
    /// Polls a directory.
    pub(crate) async fn poll(root: &Path) -> Self {
        match poll(root).await {
            Ok(listing) if listing.is_settled() => Self::Settled(listing.revision().clone()),
            Ok(_) => Self::Changing,
            Err(error) => Self::Unreadable(error.chain()),
        }
    }
}

/// Waits until the fingerprint of a directory differs from that before the last attempt, or a retry
/// after a failure is due.
///
/// Two consecutive polls must agree, so that a directory is not read in the middle of a change.
//
// Polling instead of inotify, because it works on every file system.
pub(crate) async fn wait_for_change(
    root: &Path,
    watch: WatchInterval,
    before: Option<&DirectoryFingerprint>,
    failed: bool,
) {
    let mut polls = interval(watch.poll);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    polls.tick().await;
    let since = Instant::now();
    let mut last = DirectoryFingerprint::Changing;
    loop {
        polls.tick().await;
        let fingerprint = DirectoryFingerprint::poll(root).await;
        let is_stable = fingerprint == last && fingerprint != DirectoryFingerprint::Changing;
        let is_changed = Some(&fingerprint) != before;
        let is_retry_due = failed && since.elapsed() >= watch.retry;
        if is_stable && (is_changed || is_retry_due) {
            return;
        }
        last = fingerprint;
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> DirectoryError {
    DirectoryError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
