//! Deltas of packs: instructions that make an object of parts of another one and of new bytes.

use crate::GitReason;

/// Length of a copy whose instruction names none.
const DEFAULT_COPY: usize = 0x1_0000;

/// The head of a delta.
struct DeltaHead<'a> {
    base_bytes: u64,
    result_bytes: u64,
    instructions: &'a [u8],
}

/// Applies a delta to its base. The result has at most `limit` bytes.
pub(super) fn apply(base: &[u8], delta: &[u8], limit: u64) -> Result<Vec<u8>, GitReason> {
    let damaged = || GitReason::Damaged("a delta cannot be applied");
    let head = DeltaHead::parse(delta).ok_or_else(damaged)?;
    if head.base_bytes != base.len() as u64 {
        return Err(damaged());
    }
    if head.result_bytes > limit {
        return Err(GitReason::ObjectTooLarge {
            bytes: head.result_bytes,
            limit,
        });
    }
    let size = usize::try_from(head.result_bytes).map_err(|_| damaged())?;
    let mut result = Vec::with_capacity(size);
    let mut rest = head.instructions;
    while let Some((&code, after)) = rest.split_first() {
        rest = after;
        let part = if code & 0x80 == 0 {
            let bytes = usize::from(code);
            let (new, after) = rest.split_at_checked(bytes).ok_or_else(damaged)?;
            rest = after;
            // 0 is reserved.
            Some(new).filter(|new| !new.is_empty())
        } else {
            copied(base, code, &mut rest)
        };
        let part = part.ok_or_else(damaged)?;
        // Compared before the bytes are copied: a short delta can make any number of them.
        if part.len() > size - result.len() {
            return Err(damaged());
        }
        result.extend_from_slice(part);
    }
    if result.len() != size {
        return Err(damaged());
    }
    Ok(result)
}

impl<'a> DeltaHead<'a> {
    fn parse(mut delta: &'a [u8]) -> Option<Self> {
        let base_bytes = length(&mut delta)?;
        let result_bytes = length(&mut delta)?;
        Some(Self {
            base_bytes,
            result_bytes,
            instructions: delta,
        })
    }
}

/// Returns the part of the base that an instruction copies. Bits of its code say which bytes of the
/// offset and of the length follow.
fn copied<'b>(base: &'b [u8], code: u8, rest: &mut &[u8]) -> Option<&'b [u8]> {
    let mut fields = [0_usize; 2];
    for bit in 0..7 {
        if code & (1 << bit) == 0 {
            continue;
        }
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        let (field, shift) = if bit < 4 { (0, bit) } else { (1, bit - 4) };
        fields[field] |= usize::from(byte) << (8 * shift);
    }
    let [offset, bytes] = fields;
    let bytes = if bytes == 0 { DEFAULT_COPY } else { bytes };
    base.get(offset..offset.checked_add(bytes)?)
}

/// Parses a length: seven bits in each byte, lowest first.
fn length(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_DELTA_OBJECT_BYTES;

    fn applied(delta: &[u8]) -> Result<String, String> {
        let result = apply(b"hello, world", delta, MAX_DELTA_OBJECT_BYTES);
        let result = result.map_err(|error| error.to_string())?;
        Ok(String::from_utf8(result).expect("it is text"))
    }

    #[test]
    fn a_delta_copies_parts_of_its_base_and_adds_bytes() {
        // 7 bytes from 5, `W`, 4 bytes from 8.
        let delta = [12, 12, 0x91, 5, 2, 1, b'W', 0x91, 8, 4, 0x90, 5];
        assert_eq!(applied(&delta).as_deref(), Ok(", Worldhello"));
    }

    #[test]
    fn a_delta_that_reaches_beyond_its_base_or_its_result_is_refused() {
        let refused = "the pack is damaged: a delta cannot be applied";
        for delta in [
            &[][..],
            &[12],
            &[11, 1, 1, b'a'],
            &[12, 1, 0],
            &[12, 2, 1, b'a'],
            &[12, 1, 2, b'a', b'b'],
            &[12, 5, 0x91, 8, 5],
            &[12, 5, 0x91, 8],
            &[12, 3, 3, b'a'],
            &[
                12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            ],
        ] {
            assert_eq!(applied(delta).unwrap_err(), refused, "{delta:?}");
        }
    }

    #[test]
    fn a_result_that_is_too_large_is_refused_before_it_is_made() {
        // 2^27 + 1 in groups of seven bits.
        let error = applied(&[12, 0x81, 0x80, 0x80, 0x40]).unwrap_err();
        assert_eq!(
            error,
            "an object of 134217729 bytes is stored as a delta or the base of one, and the limit is 134217728"
        );
        // 2^27 is allowed, and not made by no instruction.
        let error = applied(&[12, 0x80, 0x80, 0x80, 0x40]).unwrap_err();
        assert_eq!(error, "the pack is damaged: a delta cannot be applied");
    }
}
