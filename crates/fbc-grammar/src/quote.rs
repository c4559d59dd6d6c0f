//! Quotes text as Go's `%q` does, for messages that must equal upstream's.

use std::fmt::{self, Write};

/// Maximum number of bytes of a text that a message quotes. Messages repeat names, and a name may
/// be as long as a blob.
pub const MAX_QUOTED_BYTES: usize = 4096;

/// Formats a text between double quotes, escaped as Go's `strconv.Quote` does. A text longer than
/// [`MAX_QUOTED_BYTES`] is cut.
pub fn go_quote(text: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        let quoted = &text[..text.floor_char_boundary(MAX_QUOTED_BYTES)];
        f.write_char('"')?;
        quoted.chars().try_for_each(|c| write_escaped(f, c))?;
        f.write_str(if quoted.len() < text.len() {
            "…\""
        } else {
            "\""
        })
    })
}

fn write_escaped(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '"' => f.write_str("\\\""),
        '\\' => f.write_str("\\\\"),
        ' '..='~' => f.write_char(c),
        '\x07' => f.write_str("\\a"),
        '\x08' => f.write_str("\\b"),
        '\x0c' => f.write_str("\\f"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        '\x0b' => f.write_str("\\v"),
        '\0'..='\x1f' | '\x7f' => write!(f, "\\x{:02x}", u32::from(c)),
        _ if is_printable(c) => f.write_char(c),
        '\0'..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(c)),
        _ => write!(f, "\\U{:08x}", u32::from(c)),
    }
}

/// Tells whether a character beyond ASCII is a letter, mark, number, punctuation or symbol.
///
/// The standard library escapes exactly the others, and marks where they stand first: hence a
/// letter before it.
fn is_printable(c: char) -> bool {
    let mut bytes = [b'a'; 5];
    let len = 1 + c.encode_utf8(&mut bytes[1..]).len();
    str::from_utf8(&bytes[..len]).is_ok_and(|text| text.escape_debug().nth(2).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_as_go_escapes_it() {
        let table = [
            ("", r#""""#),
            ("foo.v1.0.0", r#""foo.v1.0.0""#),
            ("a\"b\\c'd", r#""a\"b\\c'd""#),
            ("\x07\x08\x0c\n\r\t\x0b", r#""\a\b\f\n\r\t\v""#),
            ("\0\x1b\x7f", r#""\x00\x1b\x7f""#),
            ("é世🎉", "\"é世🎉\""),
            ("e\u{301}", "\"e\u{301}\""),
            ("\u{301}", "\"\u{301}\""),
            ("\u{85}\u{a0}\u{ad}", r#""\u0085\u00a0\u00ad""#),
            (
                "\u{200b}\u{2028}\u{feff}\u{e000}",
                r#""\u200b\u2028\ufeff\ue000""#,
            ),
            ("\u{e0001}\u{10ffff}", r#""\U000e0001\U0010ffff""#),
            ("\u{fffd}", "\"\u{fffd}\""),
        ];
        for (text, expected) in table {
            assert_eq!(go_quote(text).to_string(), expected);
        }
    }
}
