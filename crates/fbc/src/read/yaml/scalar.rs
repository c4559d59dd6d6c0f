//! What a YAML scalar means: the rules of Go's yaml.v2, which are those of YAML 1.1 with its own additions. It knows
//! nothing of documents.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use super::super::error::ReadErrorKind;

/// The value of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar<'t> {
    Null,
    Bool(bool),
    /// Between -2^63 and 2^64 - 1.
    Integer(i128),
    /// Also infinite, or not a number.
    Float(f64),
    Text(Cow<'t, str>),
}

/// Standard base64 as Go reads it: padded, and what is left over in the last bits does not matter.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// The value of a scalar with a tag, given without `tag:yaml.org,2002:`; the tag decides, however it is quoted.
pub(super) fn resolve_tagged<'t>(tag: &str, text: Cow<'t, str>) -> Result<Scalar<'t>, ReadErrorKind> {
    if tag == "binary" {
        return decode_binary(&text).map(Scalar::Text);
    }
    if !matches!(tag, "bool" | "int" | "float" | "null" | "timestamp") {
        return Ok(Scalar::Text(text));
    }
    let resolved = resolve_plain(&text);
    let found = match &resolved {
        Some(Scalar::Null) => "null",
        Some(Scalar::Bool(_)) => "bool",
        Some(Scalar::Integer(_)) => "int",
        Some(Scalar::Float(_)) => "float",
        Some(Scalar::Text(_)) | None if is_timestamp(&text) => "timestamp",
        Some(Scalar::Text(_)) | None => "str",
    };
    match (tag, resolved) {
        ("float", Some(Scalar::Integer(integer))) if i64::try_from(integer).is_ok() => {
            Ok(Scalar::Float(to_float(integer)))
        }
        _ if tag != found => Err(ReadErrorKind::Tag(format!("cannot decode !!{found} `{text}` as a !!{tag}"))),
        (_, Some(resolved)) => Ok(resolved),
        (_, None) => Ok(Scalar::Text(text)),
    }
}

/// The value of a scalar without quotes and tag; none when it is the text itself.
pub(super) fn resolve_plain(text: &str) -> Option<Scalar<'static>> {
    match text.as_bytes() {
        [] => Some(Scalar::Null),
        [b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~', ..] => word(text),
        [b'.', ..] => word(text).or_else(|| point_float(text)),
        [b'0'..=b'9' | b'+' | b'-', ..] => word(text).or_else(|| number(text)),
        _ => None,
    }
}

/// Writes a finite number as Go's JSON encoder does.
pub(super) fn write_float(out: &mut Vec<u8>, float: f64) {
    let size = float.abs();
    let text = if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        let (mantissa, exponent) = scientific(&text);
        format!("{mantissa}e{exponent:+}")
    } else {
        float.to_string()
    };
    out.extend_from_slice(text.as_bytes());
}

/// A float as mapping key, as upstream writes it: as `%g` of the nearest float of 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "upstream rounds such keys to 32 bits")]
pub(super) fn float_key(float: f64) -> String {
    let float = float as f32;
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = format!("{float:e}");
    let (mantissa, exponent) = scientific(&text);
    if (-4..6).contains(&exponent) {
        return format!("{float}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// The words of YAML 1.1 that are no text.
fn word(text: &str) -> Option<Scalar<'static>> {
    Some(match text {
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// A number that begins with a sign or a digit; underscores count as nothing.
fn number(text: &str) -> Option<Scalar<'static>> {
    // No number has a letter that is neither a digit of some base nor part of a prefix or exponent.
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit() || b"_+-.xXoObB".contains(&byte)) {
        return None;
    }
    let plain: Cow<'_, str> = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    integer(&plain)
        .map(Scalar::Integer)
        .or_else(|| {
            let fits = is_float(&plain).then(|| plain.parse::<f64>());
            fits?.ok().filter(|float| float.is_finite()).map(Scalar::Float)
        })
        .or_else(|| {
            // Only reached by a second sign: `0b-1`.
            let digits = plain.strip_prefix("0b")?;
            i64::from_str_radix(digits, 2).ok().map(|i| Scalar::Integer(i.into()))
        })
}

/// An integer of 64 bits, with or without sign, in the base that its prefix tells.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.as_bytes() {
        [b'-', ..] => (-1, &text[1..]),
        [b'+', ..] => (1, &text[1..]),
        _ => (1, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let size = i128::from(u64::from_str_radix(digits, base).ok()?);
    let unsigned = digits.len() == text.len() || !text.starts_with(['+', '-']);
    let value = sign * size;
    (unsigned || i64::try_from(value).is_ok()).then_some(value)
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (size, exponent) = match text.split_once(['e', 'E']) {
        Some((size, exponent)) => (size, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (text, "0"),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_size = match size.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction) && size.len() > 1,
        None => digits(size) && !size.is_empty(),
    };
    is_size && digits(exponent) && !exponent.is_empty()
}

/// A float that begins with its point. Underscores may stand between digits.
fn point_float(text: &str) -> Option<Scalar<'static>> {
    let bytes = text.as_bytes();
    let between = |at: usize| {
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        digit(at - 1) && digit(at + 1)
    };
    let misplaced = |(at, _): (usize, &str)| !between(at);
    if text.match_indices('_').any(misplaced) {
        return None;
    }
    let plain = text.replace('_', "");
    let float = is_float(&plain).then(|| plain.parse::<f64>())?.ok()?;
    float.is_finite().then_some(Scalar::Float(float))
}

/// Whether it has the form of a date, or of a date and a time.
fn is_timestamp(text: &str) -> bool {
    let mut date = text.splitn(3, '-');
    let (year, month) = (date.next().unwrap_or(""), date.next().unwrap_or(""));
    let rest = date.next().unwrap_or("");
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let day = rest.bytes().take_while(u8::is_ascii_digit).count();
    year.len() == 4
        && digits(year)
        && (1..=2).contains(&month.len())
        && digits(month)
        && (1..=2).contains(&day)
        && (day == rest.len() || rest[day..].starts_with(['T', 't', ' ']))
}

/// Bytes that are no UTF-8 each become U+FFFD.
fn decode_binary(text: &str) -> Result<Cow<'static, str>, ReadErrorKind> {
    let text: Vec<u8> = text.bytes().filter(|byte| !b"\r\n".contains(byte)).collect();
    let bytes = BASE64
        .decode(text)
        .map_err(|_| ReadErrorKind::Tag("!!binary value contains invalid base64 data".to_owned()))?;
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(Cow::Owned(out))
}

/// The digits and the exponent of a number that was written with an exponent.
fn scientific(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or_default())
}

#[expect(clippy::cast_precision_loss, reason = "as upstream rounds it")]
fn to_float(integer: i128) -> f64 {
    integer as f64
}

#[cfg(test)]
mod tests;
