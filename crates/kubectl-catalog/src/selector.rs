//! Label selectors in the syntax of `kubectl -l`, over the labels of catalogs.

use std::collections::BTreeMap;

/// A parsed selector: conditions that must all be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Condition>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    key: String,
    /// The values that meet it; `None` when any does.
    values: Option<Vec<String>>,
    is_negated: bool,
}

impl LabelSelector {
    /// Parses a selector; the message says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let conditions = split(text).into_iter().map(|part| condition(part.trim()));
        let conditions = conditions.collect::<Option<Vec<_>>>();
        conditions.map(Self).ok_or_else(|| {
            format!("`{text}` is not a selector: write it as for kubectl, such as `tier=demo,env notin (test, dev)`")
        })
    }

    /// Returns `true` if labels meet the selector.
    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|condition| {
            let value = labels.get(&condition.key);
            let meets = match &condition.values {
                Some(values) => value.is_some_and(|value| values.contains(value)),
                None => value.is_some(),
            };
            meets != condition.is_negated
        })
    }
}

/// The conditions: separated by commas that are not in parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .collect()
}

fn condition(text: &str) -> Option<Condition> {
    let made = |key: &str, values: Option<Vec<String>>, is_negated| {
        let key = key.trim();
        let is_key = !key.is_empty() && !key.contains([' ', '(', ')', '!', '=', ',']);
        is_key.then(|| Condition {
            key: key.to_owned(),
            values,
            is_negated,
        })
    };
    for (operator, is_negated) in [("!=", true), ("==", false), ("=", false)] {
        if let Some((key, value)) = text.split_once(operator) {
            return made(key, Some(vec![value.trim().to_owned()]), is_negated);
        }
    }
    for (operator, is_negated) in [(" notin ", true), (" in ", false)] {
        if let Some((key, values)) = text.split_once(operator) {
            let values = values.trim().strip_prefix('(')?.strip_suffix(')')?;
            return made(
                key,
                Some(
                    values
                        .split(',')
                        .map(|value| value.trim().to_owned())
                        .collect(),
                ),
                is_negated,
            );
        }
    }
    match text.strip_prefix('!') {
        Some(key) => made(key, None, true),
        None => made(text, None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_means_what_it_means_to_kubectl() {
        let labels = [("tier", "demo"), ("env", "test")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        for (text, expected) in [
            ("tier=demo", true),
            ("tier==demo,env=test", true),
            ("tier=demo,env=prod", false),
            ("tier!=demo", false),
            ("none!=demo", true),
            ("tier", true),
            ("!tier", false),
            ("!none", true),
            ("tier in (a, demo),env", true),
            ("tier notin (a, demo)", false),
            ("none notin (a)", true),
        ] {
            assert_eq!(
                LabelSelector::parse(text).map(|selector| selector.matches(&labels)),
                Ok(expected),
                "{text}"
            );
        }
        for text in ["", "a b", "=a", "tier in demo", "a,,b"] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }
}
