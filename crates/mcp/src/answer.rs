//! Bounds answers: long lists and texts are cut until the whole is small enough for an assistant.
//!
//! The answer has the number of items of each list that was cut, summed over all objects that have
//! that list.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::error::ToolError;

/// Maximum size in bytes of an answer as JSON.
pub const MAX_ANSWER_BYTES: usize = 24 << 10;

/// Maximum number of items of a list in an answer.
pub const MAX_LIST_ITEMS: usize = 25;

/// Maximum size in bytes of a text in an answer.
pub const MAX_TEXT_BYTES: usize = 2_000;

/// Limits to try in turn, until the answer is small enough. No name and no image reference is as
/// long as the shortest text.
const ROUNDS: [CutLimits; 6] = [
    CutLimits::new(MAX_LIST_ITEMS, MAX_TEXT_BYTES),
    CutLimits::new(MAX_LIST_ITEMS, 600),
    CutLimits::new(12, 400),
    CutLimits::new(6, 400),
    CutLimits::new(3, 400),
    CutLimits::new(1, 400),
];

/// Mark at the end of a text that was cut.
const ELLIPSIS: char = '…';

/// Limits of one round.
#[derive(Clone, Copy)]
struct CutLimits {
    items: usize,
    text_bytes: usize,
}

impl CutLimits {
    const fn new(items: usize, text_bytes: usize) -> Self {
        Self { items, text_bytes }
    }
}

/// Data that is small enough, with what it lacks.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct ToolAnswer {
    /// Data of the response.
    pub(crate) data: Value,
    /// Lists that were cut, by the path of their fields.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) omitted: BTreeMap<String, ListLength>,
}

/// Number of items of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ListLength {
    /// In the answer.
    pub(crate) shown: usize,
    /// In the catalogs.
    pub(crate) total: usize,
}

impl ToolAnswer {
    /// Cuts data to the maximum size of an answer.
    ///
    /// # Errors
    /// The data is too large even with one item in each list.
    pub(crate) fn new(mut data: Value) -> Result<Self, ToolError> {
        let mut totals = BTreeMap::new();
        count_items(&data, "", &mut totals);
        for limits in ROUNDS {
            cut(&mut data, limits);
            let mut shown = BTreeMap::new();
            count_items(&data, "", &mut shown);
            let answer = Self {
                omitted: omitted(&totals, &shown),
                data,
            };
            if serde_json::to_vec(&answer).is_ok_and(|json| json.len() <= MAX_ANSWER_BYTES) {
                return Ok(answer);
            }
            data = answer.data;
        }
        Err(ToolError::TooLarge)
    }
}

/// Adds up the items of all lists below a value, by the path of their fields.
fn count_items(value: &Value, path: &str, counts: &mut BTreeMap<String, usize>) {
    match value {
        Value::Array(items) => {
            *counts.entry(path.to_owned()).or_default() += items.len();
            for item in items {
                count_items(item, path, counts);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let below = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                count_items(member, &below, counts);
            }
        }
        _ => {}
    }
}

fn omitted(
    totals: &BTreeMap<String, usize>,
    shown: &BTreeMap<String, usize>,
) -> BTreeMap<String, ListLength> {
    let lengths = totals.iter().map(|(path, total)| {
        let length = ListLength {
            shown: shown.get(path).copied().unwrap_or_default(),
            total: *total,
        };
        (path.clone(), length)
    });
    lengths
        .filter(|(_, length)| length.shown < length.total)
        .collect()
}

/// Cuts lists and texts below a value.
fn cut(value: &mut Value, limits: CutLimits) {
    match value {
        Value::Array(items) => {
            items.truncate(limits.items);
            for item in items {
                cut(item, limits);
            }
        }
        Value::Object(members) => {
            for member in members.values_mut() {
                cut(member, limits);
            }
        }
        Value::String(text) => shorten(text, limits.text_bytes),
        _ => {}
    }
}

/// Cuts a text that is longer than so many bytes, and marks its end.
pub(crate) fn shorten(text: &mut String, max_bytes: usize) {
    if text.len() > max_bytes {
        let end = text.floor_char_boundary(max_bytes - ELLIPSIS.len_utf8());
        text.truncate(end);
        text.push(ELLIPSIS);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_small_answer_is_complete() {
        let data = json!({ "packages": { "nodes": [{ "name": "etcd" }] } });
        let answer = ToolAnswer::new(data.clone()).unwrap();
        assert_eq!(
            serde_json::to_value(answer).unwrap(),
            json!({ "data": data })
        );
    }

    #[test]
    fn long_lists_and_texts_are_cut_and_their_items_counted() {
        let nodes: Vec<_> = (0..=MAX_LIST_ITEMS)
            .map(|_| json!({ "channels": ["a", "b"] }))
            .collect();
        let data = json!({ "packages": { "nodes": nodes }, "text": "ä".repeat(MAX_TEXT_BYTES) });
        let answer = ToolAnswer::new(data).unwrap();
        let lengths = [
            ("packages.nodes", 25, 26),
            ("packages.nodes.channels", 50, 52),
        ];
        let lengths =
            lengths.map(|(path, shown, total)| (path.to_owned(), ListLength { shown, total }));
        assert_eq!(answer.omitted, lengths.into());
        let text = answer.data["text"].as_str().unwrap();
        assert_eq!((text.len(), text.ends_with("ä…")), (1_999, true));
    }

    #[test]
    fn an_answer_of_the_maximum_size_is_returned_and_a_larger_one_has_fewer_items() {
        let item = |bytes: usize| Value::from("x".repeat(bytes));
        let overhead =
            serde_json::to_vec(&ToolAnswer::new(json!({ "a": ["", item(24)] })).unwrap());
        let overhead = overhead.unwrap().len() - 24;
        let length_of_texts = MAX_ANSWER_BYTES - overhead;

        // No list of 25 texts of at most 2,000 bytes is cut by its items.
        let texts = |total: usize| {
            let mut texts = vec![item(1_900); total / 1_900];
            texts.push(item(total % 1_900));
            texts
        };
        let commas = length_of_texts / 1_900 - 1;
        let exact = length_of_texts - commas * ",\"\"".len();
        let answer = ToolAnswer::new(json!({ "a": texts(exact) })).unwrap();
        assert_eq!(serde_json::to_vec(&answer).unwrap().len(), MAX_ANSWER_BYTES);

        let larger = ToolAnswer::new(json!({ "a": texts(exact + 1) })).unwrap();
        assert!(serde_json::to_vec(&larger).unwrap().len() < MAX_ANSWER_BYTES);
    }

    #[test]
    fn data_with_too_many_members_is_refused() {
        let members: serde_json::Map<_, _> = (0..2_000)
            .map(|index| (format!("member{index}"), json!("text")))
            .collect();
        assert_eq!(ToolAnswer::new(members.into()), Err(ToolError::TooLarge));
    }
}
