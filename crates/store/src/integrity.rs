//! Verifies stored files against the digest of their content, long after they were opened.
//!
//! The store does not write to them again. But the disk may be faulty, and processes with the rights
//! of this one can write to them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use content_digest::DigestHasher;
use fbc_grammar::Digest;
use http_content::coding::Coding;

use super::index::CHECKSUM_BYTES;
use super::{Store, StoreError, file, lock_mutex};

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 256 * 1024;

/// A writer that hashes at most a number of bytes.
struct BoundedHash {
    hash: DigestHasher,
    remaining: u64,
}

impl Store {
    /// Returns a damaged file of a content: the file of its lines, or a compressed form. A missing
    /// file is not damaged. All files are read, which takes a second for 100 MB.
    pub fn find_damage(&self, digest: &Digest) -> Option<PathBuf> {
        if let Some(lines) = self.find_damaged_lines(digest) {
            return Some(lines);
        }
        let length = self.content_path(digest).metadata().ok()?.len();
        let index = self.index_path(digest);
        if has_checksum(&index) == Some(false) {
            return Some(index);
        }
        Coding::ALL.into_iter().find_map(|coding| {
            let path = self.encoded_path(digest, coding);
            let file = File::open(&path).ok()?;
            (!has_digest(digest, length, |hash| coding.decompress(file, hash))).then_some(path)
        })
    }

    /// Returns the file of the lines of a content if it is damaged. It is read, which takes 60 ms for
    /// 110 MB.
    pub fn find_damaged_lines(&self, digest: &Digest) -> Option<PathBuf> {
        // The file is read and not mapped: reading a map of a truncated file would end the process with
        // SIGBUS.
        let lines = self.content_path(digest);
        let file = File::open(&lines).ok()?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        if !has_digest(digest, length, |hash| copy(file, hash)) {
            return Some(lines);
        }
        self.verified.unseal(digest);
        None
    }

    /// Removes the files of a content, so that it is read from its source again. Maps of them stay
    /// readable.
    pub fn discard(&self, digest: &Digest) -> Result<(), StoreError> {
        let _writing = lock_mutex(&self.write_lock);
        for coding in Coding::ALL {
            file::remove(&self.encoded_path(digest, coding))?;
        }
        file::remove(&self.index_path(digest))?;
        file::remove(&self.content_path(digest))?;
        lock_mutex(&self.indexes).remove(digest);
        self.verified.retain(|verified| verified != digest);
        Ok(())
    }
}

/// Returns whether a file ends with the digest of all before; `None` if there is none.
fn has_checksum(path: &Path) -> Option<bool> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let Some(hashed) = length.checked_sub(CHECKSUM_BYTES as u64) else {
        return Some(false);
    };
    let mut checksum = [0; CHECKSUM_BYTES];
    let mut hash = BoundedHash {
        hash: DigestHasher::new(),
        remaining: hashed,
    };
    let read = copy((&file).take(hashed), &mut hash).and_then(|()| file.read_exact(&mut checksum));
    Some(read.is_ok() && *hash.hash.finish().as_bytes() == checksum)
}

/// Returns whether the written bytes have this digest. More than `length` bytes are an error.
fn has_digest(
    digest: &Digest,
    length: u64,
    write: impl FnOnce(&mut BoundedHash) -> io::Result<()>,
) -> bool {
    let mut hash = BoundedHash {
        hash: DigestHasher::new(),
        remaining: length,
    };
    write(&mut hash).is_ok() && hash.hash.finish() == *digest
}

fn copy(mut from: impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            read => to.write_all(&buffer[..read])?,
        }
    }
}

impl Write for BoundedHash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let too_long = || {
            io::Error::new(
                io::ErrorKind::FileTooLarge,
                "more bytes than the content has",
            )
        };
        self.remaining = self
            .remaining
            .checked_sub(bytes.len() as u64)
            .ok_or_else(too_long)?;
        self.hash.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
