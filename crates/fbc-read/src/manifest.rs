//! Inline manifests: decodes the base64 of an `olm.bundle.object` as upstream does, and converts it
//! to canonical JSON.

use std::borrow::Cow;

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::Engine;
use memchr::memmem;

use crate::json::{JsonCursor, JsonError, JsonKind, JsonText, is_field};
use crate::reader::{FileReader, ReadEvent, ReadLimits};

/// Maximum size of a decoded manifest, in bytes. etcd accepts objects of up to 1.5 MiB.
pub const MAX_MANIFEST_BYTES: usize = 4 << 20;

/// Maximum nesting depth of a decoded manifest; every JSON client can parse this depth.
pub const MAX_MANIFEST_DEPTH: usize = 100;

/// Decodes inline manifests one after the other, reusing its buffers.
#[derive(Default)]
pub struct Manifests {
    text: Vec<u8>,
    reader: Option<FileReader>,
    work: usize,
}

/// Number of bytes that a substring search covers in the time that decoding takes for one byte.
const SEARCHED_PER_DECODED: usize = 16;

/// A word as it appears in base64, for each of its three alignments to groups of three bytes. A
/// manifest without any of them cannot contain the word and need not be decoded.
pub struct Base64Pattern([memmem::Finder<'static>; 3]);

/// Base64 as Go decodes it: padding is required, trailing bits are ignored.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// Value of a Go `[]byte` field, such as `data` of an `olm.bundle.object`.
pub enum EncodedBytes<'a> {
    /// A base64 string, with or without line breaks.
    Base64(JsonText<'a>),
    /// A JSON array of numbers.
    Bytes(Vec<u8>),
}

impl Manifests {
    /// Decodes the value of an `olm.bundle.object`, a JSON or YAML manifest, to canonical JSON;
    /// `None` when it is malformed, larger than [`MAX_MANIFEST_BYTES`] or deeper than
    /// [`MAX_MANIFEST_DEPTH`].
    pub fn decode(&mut self, value: &[u8]) -> Option<Vec<u8>> {
        self.decode_data(read_data(value).ok()??)
    }

    /// Returns the work done since the last call, in decoded bytes; bytes that were only searched
    /// count a sixteenth.
    pub fn take_work(&mut self) -> usize {
        std::mem::take(&mut self.work)
    }

    /// Decodes a manifest as [`Manifests::decode`] does, but returns `None` early when it cannot
    /// contain the pattern.
    pub fn decode_containing(&mut self, value: &[u8], pattern: &Base64Pattern) -> Option<Vec<u8>> {
        // Most manifests of a bundle are of other kinds: decoding all of them took 0.46 ms for each
        // bundle of a real catalog, and searching their base64 first takes 0.13 ms.
        self.work += value.len() / SEARCHED_PER_DECODED;
        let data = read_data(value).ok()??;
        if pattern.may_occur_in(&data) {
            self.decode_data(data)
        } else {
            None
        }
    }

    fn decode_data(&mut self, data: EncodedBytes<'_>) -> Option<Vec<u8>> {
        self.text.clear();
        data.decode_into(&mut self.text)?;
        self.work += self.text.len();
        let limits = ReadLimits {
            blob_bytes: MAX_MANIFEST_BYTES,
            depth: MAX_MANIFEST_DEPTH,
            ..ReadLimits::default()
        };
        let reader = self.reader.get_or_insert_with(|| FileReader::new(limits));
        reader.restart();
        reader.push(&self.text);
        reader.finish();
        loop {
            match reader.next().ok()? {
                ReadEvent::Blob(blob) => return Some(blob.line.trim_ascii_end().to_vec()),
                ReadEvent::Notice(_) => {}
                ReadEvent::NeedInput | ReadEvent::End => return None,
            }
        }
    }
}

impl Base64Pattern {
    /// Creates the pattern of a word.
    pub fn new(word: &str) -> Self {
        let shifted = |shift: usize| {
            let mut bytes = vec![0; shift];
            bytes.extend_from_slice(word.as_bytes());
            // Only the digits that do not depend on the bytes before and after the word.
            let from = (shift * 8).div_ceil(6);
            let to = bytes.len() * 8 / 6;
            let text = BASE64.encode(&bytes);
            memmem::Finder::new(&text.as_bytes()[from..to]).into_owned()
        };
        Self([0, 1, 2].map(shifted))
    }

    /// Tells whether the data may contain the word; `false` is certain.
    fn may_occur_in(&self, data: &EncodedBytes<'_>) -> bool {
        let EncodedBytes::Base64(text) = data else {
            return true;
        };
        // A line break or an escape may split the word.
        let has_breaks = memchr::memchr(b'\\', text.raw()).is_some();
        has_breaks
            || self
                .0
                .iter()
                .any(|finder| finder.find(text.raw()).is_some())
    }
}

/// Appends the bytes of an inline manifest (the value of an `olm.bundle.object`) to `into`. Returns
/// `None`, leaving unspecified bytes in `into`, when the value is not an object with `data` as
/// base64 or an array of bytes.
pub fn read_manifest(value: &[u8], into: &mut Vec<u8>) -> Option<()> {
    read_data(value).ok()??.decode_into(into)
}

impl EncodedBytes<'_> {
    /// Appends the decoded bytes to `into`; `None`, leaving unspecified bytes there, for invalid
    /// base64.
    pub fn decode_into(self, into: &mut Vec<u8>) -> Option<()> {
        match self {
            EncodedBytes::Bytes(bytes) => into.extend(bytes),
            EncodedBytes::Base64(text) => {
                let mut base64 = text.try_decode().ok()?;
                if memchr::memchr2(b'\r', b'\n', base64.as_bytes()).is_some() {
                    base64 = Cow::Owned(base64.replace(['\r', '\n'], ""));
                }
                BASE64.decode_vec(base64.as_bytes(), into).ok()?;
            }
        }
        Some(())
    }

    /// Reads a value; `None` if it is neither a string nor an array.
    pub fn read_value<'t>(
        cursor: &mut JsonCursor<'t>,
    ) -> Result<Option<EncodedBytes<'t>>, JsonError> {
        Ok(match cursor.kind()? {
            JsonKind::String => Some(EncodedBytes::Base64(cursor.text()?)),
            JsonKind::Array => Some(EncodedBytes::Bytes(bytes(cursor)?)),
            _ => {
                cursor.value()?;
                None
            }
        })
    }
}

