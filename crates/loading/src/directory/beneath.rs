//! Opens a file below a folder without following links.
//!
//! A path is checked when it is listed, and opened later. A link that has been put there in between
//! must not lead out of the folder.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat};

/// Opens a file below the folder. The path must be relative, without links and without `..`.
pub(super) fn open(folder: &OwnedFd, path: &Path) -> io::Result<File> {
    // `NONBLOCK`, because opening a pipe for reading would otherwise wait for a writer.
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
