//! A directory as a source: a list of its files, and their bytes, piece by piece.
//!
//! It does not know what the files hold, beyond which of them `.indexignore` leaves out, and never
//! holds a whole file in memory.

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
use fbc_read::Origins;
use store::{ContentWriter, StoreError, WrittenContent};
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use crate::read::read;
use crate::{LoadError, Source, WatchInterval};

pub use error::DirectoryError;
pub use revision::Revision;

/// How often a directory is read that changes while it is read.
pub const ATTEMPTS: usize = 3;

/// Maximum number of entries of a directory tree, of every kind. The list of them is held in
/// memory.
pub const ENTRIES: usize = 200_000;

/// The files of a source at one moment, in catalog order.
#[derive(Debug)]
pub struct Listing {
    root: PathBuf,
    /// Opened once, so that a root that is replaced meanwhile is not mixed with its successor.
    folder: OwnedFd,
    /// Of all `.indexignore` files, as long as somebody may ask for them: they can be large.
    rules: Option<IgnoreRules>,
    files: Vec<ListedFile>,
    revision: Revision,
    settled: bool,
}

/// One file of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Path from the root of the catalog, with `/` between its parts.
    pub path: String,
    /// Its length in bytes when it was listed.
    pub bytes: u64,
    /// Where it really is, from the root: without links.
    real: PathBuf,
}

/// A file that is being read.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    path: PathBuf,
}

/// What a directory looks like, without reading its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Settled(Revision),
    /// Something changed a moment ago.
    Changing,
    /// Why it cannot be listed.
    Unreadable(String),
}

/// Finds every file of the catalog below a directory, without opening any but `.indexignore`. There
/// may be none.
pub fn list(directory: &Path) -> Result<Listing, DirectoryError> {
    Ok(Listing {
        rules: None,
        ..list_with_rules(directory)?
    })
}

/// Lists as [`list`] does, and keeps what [`Listing::includes`] looks at.
pub fn list_with_rules(directory: &Path) -> Result<Listing, DirectoryError> {
    walk::list(directory, ENTRIES)
}

impl Listing {
    /// The directory, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files, in catalog order.
    pub fn files(&self) -> &[ListedFile] {
        &self.files
    }

    /// What all files have together, in bytes, when they were listed.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Equal for two listings when nothing changed between them.
    pub fn revision(&self) -> &Revision {
        &self.revision
    }

    /// Whether a file at this path would be one of the catalog that [`list_with_rules`] has listed:
    /// no `.indexignore` leaves it out.
    pub fn includes(&self, path: &str) -> bool {
        self.rules
            .as_ref()
            .is_none_or(|rules| !rules.is_ignored(path))
    }

    /// Whether nothing changed for so long that an equal revision proves an equal content.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Opens one of the files; its path must not have become a link or left the root since it was
    /// listed.
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
    /// Reads the next bytes of the file into this room and says how many; 0 at its end.
    pub fn read(&mut self, room: &mut [u8]) -> Result<usize, DirectoryError> {
        loop {
            match self.file.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|source| io_error("read", &self.path, source)),
            }
        }
    }
}

/// Lists a directory off the async threads.
pub(crate) async fn poll(root: &Path) -> Result<Listing, LoadError> {
    let root = root.to_owned();
    match spawn_blocking(move || list(&root)).await {
        Ok(listing) => Ok(listing?),
        Err(error) => Err(LoadError::Panicked(error.to_string())),
    }
}

/// What a source looks like now; `None` for one that is no directory.
pub(crate) async fn look(source: &Source) -> Option<Look> {
    let Source::Directory(root) = source else {
        return None;
    };
    Some(match poll(root).await {
        Ok(listing) if listing.is_settled() => Look::Settled(listing.revision().clone()),
        Ok(_) => Look::Changing,
        Err(error) => Look::Unreadable(error.chain()),
    })
}

/// Waits until a directory looks otherwise than before the last attempt, twice in a row the same
/// and not just now written to; or until a failed attempt is worth repeating.
pub(crate) async fn changed(
    root: &Path,
    watch: WatchInterval,
    before: Option<&Look>,
    failed: bool,
) {
    let mut polls = interval(watch.poll);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    polls.tick().await;
    let since = Instant::now();
    let source = Source::Directory(root.to_owned());
    let mut last = Some(Look::Changing);
    loop {
        polls.tick().await;
        let look = look(&source).await;
        let is_stable = look == last && look != Some(Look::Changing);
        if is_stable && (look.as_ref() != before || failed && since.elapsed() >= watch.retry) {
            return;
        }
        last = look;
    }
}

/// Reads a directory that does not change meanwhile, so that no mixture of two states is taken for
/// a content. Returns the listing that was read.
pub(crate) fn read_unchanged<'a>(
    mut listing: Listing,
    writer: impl Fn() -> Result<ContentWriter<'a>, StoreError>,
    progress: impl Fn(u64, u64),
) -> Result<(Listing, WrittenContent<'a>, Origins), LoadError> {
    let root = listing.root.clone();
    for _ in 0..ATTEMPTS {
        let mut writer = writer()?;
        let total = listing.bytes();
        let result = read(&listing, &mut writer, |read| progress(read, total));
        let now = list(&root);
        let is_unchanged = now
            .as_ref()
            .is_ok_and(|now| now.revision() == listing.revision());
        match (result, now) {
            (Ok(origins), _) if is_unchanged => return Ok((listing, writer.finish()?, origins)),
            // An error that is not about a file need not have to do with the change.
            (Err(error @ LoadError::Store(_)), _) => return Err(error),
            (Err(error), _) if is_unchanged => return Err(error),
            (_, Ok(now)) => listing = now,
            (_, Err(error)) => return Err(error.into()),
        }
    }
    Err(LoadError::Unstable {
        root,
        attempts: ATTEMPTS,
    })
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
