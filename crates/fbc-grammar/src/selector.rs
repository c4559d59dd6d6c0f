//! Label selectors: parses the syntax of `kubectl -l` and the `LabelSelector` of the Kubernetes
//! API.
//!
//! Both behave as in k8s.io/apimachinery 0.36, with its error texts.

mod label;
mod parser;

use std::collections::BTreeMap;

use thiserror::Error;

use crate::quote::go_quote;
use label::{key_errors, value_errors};

/// Requirements on labels, all of which must hold; without any, every set of labels matches.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use fbc_grammar::selector::Selector;
///
/// let selector = Selector::parse("env=prod,tier in (1,2),!old")?;
/// let labels = [("env", "prod"), ("tier", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
/// assert!(selector.matches(&BTreeMap::from(labels)));
/// # Ok::<(), fbc_grammar::selector::SelectorError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<LabelRequirement>,
}

/// An element of the `matchExpressions` of a `LabelSelector`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchExpression<'a> {
    /// Key of the label.
    pub key: &'a str,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: &'a str,
    /// Values, for `In` and `NotIn`.
    pub values: &'a [String],
}

/// An error in a selector, with upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectorError {
    /// The text is not a list of requirements.
    #[error("{0}")]
    Syntax(String),
    /// A requirement is malformed or invalid.
    #[error("unable to parse requirement: {0}")]
    Requirement(String),
    /// A `LabelSelector` has an unknown operator.
    #[error("{} is not a valid label selector operator", go_quote(.0))]
    Operator(String),
    /// A `LabelSelector` has an invalid key, value or number of values.
    #[error("{0}")]
    Invalid(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LabelRequirement {
    key: String,
    operator: SelectorOperator,
    /// Sorted.
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SelectorOperator {
    /// Also `=` and `==`.
    In,
    /// Also `!=`.
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl Selector {
    /// Parses the syntax of `kubectl -l`, such as `env=prod,tier in (1,2),!old`.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        Ok(Self {
            requirements: parser::parse(text)?,
        })
    }

    /// Converts a `LabelSelector` of the Kubernetes API: labels with their values, and expressions.
    pub fn from_kubernetes(
        match_labels: &BTreeMap<String, String>,
        match_expressions: &[MatchExpression<'_>],
    ) -> Result<Self, SelectorError> {
        let invalid = SelectorError::Invalid;
        let mut requirements = Vec::new();
        for (key, value) in match_labels {
            let values = vec![value.clone()];
            requirements
                .push(LabelRequirement::new(key, SelectorOperator::In, values).map_err(invalid)?);
        }
        for MatchExpression {
            key,
            operator,
            values,
        } in match_expressions
        {
            let operator = match *operator {
                "In" => SelectorOperator::In,
                "NotIn" => SelectorOperator::NotIn,
                "Exists" => SelectorOperator::Exists,
                "DoesNotExist" => SelectorOperator::DoesNotExist,
                other => return Err(SelectorError::Operator(other.to_owned())),
            };
            requirements
                .push(LabelRequirement::new(key, operator, values.to_vec()).map_err(invalid)?);
        }
        Ok(Self { requirements })
    }

    /// Returns the number of requirements: the work of [`Selector::matches`] grows with it.
    pub fn len(&self) -> usize {
        self.requirements.len()
    }

    /// Returns whether there are no requirements.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Tells whether labels meet every requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(labels.get(&requirement.key)))
    }
}

impl LabelRequirement {
    /// Validates the key, the number of values and the values; all errors are joined in one text.
    fn new(key: &str, operator: SelectorOperator, mut values: Vec<String>) -> Result<Self, String> {
        let mut errors: Vec<_> = key_error(key, "key").into_iter().collect();
        match operator {
            SelectorOperator::In | SelectorOperator::NotIn if values.is_empty() => {
                let rule = "for 'in', 'notin' operators, values set can't be empty";
                errors.push(format!("values: Invalid value: null: {rule}"));
            }
            SelectorOperator::Exists | SelectorOperator::DoesNotExist if !values.is_empty() => {
                let list: Vec<_> = values
                    .iter()
                    .map(|value| go_quote(value).to_string())
                    .collect();
                let rule = "values set must be empty for exists and does not exist";
                errors.push(format!(
                    "values: Invalid value: [{}]: {rule}",
                    list.join(",")
                ));
            }
            SelectorOperator::GreaterThan | SelectorOperator::LessThan => {
                let rule = "for 'Gt', 'Lt' operators, the value must be an integer";
                let bad = values
                    .iter()
                    .enumerate()
                    .filter(|(_, value)| integer(value).is_none());
                errors.extend(bad.map(|(at, value)| {
                    format!("values[{at}]: Invalid value: {}: {rule}", go_quote(value))
                }));
            }
            _ => {}
        }
        for (at, value) in values.iter().enumerate() {
            let unexpected = value_errors(value);
            if !unexpected.is_empty() {
                let value = go_quote(value);
                let unexpected = unexpected.join("; ");
                errors.push(format!(
                    "values[{at}][{key}]: Invalid value: {value}: {unexpected}"
                ));
            }
        }
        match errors.as_slice() {
            [] => {
                values.sort_unstable();
                Ok(Self {
                    key: key.to_owned(),
                    operator,
                    values,
                })
            }
            [one] => Err(one.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }

    fn matches(&self, value: Option<&String>) -> bool {
        match self.operator {
            SelectorOperator::In => value.is_some_and(|value| self.has(value)),
            SelectorOperator::NotIn => value.is_none_or(|value| !self.has(value)),
            SelectorOperator::Exists => value.is_some(),
            SelectorOperator::DoesNotExist => value.is_none(),
            SelectorOperator::GreaterThan => self.compares(value, |value, bound| value > bound),
            SelectorOperator::LessThan => self.compares(value, |value, bound| value < bound),
        }
    }

    fn has(&self, value: &String) -> bool {
        self.values.binary_search(value).is_ok()
    }

    fn compares(&self, value: Option<&String>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let bound = self.values.first().and_then(|bound| integer(bound));
        value
            .and_then(|value| integer(value))
            .zip(bound)
            .is_some_and(|(value, bound)| holds(value, bound))
    }
}

/// Validates a key and formats its errors for a field path; `None` when it is valid.
fn key_error(key: &str, path: &str) -> Option<String> {
    let errors = key_errors(key);
    (!errors.is_empty()).then(|| {
        format!(
            "{path}: Invalid value: {}: {}",
            go_quote(key),
            errors.join("; ")
        )
    })
}

/// Parses an integer as Go's `ParseInt` does: an optional sign and digits.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests;
