//! Converts JSON text to a canonical line, in one pass.
//!
//! Numbers are copied verbatim. Strings are decoded as in Go: invalid UTF-8 and unpaired surrogates
//! become U+FFFD. Errors are Go's too. A text that ends too early is not an error, because more
//! input may follow.

use super::canonical::{CanonicalWriter, KeyKind};
use super::error::{ReadErrorKind, TextError};
use super::limits::ReadLimits;
use super::meta;
use crate::json::encode::{plain_prefix, write_char};

/// Length in bytes from which on a number without exponent may exceed a double.
const LONG_NUMBER: usize = 300;

/// Converts the value that begins at `text[at..]` and returns its end; `None` when the text ends
/// before the value.
pub(super) fn convert(
    text: &[u8],
    at: usize,
    limits: &ReadLimits,
    writer: &mut CanonicalWriter,
) -> Result<Option<usize>, TextError> {
    writer.clear();
    let mut scanner = JsonScanner {
        text,
        begin: at,
        at,
        limits,
        writer,
    };
    match scanner.value() {
        Ok(()) => Ok(Some(scanner.at)),
        Err(ScanStop::Ended) => Ok(None),
        Err(ScanStop::Error(kind)) => {
            let before = &text[..scanner.at.min(text.len())];
            Err(TextError {
                line: memchr::memchr_iter(b'\n', before).count(),
                kind,
            })
        }
    }
}

struct JsonScanner<'t, 'w> {
    text: &'t [u8],
    begin: usize,
    at: usize,
    limits: &'w ReadLimits,
    writer: &'w mut CanonicalWriter,
}

enum ScanStop {
    Ended,
    Error(ReadErrorKind),
}

