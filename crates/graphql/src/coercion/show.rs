//! Formats values as the messages of graphql-js do.

use serde_json::Value;

/// Maximum number of items of an array that are shown.
const SHOWN_ITEMS: usize = 10;

/// Depth to which nested objects and arrays are shown.
const SHOWN_DEPTH: usize = 2;

/// Maximum length of the text of a value, in bytes.
pub const MAX_SHOWN_BYTES: usize = 1_000;

/// Formats a value for a message: abbreviated, and not quite JSON. The text is cut where it is
/// longer than [`MAX_SHOWN_BYTES`], which graphql-js does not do: a message shows all members of an
/// object.
pub(super) fn show(value: &Value) -> String {
    let mut text = String::new();
    show_at(value, 0, &mut text);
    if text.len() > MAX_SHOWN_BYTES {
        text.truncate(text.floor_char_boundary(MAX_SHOWN_BYTES));
        text.push('…');
    }
    text
}

/// Appends the text of a value, at least as far as it is shown.
fn show_at(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(fields) if fields.is_empty() => out.push_str("{}"),
        Value::Object(_) if depth > SHOWN_DEPTH => out.push_str("[Object]"),
        Value::Object(fields) => {
            for (at, (name, value)) in fields.iter().enumerate() {
                if out.len() > MAX_SHOWN_BYTES {
                    return;
                }
                out.push_str(if at == 0 { "{ " } else { ", " });
                out.push_str(name);
                out.push_str(": ");
                show_at(value, depth + 1, out);
            }
            out.push_str(" }");
        }
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        Value::Array(_) if depth > SHOWN_DEPTH => out.push_str("[Array]"),
        Value::Array(items) => {
            for (at, item) in items.iter().take(SHOWN_ITEMS).enumerate() {
                out.push_str(if at == 0 { "[" } else { ", " });
                show_at(item, depth + 1, out);
            }
            let end = match items.len().saturating_sub(SHOWN_ITEMS) {
                0 => "]".to_owned(),
                1 => ", ... 1 more item]".to_owned(),
                more => format!(", ... {more} more items]"),
            };
            out.push_str(&end);
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_as_graphql_js_shows_them() {
        for (value, shown) in [
            (json!(null), "null"),
            (json!("a\"b"), r#""a\"b""#),
            (json!([]), "[]"),
            (json!({}), "{}"),
            (
                json!({"a": 1, "b": [true, "x"]}),
                r#"{ a: 1, b: [true, "x"] }"#,
            ),
            (
                json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
                "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 1 more item]",
            ),
            (
                json!(vec![0; 12]),
                "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ... 2 more items]",
            ),
            (
                json!({"a": {"b": {"c": {"d": 1}}}}),
                "{ a: { b: { c: [Object] } } }",
            ),
            (json!([[[[1]]]]), "[[[[Array]]]]"),
        ] {
            assert_eq!(show(&value), shown);
        }
    }

    #[test]
    fn a_long_value_is_cut() {
        let quotes = 2;
        let longest = json!("x".repeat(MAX_SHOWN_BYTES - quotes));
        assert_eq!(show(&longest), longest.to_string());
        let cut = show(&json!("x".repeat(MAX_SHOWN_BYTES - quotes + 1)));
        assert_eq!(cut, format!("\"{}…", "x".repeat(MAX_SHOWN_BYTES - 1)));
        let members: serde_json::Map<_, _> = (0..100_000)
            .map(|at| (format!("ä{at:06}"), json!(at)))
            .collect();
        let text = show(&Value::Object(members));
        assert!(
            text.starts_with("{ ä000000: 0, ä000001: 1, ") && text.ends_with('…'),
            "{text}"
        );
        assert!(
            text.len() <= MAX_SHOWN_BYTES + '…'.len_utf8(),
            "{}",
            text.len()
        );
    }
}
