//! Indexes of contents, stored beside them, with the seal of a content: what its file looked like when
//! this store wrote it.
//!
//! An index is optional, and only the build that wrote it reads it. The file ends with:
//!
//! ```text
//! seal       inode, length, time of modification, time of change (seconds and nanoseconds): 6 × 8 bytes
//! build      SHA-256 of the identity of the build
//! content    digest of the content
//! format     "index" and the version, 8 bytes
//! checksum   SHA-256 of all before
//! ```
//!
//! Numbers are little-endian. The checksum is verified before anything in the file is used.
//!
//! A process that finds the file of a content as the seal describes it does not hash the content before
//! it serves it: no program can set the time at which a file changed. The disk may still be
//! faulty, so the content is hashed soon after ([`Store::unverified`]).

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use bytes::Bytes;
use content_digest::DigestHasher;
use fbc_grammar::Digest;

use super::crash_points::FileKind;
use super::file::{self, TempFile};
use super::verified::FileIdentity;
use super::{CONTENT, Store, StoreError, lock_mutex};

/// Version of the file format of indexes. Those of another version are ignored.
pub const INDEX_FORMAT: u8 = 1;

/// Mark at the end of the file, with the version of its format.
const FORMAT: [u8; 8] = [b'i', b'n', b'd', b'e', b'x', 0, 0, INDEX_FORMAT];

const SEAL_BYTES: usize = 6 * 8;
const DIGEST_BYTES: usize = 32;

/// Length of the checksum at the end of the file.
pub(super) const CHECKSUM_BYTES: usize = DIGEST_BYTES;

const BUILD: usize = SEAL_BYTES;
const CONTENT_DIGEST: usize = BUILD + DIGEST_BYTES;
const FORMAT_AT: usize = CONTENT_DIGEST + DIGEST_BYTES;
const CHECKSUM: usize = FORMAT_AT + FORMAT.len();

/// Length of the end of the file.
const END_BYTES: usize = CHECKSUM + CHECKSUM_BYTES;

/// Size of the write buffer in bytes.
const BUFFER_BYTES: usize = 256 * 1024;

/// The stored index of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredIndex {
    /// The bytes that this build wrote.
    Whole(Bytes),
    /// There is none, or another build wrote it.
    Absent,
    /// The file is damaged, or others can write to it.
    Damaged(PathBuf),
}

/// Contents whose stored index is the one that this build would write.
pub(super) type CurrentIndexes = HashSet<Digest>;

/// An index whose checksum was verified.
struct SealedIndex {
    bytes: Bytes,
    seal: FileIdentity,
}

/// Hashes what is written.
struct HashingWriter<W> {
    to: W,
    hash: DigestHasher,
}

impl StoredIndex {
    /// Returns the bytes, if the index is whole.
    pub fn whole(self) -> Option<Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::Absent | Self::Damaged(_) => None,
        }
    }
}

impl Store {
    /// Returns the stored index of a content.
    pub fn index(&self, digest: &Digest) -> StoredIndex {
        match self.read_index(digest) {
            Ok(Some(index)) => StoredIndex::Whole(index.bytes),
            Ok(None) => StoredIndex::Absent,
            Err(path) => StoredIndex::Damaged(path),
        }
    }

    /// Returns whether the index of a content is stored, and its seal is that of the content's file.
    pub fn has_index(&self, digest: &Digest) -> bool {
        lock_mutex(&self.indexes).contains(digest)
    }

