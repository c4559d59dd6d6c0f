//! Opens a file below a folder without following any link on the way.
//!
//! A path is checked when it is listed and opened later; a link that was put there in between must
//! not lead out of the folder. It knows nothing of catalogs.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat};

/// Opens the file at a path that has no links, no `..` and no root, below the folder.
pub(super) fn open(folder: &OwnedFd, path: &Path) -> io::Result<File> {
    // Opening a pipe for reading would wait for a writer, so that nothing waits here.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut parent: Option<OwnedFd> = None;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path is not relative and plain",
            ));
        };
        let flags = if parts.peek().is_some() {
            flags | OFlags::DIRECTORY
        } else {
            flags
        };
        let at = parent.as_ref().map_or(folder.as_fd(), AsFd::as_fd);
        parent = Some(openat(at, name, flags, Mode::empty())?);
    }
    parent
        .map(File::from)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}
