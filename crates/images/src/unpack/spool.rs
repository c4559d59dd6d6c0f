//! The spool: one unnamed file with the contents of all files of an image, which is removed when it
//! is dropped.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::UnpackError;
use super::error::{io_error, read_error};
use super::members::ArchiveEntry;

/// Size of the copy buffer in bytes.
const BUFFER_BYTES: usize = 128 * 1024;

/// The place of a file's content in the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileContent {
    start: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// Contents of files. It is appended to until all layers are applied.
//
// One file instead of a file system tree: no archive can choose where bytes are written, and creating
// thousands of small files took a fifth of the CPU time of a start.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    /// Folder on whose file system the file is, for errors.
    folder: PathBuf,
    buffer: Vec<u8>,
    /// Length of all contents in bytes.
    bytes: u64,
}

impl Spool {
    /// Creates an empty spool on the file system of a folder.
    pub(super) fn new(folder: &Path) -> Result<Self, UnpackError> {
        let file = tempfile::tempfile_in(folder)
            .map_err(|source| io_error("create a file in", folder, source))?;
        Ok(Self {
            file,
            folder: folder.to_owned(),
            buffer: vec![0; BUFFER_BYTES],
            bytes: 0,
        })
    }

    /// Returns the length of all contents in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends the whole content of an archive entry.
    pub(super) fn add(
        &mut self,
        content: &mut impl Read,
        entry: &ArchiveEntry,
    ) -> Result<FileContent, UnpackError> {
        let mut left = entry.bytes;
        while left > 0 {
            match content.read(&mut self.buffer) {
                Ok(0) => return Err(UnpackError::Truncated(entry.location())),
                Ok(read) => {
                    let written = self.file.write_all(&self.buffer[..read]);
                    written.map_err(|source| {
                        io_error("write files of the image to", &self.folder, source)
                    })?;
                    left = left.saturating_sub(read as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(entry.layer, error)),
            }
        }
        let start = self.bytes;
        self.bytes += entry.bytes;
        Ok(FileContent {
            start,
            bytes: entry.bytes,
        })
    }

    /// Appends everything that the reader of a layer has, up to a limit in bytes; `None` if it has
    /// more.
    pub(super) fn add_all(
        &mut self,
        content: &mut impl Read,
        layer: u32,
        limit: u64,
    ) -> Result<Option<FileContent>, UnpackError> {
        let start = self.bytes;
        loop {
            match content.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(read) => {
                    let written = self.file.write_all(&self.buffer[..read]);
                    written.map_err(|source| {
                        io_error("write files of the source to", &self.folder, source)
                    })?;
                    self.bytes += read as u64;
                    if self.bytes - start > limit {
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(layer, error)),
            }
        }
        Ok(Some(FileContent {
            start,
            bytes: self.bytes - start,
        }))
    }

    /// Reads bytes of a content from an offset on into a buffer. Returns the number of bytes, 0 at
    /// the end.
    pub(super) fn read(
        &self,
        content: FileContent,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, UnpackError> {
        let left = usize::try_from(content.bytes.saturating_sub(offset))
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let read = self
            .file
            .read_exact_at(&mut buffer[..left], content.start + offset);
        read.map_err(|source| io_error("read files of the image from", &self.folder, source))?;
        Ok(left)
    }
}
