//! Writes YAML scalars in the style that yaml.v2 chooses for them.

use std::borrow::Cow;

/// Column from which on a text is broken at its next space.
const WIDTH: usize = 80;

/// Styles in which the characters of a text can be written.
struct ScalarStyles {
    plain: bool,
    single_quoted: bool,
    literal: bool,
}

/// Writes a text as a value below a key at an indent, or as a key on lines of its own.
pub(super) fn write(out: &mut String, text: &str, indent: usize, is_key: bool) {
    let styles = styles(text);
    if text.contains('\n') && styles.literal && !is_key {
        literal(out, text, indent + 2);
    } else {
        quoted(out, text, &styles, Some(indent + 2));
    }
}

/// Writes a key on the line of its value.
pub(super) fn write_key(out: &mut String, text: &str) {
    quoted(out, text, &styles(text), None);
}

/// Returns a number as yaml.v2 writes it: integers keep their digits, others have the shortest form
/// of a double.
pub(super) fn number(digits: &str) -> Cow<'_, str> {
    // Go reads it as the integer 0.
    if digits == "-0" {
        return "0".into();
    }
    if digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-')
    {
        return digits.into();
    }
    let Ok(float) = digits.parse::<f64>() else {
        return digits.into();
    };
    // Go's shortest form has neither sign nor fraction here.
    if float == 0.0 {
        return "0".into();
    }
    let text = format!("{float:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits_of_mantissa = mantissa.bytes().filter(u8::is_ascii_digit).count();
    // Go writes a double as an integer where all its digits are before the point, up to 21 of them.
    let limit = if i32::try_from(digits_of_mantissa).is_ok_and(|count| count <= exponent + 1) {
        21
    } else {
        6
    };
    if (-4..limit).contains(&exponent) {
        return float.to_string().into();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs()).into()
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Writes a text plain or in quotes; broken at spaces into lines at an indent, if there is one.
fn quoted(out: &mut String, text: &str, styles: &ScalarStyles, indent: Option<usize>) {
    if text.contains(is_break) || resolves_to_another_type(text) {
        double_quoted(out, text, indent);
    } else if styles.plain {
        fold(out, text, indent, false);
    } else if styles.single_quoted {
        out.push('\'');
        fold(out, &text.replace('\'', "''"), indent, true);
        out.push('\'');
    } else {
        double_quoted(out, text, indent);
    }
}

/// Writes a text of one line, broken at single spaces beyond the width.
fn fold(out: &mut String, text: &str, indent: Option<usize>, is_quoted: bool) {
    let mut column = column(out);
    let mut after_space = false;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let before_space = chars.peek().is_some_and(|(_, next)| *next == ' ');
        let is_inside = !is_quoted || (at > 0 && at + 1 < text.len());
        if let Some(indent) = indent
            && c == ' '
            && !after_space
            && !before_space
            && column > WIDTH
            && is_inside
        {
            begin_line(out, indent);
            column = indent;
        } else {
            out.push(c);
            column += 1;
        }
        after_space = c == ' ';
    }
}

fn double_quoted(out: &mut String, text: &str, indent: Option<usize>) {
    out.push('"');
    let mut column = column(out);
    let mut after_space = false;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let length = out.len();
        // Lines are broken at single spaces only, because folding joins them with one.
        if c == ' ' {
            let is_inside = at > 0 && at + 1 < text.len();
            if let Some(indent) = indent
                && !after_space
                && column > WIDTH
                && is_inside
            {
                begin_line(out, indent);
                column = indent;
                if chars.peek().is_some_and(|(_, next)| *next == ' ') {
                    out.push('\\');
                    column += 1;
                }
            } else {
                out.push(' ');
                column += 1;
            }
            after_space = true;
            continue;
        }
        write_escaped(out, c);
        after_space = false;
        column += out[length..].chars().count();
    }
    out.push('"');
}

/// Writes a character, escaped where double quotes need it.
fn write_escaped(out: &mut String, c: char) {
    if is_printable(c) && !is_break(c) && !matches!(c, '"' | '\\') {
        return out.push(c);
    }
    let code = u32::from(c);
    let short = match c {
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0b' => 'v',
        '\x0c' => 'f',
        '\r' => 'r',
        '\x1b' => 'e',
        '"' | '\\' => c,
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let escaped = match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
            out.push_str(&escaped);
            return;
        }
    };
    out.extend(['\\', short]);
}

