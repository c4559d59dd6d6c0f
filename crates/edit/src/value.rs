//! JSON values of blobs: objects with sorted keys, and numbers that keep their digits.

use std::collections::BTreeMap;
use std::fmt;

use fbc_read::json::encode::plain_or_foreign_prefix;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Maximum nesting depth of a blob that is edited or rendered. Functions that walk a value recurse
/// once for each level, so that a deeper one could overflow the stack.
pub const MAX_DEPTH: usize = 200;

/// Members of an object, sorted by key.
pub type Members = BTreeMap<String, BlobValue>;

/// A JSON value of a blob.
///
/// `serde_json::Value` cannot stand here: without its feature `arbitrary_precision` it turns `1.0`
/// into `1` and cuts long numbers, which would change blobs that no operation is about. The feature
/// would apply to every crate of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlobValue {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number with the digits of its text.
    Number(String),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<BlobValue>),
    /// An object.
    Object(Members),
}

/// A text is not a JSON value of at most [`MAX_DEPTH`] levels, with numbers in the range of a
/// double: other numbers cannot be read from a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON value of at most {MAX_DEPTH} levels, with numbers in the range of a double")]
pub struct BlobValueError;

impl BlobValue {
    /// Parses JSON text. Of several members with one key the last counts.
    pub fn parse(text: &str) -> Result<Self, BlobValueError> {
        // One pass is enough for a text without fractions and exponents, which most blobs are.
        // Other numbers lose digits in it, so that such a text is read again level by level.
        if let Ok(IntegersOnly(value)) = serde_json::from_str(text) {
            return Ok(value);
        }

        let raw = serde_json::from_str(text).map_err(|_| BlobValueError)?;
        parse_levels(raw, MAX_DEPTH)
    }

    /// Creates a string.
    pub fn text(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// Creates an object.
    pub fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(
            members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        )
    }

    /// Returns the member of an object; `None` if there is none, or the value is not an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// Returns the value at the end of a path of members.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// Returns the string member of an object; empty if there is none.
    pub fn str(&self, key: &str) -> &str {
        self.get(key).and_then(Self::as_str).unwrap_or_default()
    }

    /// Returns the array at the end of a path; empty if there is none.
    pub fn list(&self, path: &[&str]) -> &[Self] {
        match self.at(path) {
            Some(Self::Array(items)) => items,
            _ => &[],
        }
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the members of an object.
    pub fn as_object(&self) -> Option<&Members> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the members of an object; none for any other value.
    pub fn into_members(self) -> Members {
        match self {
            Self::Object(members) => members,
            _ => Members::new(),
        }
    }

    /// Writes the value as JSON without white space, keys sorted, text escaped as in canonical
    /// lines.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(digits) => out.push_str(digits),
            Self::String(text) => write_text(out, text),
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    write_text(out, key);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// Returns the value as JSON without white space.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }
}

/// Writes a JSON string, escaped as in canonical lines.
pub(crate) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    loop {
        let (plain, following) = rest.split_at(plain_or_foreign_prefix(rest.as_bytes()));
        out.push_str(plain);
        let Some(c) = following.chars().next() else {
            break;
        };
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Go's encoder escapes these too, because JavaScript took them for line breaks.
            '\0'..' ' | '\u{2028}' | '\u{2029}' => {
                let escaped = format!("\\u{:04x}", u32::from(c));
                out.push_str(&escaped);
            }
            _ => out.push(c),
        }
        rest = &following[c.len_utf8()..];
    }
    out.push('"');
}

/// A value all of whose numbers are integers of 64 bits, which keep their digits when they are
/// decoded.
struct IntegersOnly(BlobValue);

struct IntegersOnlyVisitor;

impl<'de> Deserialize<'de> for IntegersOnly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntegersOnlyVisitor)
    }
}

