//! JSON as Go's `encoding/json` writes it: `<`, `>` and `&` are escaped, and two line separators.

use std::fmt::Write as _;

/// Writes a string.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            _ => push_escaped(letter, &mut out),
        }
    }
    out.push('"');
    out
}

/// Removes the white space of a valid JSON text, and escapes what Go escapes.
pub(crate) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut is_in_string = false;
    let mut is_escaped = false;
    for letter in json.chars() {
        if !is_in_string && letter.is_ascii_whitespace() {
            continue;
        }
        if letter == '"' && !is_escaped {
            is_in_string = !is_in_string;
        }
        is_escaped = is_in_string && letter == '\\' && !is_escaped;
        push_escaped(letter, &mut out);
    }
    out
}

/// Serializes a value, and escapes what Go escapes.
pub(crate) fn to_string(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).expect("maps have strings as keys");
    compact(&json)
}

fn push_escaped(letter: char, out: &mut String) {
    match letter {
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
            let _ = write!(out, "\\u{:04x}", u32::from(letter));
        }
        _ => out.push(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_as_go_escapes_it() {
        assert_eq!(
            string("a\"\\\n<&>\u{1}\u{2028}é"),
            "\"a\\\"\\\\\\n\\u003c\\u0026\\u003e\\u0001\\u2028é\""
        );
    }

    #[test]
    fn white_space_is_removed_outside_of_strings() {
        assert_eq!(
            compact("{ \"a b\" : [ 1 , \"\\\" <\" ]\n}"),
            "{\"a b\":[1,\"\\\" \\u003c\"]}"
        );
    }
}
