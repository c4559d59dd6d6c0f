//! Directory of an export: one file for each table, catalog and content.
//!
//! ```text
//! DIR/bundles/catalog=NAME/content=sha256-HEX/part-0.parquet
//! ```
//!
//! Names of catalogs are DNS-1123 subdomains, and digests are written without a colon, so that no
//! part of a path needs escapes. The tables of a content are written to `DIR/.staging`, and moved to
//! their places when all are complete, `contents` last. Readers ignore hidden folders.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use export::{ExportTable, ExportedContent, write_table};
use fbc_grammar::Digest;

/// Name of the folder for files that are being written.
const STAGING: &str = ".staging";

/// Name of the file that an export locks.
const LOCK: &str = ".lock";

/// The only file of a table of a content.
const FILE: &str = "part-0.parquet";

/// A directory of exports, locked for this one.
pub(super) struct ExportDirectory {
    root: PathBuf,
    /// Released when it is closed, also by a kill.
    _lock: File,
}

/// Files that were written for a content.
pub(super) struct WrittenContent {
    /// Number of files.
    pub(super) files: usize,
    /// Size of the files, in bytes.
    pub(super) bytes: u64,
}

impl ExportDirectory {
    /// Opens the directory, creating it if needed, and removes what a killed export has left.
    pub(super) fn open(root: &Path) -> anyhow::Result<Self> {
        let failed = || format!("cannot export to `{}`", root.display());
        fs::create_dir_all(root).with_context(failed)?;
        let lock = File::create(root.join(LOCK)).with_context(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "{}: another export writes to it: wait until it ends",
                    failed()
                )
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(failed),
        }
        remove_staging(root).with_context(failed)?;
        Ok(Self {
            root: root.to_owned(),
            _lock: lock,
        })
    }

    /// Returns whether all tables of a content are there.
    pub(super) fn has(&self, catalog: &str, digest: &Digest) -> bool {
        let [.., last] = ExportTable::ALL else {
            return false;
        };
        self.folder(*last, catalog, digest).join(FILE).exists()
    }

    /// Writes all tables of a content, replacing those that an export has left which was killed
    /// between two of them.
    pub(super) fn write(
        &self,
        catalog: &str,
        content: &ExportedContent<'_>,
    ) -> anyhow::Result<WrittenContent> {
        let written = self.write_tables(catalog, content);
        // A disk that is full is not to stay so, and the next catalog begins with an empty folder.
        let removed = remove_staging(&self.root);
        let written = written?;
        removed.with_context(|| format!("cannot remove `{}`", self.staging().display()))?;
        Ok(written)
    }

    fn write_tables(
        &self,
        catalog: &str,
        content: &ExportedContent<'_>,
    ) -> anyhow::Result<WrittenContent> {
        let staging = self.staging();
        fs::create_dir(&staging)
            .with_context(|| format!("cannot create `{}`", staging.display()))?;
        let mut written = WrittenContent { files: 0, bytes: 0 };
        for &table in ExportTable::ALL {
            let path = staging.join(table.name());
            written.bytes += write_file(table, content, &path)
                .with_context(|| format!("cannot write `{}`", path.display()))?;
            written.files += 1;
        }
        for &table in ExportTable::ALL {
            let folder = self.folder(table, catalog, &content.digest);
            publish(&staging.join(table.name()), &folder)
                .with_context(|| format!("cannot write to `{}`", folder.display()))?;
        }
        Ok(written)
    }

    fn staging(&self) -> PathBuf {
        self.root.join(STAGING)
    }

    fn folder(&self, table: ExportTable, catalog: &str, digest: &Digest) -> PathBuf {
        self.root
            .join(table.name())
            .join(format!("catalog={catalog}"))
            .join(format!("content=sha256-{}", digest.hex()))
    }
}

fn remove_staging(root: &Path) -> io::Result<()> {
    match fs::remove_dir_all(root.join(STAGING)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Writes a table to a file. Returns its size, in bytes.
fn write_file(
    table: ExportTable,
    content: &ExportedContent<'_>,
    path: &Path,
) -> anyhow::Result<u64> {
    let file = write_table(table, content, File::create_new(path)?)?;
    // After a power failure, a file that was moved has its bytes.
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

fn publish(file: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::rename(file, folder.join(FILE))?;
    // After a power failure, a content in the last table is in all others.
    File::open(folder)?.sync_all()
}