/// Reads the field `data` of an object, if it has one.
pub fn read_data(value: &[u8]) -> Result<Option<EncodedBytes<'_>>, JsonError> {
    let mut data = None;
    JsonCursor::new(value).object(|cursor, key| {
        if is_field(key, "data") {
            data = EncodedBytes::read_value(cursor)?.or(data.take());
        } else {
            cursor.value()?;
        }
        Ok::<_, JsonError>(())
    })?;
    Ok(data)
}

fn bytes(cursor: &mut JsonCursor<'_>) -> Result<Vec<u8>, JsonError> {
    let mut bytes = Vec::new();
    cursor.array(|cursor| {
        let number = std::str::from_utf8(cursor.value()?.raw()).map_err(|_| JsonError::Damaged)?;
        bytes.push(number.parse().map_err(|_| JsonError::WrongType)?);
        Ok::<_, JsonError>(())
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(value: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        read_manifest(value.as_bytes(), &mut bytes).map(|()| bytes)
    }

    #[test]
    fn a_word_is_found_wherever_it_stands_in_base64() {
        let word = Base64Pattern::new("Word");
        let is_in =
            |text: &str| word.may_occur_in(&EncodedBytes::Base64(JsonText::new(text.as_bytes())));
        for before in 0..7 {
            for after in 0..7 {
                let quoted = |text: &str| format!("\"{}\"", BASE64.encode(text));
                let text = format!("{}Word{}", "x".repeat(before), "y".repeat(after));
                assert!(is_in(&quoted(&text)), "{text}");
                assert!(!is_in(&quoted(&text.replace("Word", "Wort"))), "{text}");
            }
        }
        assert!(is_in("\"V29\\nyZA==\""));
    }

    #[test]
    fn a_manifest_is_read_as_go_reads_bytes() {
        for value in [
            r#"{"data":"YTog"}"#,
            r#"{"Data":"YT\nog\r\n"}"#,
            r#"{"data":[97,58,32]}"#,
            r#"{"data":null,"data":"YTog","other":1}"#,
        ] {
            assert_eq!(
                manifest(value).as_deref(),
                Some(b"a: ".as_slice()),
                "{value}"
            );
        }
        assert_eq!(
            manifest(r#"{"data":"YR=="}"#).as_deref(),
            Some(b"a".as_slice()),
            "leftover bits"
        );
    }

    #[test]
    fn what_is_neither_base64_nor_bytes_is_no_manifest() {
        for value in [
            r#"{"data":"YQ"}"#,
            r#"{"data":"-_-_"}"#,
            r#"{"data":[256]}"#,
            r#"{"data":1}"#,
            "{}",
            "[]",
            "1",
        ] {
            assert_eq!(manifest(value), None, "{value}");
        }
    }

    fn encode(text: &str) -> String {
        BASE64.encode(text)
    }

    fn decoded(text: &str) -> Option<String> {
        let value = format!(r#"{{"data":"{}"}}"#, encode(text));
        Manifests::default()
            .decode(value.as_bytes())
            .map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn a_manifest_is_canonical_json_whether_it_was_json_or_yaml() {
        let json =
            "{\n  \"kind\": \"A \\\" b\\\\\",\n\t\"big\": [ 1.5, 12345678901234567890 ]\r\n}";
        assert_eq!(
            decoded(json).unwrap(),
            r#"{"big":[1.5,12345678901234567890],"kind":"A \" b\\"}"#
        );
        let yaml = "kind: A\nspec:\n  ports: [80, \"x\"]\n  enabled: yes\n";
        assert_eq!(
            decoded(yaml).unwrap(),
            r#"{"kind":"A","spec":{"enabled":true,"ports":[80,"x"]}}"#
        );
    }

    #[test]
    fn a_manifest_is_the_same_after_another_one_that_was_broken() {
        let mut manifests = Manifests::default();
        let value = |text: &str| format!(r#"{{"data":"{}"}}"#, encode(text));
        assert_eq!(manifests.decode(value("{\"a\": ").as_bytes()), None);
        for text in ["{\"b\": 1} {\"c\": 2}", "b: 1\n---\nc: 2\n"] {
            assert_eq!(
                manifests.decode(value(text).as_bytes()).as_deref(),
                Some(&b"{\"b\":1}"[..])
            );
        }
    }

    #[test]
    fn what_is_no_manifest_is_nothing() {
        assert_eq!(decoded("{"), None);
        assert_eq!(decoded(""), None);
        assert_eq!(Manifests::default().decode(br#"{"data":"!"}"#), None);
        assert_eq!(Manifests::default().decode(br#"{"data":1}"#), None);
        assert_eq!(Manifests::default().decode(b"[]"), None);
    }

    #[test]
    fn a_manifest_is_bounded_in_depth_and_size() {
        let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert!(decoded(&nested(MAX_MANIFEST_DEPTH)).is_some());
        assert_eq!(decoded(&nested(MAX_MANIFEST_DEPTH + 1)), None);
        let large = |length: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(length));
        assert!(decoded(&large(MAX_MANIFEST_BYTES - 100)).is_some());
        assert_eq!(decoded(&large(MAX_MANIFEST_BYTES)), None);
    }
}
