//! Inline manifests: the bytes that an `olm.bundle.object` holds, as upstream's decoder takes them, and the JSON that
//! they are.

use std::borrow::Cow;

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::Engine;
use memchr::memmem;

use crate::json::{Cursor, Fault, Kind, Text, is_field};
use crate::read::{FileReader, ReadLimits, Step};

/// Bytes of a manifest that is decoded: etcd takes objects of 1.5 MiB.
pub const MAX_MANIFEST_BYTES: usize = 4 << 20;

/// How deep a manifest that is decoded may be nested, so that every client can read it.
pub const MAX_MANIFEST_DEPTH: usize = 100;

/// Decodes manifests, one after the other in the same memory.
#[derive(Default)]
pub struct Manifests {
    text: Vec<u8>,
    reader: Option<FileReader>,
    work: usize,
}

/// How many bytes are searched for a word in the time that one is decoded.
const SEARCHED_PER_DECODED: usize = 16;

/// A word to look for in manifests, as it stands in base64 at each of the three places that it can have in a group of
/// bytes.
pub(crate) struct Word([memmem::Finder<'static>; 3]);

/// As Go reads base64: padding must be there, and the bits left over may be anything.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// What a field of bytes may be, such as the `data` of an `olm.bundle.object`.
pub(crate) enum Data<'a> {
    /// Base64, with or without line breaks.
    Base64(Text<'a>),
    /// A list of bytes.
    Bytes(Vec<u8>),
}

impl Manifests {
    /// The manifest of the value of an `olm.bundle.object`, be it JSON or YAML, as canonical JSON; nothing when it is
    /// malformed, larger than [`MAX_MANIFEST_BYTES`] or deeper than [`MAX_MANIFEST_DEPTH`].
    pub fn decode(&mut self, value: &[u8]) -> Option<Vec<u8>> {
        self.decode_data(data(value).ok()??)
    }

    /// How many bytes it has decoded since this was last asked; what it only searched counts as much less.
    pub fn take_work(&mut self) -> usize {
        std::mem::take(&mut self.work)
    }

    /// As [`Manifests::decode`], but nothing when a word is not in the manifest. Most often that shows without decoding it.
    pub(crate) fn decode_with(&mut self, value: &[u8], word: &Word) -> Option<Vec<u8>> {
        self.work += value.len() / SEARCHED_PER_DECODED;
        let data = data(value).ok()??;
        if word.is_in(&data) { self.decode_data(data) } else { None }
    }

    fn decode_data(&mut self, data: Data<'_>) -> Option<Vec<u8>> {
        self.text.clear();
        data.read(&mut self.text)?;
        self.work += self.text.len();
        let limits = ReadLimits { blob_bytes: MAX_MANIFEST_BYTES, depth: MAX_MANIFEST_DEPTH, ..ReadLimits::default() };
        let reader = self.reader.get_or_insert_with(|| FileReader::new(limits));
        reader.restart();
        reader.push(&self.text);
        reader.finish();
        loop {
            match reader.next().ok()? {
                Step::Blob(blob) => return Some(blob.line.trim_ascii_end().to_vec()),
                Step::Notice(_) => {}
                Step::More | Step::End => return None,
            }
        }
    }
}

impl Word {
    pub(crate) fn new(word: &str) -> Self {
        let shifted = |shift: usize| {
            let mut bytes = vec![0; shift];
            bytes.extend_from_slice(word.as_bytes());
            // What the bytes before and after it have no part in.
            let (from, to) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
            let text = BASE64.encode(&bytes);
            memmem::Finder::new(&text.as_bytes()[from..to]).into_owned()
        };
        Self([0, 1, 2].map(shifted))
    }

    /// Whether it may be in some data: it is not where this says so.
    fn is_in(&self, data: &Data<'_>) -> bool {
        let Data::Base64(text) = data else { return true };
        // A line break or an escape may stand in the middle of it.
        let has_breaks = memchr::memchr(b'\\', text.0).is_some();
        has_breaks || self.0.iter().any(|finder| finder.find(text.0).is_some())
    }
}

/// Adds the manifest of the value of an `olm.bundle.object`, which is JSON or YAML, to `into`; `None`, with nothing
/// added that means anything, when the value is no object with base64 or a list of bytes.
pub fn read_manifest(value: &[u8], into: &mut Vec<u8>) -> Option<()> {
    data(value).ok()??.read(into)
}

impl Data<'_> {
    /// Adds the bytes to `into`; `None`, with nothing added that means anything, when they are no base64.
    pub(crate) fn read(self, into: &mut Vec<u8>) -> Option<()> {
        match self {
            Data::Bytes(bytes) => into.extend(bytes),
            Data::Base64(text) => {
                let mut base64 = text.decode().ok()?;
                if memchr::memchr2(b'\r', b'\n', base64.as_bytes()).is_some() {
                    base64 = Cow::Owned(base64.replace(['\r', '\n'], ""));
                }
                BASE64.decode_vec(base64.as_bytes(), into).ok()?;
            }
        }
        Some(())
    }

    /// Reads a value that should be bytes; `None` for one of another type.
    pub(crate) fn of<'t>(cursor: &mut Cursor<'t>) -> Result<Option<Data<'t>>, Fault> {
        Ok(match cursor.kind()? {
            Kind::String => Some(Data::Base64(cursor.text()?)),
            Kind::Array => Some(Data::Bytes(bytes(cursor)?)),
            _ => {
                cursor.value()?;
                None
            }
        })
    }
}

