//! JSON text → canonical line, in one pass over the text.
//!
//! Numbers stay as they are written. Text is decoded as Go's decoder does it: what is no UTF-8, and half a surrogate
//! pair, becomes U+FFFD. The errors are Go's too. It knows nothing of files: a text that ends too early is no error,
//! there may be more of it.

use super::canonical::{Canonical, KeyKind, plain_prefix, write_char};
use super::error::{Fault, ReadErrorKind};
use super::{ReadLimits, meta};

/// Numbers with as many bytes may be larger than a double although they have no exponent.
const LONG_NUMBER: usize = 300;

/// Writes the value that begins at `text[at..]`, and says where it ends; none when the text ends before it does.
pub(super) fn convert(
    text: &[u8],
    at: usize,
    limits: &ReadLimits,
    writer: &mut Canonical,
) -> Result<Option<usize>, Fault> {
    writer.clear();
    let mut scan = Scan { text, begin: at, at, limits, writer };
    match scan.value() {
        Ok(()) => Ok(Some(scan.at)),
        Err(Stop::Ended) => Ok(None),
        Err(Stop::Fault(kind)) => {
            let before = &text[..scan.at.min(text.len())];
            Err(Fault { line: memchr::memchr_iter(b'\n', before).count(), kind })
        }
    }
}

struct Scan<'t, 'w> {
    text: &'t [u8],
    begin: usize,
    at: usize,
    limits: &'w ReadLimits,
    writer: &'w mut Canonical,
}

enum Stop {
    Ended,
    Fault(ReadErrorKind),
}

impl Scan<'_, '_> {
    /// One whole value. It goes round instead of calling itself, so that no text can exhaust the stack.
    fn value(&mut self) -> Result<(), Stop> {
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

    /// Goes on after a value, up to the next one. Whether the outermost value is complete.
    fn after_value(&mut self) -> Result<bool, Stop> {
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
                        // Told of the whole object: where it begins.
                        let end = std::mem::replace(&mut self.at, self.begin);
                        meta::check(self.writer).map_err(Stop::Fault)?;
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

    fn open(&mut self, is_object: bool) -> Result<(), Stop> {
        let limit = self.limits.depth;
        if self.writer.depth() >= limit {
            return Err(Stop::Fault(ReadErrorKind::Depth(limit)));
        }
        self.writer.open(is_object);
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.writer.close();
        self.at += 1;
    }

    /// A key that begins here, and its colon.
    fn key(&mut self) -> Result<(), Stop> {
        if self.text[self.at] != b'"' {
            return Err(self.invalid("looking for beginning of object key string"));
        }
        let limit = self.limits.members;
        if self.writer.open_members() >= limit {
            return Err(Stop::Fault(ReadErrorKind::TooManyMembers(limit)));
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

    /// A string that begins here: what is the same in the line is copied in one piece. Whether it has escapes.
    fn string(&mut self) -> Result<bool, Stop> {
        let text = self.text;
        let mut is_escaped = false;
        let (mut from, mut at) = (self.at, self.at + 1);
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
                    let end = at + rest.ok_or(Stop::Ended)?;
                    if !is_kept(&text[at..end]) {
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

    /// The character of `\u…` at this place, both halves where two belong together; where the text goes on.
    fn unicode_escape(&mut self, at: usize) -> Result<usize, Stop> {
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

    fn hex(&mut self, at: usize) -> Result<u32, Stop> {
        (at..at + 4).try_fold(0, |code, at| {
            let digit = char::from(self.byte(at)?).to_digit(16);
            let Some(digit) = digit else {
                self.at = at;
                return Err(self.invalid("in \\u hexadecimal character escape"));
            };
            Ok(code << 4 | digit)
        })
    }

    fn number(&mut self) -> Result<(), Stop> {
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

    fn some_digits(&mut self, place: &str) -> Result<(), Stop> {
        if !self.byte(self.at)?.is_ascii_digit() {
            return Err(self.invalid(place));
        }
        self.digits()
    }

    fn digits(&mut self) -> Result<(), Stop> {
        while self.byte(self.at)?.is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    fn check_range(&self, from: usize) -> Result<(), Stop> {
        let number = String::from_utf8_lossy(&self.text[from..self.at]);
        if number.parse().is_ok_and(f64::is_finite) {
            return Ok(());
        }
        let told = number.chars().take(40).collect();
        Err(Stop::Fault(ReadErrorKind::NumberRange(told)))
    }

    fn literal(&mut self, word: &str) -> Result<(), Stop> {
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

    /// The next byte that is no white space.
    #[inline]
    fn peek(&mut self) -> Result<u8, Stop> {
        loop {
            let byte = self.byte(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Ok(byte);
            }
            self.at += 1;
        }
    }

    #[inline]
    fn byte(&self, at: usize) -> Result<u8, Stop> {
        self.text.get(at).copied().ok_or(Stop::Ended)
    }

    fn out(&mut self) -> &mut Vec<u8> {
        self.writer.tail()
    }

    #[inline]
    fn copy(&mut self, from: usize, to: usize) {
        let text = &self.text[from..to];
        self.writer.tail().extend_from_slice(text);
    }

    /// Go's text for a byte that may not stand here.
    fn invalid(&self, place: &str) -> Stop {
        let found = self.text.get(self.at).copied().unwrap_or_default();
        let found = match found {
            b'\'' => "\\'".to_owned(),
            b' '..0x7f => char::from(found).to_string(),
            _ => format!("\\x{found:02x}"),
        };
        let text = format!("invalid character '{found}' {place}");
        Stop::Fault(ReadErrorKind::Json(text))
    }
}

/// Whether bytes that are not ASCII stand in the line as they are.
fn is_kept(run: &[u8]) -> bool {
    std::str::from_utf8(run).is_ok_and(|text| !run.contains(&0xe2) || !text.contains(['\u{2028}', '\u{2029}']))
}

/// Each byte that is no UTF-8 becomes U+FFFD, as in Go: not each sequence of them.
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
