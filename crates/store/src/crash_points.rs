//! Points in writing at which tests kill the process or fill the disk.
//!
//! Outside of tests, and of crates that enable the feature `crash-points` for theirs, [`reached`] does
//! nothing.

#[cfg(any(test, feature = "crash-points"))]
use std::cell::Cell;
use std::io;

/// The kind of a file or folder that is being written. Tests name crash points by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Content,
    Encoded,
    Index,
    Analysis,
    Outline,
    ChangeLog,
    Evidence,
    Record,
    Scratch,
}

/// A point in writing a file at which tests kill the process or fill the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrashPoint {
    Created,
    Written,
    Synced,
    Renamed,
    FolderSynced,
    Removed,
}

/// Name of the environment variable with the point at which the process aborts.
#[cfg(any(test, feature = "crash-points"))]
pub(super) const DIE_AT: &str = "CATALOGQL_TEST_DIE_AT";

#[cfg(any(test, feature = "crash-points"))]
thread_local! {
    /// The point at which writes of this thread fail as on a full disk.
    pub(super) static DISK_FULL_AT: Cell<Option<(FileKind, CrashPoint)>> = const { Cell::new(None) };
}

/// Called at each point of writing.
#[cfg(any(test, feature = "crash-points"))]
pub(super) fn reached(kind: FileKind, point: CrashPoint) -> io::Result<()> {
    if std::env::var(DIE_AT).is_ok_and(|step| step == format!("{kind:?} {point:?}")) {
        std::process::abort();
    }
    if DISK_FULL_AT.get() == Some((kind, point)) {
        return Err(io::Error::from(io::ErrorKind::StorageFull));
    }
    Ok(())
}

/// Called at each point of writing.
#[cfg(not(any(test, feature = "crash-points")))]
#[expect(clippy::unnecessary_wraps, reason = "in tests a point can fail")]
pub(super) fn reached(_: FileKind, _: CrashPoint) -> io::Result<()> {
    Ok(())
}
