//! JSON text as Go's encoder writes it, with and without its escapes of HTML.

use std::borrow::Cow;

use memchr::memchr3_iter;

/// One in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The high bit of each byte.
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Number of leading plain bytes from which on a text counts as long.
const LONG: usize = 64;

/// Counts the leading plain bytes: printable ASCII except quote and backslash.
#[inline]
pub(crate) fn plain_prefix(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = text[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let special = equals(word, b'"') | equals(word, b'\\') | controls(word) | word;
        let special = special & HIGHS;
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
        if at == LONG {
            at += long_plain_prefix(&text[at..]);
        }
    }
    let rest = text[at..].iter().position(|&byte| !is_plain(byte));
    rest.map_or(text.len(), |more| at + more)
}

/// Counts leading plain bytes in blocks of [`LONG`]: twice as fast as [`plain_prefix`] in long
/// text.
fn long_plain_prefix(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = text[at..].first_chunk::<LONG>() {
        // No early exit, so that the compiler vectorizes the loop.
        if chunk
            .iter()
            .fold(false, |found, &byte| found | !is_plain(byte))
        {
            break;
        }
        at += LONG;
    }
    at
}

/// Appends canonical JSON text with `<`, `>` and `&` escaped, as Go's encoder writes it by default.
pub fn write_html_escaped(out: &mut Vec<u8>, json: &[u8]) {
    out.reserve(json.len());
    let mut written = 0;
    for at in memchr3_iter(b'<', b'>', b'&', json) {
        let escape = match json[at] {
            b'<' => b"\\u003c",
            b'>' => b"\\u003e",
            _ => b"\\u0026",
        };
        out.extend_from_slice(&json[written..at]);
        out.extend_from_slice(escape);
        written = at + 1;
    }
    out.extend_from_slice(&json[written..]);
}

/// Appends a text as a canonical JSON string.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    write_body(out, text);
    out.push(b'"');
}

/// Writes one character, escaped if necessary.
pub(crate) fn write_char(out: &mut Vec<u8>, c: char) {
    let short = match c {
        '"' => b'"',
        '\\' => b'\\',
        '\x08' => b'b',
        '\x0c' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => {
            return out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
        }
        _ => return out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Unescapes a text written by this module, without its quotes.
pub(crate) fn unescape(body: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', body) else {
        return Cow::Borrowed(body);
    };
    let mut out = body[..first].to_vec();
    let mut rest = &body[first..];
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&short, after)) = rest.split_first() else {
            break;
        };
        rest = after;
        out.push(match short {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (digits, after) = rest.split_at(rest.len().min(4));
                rest = after;
                let digits = std::str::from_utf8(digits).unwrap_or_default();
                let code = u32::from_str_radix(digits, 16).unwrap_or_default();
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => short,
        });
    }
    Cow::Owned(out)
}

fn write_body(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut from = 0;
    let mut at = 0;
    while at < bytes.len() {
        at += plain_or_foreign_prefix(&bytes[at..]);
        let Some(c) = text[at..].chars().next() else {
            break;
        };
        let width = c.len_utf8();
        if c < ' ' || matches!(c, '"' | '\\' | '\u{2028}' | '\u{2029}') {
            out.extend_from_slice(&bytes[from..at]);
            write_char(out, c);
            from = at + width;
        }
        at += width;
    }
    out.extend_from_slice(&bytes[from..]);
}

/// Counts leading bytes that need no escape: plain ones, and non-ASCII ones up to a possible line
/// or paragraph separator. In UTF-8, a character ends there.
pub fn plain_or_foreign_prefix(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = text[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let special =
            equals(word, b'"') | equals(word, b'\\') | controls(word) | equals(word, 0xe2);
        let special = special & HIGHS;
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let special = |&byte: &u8| byte == 0xe2 || (byte < 0x80 && !is_plain(byte));
    let rest = text[at..].iter().position(special);
    rest.map_or(text.len(), |more| at + more)
}

fn is_plain(byte: u8) -> bool {
    (b' '..0x80).contains(&byte) && byte != b'"' && byte != b'\\'
}

/// Sets the high bit of each byte that equals `byte`. Only the lowest set bit is reliable.
#[inline]
fn equals(word: u64, byte: u8) -> u64 {
    let zero = word ^ (ONES * u64::from(byte));
    zero.wrapping_sub(ONES) & !zero
}

/// Sets the high bit of each byte below the space. Only the lowest set bit is reliable.
#[inline]
fn controls(word: u64) -> u64 {
    word.wrapping_sub(ONES * u64::from(b' ')) & !word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_html_are_escaped_as_go_escapes_them() {
        let mut json = Vec::new();
        write_text(&mut json, "<a> & \u{2028}\u{2029}\u{1}\u{7f}\t\"é");
        let mut out = Vec::new();
        write_html_escaped(&mut out, &json);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"\\u003ca\\u003e \\u0026 \\u2028\\u2029\\u0001\u{7f}\\t\\\"é\""
        );
    }

    #[test]
    fn text_is_escaped_as_go_does_it() {
        let table = [
            ("plain", r#""plain""#),
            ("<b>&'</b>/", r#""<b>&'</b>/""#),
            ("\"\\", r#""\"\\""#),
            ("\u{8}\u{c}\n\r\t", r#""\b\f\n\r\t""#),
            ("\0\u{1f}\u{7f}", "\"\\u0000\\u001f\u{7f}\""),
            (
                "\u{2027}\u{2028}\u{2029}\u{202a}",
                "\"\u{2027}\\u2028\\u2029\u{202a}\"",
            ),
            ("é日😀", "\"é日😀\""),
        ];
        for (text, expected) in table {
            for before in 0..20 {
                let text = "x".repeat(before) + text + "yyyyyyyyyyyyyyyyyyyy";
                let mut out = Vec::new();
                write_text(&mut out, &text);
                let inner = &expected[1..expected.len() - 1];
                let expected = format!("\"{}{inner}yyyyyyyyyyyyyyyyyyyy\"", "x".repeat(before));
                assert_eq!(String::from_utf8(out.clone()).unwrap(), expected);
                assert_eq!(unescape(&out[1..out.len() - 1]), text.as_bytes());
            }
        }
    }

    #[test]
    fn a_plain_prefix_ends_at_the_first_special_byte() {
        for special in [b'"', b'\\', 0, 0x1f, 0x80, 0xff] {
            for at in 0..200 {
                let mut text = vec![b'x'; 230];
                text[at] = special;
                assert_eq!(plain_prefix(&text), at);
                assert_eq!(plain_prefix(&text[..at]), at);
            }
        }
        let all: Vec<u8> = (b' '..0x80)
            .filter(|byte| !b"\"\\".contains(byte))
            .collect();
        assert_eq!(plain_prefix(&all), all.len());
    }
}
