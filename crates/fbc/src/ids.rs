//! Ids: indexes of objects of a catalog as 32-bit numbers.

use std::ops::Range;

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The id of no object, where an id is optional.
pub(crate) const NONE: u32 = u32::MAX;

/// A range of ids, as records have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct IdRange {
    pub(crate) start: u32,
    /// One more than the last id.
    pub(crate) end: u32,
}

impl IdRange {
    /// Returns the number of ids.
    pub(crate) fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Returns the range for slices.
    pub(crate) fn places(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns whether the range can slice a list of this length.
    pub(crate) fn is_within(self, length: usize) -> bool {
        self.start <= self.end && self.end as usize <= length
    }
}

impl From<Range<u32>> for IdRange {
    fn from(range: Range<u32>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

/// Converts an index or offset to an id. [`MAX_CONTENT_BYTES`](crate::blobs::MAX_CONTENT_BYTES) bounds the bytes, and there are
/// fewer objects than bytes.
pub(crate) fn id(at: usize) -> u32 {
    u32::try_from(at).expect("a catalog has fewer than 2^32 objects")
}

/// Iterates over a range of ids with a known length, which `Range<u32>` does not have.
pub(crate) fn ids(
    range: IdRange,
) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + use<> {
    range.places().map(id)
}
