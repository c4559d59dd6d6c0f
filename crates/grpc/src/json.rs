//! JSON text as Go's encoder writes it by default: `<`, `>` and `&`, and the line separators of
//! JavaScript, are escaped.

use memchr::memchr3_iter;

/// Appends canonical JSON text, escaped.
pub(crate) fn push_escaped(json: &[u8], out: &mut Vec<u8>) {
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

/// Returns a text as a canonical JSON string, without the escapes of [`push_escaped`].
pub(crate) fn quoted(text: &str) -> Vec<u8> {
    let json = serde_json::to_string(text).expect("a string is JSON");
    let json = json
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    json.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_html_are_escaped_as_go_escapes_them() {
        let mut out = Vec::new();
        push_escaped(&quoted("<a> & \u{2028}\u{2029}\u{1}\u{7f}\t\"é"), &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"\\u003ca\\u003e \\u0026 \\u2028\\u2029\\u0001\u{7f}\\t\\\"é\""
        );
    }
}
