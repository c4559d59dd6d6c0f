//! `--sort-by`: the order of the items of a list.

use std::cmp::Ordering;

use serde_json::Value;

use crate::jsonpath::JsonPath;

/// Key of `--sort-by`: a column of the table or a field of the objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOrder {
    written: String,
    path: JsonPath,
}

/// Value of an item that is compared. Variants are in their order: items without a value are last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SortValue {
    Number(f64),
    Text(String),
    Missing,
}

impl ListOrder {
    /// Parses the name of a column, or a path such as `.metadata.createdAt`; the message says what
    /// is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = JsonPath::parse(text)?;
        let written = text.to_owned();
        Ok(Self { written, path })
    }

    /// Returns the text on the command line.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// Returns the value of an item at the path.
    pub(crate) fn value(&self, item: &Value) -> SortValue {
        match self.path.select(item).first() {
            Some(Value::Number(number)) => SortValue::Number(number.as_f64().unwrap_or_default()),
            _ => SortValue::from_text(self.path.text(item)),
        }
    }
}

impl SortValue {
    /// Returns the value of a cell.
    pub(crate) fn from_text(text: String) -> Self {
        if text.is_empty() {
            Self::Missing
        } else {
            Self::Text(text)
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Text(_) => 1,
            Self::Missing => 2,
        }
    }

    /// Compares two values: numbers by their value, texts as [`compare`] does.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => compare(a, b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

/// Compares texts so that numbers in them count by their value, as kubectl does: `1.10.0` is behind
/// `1.9.0`. Unlike there, a prerelease is before its release.
fn compare(a: &str, b: &str) -> Ordering {
    let mut a = a;
    let mut b = b;
    let mut is_after_digit = false;
    loop {
        match (a.chars().next(), b.chars().next()) {
            (None, None) => return Ordering::Equal,
            (None, Some('-')) if is_after_digit => return Ordering::Greater,
            (Some('-'), None) if is_after_digit => return Ordering::Less,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(first), Some(second)) if first.is_ascii_digit() && second.is_ascii_digit() => {
                let [(digits, rest_a), (other, rest_b)] = [a, b].map(leading_digits);
                let [digits, other] = [digits, other].map(|text| text.trim_start_matches('0'));
                let order = digits.len().cmp(&other.len()).then(digits.cmp(other));
                if order.is_ne() {
                    return order;
                }
                (a, b) = (rest_a, rest_b);
                is_after_digit = true;
            }
            (Some(first), Some(second)) => {
                if first != second {
                    return first.cmp(&second);
                }
                a = &a[first.len_utf8()..];
                b = &b[second.len_utf8()..];
                is_after_digit = false;
            }
        }
    }
}

fn leading_digits(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_in_texts_count_by_their_value_and_a_prerelease_is_before_its_release() {
        let mut texts = [
            "1.10.0",
            "1.9.0",
            "1.10.0-rc.2",
            "1.10.0-rc.10",
            "etcd",
            "etcd-operator",
            "1.09.1",
        ];
        texts.sort_by(|a, b| compare(a, b));
        let expected = [
            "1.9.0",
            "1.09.1",
            "1.10.0-rc.2",
            "1.10.0-rc.10",
            "1.10.0",
            "etcd",
            "etcd-operator",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn items_without_a_value_are_last() {
        let key = ListOrder::parse("{.a.n}").expect("it is a path");
        let mut items = [
            json!({}),
            json!({ "a": { "n": 10 } }),
            json!({ "a": { "n": null } }),
            json!({ "a": { "n": 9 } }),
        ];
        items.sort_by(|a, b| key.value(a).order(&key.value(b)));
        let shown: Vec<_> = items.iter().map(|item| item["a"]["n"].as_i64()).collect();
        assert_eq!(shown, [Some(9), Some(10), None, None]);
    }
}
