//! Formats values as the messages of graphql-js do.

use serde_json::Value;

/// Maximum number of items of an array that are shown.
const SHOWN_ITEMS: usize = 10;

/// Depth to which nested objects and arrays are shown.
const SHOWN_DEPTH: usize = 2;

/// Formats a value for a message: abbreviated, and not quite JSON.
pub(super) fn show(value: &Value) -> String {
    show_at(value, 0)
}

fn show_at(value: &Value, depth: usize) -> String {
    match value {
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(_) if depth > SHOWN_DEPTH => "[Object]".to_owned(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}: {}", show_at(value, depth + 1)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Array(_) if depth > SHOWN_DEPTH => "[Array]".to_owned(),
        Value::Array(items) => {
            let mut shown: Vec<String> = items.iter().take(SHOWN_ITEMS).map(|item| show_at(item, depth + 1)).collect();
            match items.len().saturating_sub(SHOWN_ITEMS) {
                0 => {}
                1 => shown.push("... 1 more item".to_owned()),
                more => shown.push(format!("... {more} more items")),
            }
            format!("[{}]", shown.join(", "))
        }
        leaf => leaf.to_string(),
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
            (json!({"a": 1, "b": [true, "x"]}), r#"{ a: 1, b: [true, "x"] }"#),
            (json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 1 more item]"),
            (json!(vec![0; 12]), "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ... 2 more items]"),
            (json!({"a": {"b": {"c": {"d": 1}}}}), "{ a: { b: { c: [Object] } } }"),
            (json!([[[[1]]]]), "[[[[Array]]]]"),
        ] {
            assert_eq!(show(&value), shown);
        }
    }
}
