//! A cursor over the JSON of canonical lines.
//!
//! The reader wrote the lines: valid JSON without white space. The cursor therefore checks only
//! what it needs to stay inside the text; anything else is [`JsonError::Damaged`], never a panic.
//! It visits each byte once and allocates nothing.

pub mod encode;
mod pointer;
mod value;

use std::borrow::Cow;

use memchr::memchr2;

pub use pointer::{JsonPointerError, resolve_pointer};
pub use value::WrongType;

/// An error while a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// The text is not canonical JSON: the stored line is damaged.
    Damaged,
    /// The value does not have the type that the caller expects.
    WrongType,
}

/// The text of a JSON value, exactly as in the canonical line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonValue<'a>(&'a [u8]);

/// The text of a JSON string with quotes and escapes, exactly as in the canonical line.
///
/// It can be copied verbatim into a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonText<'a>(&'a [u8]);

/// A position in JSON text; each reading method consumes exactly one value.
#[derive(Clone)]
pub struct JsonCursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// The JSON type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl<'a> JsonText<'a> {
    /// The empty string, `""`.
    pub const EMPTY: JsonText<'static> = JsonText(b"\"\"");

    /// Creates a string from its text, which must have its quotes and be canonical JSON.
    pub const fn new(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// Returns the text with its quotes and escapes.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Returns whether the string is empty.
    pub fn is_empty(self) -> bool {
        self.0.len() <= Self::EMPTY.0.len()
    }

    /// Decodes the string; borrows where it has no escapes. A damaged string is empty.
    pub fn decode(self) -> Cow<'a, str> {
        self.try_decode().unwrap_or_default()
    }

    /// Decodes the string; borrows where it has no escapes.
    ///
    /// # Errors
    /// Fails when the string has an invalid escape or is not UTF-8.
    pub fn try_decode(self) -> Result<Cow<'a, str>, JsonError> {
        let body = &self.0[1..self.0.len() - 1];
        if !body.contains(&b'\\') {
            return std::str::from_utf8(body)
                .map(Cow::Borrowed)
                .map_err(|_| JsonError::Damaged);
        }
        unescape(body).map(Cow::Owned).ok_or(JsonError::Damaged)
    }

    /// Tells whether the string equals `plain`; an escaped spelling does not match.
    #[inline]
    pub fn is(self, plain: &str) -> bool {
        &self.0[1..self.0.len() - 1] == plain.as_bytes()
    }
}

impl<'a> JsonValue<'a> {
    /// Creates a value from its text, which must be canonical JSON: without white space outside of
    /// strings.
    pub const fn new(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// Returns the text of the value.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Returns a cursor at the value.
    pub fn cursor(self) -> JsonCursor<'a> {
        JsonCursor::new(self.0)
    }

    /// Returns whether the value is `null`.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }
}