impl<'de> Visitor<'de> for IntegersOnlyVisitor {
    type Value = IntegersOnly;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value without fractions")
    }

    fn visit_unit<E: de::Error>(self) -> Result<IntegersOnly, E> {
        Ok(IntegersOnly(BlobValue::Null))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<IntegersOnly, E> {
        Ok(IntegersOnly(BlobValue::Bool(value)))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<IntegersOnly, E> {
        Ok(IntegersOnly(BlobValue::Number(value.to_string())))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<IntegersOnly, E> {
        Ok(IntegersOnly(BlobValue::Number(value.to_string())))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<IntegersOnly, E> {
        Ok(IntegersOnly(BlobValue::text(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<IntegersOnly, A::Error> {
        let mut all = Vec::new();
        while let Some(IntegersOnly(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(IntegersOnly(BlobValue::Array(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<IntegersOnly, A::Error> {
        let mut all = Members::new();
        while let Some((key, IntegersOnly(value))) = members.next_entry()? {
            all.insert(key, value);
        }
        Ok(IntegersOnly(BlobValue::Object(all)))
    }
}

/// Parses one level and leaves deeper ones as text, so that the digits of numbers stay.
fn parse_levels(raw: &RawValue, depth: usize) -> Result<BlobValue, BlobValueError> {
    let invalid = |_| BlobValueError;
    let text = raw.get();
    Ok(match text.as_bytes().first() {
        Some(b'{' | b'[') if depth == 0 => return Err(BlobValueError),
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> =
                serde_json::from_str(text).map_err(invalid)?;
            let parsed = members
                .into_iter()
                .map(|(key, value)| Ok((key, parse_levels(value, depth - 1)?)));
            BlobValue::Object(parsed.collect::<Result<_, _>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(invalid)?;
            let parsed = items.into_iter().map(|item| parse_levels(item, depth - 1));
            BlobValue::Array(parsed.collect::<Result<_, _>>()?)
        }
        Some(b'"') => BlobValue::String(serde_json::from_str(text).map_err(invalid)?),
        Some(b't') => BlobValue::Bool(true),
        Some(b'f') => BlobValue::Bool(false),
        Some(b'n') => BlobValue::Null,
        _ if text.parse().is_ok_and(f64::is_finite) => BlobValue::Number(text.to_owned()),
        _ => return Err(BlobValueError),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_it_was_read_with_sorted_keys() {
        let text = r#"{"b":[1.0,1e3,12345678901234567890,-0.0],"a":{"z":null,"y":true},"c":"\u2028\"\\\n\u0001é😀<&>"}"#;
        let sorted = r#"{"a":{"y":true,"z":null},"b":[1.0,1e3,12345678901234567890,-0.0],"c":"\u2028\"\\\n\u0001é😀<&>"}"#;
        assert_eq!(BlobValue::parse(text).unwrap().to_json(), sorted);
    }

    #[test]
    fn a_text_is_escaped_wherever_a_character_that_needs_it_stands() {
        let plain = "\u{2027}é😀<&>/\u{7f}";
        let escaped = [
            ("\"", r#"\""#),
            ("\\", r"\\"),
            ("\u{8}\u{c}\n\r\t", r"\b\f\n\r\t"),
            ("\0\u{1}\u{1f}", r"\u0000\u0001\u001f"),
            ("\u{2028}\u{2029}", r"\u2028\u2029"),
        ];
        for (text, expected) in escaped {
            for before in 0..40 {
                let before = "a".repeat(before) + plain;
                let mut out = String::new();
                write_text(&mut out, &format!("{before}{text}{plain}"));
                assert_eq!(out, format!("\"{before}{expected}{plain}\""));
            }
        }
    }

    #[test]
    fn integers_keep_their_digits_whether_they_have_64_bits_or_not() {
        for number in [
            "0",
            "-1",
            "-0",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "-9223372036854775809",
        ] {
            let text = format!(r#"{{"a":[{number}]}}"#);
            assert_eq!(BlobValue::parse(&text).unwrap().to_json(), text);
        }
    }

    #[test]
    fn a_number_is_in_the_range_of_a_double_however_many_digits_it_has() {
        let long = "1".repeat(1_000_000);
        for digits in ["1e308", "-1e308", &format!("0.{long}")] {
            assert_eq!(
                BlobValue::parse(digits),
                Ok(BlobValue::Number(digits.to_owned()))
            );
        }
        for digits in ["1e309", "-1e309", &long] {
            assert_eq!(
                BlobValue::parse(&format!("[{digits}]")),
                Err(BlobValueError)
            );
        }
    }

    #[test]
    fn the_nesting_of_a_value_is_limited() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(BlobValue::parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(
            BlobValue::parse(&nested(MAX_DEPTH + 1)),
            Err(BlobValueError)
        );
    }
}
