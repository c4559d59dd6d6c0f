//! JSON as Go's `encoding/json` writes it by default.

use fbc_read::json::encode::{write_html_escaped, write_text};

/// Returns a text as a JSON string.
pub(crate) fn string(text: &str) -> String {
    let mut json = Vec::with_capacity(text.len() + 2);
    write_text(&mut json, text);
    html_escaped(&json)
}

/// Removes the white space of a valid JSON text, and escapes what Go escapes.
pub(crate) fn compact(json: &str) -> String {
    let mut out = Vec::with_capacity(json.len());
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
        match letter {
            '\u{2028}' => out.extend_from_slice(b"\\u2028"),
            '\u{2029}' => out.extend_from_slice(b"\\u2029"),
            _ => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    html_escaped(&out)
}

/// Serializes a value.
pub(crate) fn to_string(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).expect("maps have strings as keys");
    compact(&json)
}

fn html_escaped(json: &[u8]) -> String {
    let mut out = Vec::new();
    write_html_escaped(&mut out, json);
    String::from_utf8(out).expect("escapes are ASCII")
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
