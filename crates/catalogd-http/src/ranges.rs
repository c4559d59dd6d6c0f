//! Ranges of bytes: RFC 9110 §14, as Go's `net/http` reads them.
//!
//! It differs where Go writes a `Content-Range` that is none: a suffix of no bytes, and any suffix of nothing, is
//! unsatisfiable here. It does not know what the bytes are.

use std::ops::Range;

/// How many ranges are served in one answer; a request for more gets the whole.
pub const MAX_RANGES: usize = 256;

/// What a request for ranges asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ranges {
    /// Everything: no range, or so many or so large that the whole costs less.
    Whole,
    /// One part.
    One(Range<usize>),
    /// Several, in the order of the request.
    Many(Vec<Range<usize>>),
}

/// Why a request for ranges is refused: 416.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RangeError {
    /// It cannot be read, or is in another unit than bytes.
    #[error("invalid range")]
    Malformed,
    /// It can be read, and there is nothing of what it asks for.
    #[error("invalid range: failed to overlap")]
    Unsatisfiable,
}

impl Ranges {
    /// Reads the value of `Range` for a representation of `size` bytes.
    pub(super) fn parse(text: &[u8], size: usize) -> Result<Self, RangeError> {
        let specs = text.strip_prefix(b"bytes=").ok_or(RangeError::Malformed)?;
        let mut ranges = Vec::new();
        let (mut missed, mut missed_suffix) = (false, false);
        for spec in specs.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|spec| !spec.is_empty()) {
            let dash = spec.iter().position(|byte| *byte == b'-').ok_or(RangeError::Malformed)?;
            let (from, to) = (spec[..dash].trim_ascii(), spec[dash + 1..].trim_ascii());
            if from.is_empty() {
                let length = if to.starts_with(b"-") { None } else { number(to) }.ok_or(RangeError::Malformed)?;
                let from = size - length.min(size);
                missed_suffix |= from == size;
                ranges.extend((from < size).then_some(from..size));
                continue;
            }
            let from = number(from).ok_or(RangeError::Malformed)?;
            if from >= size {
                missed = true;
                continue;
            }
            let last = if to.is_empty() { size - 1 } else { number(to).ok_or(RangeError::Malformed)? };
            if last < from {
                return Err(RangeError::Malformed);
            }
            ranges.push(from..size.min(last + 1));
        }
        // Nothing has no first byte; whoever asks for a range from there on gets all of it.
        if ranges.is_empty() && (missed_suffix || missed && size > 0) {
            return Err(RangeError::Unsatisfiable);
        }
        let total: usize = ranges.iter().map(|range| range.end - range.start).sum();
        Ok(match ranges.len() {
            1 => Self::One(ranges.remove(0)),
            2..=MAX_RANGES if total <= size => Self::Many(ranges),
            _ => Self::Whole,
        })
    }
}

/// A number as Go reads one: a plus sign may come first.
fn number(text: &[u8]) -> Option<usize> {
    let number: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests;
