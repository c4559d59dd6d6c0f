//! Commas, which mean nothing wherever they stand between tokens: the text without them.
//!
//! apollo-parser takes them nearly everywhere, but neither behind three dots nor before the colon of an alias. It reads
//! text, not trees, and need not understand it.

use super::source_positions::end_of_string;

/// The text with a space for each comma outside of strings and comments, so that all else stays where it is; nothing
/// when there is none.
pub(super) fn blank_commas(text: &str) -> Option<String> {
    let mut blanked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([',', '"', '#']) {
        let end = match rest.as_bytes()[at] {
            b'"' => end_of_string(rest, at),
            b'#' => rest[at..].find(['\n', '\r']).map(|length| at + length),
            _ => Some(at + 1),
        };
        // What does not end holds all that is left.
        let end = end.unwrap_or(rest.len());
        blanked.push_str(&rest[..at]);
        blanked.push_str(if rest[at..].starts_with(',') { " " } else { &rest[at..end] });
        rest = &rest[end..];
    }
    blanked.push_str(rest);
    (blanked != text).then_some(blanked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_between_tokens_becomes_a_space_and_all_else_stays() {
        for (text, expected) in [
            ("{ a, : b, }", Some("{ a  : b  }")),
            ("{ ...,F }", Some("{ ... F }")),
            (r#"{ a(b: ",\",\\",,c: """,\""",""",d: "") }"#, Some(r#"{ a(b: ",\",\\"  c: """,\""",""" d: "") }"#)),
            ("{ # a, b\n , # c, d\r é, }", Some("{ # a, b\n   # c, d\r é  }")),
            ("{ a }", None),
            ("{ \"a, }", None),
            ("{ # a, b", None),
        ] {
            assert_eq!(blank_commas(text).as_deref(), expected, "{text}");
        }
    }
}
