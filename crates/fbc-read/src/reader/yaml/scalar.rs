//! Resolves YAML scalars by the rules of Go's yaml.v2: those of YAML 1.1, with additions.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use super::super::error::ReadErrorKind;

/// The value of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum YamlScalar<'t> {
    Null,
    Bool(bool),
    /// Between -2^63 and 2^64 - 1.
    Integer(i128),
    /// Including infinities and not a number.
    Float(f64),
    Text(Cow<'t, str>),
}

/// Standard base64 as Go decodes it: padding is required, trailing bits are ignored.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Resolves a scalar with a tag, given without `tag:yaml.org,2002:`. The tag decides, whether or
/// not it is quoted.
pub(super) fn resolve_tagged<'t>(
    tag: &str,
    text: Cow<'t, str>,
) -> Result<YamlScalar<'t>, ReadErrorKind> {
    if tag == "binary" {
        return decode_binary(&text).map(YamlScalar::Text);
    }
    if !matches!(tag, "bool" | "int" | "float" | "null" | "timestamp") {
        return Ok(YamlScalar::Text(text));
    }
    let resolved = resolve_plain(&text);
    let found = match &resolved {
        Some(YamlScalar::Null) => "null",
        Some(YamlScalar::Bool(_)) => "bool",
        Some(YamlScalar::Integer(_)) => "int",
        Some(YamlScalar::Float(_)) => "float",
        Some(YamlScalar::Text(_)) | None if is_timestamp(&text) => "timestamp",
        Some(YamlScalar::Text(_)) | None => "str",
    };
    match (tag, resolved) {
        ("float", Some(YamlScalar::Integer(integer))) if i64::try_from(integer).is_ok() => {
            Ok(YamlScalar::Float(to_float(integer)))
        }
        _ if tag != found => Err(ReadErrorKind::Tag(format!(
            "cannot decode !!{found} `{text}` as a !!{tag}"
        ))),
        (_, Some(resolved)) => Ok(resolved),
        (_, None) => Ok(YamlScalar::Text(text)),
    }
}

/// Resolves a plain scalar without a tag; `None` when it is text.
pub(super) fn resolve_plain(text: &str) -> Option<YamlScalar<'static>> {
    match text.as_bytes() {
        [] => Some(YamlScalar::Null),
        [
            b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~',
            ..,
        ] => word(text),
        [b'.', ..] => word(text).or_else(|| point_float(text)),
        [b'0'..=b'9' | b'+' | b'-', ..] => word(text).or_else(|| number(text)),
        _ => None,
    }
}

/// Formats a finite number as Go's JSON encoder does.
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

/// Formats a float as mapping key as upstream does: as `%g` of the nearest float of 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "upstream rounds such keys to 32 bits"
)]
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

/// Resolves the words of YAML 1.1 that are not text.
fn word(text: &str) -> Option<YamlScalar<'static>> {
    Some(match text {
        "~" | "null" | "Null" | "NULL" => YamlScalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            YamlScalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            YamlScalar::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => YamlScalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => YamlScalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => YamlScalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// Parses a number that begins with a sign or a digit; underscores are ignored.
fn number(text: &str) -> Option<YamlScalar<'static>> {
    // No number has a letter that is neither a digit of some base nor part of a prefix or exponent.
    if !text
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || b"_+-.xXoObB".contains(&byte))
    {
        return None;
    }
    let plain: Cow<'_, str> = if text.contains('_') {
        Cow::Owned(text.replace('_', ""))
    } else {
        Cow::Borrowed(text)
    };
    integer(&plain)
        .map(YamlScalar::Integer)
        .or_else(|| {
            let fits = is_float(&plain).then(|| plain.parse::<f64>());
            fits?
                .ok()
                .filter(|float| float.is_finite())
                .map(YamlScalar::Float)
        })
        .or_else(|| {
            // Only reached by a second sign: `0b-1`.
            let digits = plain.strip_prefix("0b")?;
            i64::from_str_radix(digits, 2)
                .ok()
                .map(|i| YamlScalar::Integer(i.into()))
        })
}

/// Parses an integer of 64 bits, with or without sign, in the base of its prefix.
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

/// Parses a float that begins with its point. Underscores are allowed between digits.
fn point_float(text: &str) -> Option<YamlScalar<'static>> {
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
    float.is_finite().then_some(YamlScalar::Float(float))
}

/// Tells whether a text has the form of a date, or of a date and time.
fn is_timestamp(text: &str) -> bool {
    let mut date = text.splitn(3, '-');
    let year = date.next().unwrap_or("");
    let month = date.next().unwrap_or("");
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

/// Decodes base64; each byte of invalid UTF-8 becomes U+FFFD.
fn decode_binary(text: &str) -> Result<Cow<'static, str>, ReadErrorKind> {
    let text: Vec<u8> = text
        .bytes()
        .filter(|byte| !b"\r\n".contains(byte))
        .collect();
    let bytes = BASE64.decode(text).map_err(|_| {
        ReadErrorKind::Tag("!!binary value contains invalid base64 data".to_owned())
    })?;
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(Cow::Owned(out))
}

/// Splits a number in scientific notation into mantissa and exponent.
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