/// Writes the lines of a text below an indicator.
fn literal(out: &mut String, text: &str, indent: usize) {
    out.push('|');
    // A first line that is indented or empty would otherwise set the indentation.
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    // The chomping indicators of YAML: `-` for no last line feed, `+` for more than one.
    if !text.ends_with('\n') {
        out.push('-');
    } else if text == "\n" || text.ends_with("\n\n") {
        out.push('+');
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    for line in body.split('\n') {
        if line.is_empty() {
            out.push('\n');
        } else {
            begin_line(out, indent);
            out.push_str(line);
        }
    }
}

fn begin_line(out: &mut String, indent: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Counts the characters of the last line.
fn column(out: &str) -> usize {
    out.rsplit('\n').next().unwrap_or_default().chars().count()
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// Finds the styles that a text may be written in: libyaml's analysis of a scalar, outside of flow
/// collections.
fn styles(text: &str) -> ScalarStyles {
    let mut styles = ScalarStyles {
        plain: true,
        single_quoted: true,
        literal: !text.is_empty(),
    };
    let chars: Vec<char> = text.chars().collect();
    styles.plain &= !(text.starts_with("---") || text.starts_with("..."));
    let is_blank = |at: usize| {
        chars
            .get(at)
            .is_none_or(|c| matches!(c, ' ' | '\t') || is_break(*c))
    };
    let is_break_at = |at: usize| chars.get(at).is_some_and(|c| is_break(*c));
    for (at, &c) in chars.iter().enumerate() {
        let is_indicator = match c {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
            | '@' | '`'
                if at == 0 =>
            {
                true
            }
            '?' | '-' if at == 0 => is_blank(1),
            ':' => is_blank(at + 1),
            '#' => at > 0 && is_blank(at - 1),
            _ => false,
        };
        styles.plain &= !is_indicator && !is_break(c);
        let before_break = c == ' ' && is_break_at(at + 1);
        // yaml.v2 also writes the other line breaks of Unicode as they are, which not every reader
        // takes for text.
        if !is_printable(c) || (c != '\n' && is_break(c)) || before_break {
            styles = ScalarStyles {
                plain: false,
                single_quoted: false,
                literal: false,
            };
        }
        let after_break = c == ' ' && at > 0 && is_break_at(at - 1);
        styles.single_quoted &= !after_break;
        styles.plain &= !after_break;
    }
    let is_space = |c: Option<&char>| c.is_some_and(|c| *c == ' ');
    styles.plain &= !is_space(chars.first()) && !is_space(chars.last());
    styles.literal &= !is_space(chars.last());
    styles
}

/// Tells whether yaml.v2 reads a plain text as something else than a string.
fn resolves_to_another_type(text: &str) -> bool {
    let is_word = matches!(
        text,
        "" | "~"
            | "null"
            | "Null"
            | "NULL"
            | "<<"
            | ".nan"
            | ".NaN"
            | ".NAN"
            | ".inf"
            | ".Inf"
            | ".INF"
            | "+.inf"
            | "+.Inf"
            | "+.INF"
            | "-.inf"
            | "-.Inf"
            | "-.INF"
    ) || ["y", "n", "yes", "no", "true", "false", "on", "off"]
        .iter()
        .any(|word| is_spelled(text, word));
    match text.as_bytes().first() {
        _ if is_word => true,
        Some(b'.') => is_float(text) || is_float(&text.replace('_', "")),
        Some(b'+' | b'-' | b'0'..=b'9') => {
            // yaml.v2 ignores underscores in numbers.
            let plain = text.replace('_', "");
            is_integer(&plain) || is_float(&plain) || is_timestamp(text) || is_base_60(text)
        }
        _ => false,
    }
}

/// Tells whether a text is a word in lower case, in upper case, or with its first letter in upper
/// case.
fn is_spelled(text: &str, word: &str) -> bool {
    let rest = || text.get(1..).is_some_and(|rest| rest == &word[1..]);
    text.eq_ignore_ascii_case(word) && (text.chars().all(|c| c.is_ascii_uppercase()) || rest())
}

/// Tells whether a text is an integer of 64 bits, in the base of its prefix.
fn is_integer(text: &str) -> bool {
    let signed = text.strip_prefix(['+', '-']);
    let digits = signed.unwrap_or(text);
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    !digits.starts_with(['+', '-']) && u64::from_str_radix(digits, base).is_ok()
}

/// Tells whether a text matches yaml.v2's pattern of floats,
/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (size, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_size = match size.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction) && size.len() > 1,
        None => digits(size) && !size.is_empty(),
    };
    is_size && digits(exponent) && !exponent.is_empty()
}

/// Tells whether a text has the form of a date, or of a date and time.
fn is_timestamp(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = text;
    for (at, most) in [4, 2, 2].into_iter().enumerate() {
        let found = digits(rest);
        if found == 0 || found > most || (at == 0 && found < most) {
            return false;
        }
        rest = &rest[found..];
        if at < 2 {
            let Some(after) = rest.strip_prefix('-') else {
                return false;
            };
            rest = after;
        }
    }
    rest.is_empty() || rest.starts_with(['T', 't', ' ']) && rest[1..].contains(':')
}

/// Tells whether a text is a number of base 60 in YAML 1.1, such as `1:30`.
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let is_first =
        |part: &str| part.starts_with(|c: char| c.is_ascii_digit()) && is_digits(part, true);
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let is_part = |part: &&str| {
        is_digits(part, false) && part.parse::<u8>().is_ok_and(|value| value < 60) && part.len() < 3
    };
    is_first(first) && !rest.is_empty() && rest.iter().all(is_part) && is_digits(fraction, true)
}

