//! Range requests for bytes (RFC 9110 §14), parsed as Go's `net/http` does.
//!
//! One thing differs: a suffix of zero bytes, and any suffix of an empty representation, is
//! unsatisfiable; Go responds with an invalid `Content-Range`.

use std::ops::Range;

/// Maximum number of ranges in one response. A request for more gets the whole representation.
pub const MAX_RANGES: usize = 256;

/// The byte ranges that a `Range` header selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ranges {
    /// The whole representation: there are no ranges, or so many or so long that the whole costs
    /// less.
    Whole,
    /// A single range.
    One(Range<usize>),
    /// Several ranges in the order of the request.
    Many(Vec<Range<usize>>),
}

/// An error in a `Range` header, which is answered with 416.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RangeError {
    /// The header cannot be parsed, or has another unit than bytes.
    #[error("invalid range")]
    Malformed,
    /// The representation has no byte in any of the ranges.
    #[error("invalid range: failed to overlap")]
    Unsatisfiable,
}

impl Ranges {
    /// Parses the value of `Range` for a representation of `size` bytes.
    pub(super) fn parse(text: &[u8], size: usize) -> Result<Self, RangeError> {
        let specs = text.strip_prefix(b"bytes=").ok_or(RangeError::Malformed)?;
        let mut ranges = Vec::new();
        let mut missed = false;
        let mut missed_suffix = false;
        for spec in specs
            .split(|byte| *byte == b',')
            .map(<[u8]>::trim_ascii)
            .filter(|spec| !spec.is_empty())
        {
            let dash = spec
                .iter()
                .position(|byte| *byte == b'-')
                .ok_or(RangeError::Malformed)?;
            let from = spec[..dash].trim_ascii();
            let to = spec[dash + 1..].trim_ascii();
            if from.is_empty() {
                let length = if to.starts_with(b"-") {
                    None
                } else {
                    parse_number(to)
                }
                .ok_or(RangeError::Malformed)?;
                let from = size - length.min(size);
                missed_suffix |= from == size;
                ranges.extend((from < size).then_some(from..size));
                continue;
            }
            let from = parse_number(from).ok_or(RangeError::Malformed)?;
            if from >= size {
                missed = true;
                continue;
            }
            let last = if to.is_empty() {
                size - 1
            } else {
                parse_number(to).ok_or(RangeError::Malformed)?
            };
            if last < from {
                return Err(RangeError::Malformed);
            }
            ranges.push(from..size.min(last + 1));
        }
        // As in Go, a range from a first byte on selects the whole of an empty representation.
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

/// Parses a number as Go does: a plus sign may precede it.
fn parse_number(text: &[u8]) -> Option<usize> {
    let number: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests;
