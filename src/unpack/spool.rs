//! Contents of files that have no names yet: each in a file that is called by its number.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::UnpackError;
use super::error::{io_error, reading};
use super::members::Member;

/// How many bytes are written at once.
const BUFFER: usize = 128 * 1024;

/// A folder of contents, removed when it is dropped.
pub(super) struct Spool {
    folder: tempfile::TempDir,
    buffer: Vec<u8>,
    /// How many bytes all contents have.
    bytes: u64,
    /// Where each content is by now; nothing while it has no name of its own.
    named: Vec<Option<PathBuf>>,
}

impl Spool {
    /// An empty one below a folder.
    pub(super) fn new(folder: &Path) -> Result<Self, UnpackError> {
        let made = tempfile::Builder::new().prefix(".unpack-").tempdir_in(folder);
        let made = made.map_err(|source| io_error("make a folder in", folder, source))?;
        Ok(Self { folder: made, buffer: vec![0; BUFFER], bytes: 0, named: Vec::new() })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the whole content of a member.
    pub(super) fn add(&mut self, content: &mut impl Read, member: &Member) -> Result<usize, UnpackError> {
        let number = self.named.len();
        let path = self.path(number);
        let failed = |source| io_error("write", &path, source);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
        let mut left = member.bytes;
        while left > 0 {
            match content.read(&mut self.buffer) {
                Ok(0) => return Err(UnpackError::Truncated(member.place())),
                Ok(read) => {
                    file.write_all(&self.buffer[..read]).map_err(failed)?;
                    left = left.saturating_sub(read as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(reading(member.layer, error)),
            }
        }
        self.bytes += member.bytes;
        self.named.push(None);
        Ok(number)
    }

    /// Gives a content a name, or one more.
    pub(super) fn name(&mut self, number: usize, path: &Path) -> Result<(), UnpackError> {
        let done = match &self.named[number] {
            None => fs::rename(self.path(number), path),
            Some(first) => fs::hard_link(first, path),
        };
        done.map_err(|source| io_error("write", path, source))?;
        self.named[number].get_or_insert_with(|| path.to_owned());
        Ok(())
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.path().join(number.to_string())
    }
}
