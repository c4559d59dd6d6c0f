//! Replaces commas, which are insignificant between tokens, by spaces.
//!
//! apollo-parser accepts commas nearly everywhere, but neither after `...` nor before the colon of
//! an alias. This module reads text, not syntax trees, and accepts any text.

use super::source_positions::end_of_string;

/// Returns the text with a space in place of each comma outside of strings and comments, so that
/// offsets stay the same. `None` if there is no such comma.
pub(super) fn blank_commas(text: &str) -> Option<String> {
    let mut blanked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([',', '"', '#']) {
        let end = match rest.as_bytes()[at] {
            b'"' => end_of_string(rest, at),
            b'#' => rest[at..].find(['\n', '\r']).map(|length| at + length),
            _ => Some(at + 1),
        };
        // An unterminated string or comment extends to the end of the text.
        let end = end.unwrap_or(rest.len());
        blanked.push_str(&rest[..at]);
        blanked.push_str(if rest[at..].starts_with(',') {
            " "
        } else {
            &rest[at..end]
        });
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
            (
                r#"{ a(b: ",\",\\",,c: """,\""",""",d: "") }"#,
                Some(r#"{ a(b: ",\",\\"  c: """,\""",""" d: "") }"#),
            ),
            (
                "{ # a, b\n , # c, d\r é, }",
                Some("{ # a, b\n   # c, d\r é  }"),
            ),
            ("{ a }", None),
            ("{ \"a, }", None),
            ("{ # a, b", None),
        ] {
            assert_eq!(blank_commas(text).as_deref(), expected, "{text}");
        }
    }
}