impl<'a> JsonCursor<'a> {
    /// Creates a cursor at the beginning of a text.
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the number of bytes consumed.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the text between this cursor and a later one over the same text.
    pub fn until(self, other: &Self) -> JsonValue<'a> {
        JsonValue(&self.text[self.at..other.at])
    }

    /// Returns the type of the next value.
    ///
    /// # Errors
    /// Fails when no value begins here.
    pub fn kind(&self) -> Result<JsonKind, JsonError> {
        Ok(match self.text.get(self.at).ok_or(JsonError::Damaged)? {
            b'n' => JsonKind::Null,
            b't' | b'f' => JsonKind::Bool,
            b'"' => JsonKind::String,
            b'[' => JsonKind::Array,
            b'{' => JsonKind::Object,
            b'-' | b'0'..=b'9' => JsonKind::Number,
            _ => return Err(JsonError::Damaged),
        })
    }

    /// Reads a value of any type.
    pub fn value(&mut self) -> Result<JsonValue<'a>, JsonError> {
        let from = self.at;
        match self.kind()? {
            JsonKind::String => self.skip_string()?,
            JsonKind::Object => self.skip_nested(b'{', b'}')?,
            JsonKind::Array => self.skip_nested(b'[', b']')?,
            JsonKind::Null | JsonKind::Bool | JsonKind::Number => self.skip_plain(),
        }
        Ok(JsonValue(&self.text[from..self.at]))
    }

    /// Reads a string.
    pub fn text(&mut self) -> Result<JsonText<'a>, JsonError> {
        if self.kind()? != JsonKind::String {
            return Err(JsonError::WrongType);
        }
        let from = self.at;
        self.skip_string()?;
        Ok(JsonText(&self.text[from..self.at]))
    }

    /// Reads a string, or `null` as `None`.
    pub fn optional_text(&mut self) -> Result<Option<JsonText<'a>>, JsonError> {
        if self.null()? {
            Ok(None)
        } else {
            self.text().map(Some)
        }
    }

    /// Consumes a `null`, if one comes next.
    pub fn null(&mut self) -> Result<bool, JsonError> {
        let is_null = self.kind()? == JsonKind::Null;
        if is_null {
            self.skip_plain();
        }
        Ok(is_null)
    }

    /// Reads an object; `member` is called with each key and must read its value.
    pub fn object<E: From<JsonError>>(
        &mut self,
        mut member: impl FnMut(&mut Self, JsonText<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.kind()? != JsonKind::Object {
            return Err(JsonError::WrongType.into());
        }
        self.at += 1;
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            if self.kind()? != JsonKind::String {
                return Err(JsonError::Damaged.into());
            }
            let key = self.text()?;
            self.expect(b':')?;
            member(self, key)?;
            if self.take(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Reads an array; `element` is called for each element and must read it.
    pub fn array<E: From<JsonError>>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.kind()? != JsonKind::Array {
            return Err(JsonError::WrongType.into());
        }
        self.at += 1;
        if self.take(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            if self.take(b']') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(JsonError::Damaged)
        }
    }

    fn skip_plain(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest
            .iter()
            .position(|byte| matches!(byte, b',' | b'}' | b']' | b'\n'))
            .unwrap_or(rest.len());
    }

    /// Skips a string whose opening quote is next.
    fn skip_string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            // A damaged line may end anywhere, also behind a backslash: never index beyond the text.
            self.at += plain_prefix(self.text.get(self.at..).ok_or(JsonError::Damaged)?);
            match self.text.get(self.at) {
                Some(b'"') => break,
                Some(_) => self.at += 2,
                None => return Err(JsonError::Damaged),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Skips an object or array: outside of strings only its own kind of bracket needs counting,
    /// and there is little else between strings.
    fn skip_nested(&mut self, open: u8, close: u8) -> Result<(), JsonError> {
        let mut depth = 0_usize;
        loop {
            let byte = *self.text.get(self.at).ok_or(JsonError::Damaged)?;
            if byte == b'"' {
                self.skip_string()?;
                continue;
            }
            self.at += 1;
            if byte == open {
                depth += 1;
            } else if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(());
                }
            }
        }
    }
}

/// Counts the bytes before the first quote or backslash.
///
/// Most strings are short, and many hold escaped JSON: eight bytes at a time beat a call of
/// `memchr2` for each piece of those, and the few long pieces are left to it.
fn plain_prefix(text: &[u8]) -> usize {
    const WORDS: usize = 8;
    let mut at = 0;
    for word in text.chunks_exact(8).take(WORDS) {
        let word = u64::from_le_bytes(word.try_into().expect("a chunk has eight bytes"));
        let found = bytes_equal(word, b'"') | bytes_equal(word, b'\\');
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + memchr2(b'"', b'\\', &text[at..]).unwrap_or(text.len() - at)
}

/// Sets the high bit of the bytes of a word that equal `byte`. Only the lowest set bit is reliable.
fn bytes_equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let zeroed = word ^ (LOW * u64::from(byte));
    zeroed.wrapping_sub(LOW) & !zeroed & HIGH
}

/// Resolves the escapes in the body of a string; `None` for an invalid escape.
fn unescape(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(slash) = rest.find('\\') {
        out.push_str(&rest[..slash]);
        let escape = *rest.as_bytes().get(slash + 1)?;
        // What follows the backslash may be half of a character, where the text is damaged.
        rest = rest.get(slash + 2..)?;
        out.push(match escape {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let (unit, after) = hex_unit(rest)?;
                rest = after;
                code_point(unit, &mut rest)?
            }
            b'"' | b'\\' | b'/' => char::from(escape),
            _ => return None,
        });
    }
    out.push_str(rest);
    Some(out)
}

