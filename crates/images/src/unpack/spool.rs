//! The contents of an image's files, one behind the other in a file of our own. It has no name, so that it is gone with
//! whoever holds it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::UnpackError;
use super::error::{io_error, reading};
use super::members::Member;

/// How many bytes are written at once.
const BUFFER: usize = 128 * 1024;

/// Where the content of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileContent {
    start: u64,
    /// How long it is.
    pub bytes: u64,
}

/// Contents, which grow until an image is finished.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    /// The folder on whose file system it is, for errors.
    folder: PathBuf,
    buffer: Vec<u8>,
    /// How many bytes all contents have.
    bytes: u64,
}

impl Spool {
    /// An empty one on the file system of a folder.
    pub(super) fn new(folder: &Path) -> Result<Self, UnpackError> {
        let file = tempfile::tempfile_in(folder).map_err(|source| io_error("make a file in", folder, source))?;
        Ok(Self { file, folder: folder.to_owned(), buffer: vec![0; BUFFER], bytes: 0 })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the whole content of a member.
    pub(super) fn add(&mut self, content: &mut impl Read, member: &Member) -> Result<FileContent, UnpackError> {
        let mut left = member.bytes;
        while left > 0 {
            match content.read(&mut self.buffer) {
                Ok(0) => return Err(UnpackError::Truncated(member.place())),
                Ok(read) => {
                    let written = self.file.write_all(&self.buffer[..read]);
                    written.map_err(|source| io_error("write files of the image to", &self.folder, source))?;
                    left = left.saturating_sub(read as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(reading(member.layer, error)),
            }
        }
        let start = self.bytes;
        self.bytes += member.bytes;
        Ok(FileContent { start, bytes: member.bytes })
    }

    /// Reads into this room what a content has from here on, as far as there is room, and says how much; 0 at its end.
    pub(super) fn read(&self, content: FileContent, from: u64, room: &mut [u8]) -> Result<usize, UnpackError> {
        let left = usize::try_from(content.bytes.saturating_sub(from)).unwrap_or(usize::MAX).min(room.len());
        let read = self.file.read_exact_at(&mut room[..left], content.start + from);
        read.map_err(|source| io_error("read files of the image from", &self.folder, source))?;
        Ok(left)
    }
}
