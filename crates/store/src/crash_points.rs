//! Points of writing at which tests kill the process or fill the disk: those of this crate, and
//! with the feature `crash-points` those of crates that use the store.

use std::cell::Cell;
use std::io;

use super::file::{CrashPoint, FileKind};

/// Names the environment variable that is set, in the process that is to die, to the point at which
/// it does.
pub(super) const DIE_AT: &str = "CATALOGQL_TEST_DIE_AT";

thread_local! {
    /// The point at which this thread finds the disk full.
    pub(super) static DISK_FULL_AT: Cell<Option<(FileKind, CrashPoint)>> = const { Cell::new(None) };
}

/// Called at each point of writing.
pub(super) fn reached(kind: FileKind, point: CrashPoint) -> io::Result<()> {
    if std::env::var(DIE_AT).is_ok_and(|step| step == format!("{kind:?} {point:?}")) {
        std::process::abort();
    }
    if DISK_FULL_AT.get() == Some((kind, point)) {
        return Err(io::Error::from(io::ErrorKind::StorageFull));
    }
    Ok(())
}
