//! Checks stored files against the digest of their content, long after they were opened: files are
//! not written to again by the store, but the disk may be faulty, and who has the rights of this
//! process can write to them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use fbc_grammar::Digest;
use http_facts::coding::Coding;
use sha2::{Digest as _, Sha256};

use super::{Store, StoreError, file, lock_mutex};

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 256 * 1024;

/// Hashes what is written, up to a number of bytes.
struct BoundedHash {
    hash: Sha256,
    room: u64,
}

impl Store {
    /// Returns a file of a content that does not have the bytes of its digest: the file of its
    /// lines, or a compressed form. A file that is not there is not damaged. It reads all of them,
    /// which takes a second for 100 MB.
    ///
    /// Files are read and not mapped, so that one that was truncated does not end the process.
    pub fn find_damage(&self, digest: &Digest) -> Option<PathBuf> {
        let lines = self.content_path(digest);
        let length = match File::open(&lines) {
            Ok(file) => {
                let length = file.metadata().map_or(0, |metadata| metadata.len());
                if !has_digest(digest, length, |hash| copy(file, hash)) {
                    return Some(lines);
                }
                length
            }
            Err(_) => return None,
        };
        Coding::ALL.into_iter().find_map(|coding| {
            let path = self.encoded_path(digest, coding);
            let file = File::open(&path).ok()?;
            (!has_digest(digest, length, |hash| coding.decompress(file, hash))).then_some(path)
        })
    }

    /// Removes the files of a content, so that it is read from its source again. What is mapped
    /// stays readable.
    pub fn discard(&self, digest: &Digest) -> Result<(), StoreError> {
        let _writing = lock_mutex(&self.write_lock);
        for coding in Coding::ALL {
            file::remove(&self.encoded_path(digest, coding))?;
        }
        file::remove(&self.content_path(digest))?;
        self.verified.retain(|verified| verified != digest);
        Ok(())
    }
}

/// Returns whether what is written has this digest; no more than `length` bytes can have it.
fn has_digest(
    digest: &Digest,
    length: u64,
    write: impl FnOnce(&mut BoundedHash) -> io::Result<()>,
) -> bool {
    let mut hash = BoundedHash {
        hash: Sha256::new(),
        room: length,
    };
    write(&mut hash).is_ok() && Digest::new(hash.hash.finalize().into()) == *digest
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
        self.room = self
            .room
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
