//! JSON values of blobs: objects with sorted keys, and numbers that keep their digits.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// Maximum nesting depth of a blob that is edited or rendered. Functions that walk a value recur
/// once for each level.
pub const MAX_DEPTH: usize = 200;

/// Members of an object, sorted by key.
pub type Members = BTreeMap<String, Value>;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number with the digits of its text.
    Number(String),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Members),
}

/// A text that is not a JSON value of at most [`MAX_DEPTH`] levels, with numbers in the range of a
/// double: other numbers cannot be read from a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON value of at most {MAX_DEPTH} levels, with numbers in the range of a double")]
pub struct InvalidJson;

impl Value {
    /// Parses JSON text. Of several members with one key the last counts.
    pub fn parse(text: &str) -> Result<Self, InvalidJson> {
        let raw = serde_json::from_str(text).map_err(|_| InvalidJson)?;
        parse(raw, MAX_DEPTH)
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
        if let Self::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// Returns the members of an object.
    pub fn as_object(&self) -> Option<&Members> {
        if let Self::Object(members) = self {
            Some(members)
        } else {
            None
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
    while let Some(at) = rest.find(|c| c < ' ' || matches!(c, '"' | '\\' | '\u{2028}' | '\u{2029}'))
    {
        out.push_str(&rest[..at]);
        let c = rest[at..].chars().next().unwrap_or_default();
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => {
                let escaped = format!("\\u{:04x}", u32::from(c));
                out.push_str(&escaped);
            }
        }
        rest = &rest[at + c.len_utf8()..];
    }
    out.push_str(rest);
    out.push('"');
}

/// Parses one level, leaving deeper ones as text: `serde_json` would turn numbers into 64 bits.
fn parse(raw: &RawValue, depth: usize) -> Result<Value, InvalidJson> {
    let text = raw.get();
    Ok(match text.as_bytes().first() {
        Some(b'{' | b'[') if depth == 0 => return Err(InvalidJson),
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> =
                serde_json::from_str(text).map_err(|_| InvalidJson)?;
            let parsed = members
                .into_iter()
                .map(|(key, value)| Ok((key, parse(value, depth - 1)?)));
            Value::Object(parsed.collect::<Result<_, _>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| InvalidJson)?;
            Value::Array(
                items
                    .into_iter()
                    .map(|item| parse(item, depth - 1))
                    .collect::<Result<_, _>>()?,
            )
        }
        Some(b'"') => Value::String(serde_json::from_str(text).map_err(|_| InvalidJson)?),
        Some(b't') => Value::Bool(true),
        Some(b'f') => Value::Bool(false),
        Some(b'n') => Value::Null,
        _ if text.parse().is_ok_and(f64::is_finite) => Value::Number(text.to_owned()),
        _ => return Err(InvalidJson),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_it_was_read_with_sorted_keys() {
        let text = r#"{"b":[1.0,1e3,12345678901234567890,-0.0],"a":{"z":null,"y":true},"c":"\u2028\"\\\n\u0001é😀<&>"}"#;
        let sorted = r#"{"a":{"y":true,"z":null},"b":[1.0,1e3,12345678901234567890,-0.0],"c":"\u2028\"\\\n\u0001é😀<&>"}"#;
        assert_eq!(Value::parse(text).unwrap().to_json(), sorted);
    }

    #[test]
    fn a_number_is_in_the_range_of_a_double_however_many_digits_it_has() {
        let long = "1".repeat(1_000_000);
        for digits in ["1e308", "-1e308", &format!("0.{long}")] {
            assert_eq!(Value::parse(digits), Ok(Value::Number(digits.to_owned())));
        }
        for digits in ["1e309", "-1e309", &long] {
            assert_eq!(Value::parse(&format!("[{digits}]")), Err(InvalidJson));
        }
    }

    #[test]
    fn a_value_has_as_many_levels_as_it_may_have() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Value::parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(Value::parse(&nested(MAX_DEPTH + 1)), Err(InvalidJson));
    }
}
