//! Scalar values: JSON of a canonical line, coerced to the type of the field as upstream coerces
//! it; `null` where the type cannot hold the value.

use std::io::Write as _;

use fbc_read::json::JsonValue;

use crate::types::{JsonType, ScalarType, kind_of};

/// Appends a value as this type.
pub(super) fn scalar(out: &mut Vec<u8>, scalar: ScalarType, raw: &[u8]) {
    let number = |out: &mut Vec<u8>, number: Option<f64>| match number {
        Some(number) => out
            .write_fmt(format_args!("{number}"))
            .expect("a vector takes all text"),
        None => out.extend_from_slice(b"null"),
    };
    match (scalar, kind_of(raw)) {
        (_, JsonType::Null)
        | (ScalarType::Int | ScalarType::Float, JsonType::List | JsonType::Object) => {
            out.extend_from_slice(b"null");
        }
        (ScalarType::String, JsonType::String)
        | (ScalarType::Boolean, JsonType::Boolean)
        | (ScalarType::Float, JsonType::Number) => {
            out.extend_from_slice(raw);
        }
        (ScalarType::String, _) => json_text(out, raw),
        // `+ 0.0` turns a negative zero, which is no integer of GraphQL, into zero.
        (ScalarType::Int, JsonType::Number) => {
            number(
                out,
                decimal(raw)
                    .filter(|number| number.fract() == 0.0 && is_int(*number))
                    .map(|number| number + 0.0),
            );
        }
        (ScalarType::Int, JsonType::String) => {
            number(
                out,
                parse_decimal_string(raw)
                    .map(f64::trunc)
                    .filter(|number| is_int(*number))
                    .map(|number| number + 0.0),
            );
        }
        (ScalarType::Float, JsonType::String) => number(out, parse_decimal_string(raw)),
        (ScalarType::Int | ScalarType::Float, JsonType::Boolean) => {
            out.push(if raw == b"true" { b'1' } else { b'0' });
        }
        (ScalarType::Boolean, kind) => {
            let is_true = match kind {
                JsonType::String => !matches!(raw, b"\"\"" | b"\"false\""),
                JsonType::Number => decimal(raw) != Some(0.0),
                _ => true,
            };
            out.extend_from_slice(if is_true { b"true" } else { b"false" });
        }
    }
}

/// Appends a list of values of this type; `null` for any other value.
pub(super) fn list(out: &mut Vec<u8>, item: ScalarType, raw: &[u8]) {
    if kind_of(raw) != JsonType::List {
        out.extend_from_slice(b"null");
        return;
    }
    let mut at = 0;
    out.push(b'[');
    // A damaged list keeps the elements before the damage.
    let _ = JsonValue::new(raw).each_element(|element| {
        if at > 0 {
            out.push(b',');
        }
        at += 1;
        scalar(out, item, element.raw());
    });
    out.push(b']');
}

/// Appends a name, which needs no escapes.
pub(super) fn name(out: &mut Vec<u8>, name: &str) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

/// Appends a text.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a vector takes all text");
}

/// Appends a count.
pub(super) fn count(out: &mut Vec<u8>, count: usize) {
    out.write_fmt(format_args!("{count}"))
        .expect("a vector takes all text");
}

fn is_int(number: f64) -> bool {
    (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)
}