impl JsonScanner<'_, '_> {
    /// Converts one value. It loops instead of recursing, so that no input can exhaust the stack.
    fn value(&mut self) -> Result<(), ScanStop> {
        loop {
            match self.peek()? {
                b'{' => {
                    self.open(true)?;
                    if self.peek()? == b'}' {
                        self.close();
                    } else {
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.open(false)?;
                    if self.peek()? == b']' {
                        self.close();
                    } else {
                        continue;
                    }
                }
                b'"' => {
                    self.writer.value();
                    self.string()?;
                }
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.literal("true")?,
                b'f' => self.literal("false")?,
                b'n' => self.literal("null")?,
                _ => return Err(self.invalid("looking for beginning of value")),
            }
            if self.after_value()? {
                return Ok(());
            }
        }
    }

    /// Continues after a value, up to the next one. Returns whether the outermost value is
    /// complete.
    fn after_value(&mut self) -> Result<bool, ScanStop> {
        loop {
            let Some(is_object) = self.writer.innermost_is_object() else {
                return Ok(true);
            };
            match (self.peek()?, is_object) {
                (b',', true) => {
                    self.at += 1;
                    self.peek()?;
                    self.key()?;
                    return Ok(false);
                }
                (b',', false) => {
                    self.at += 1;
                    return Ok(false);
                }
                (b'}', true) => {
                    if self.writer.depth() == 1 {
                        // Errors of the whole object are located at its beginning.
                        let end = std::mem::replace(&mut self.at, self.begin);
                        meta::check(self.writer).map_err(ScanStop::Error)?;
                        self.at = end;
                    }
                    self.close();
                }
                (b']', false) => self.close(),
                (_, true) => return Err(self.invalid("after object key:value pair")),
                (_, false) => return Err(self.invalid("after array element")),
            }
        }
    }

    fn open(&mut self, is_object: bool) -> Result<(), ScanStop> {
        let limit = self.limits.depth;
        if self.writer.depth() >= limit {
            return Err(ScanStop::Error(ReadErrorKind::Depth(limit)));
        }
        self.writer.open(is_object);
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.writer.close();
        self.at += 1;
    }

    /// Converts a key and its colon.
    fn key(&mut self) -> Result<(), ScanStop> {
        if self.text[self.at] != b'"' {
            return Err(self.invalid("looking for beginning of object key string"));
        }
        let limit = self.limits.members;
        if self.writer.open_members() >= limit {
            return Err(ScanStop::Error(ReadErrorKind::TooManyMembers(limit)));
        }
        self.writer.begin_key(KeyKind::String);
        let is_escaped = self.string()?;
        self.writer.end_key(is_escaped);
        if self.peek()? != b':' {
            return Err(self.invalid("after object key"));
        }
        self.at += 1;
        Ok(())
    }

    /// Converts a string, copying unchanged runs in one piece. Returns whether it has escapes.
    fn string(&mut self) -> Result<bool, ScanStop> {
        let text = self.text;
        let mut is_escaped = false;
        let mut from = self.at;
        let mut at = self.at + 1;
        loop {
            at += plain_prefix(&text[at..]);
            self.at = at;
            is_escaped |= text.get(at) != Some(&b'"');
            match self.byte(at)? {
                b'"' => {
                    self.at = at + 1;
                    self.copy(from, at + 1);
                    return Ok(is_escaped);
                }
                b'\\' => match self.byte(at + 1)? {
                    b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                    b'/' => {
                        self.copy(from, at);
                        (from, at) = (at + 1, at + 2);
                    }
                    b'u' => {
                        self.copy(from, at);
                        at = self.unicode_escape(at)?;
                        from = at;
                    }
                    _ => {
                        self.at = at + 1;
                        return Err(self.invalid("in string escape code"));
                    }
                },
                0x80.. => {
                    let rest = text[at..].iter().position(u8::is_ascii);
                    let end = at + rest.ok_or(ScanStop::Ended)?;
                    if !is_copied_verbatim(&text[at..end]) {
                        self.copy(from, at);
                        write_lossy(self.out(), &text[at..end]);
                        from = end;
                    }
                    at = end;
                }
                _ => return Err(self.invalid("in string literal")),
            }
        }
    }

    /// Converts a `\u…` escape, or the two of a surrogate pair, and returns its end.
    fn unicode_escape(&mut self, at: usize) -> Result<usize, ScanStop> {
        let first = self.hex(at + 2)?;
        let mut end = at + 6;
        let c = match first {
            0xd800..0xdc00 => {
                let pair = self.byte(end)? == b'\\' && self.byte(end + 1)? == b'u';
                let second = if pair { self.hex(end + 2)? } else { 0 };
                let low = (0xdc00..0xe000).contains(&second);
                low.then(|| {
                    end += 6;
                    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
                })
                .flatten()
            }
            _ => char::from_u32(first),
        };
        write_char(self.out(), c.unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(end)
    }

    fn hex(&mut self, at: usize) -> Result<u32, ScanStop> {
        (at..at + 4).try_fold(0, |code, at| {
            let digit = char::from(self.byte(at)?).to_digit(16);
            let Some(digit) = digit else {
                self.at = at;
                return Err(self.invalid("in \\u hexadecimal character escape"));
            };
            Ok(code << 4 | digit)
        })
    }

    fn number(&mut self) -> Result<(), ScanStop> {
        let from = self.at;
        if self.byte(self.at)? == b'-' {
            self.at += 1;
        }
        match self.byte(self.at)? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits()?,
            _ => return Err(self.invalid("in numeric literal")),
        }
        if self.byte(self.at)? == b'.' {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        let has_exponent = matches!(self.byte(self.at)?, b'e' | b'E');
        if has_exponent {
            self.at += 1;
            if matches!(self.byte(self.at)?, b'+' | b'-') {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        if has_exponent || self.at - from > LONG_NUMBER {
            self.check_range(from)?;
        }
        self.writer.value();
        self.copy(from, self.at);
        Ok(())
    }

    fn some_digits(&mut self, place: &str) -> Result<(), ScanStop> {
        if !self.byte(self.at)?.is_ascii_digit() {
            return Err(self.invalid(place));
        }
        self.digits()
    }

    fn digits(&mut self) -> Result<(), ScanStop> {
        while self.byte(self.at)?.is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    fn check_range(&self, from: usize) -> Result<(), ScanStop> {
        let number = String::from_utf8_lossy(&self.text[from..self.at]);
        if number.parse().is_ok_and(f64::is_finite) {
            return Ok(());
        }
        let quoted = number.chars().take(40).collect();
        Err(ScanStop::Error(ReadErrorKind::NumberRange(quoted)))
    }

    fn literal(&mut self, word: &str) -> Result<(), ScanStop> {
        for letter in word.bytes() {
            if self.byte(self.at)? != letter {
                let expected = char::from(letter);
                return Err(self.invalid(&format!("in literal {word} (expecting '{expected}')")));
            }
            self.at += 1;
        }
        self.writer.value().extend_from_slice(word.as_bytes());
        Ok(())
    }

    /// Skips white space and returns the next byte.
    #[inline]
    fn peek(&mut self) -> Result<u8, ScanStop> {
        loop {
            let byte = self.byte(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Ok(byte);
            }
            self.at += 1;
        }
    }

    #[inline]
    fn byte(&self, at: usize) -> Result<u8, ScanStop> {
        self.text.get(at).copied().ok_or(ScanStop::Ended)
    }

    fn out(&mut self) -> &mut Vec<u8> {
        self.writer.tail()
    }

    #[inline]
    fn copy(&mut self, from: usize, to: usize) {
        let text = &self.text[from..to];
        self.writer.tail().extend_from_slice(text);
    }

    /// Creates Go's error for an unexpected byte.
    fn invalid(&self, place: &str) -> ScanStop {
        let found = self.text.get(self.at).copied().unwrap_or_default();
        let found = match found {
            b'\'' => "\\'".to_owned(),
            b' '..0x7f => char::from(found).to_string(),
            _ => format!("\\x{found:02x}"),
        };
        let text = format!("invalid character '{found}' {place}");
        ScanStop::Error(ReadErrorKind::Json(text))
    }
}

/// Tells whether a run of non-ASCII bytes is copied verbatim to the line.
fn is_copied_verbatim(run: &[u8]) -> bool {
    std::str::from_utf8(run)
        .is_ok_and(|text| !run.contains(&0xe2) || !text.contains(['\u{2028}', '\u{2029}']))
}

/// Writes a run with each byte of invalid UTF-8 as U+FFFD, as in Go.
fn write_lossy(out: &mut Vec<u8>, run: &[u8]) {
    for chunk in run.utf8_chunks() {
        chunk.valid().chars().for_each(|c| write_char(out, c));
        for _ in chunk.invalid() {
            write_char(out, char::REPLACEMENT_CHARACTER);
        }
    }
}

#[cfg(test)]
mod tests;