/// The member `data`, when there is one.
pub(crate) fn data(value: &[u8]) -> Result<Option<Data<'_>>, Fault> {
    let mut data = None;
    Cursor::new(value).object(|cursor, key| {
        if is_field(key, "data") {
            data = Data::of(cursor)?.or(data.take());
        } else {
            cursor.value()?;
        }
        Ok::<_, Fault>(())
    })?;
    Ok(data)
}

fn bytes(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    cursor.array(|cursor| {
        let number = std::str::from_utf8(cursor.value()?.0).map_err(|_| Fault::Broken)?;
        bytes.push(number.parse().map_err(|_| Fault::Mismatch)?);
        Ok::<_, Fault>(())
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
        let word = Word::new("Word");
        let is_in = |text: &str| word.is_in(&Data::Base64(Text(text.as_bytes())));
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
            assert_eq!(manifest(value).as_deref(), Some(b"a: ".as_slice()), "{value}");
        }
        assert_eq!(manifest(r#"{"data":"YR=="}"#).as_deref(), Some(b"a".as_slice()), "leftover bits");
    }

    #[test]
    fn what_is_neither_base64_nor_bytes_is_no_manifest() {
        for value in [r#"{"data":"YQ"}"#, r#"{"data":"-_-_"}"#, r#"{"data":[256]}"#, r#"{"data":1}"#, "{}", "[]", "1"] {
            assert_eq!(manifest(value), None, "{value}");
        }
    }

    fn encode(text: &str) -> String {
        BASE64.encode(text)
    }

    fn decoded(text: &str) -> Option<String> {
        let value = format!(r#"{{"data":"{}"}}"#, encode(text));
        Manifests::default().decode(value.as_bytes()).map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn a_manifest_is_canonical_json_whether_it_was_json_or_yaml() {
        let json = "{\n  \"kind\": \"A \\\" b\\\\\",\n\t\"big\": [ 1.5, 12345678901234567890 ]\r\n}";
        assert_eq!(decoded(json).unwrap(), r#"{"big":[1.5,12345678901234567890],"kind":"A \" b\\"}"#);
        let yaml = "kind: A\nspec:\n  ports: [80, \"x\"]\n  enabled: yes\n";
        assert_eq!(decoded(yaml).unwrap(), r#"{"kind":"A","spec":{"enabled":true,"ports":[80,"x"]}}"#);
    }

    #[test]
    fn a_manifest_is_the_same_after_another_one_that_was_broken() {
        let mut manifests = Manifests::default();
        let value = |text: &str| format!(r#"{{"data":"{}"}}"#, encode(text));
        assert_eq!(manifests.decode(value("{\"a\": ").as_bytes()), None);
        for text in ["{\"b\": 1} {\"c\": 2}", "b: 1\n---\nc: 2\n"] {
            assert_eq!(manifests.decode(value(text).as_bytes()).as_deref(), Some(&b"{\"b\":1}"[..]));
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
