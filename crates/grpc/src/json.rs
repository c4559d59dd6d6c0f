//! JSON text as Go's encoder writes it where HTML could follow: `<`, `>` and `&` are escaped.

/// Appends canonical JSON text, escaped.
pub(crate) fn push_escaped(json: &[u8], out: &mut Vec<u8>) {
    out.reserve(json.len());
    for part in json.split_inclusive(|byte| matches!(byte, b'<' | b'>' | b'&')) {
        let escape = match part.last() {
            Some(b'<') => "\\u003c",
            Some(b'>') => "\\u003e",
            Some(b'&') => "\\u0026",
            _ => "",
        };
        out.extend_from_slice(if escape.is_empty() { part } else { &part[..part.len() - 1] });
        out.extend_from_slice(escape.as_bytes());
    }
}

/// Returns a text as canonical JSON.
pub(crate) fn quoted(text: &str) -> Vec<u8> {
    let json = serde_json::to_string(text).expect("a string is JSON");
    let json = json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    json.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_html_could_mistake_is_escaped_as_go_escapes_it() {
        let mut out = Vec::new();
        push_escaped(&quoted("<a> & \u{2028}\u{2029}\u{1}\u{7f}\t\"é"), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "\"\\u003ca\\u003e \\u0026 \\u2028\\u2029\\u0001\u{7f}\\t\\\"é\"");
    }
}
