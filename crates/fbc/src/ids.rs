//! Ids: indexes of objects of a catalog as 32-bit numbers.

use std::ops::Range;

/// Converts an index or offset to an id. [`MAX_CONTENT_BYTES`](crate::blobs::MAX_CONTENT_BYTES) bounds the bytes, and there are
/// fewer objects than bytes.
pub(crate) fn id(at: usize) -> u32 {
    u32::try_from(at).expect("a catalog has fewer than 2^32 objects")
}

/// Iterates over a range of ids with a known length, which `Range<u32>` does not have.
pub(crate) fn ids(
    range: &Range<u32>,
) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + use<> {
    (range.start as usize..range.end as usize).map(id)
}