fn decimal(raw: &[u8]) -> Option<f64> {
    std::str::from_utf8(raw)
        .ok()?
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

/// Returns the number that a string holds in decimal digits.
fn parse_decimal_string(raw: &[u8]) -> Option<f64> {
    let text = &raw[1..raw.len().checked_sub(1)?];
    let is_part =
        |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
    decimal(text).filter(|_| text.iter().all(is_part))
}

/// Appends the JSON text of a value as a string, with `<`, `>` and `&` escaped in it, as Go's
/// encoder escapes them.
fn json_text(out: &mut Vec<u8>, raw: &[u8]) {
    // Room for a quote or backslash in each fourth byte.
    out.reserve(raw.len() + raw.len() / 4 + 2);
    out.push(b'"');
    let mut rest = raw;
    loop {
        let plain = plain_prefix(rest);
        out.extend_from_slice(&rest[..plain]);
        let Some(byte) = rest.get(plain) else { break };
        out.extend_from_slice(match byte {
            b'"' => br#"\""#,
            b'\\' => br"\\",
            b'<' => br"\\u003c",
            b'>' => br"\\u003e",
            _ => br"\\u0026",
        });
        rest = &rest[plain + 1..];
    }
    out.push(b'"');
}

/// Counts the bytes before the first one that is escaped.
fn plain_prefix(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = text[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        // With a bit set, `<` and `>` are one byte, and so are `"` and `&`.
        let special =
            equal(word | (ONES * 2), b'>') | equal(word | (ONES * 4), b'&') | equal(word, b'\\');
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&');
    text[at..]
        .iter()
        .position(is_special)
        .map_or(text.len(), |more| at + more)
}

/// One in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Sets the high bit of the bytes of a word that equal `byte`. Only the lowest set bit is reliable.
fn equal(word: u64, byte: u8) -> u64 {
    let zeroed = word ^ (ONES * u64::from(byte));
    zeroed.wrapping_sub(ONES) & !zeroed & (ONES * 0x80)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn written_as(kind: ScalarType, raw: &str) -> String {
        let mut out = Vec::new();
        scalar(&mut out, kind, raw.as_bytes());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_value_is_coerced_to_the_type_of_its_field() {
        for (raw, expected) in [
            ("\"a\\n\"", ["\"a\\n\"", "null", "null", "true"]),
            ("\"12\"", ["\"12\"", "12", "12", "true"]),
            ("\"-1.9e0\"", ["\"-1.9e0\"", "-1", "-1.9", "true"]),
            ("\"inf\"", ["\"inf\"", "null", "null", "true"]),
            ("\"NaN\"", ["\"NaN\"", "null", "null", "true"]),
            ("\"1e400\"", ["\"1e400\"", "null", "null", "true"]),
            ("\"\"", ["\"\"", "null", "null", "false"]),
            ("\"false\"", ["\"false\"", "null", "null", "false"]),
            ("1", ["\"1\"", "1", "1", "true"]),
            ("-0", ["\"-0\"", "0", "-0", "false"]),
            ("1e3", ["\"1e3\"", "1000", "1e3", "true"]),
            ("1.9", ["\"1.9\"", "null", "1.9", "true"]),
            (
                "2147483647",
                ["\"2147483647\"", "2147483647", "2147483647", "true"],
            ),
            (
                "2147483648",
                ["\"2147483648\"", "null", "2147483648", "true"],
            ),
            ("true", ["\"true\"", "1", "1", "true"]),
            ("false", ["\"false\"", "0", "0", "false"]),
            ("null", ["null", "null", "null", "null"]),
            ("[1]", ["\"[1]\"", "null", "null", "true"]),
            (
                "{\"a\":\"<\"}",
                [r#""{\"a\":\"\\u003c\"}""#, "null", "null", "true"],
            ),
        ] {
            let kinds = [
                ScalarType::String,
                ScalarType::Int,
                ScalarType::Float,
                ScalarType::Boolean,
            ];
            assert_eq!(kinds.map(|kind| written_as(kind, raw)), expected, "{raw}");
        }
    }

    #[test]
    fn json_text_reads_back_as_the_text_that_go_writes() {
        let every: String = (' '..='\u{7f}')
            .chain("é😀\u{2027}".chars())
            .cycle()
            .take(997)
            .collect();
        let raw = serde_json::to_string(&[every, "a\nb\u{1}".to_owned()]).unwrap();
        for from in 0..9 {
            let raw = &raw[from..];
            let mut out = Vec::new();
            json_text(&mut out, raw.as_bytes());
            let Value::String(text) = serde_json::from_slice(&out).unwrap() else {
                panic!("it is a string")
            };
            let expected = raw
                .replace('<', "\\u003c")
                .replace('>', "\\u003e")
                .replace('&', "\\u0026");
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_list_of_scalars_is_a_list_and_everything_else_is_null() {
        for (raw, expected) in [
            ("[]", "[]"),
            ("[1,\"2\",null,[3]]", "[1,2,null,null]"),
            ("1", "null"),
            ("{}", "null"),
        ] {
            let mut out = Vec::new();
            list(&mut out, ScalarType::Int, raw.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
