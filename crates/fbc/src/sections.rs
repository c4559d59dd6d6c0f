//! Sections: the format of a stored index, in which a catalog is opened without decoding its lines.
//!
//! ```text
//! "fbcindex"       8 bytes
//! byte order       8, the number 1 as this machine writes it
//! sections         one behind the other, each: its length in bytes, 8; its bytes; zeros up to a multiple of 8
//! ```
//!
//! A section is a text, or an array of records as they lie in memory: fields of 32 or 64 bits
//! without padding. Each part of a catalog writes its sections in a fixed order and reads them in
//! the same one: the records of the index, and then each table (`stored.rs` has the order). Nothing
//! in the file says what a section is, so only the build that wrote a file can read it, which the
//! owner of the file must ensure, as well as that its bytes are those that were written.
//!
//! Reading checks all that later code indexes by: sections end within the file, ids within their
//! arrays, spans within their lines, names at characters. A file that is not what it should be is an
//! error and no panic, then or later.

use std::io::{self, Write};

use bytes::Bytes;
use zerocopy::IntoBytes as _;

use crate::array::{Array, Stored, Text};
use crate::ids::NONE;

/// The first bytes of a stored index.
const MAGIC: [u8; 8] = *b"fbcindex";

/// Sections begin at multiples of this many bytes, so that records are aligned.
const ALIGNMENT: usize = 8;

/// A stored index that cannot be used. The catalog must be built from its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoredIndexError {
    /// It is no index, or from a machine with another byte order.
    #[error("it is no index of this kind of machine")]
    Foreign,
    /// A section is missing, or has values that cannot be.
    #[error("section {section} is damaged")]
    Damaged {
        /// Number of the section, counted from 1.
        section: usize,
    },
    /// There are bytes after the last section.
    #[error("it has {bytes} bytes too many")]
    TooLong {
        /// Number of bytes.
        bytes: usize,
    },
}

/// Writes sections one behind the other.
pub(crate) struct SectionWriter<'w>(&'w mut dyn Write);

/// Reads sections one behind the other.
pub(crate) struct SectionReader {
    rest: Bytes,
    /// Number of sections read so far.
    sections: usize,
}

impl<'w> SectionWriter<'w> {
    /// Writes the beginning of an index.
    pub(crate) fn new(to: &'w mut dyn Write) -> io::Result<Self> {
        to.write_all(&MAGIC)?;
        to.write_all(&1_u64.to_ne_bytes())?;
        Ok(Self(to))
    }

    /// Writes records.
    pub(crate) fn array<T: Stored>(&mut self, records: &[T]) -> io::Result<()> {
        self.bytes(records.as_bytes())
    }

    /// Writes a text.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(&(bytes.len() as u64).to_ne_bytes())?;
        self.0.write_all(bytes)?;
        self.0.write_all(&[0; ALIGNMENT][..padding(bytes.len())])
    }
}

impl SectionReader {
    /// Reads the beginning of an index.
    pub(crate) fn new(mut index: Bytes) -> Result<Self, StoredIndexError> {
        let begin = [MAGIC, 1_u64.to_ne_bytes()].concat();
        if !index.starts_with(&begin) {
            return Err(StoredIndexError::Foreign);
        }
        Ok(Self {
            rest: index.split_off(begin.len()),
            sections: 0,
        })
    }

    /// Reads records in place.
    pub(crate) fn array<T: Stored>(&mut self) -> Result<Array<T>, StoredIndexError> {
        let bytes = self.bytes()?;
        Array::from_bytes(bytes).ok_or_else(|| self.damaged())
    }

    /// Reads ids in place, each of which is less than `limit`.
    pub(crate) fn ids(&mut self, limit: usize) -> Result<Array<u32>, StoredIndexError> {
        let ids = self.array()?;
        self.check(are_below(&ids, limit))?;
        Ok(ids)
    }

    /// Reads ids in place, each of which is less than `limit` or [`NONE`].
    pub(crate) fn optional_ids(&mut self, limit: usize) -> Result<Array<u32>, StoredIndexError> {
        let ids: Array<u32> = self.array()?;
        self.check(ids.iter().all(|&id| id == NONE || (id as usize) < limit))?;
        Ok(ids)
    }

    /// Reads one id for each of `count` objects, each of which is less than `limit`.
    pub(crate) fn ids_of(
        &mut self,
        count: usize,
        limit: usize,
    ) -> Result<Array<u32>, StoredIndexError> {
        let ids = self.ids(limit)?;
        self.check(ids.len() == count)?;
        Ok(ids)
    }

    /// Reads a text in place.
    pub(crate) fn text(&mut self) -> Result<Text, StoredIndexError> {
        let bytes = self.bytes()?;
        Text::from_bytes(bytes).ok_or_else(|| self.damaged())
    }

    /// Returns the bytes of the next section.
    pub(crate) fn bytes(&mut self) -> Result<Bytes, StoredIndexError> {
        self.sections += 1;
        let damaged = self.damaged();
        let Some(length) = self.rest.first_chunk() else {
            return Err(damaged);
        };
        let length = usize::try_from(u64::from_ne_bytes(*length)).map_err(|_| damaged)?;
        let padded = length.checked_next_multiple_of(ALIGNMENT).ok_or(damaged)?;
        let _ = self.rest.split_to(size_of::<u64>());
        if padded > self.rest.len() {
            return Err(damaged);
        }
        Ok(self.rest.split_to(padded).slice(..length))
    }

    /// Fails with the section that was read last, unless what is in it is as it should be.
    pub(crate) fn check(&self, is_whole: bool) -> Result<(), StoredIndexError> {
        if is_whole {
            Ok(())
        } else {
            Err(self.damaged())
        }
    }

    /// Checks that all sections were read.
    pub(crate) fn finish(self) -> Result<(), StoredIndexError> {
        match self.rest.len() {
            0 => Ok(()),
            bytes => Err(StoredIndexError::TooLong { bytes }),
        }
    }

    fn damaged(&self) -> StoredIndexError {
        StoredIndexError::Damaged {
            section: self.sections,
        }
    }
}

/// Returns whether all ids are less than `limit`.
pub(crate) fn are_below(ids: &[u32], limit: usize) -> bool {
    // Without a way out of the loop, so that it is vectorized.
    let highest = ids.iter().fold(0, |highest, &id| id.max(highest));
    ids.is_empty() || (highest as usize) < limit
}

/// Returns the number of zeros after a section of this length.
fn padding(length: usize) -> usize {
    length.next_multiple_of(ALIGNMENT) - length
}