fn is_digits(text: &str, underscores: bool) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_digit() || (underscores && byte == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut out = String::new();
        write(&mut out, text, 0, false);
        out
    }

    #[test]
    fn a_text_is_plain_unless_it_would_be_read_as_something_else() {
        for (text, expected) in [
            ("1.1.0", "1.1.0"),
            ("4.16", "\"4.16\""),
            ("", "\"\""),
            ("y", "\"y\""),
            ("Yes", "\"Yes\""),
            ("yEs", "yEs"),
            ("~", "\"~\""),
            ("1e3", "\"1e3\""),
            ("0x1f", "\"0x1f\""),
            ("1_000", "\"1_000\""),
            ("+1", "\"+1\""),
            ("2024-05-01", "\"2024-05-01\""),
            ("2024-05-01T10:00:00Z", "\"2024-05-01T10:00:00Z\""),
            ("1:30", "\"1:30\""),
            ("2.a", "2.a"),
            (">=1.0.0", "'>=1.0.0'"),
            ("it's: so", "'it''s: so'"),
            ("a: b", "'a: b'"),
            ("a #b", "'a #b'"),
            ("a#b", "a#b"),
            (" a", "' a'"),
            ("- a", "'- a'"),
            ("-a", "-a"),
            ("tab\there", "\"tab\\there\""),
            ("😀", "\"\\U0001F600\""),
            ("é", "é"),
            ("two\nlines", "|-\n  two\n  lines"),
            ("two\n\nlines\n", "|\n  two\n\n  lines"),
            ("end\n\n", "|+\n  end\n"),
            (" begin\n", "|2\n   begin"),
            ("trailing \nspace", "\"trailing \\nspace\""),
        ] {
            assert_eq!(written(text), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        for (digits, expected) in [
            ("1", "1"),
            ("-0", "0"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("1e-7", "1e-07"),
            ("2.5", "2.5"),
            ("1234567.5", "1.2345675e+06"),
            ("12345678901234567890", "12345678901234567890"),
        ] {
            assert_eq!(number(digits), expected, "{digits}");
        }
    }

    #[test]
    fn a_long_text_is_broken_at_its_spaces() {
        let text = "word ".repeat(20);
        let folded = written(text.trim_end());
        assert_eq!(folded.lines().count(), 2);
        assert!(folded.lines().all(|line| line.len() <= 85), "{folded}");
    }
}