    /// Stores the index of a content, for as long as a record names the content, with the bytes that
    /// `write` writes. Returns `false` if the index does not fit into the quota, or the store no longer
    /// holds the content.
    pub fn save_index(
        &self,
        digest: &Digest,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<bool, StoreError> {
        let mut file = TempFile::create(&self.folder.join(CONTENT), FileKind::Index)?;
        let end = self.index_end(digest);
        file.write_with(|file| {
            let mut to = BufWriter::with_capacity(
                BUFFER_BYTES,
                HashingWriter {
                    to: file,
                    hash: DigestHasher::new(),
                },
            );
            write(&mut to)?;
            to.write_all(&end)?;
            let HashingWriter { mut to, hash } =
                to.into_inner().map_err(io::IntoInnerError::into_error)?;
            to.write_all(hash.finish().as_bytes())
        })?;
        let bytes = file.map()?.len() as u64;
        // The content may have been removed meanwhile, and the quota used up.
        let _writing = lock_mutex(&self.write_lock);
        let path = self.index_path(digest);
        let replaced = path.metadata().map_or(0, |former| former.len());
        let used = self.used_bytes()?.saturating_sub(replaced);
        if used.saturating_add(bytes) > self.quota || !self.content_path(digest).exists() {
            return Ok(false);
        }
        file.persist(&path, self.durability())?;
        lock_mutex(&self.indexes).insert(*digest);
        Ok(true)
    }

    /// Forgets that the index of a content is stored, because it cannot be used: it is written again.
    pub fn forget_index(&self, digest: &Digest) {
        lock_mutex(&self.indexes).remove(digest);
    }

    /// Returns the contents that were opened by their seals, and not hashed yet.
    pub fn unverified(&self) -> Vec<Digest> {
        self.verified.sealed()
    }

    /// Reads the index of a content and, if the seal is that of the content's file, relies on it.
    pub(super) fn open_index(&self, digest: &Digest) -> StoredIndex {
        let index = match self.read_index(digest) {
            Ok(Some(index)) => index,
            Ok(None) => return StoredIndex::Absent,
            Err(path) => return StoredIndex::Damaged(path),
        };
        let is_current = self
            .verified
            .rely_on(&self.content_path(digest), *digest, index.seal);
        let mut indexes = lock_mutex(&self.indexes);
        if is_current {
            indexes.insert(*digest);
        } else {
            // It is written again with another seal, so that the next start need not hash the content.
            indexes.remove(digest);
        }
        StoredIndex::Whole(index.bytes)
    }

    /// Path of the index of a content.
    pub(super) fn index_path(&self, digest: &Digest) -> PathBuf {
        self.folder
            .join(CONTENT)
            .join(format!("{}.index", digest.hex()))
    }

    /// Reads and verifies an index; its path as error if it is damaged.
    fn read_index(&self, digest: &Digest) -> Result<Option<SealedIndex>, PathBuf> {
        let path = self.index_path(digest);
        if !path.exists() {
            return Ok(None);
        }
        let Some(mut bytes) = file::map(&path, self.protection) else {
            return Err(path);
        };
        let Some(length) = bytes.len().checked_sub(END_BYTES) else {
            return Err(path);
        };
        let hashed = bytes.len() - CHECKSUM_BYTES;
        if content_digest::digest(&bytes[..hashed]).as_bytes()[..] != bytes[hashed..] {
            return Err(path);
        }
        let end = bytes.split_off(length);
        let is_of_this_build = end[BUILD..CONTENT_DIGEST] == *self.build_digest().as_bytes()
            && end[FORMAT_AT..CHECKSUM] == FORMAT;
        if !is_of_this_build {
            return Ok(None);
        }
        if end[CONTENT_DIGEST..FORMAT_AT] != *digest.as_bytes() {
            return Err(path);
        }
        let seal = end
            .first_chunk::<SEAL_BYTES>()
            .map(FileIdentity::from_bytes);
        Ok(seal.map(|seal| SealedIndex { bytes, seal }))
    }

    /// Returns the end of the file but for its checksum.
    fn index_end(&self, digest: &Digest) -> Vec<u8> {
        // Without a seal, the next start hashes the content.
        let seal = self.verified.seal(&self.content_path(digest), *digest);
        let mut end = seal
            .map_or([0; SEAL_BYTES], FileIdentity::to_bytes)
            .to_vec();
        end.extend(self.build_digest().as_bytes());
        end.extend(digest.as_bytes());
        end.extend(FORMAT);
        end
    }

    fn build_digest(&self) -> Digest {
        content_digest::digest(self.build.as_bytes())
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests;