/// Decodes a UTF-16 unit, together with the second half of its surrogate pair, if any.
fn code_point(unit: u16, rest: &mut &str) -> Option<char> {
    if !(0xD800..0xDC00).contains(&unit) {
        return char::from_u32(u32::from(unit));
    }
    let (low, after) = hex_unit(rest.strip_prefix("\\u")?)?;
    *rest = after;
    char::decode_utf16([unit, low]).next()?.ok()
}

fn hex_unit(text: &str) -> Option<(u16, &str)> {
    let digits = text
        .get(..4)
        .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    Some((u16::from_str_radix(digits, 16).ok()?, &text[4..]))
}

/// Tells whether a key matches the field of a Go struct as `encoding/json` matches them: ignoring
/// letter case.
pub fn is_field(key: JsonText<'_>, name: &str) -> bool {
    let body = &key.0[1..key.0.len() - 1];
    if body.len() <= name.len() {
        return body.eq_ignore_ascii_case(name.as_bytes());
    }
    // The only characters beyond ASCII that fold to ASCII letters, the long s and the Kelvin sign,
    // take more bytes.
    !body.is_ascii()
        && key
            .try_decode()
            .is_ok_and(|key| key.chars().map(fold).eq(name.chars().map(fold)))
}

fn fold(letter: char) -> char {
    match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        letter => letter.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_that_is_none_is_damage_whatever_follows_the_backslash() {
        for body in [
            "\\ħ",
            "\\x",
            "\\u12",
            "\\u+12f",
            "\\u12ħ4",
            "\\ud800",
            "\\ud800\\u0041",
            "\\",
        ] {
            assert_eq!(unescape(body.as_bytes()), None, "{body}");
        }
        assert_eq!(
            unescape("a\\u0127\\ud83d\\ude00\\n".as_bytes()).as_deref(),
            Some("aħ😀\n")
        );
    }

    fn read_all(text: &str) -> Result<&[u8], JsonError> {
        JsonCursor::new(text.as_bytes())
            .value()
            .map(|value| value.0)
    }

    #[test]
    fn a_value_ends_where_its_text_ends() {
        for (text, value) in [
            (r#""a\"b",1"#, r#""a\"b""#),
            (r#"{"a":{"}":"{"}},0"#, r#"{"a":{"}":"{"}}"#),
            (r#"[["]"],[]],0"#, r#"[["]"],[]]"#),
            ("-1.5e3}", "-1.5e3"),
            ("null\n", "null"),
        ] {
            assert_eq!(read_all(text), Ok(value.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_text_that_ends_too_early_is_broken() {
        for text in ["", "\"", "\"a\\", "{", "{\"a\"", "[1", "x", "{\"a\":\"}"] {
            assert_eq!(read_all(text), Err(JsonError::Damaged), "{text}");
        }
    }

    #[test]
    fn a_string_is_decoded_with_its_escapes() {
        let text = JsonText(br#""\"\\\/\b\f\n\r\t\u00e9\u2028\ud83d\ude00x""#);
        assert_eq!(
            text.try_decode().unwrap(),
            "\"\\/\u{8}\u{c}\n\r\té\u{2028}😀x"
        );
    }

    #[test]
    fn the_case_of_a_key_does_not_count() {
        for key in [
            r#""skips""#,
            r#""SKIPS""#,
            "\"\u{17f}kip\u{17f}\"",
            "\"s\u{212a}ips\"",
        ] {
            assert!(is_field(JsonText(key.as_bytes()), "skips"), "{key}");
        }
        assert!(!is_field(JsonText(br#""skip""#), "skips"));
    }

    #[test]
    fn members_and_elements_are_read_in_one_pass() {
        let mut seen = Vec::new();
        JsonCursor::new(br#"{"a":[1,"x"],"b":{}}"#)
            .object(|cursor, key| {
                seen.push(key.try_decode()?.into_owned());
                if key.is("a") {
                    cursor.array(|cursor| {
                        seen.push(String::from_utf8_lossy(cursor.value()?.0).into_owned());
                        Ok::<_, JsonError>(())
                    })
                } else {
                    cursor.value().map(drop)
                }
            })
            .unwrap();
        assert_eq!(seen, ["a", "1", "\"x\"", "b"]);
    }
}
