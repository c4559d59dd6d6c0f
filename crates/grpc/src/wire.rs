//! Reads and writes protobuf messages field by field. It knows no message: requests are flat, and
//! responses are written from a catalog without being built first.

use bytes::{Buf, BufMut, Bytes};
use prost::DecodeError;
use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint,
    encoded_len_varint, key_len, skip_field,
};

/// A request: its bytes, and those of its fields that are texts or messages.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) bytes: Bytes,
    fields: Vec<(u32, Bytes)>,
}

impl Request {
    /// Reads a request. Fields of other types are skipped, as those that nobody knows are.
    pub(crate) fn decode(bytes: Bytes) -> Result<Self, DecodeError> {
        let mut rest = bytes.clone();
        let mut fields = Vec::new();
        while rest.has_remaining() {
            let (tag, wire_type) = decode_key(&mut rest)?;
            if wire_type != WireType::LengthDelimited {
                skip_field(wire_type, tag, &mut rest, DecodeContext::default())?;
                continue;
            }
            let length = decode_varint(&mut rest)?;
            let length = usize::try_from(length)
                .ok()
                .filter(|length| *length <= rest.len());
            let Some(length) = length else {
                return Err(underflow());
            };
            fields.push((tag, rest.split_to(length)));
        }
        Ok(Self { bytes, fields })
    }

    /// Returns whether the texts of the fields with these numbers are UTF-8.
    pub(crate) fn is_utf8(&self, tags: &[u32]) -> bool {
        self.fields
            .iter()
            .all(|(tag, bytes)| !tags.contains(tag) || str::from_utf8(bytes).is_ok())
    }

    /// Returns a text, of several for one field the last; empty if there is none.
    pub(crate) fn text(&self, tag: u32) -> &str {
        let field = self.fields.iter().rev().find(|(other, _)| *other == tag);
        field
            .and_then(|(_, bytes)| str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }

    /// Returns the number of the last of these fields that there is: the one of a `oneof` that
    /// counts.
    pub(crate) fn last_of(&self, tags: &[u32]) -> Option<u32> {
        self.fields
            .iter()
            .rev()
            .map(|(tag, _)| *tag)
            .find(|tag| tags.contains(tag))
    }
}

/// Reading a group that nothing follows is the one way to this error.
fn underflow() -> DecodeError {
    decode_varint(&mut Bytes::new()).expect_err("nothing can be read of nothing")
}

/// Returns the length in bytes of a field of so many bytes.
pub(crate) fn field_len(tag: u32, bytes: usize) -> usize {
    key_len(tag) + encoded_len_varint(bytes as u64) + bytes
}

/// Writes the head of a field of so many bytes.
pub(crate) fn write_head(tag: u32, bytes: usize, out: &mut impl BufMut) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(bytes as u64, out);
}

/// Writes a field, empty or not: the elements of a list are always written.
pub(crate) fn write_bytes(tag: u32, bytes: &[u8], out: &mut impl BufMut) {
    write_head(tag, bytes.len(), out);
    out.put_slice(bytes);
}

/// Writes a text unless it is empty.
pub(crate) fn write_text(tag: u32, text: &str, out: &mut impl BufMut) {
    if !text.is_empty() {
        write_bytes(tag, text.as_bytes(), out);
    }
}

/// Writes a message whose fields are these texts, numbered from 1.
pub(crate) fn write_texts<T: AsRef<[u8]>>(tag: u32, texts: &[T], out: &mut impl BufMut) {
    let texts = || {
        (1..)
            .zip(texts.iter().map(AsRef::as_ref))
            .filter(|(_, text): &(u32, &[u8])| !text.is_empty())
    };
    write_head(
        tag,
        texts().map(|(tag, text)| field_len(tag, text.len())).sum(),
        out,
    );
    texts().for_each(|(tag, text)| write_bytes(tag, text, out));
}

/// Writes a number unless it is 0.
pub(crate) fn write_number(tag: u32, number: u64, out: &mut impl BufMut) {
    if number != 0 {
        encode_key(tag, WireType::Varint, out);
        encode_varint(number, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_gos_library_reads_it() {
        let read = |bytes: &'static [u8]| Request::decode(Bytes::from_static(bytes));
        assert_eq!(
            read(b"\x0a\x01x\x0a\x01y\x12\x00").unwrap().text(1),
            "y",
            "the last one counts"
        );
        assert_eq!(
            read(b"\x08\x01\x98\x06\x01").unwrap().text(1),
            "",
            "of another type, and of an unknown number"
        );
        assert!(!read(b"\x0a\x01\xff").unwrap().is_utf8(&[1]));
        for damaged in [b"\x0a\xff".as_slice(), b"\x0a\x05x", b"\0", b"\x0a"] {
            assert!(
                Request::decode(Bytes::from_static(damaged)).is_err(),
                "{damaged:?}"
            );
        }
    }
}
