//! Label selectors: the syntax of `kubectl -l`, and the `LabelSelector` of Kubernetes' API.
//!
//! Both are read as k8s.io/apimachinery 0.36 reads them, with its error texts. Nothing here knows what is labelled.

mod label;
mod parser;

use std::collections::BTreeMap;

use thiserror::Error;

use crate::quote::go_quote;
use label::{key_faults, value_faults};

/// Requirements on labels, all of which must hold. Without any, everything matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

/// A requirement of a `LabelSelector` as a `ClusterExtension` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchExpression<'a> {
    /// The label.
    pub key: &'a str,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: &'a str,
    /// Values, for the operators that have some.
    pub values: &'a [String],
}

/// Why something is no selector. The texts are upstream's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectorError {
    /// The text does not have the form of requirements.
    #[error("{0}")]
    Syntax(String),
    /// A requirement has the form of one and is none.
    #[error("unable to parse requirement: {0}")]
    Requirement(String),
    /// A `LabelSelector` asks for an operator that there is not.
    #[error("{} is not a valid label selector operator", go_quote(.0))]
    Operator(String),
    /// A `LabelSelector` has a malformed key, value or number of values.
    #[error("{0}")]
    Invalid(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    /// `=` and `==` too.
    In,
    /// `!=` too.
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl Selector {
    /// Reads the syntax of `kubectl -l`, such as `env=prod,tier in (1,2),!old`.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        Ok(Self { requirements: parser::parse(text)? })
    }

    /// Reads a `LabelSelector`: labels with their values, and expressions.
    pub fn from_kubernetes(
        match_labels: &BTreeMap<String, String>,
        match_expressions: &[MatchExpression<'_>],
    ) -> Result<Self, SelectorError> {
        let invalid = SelectorError::Invalid;
        let mut requirements = Vec::new();
        for (key, value) in match_labels {
            let values = vec![value.clone()];
            requirements.push(Requirement::new(key, Operator::In, values).map_err(invalid)?);
        }
        for MatchExpression { key, operator, values } in match_expressions {
            let operator = match *operator {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(SelectorError::Operator(other.to_owned())),
            };
            requirements.push(Requirement::new(key, operator, values.to_vec()).map_err(invalid)?);
        }
        Ok(Self { requirements })
    }

    /// Whether the labels meet every requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels.get(&requirement.key)))
    }
}

impl Requirement {
    /// Checks the key, the number of values and the values; what is wrong comes in one text.
    fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Self, String> {
        let mut faults: Vec<_> = key_fault(key, "key").into_iter().collect();
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                let rule = "for 'in', 'notin' operators, values set can't be empty";
                faults.push(format!("values: Invalid value: null: {rule}"));
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                let list: Vec<_> = values.iter().map(|value| go_quote(value).to_string()).collect();
                let rule = "values set must be empty for exists and does not exist";
                faults.push(format!("values: Invalid value: [{}]: {rule}", list.join(",")));
            }
            Operator::GreaterThan | Operator::LessThan => {
                let rule = "for 'Gt', 'Lt' operators, the value must be an integer";
                let bad = values.iter().enumerate().filter(|(_, value)| integer(value).is_none());
                faults
                    .extend(bad.map(|(at, value)| format!("values[{at}]: Invalid value: {}: {rule}", go_quote(value))));
            }
            _ => {}
        }
        for (at, value) in values.iter().enumerate() {
            let found = value_faults(value);
            if !found.is_empty() {
                let (value, found) = (go_quote(value), found.join("; "));
                faults.push(format!("values[{at}][{key}]: Invalid value: {value}: {found}"));
            }
        }
        match faults.as_slice() {
            [] => Ok(Self { key: key.to_owned(), operator, values }),
            [one] => Err(one.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }

    fn matches(&self, value: Option<&String>) -> bool {
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compares(value, |value, bound| value > bound),
            Operator::LessThan => self.compares(value, |value, bound| value < bound),
        }
    }

    fn compares(&self, value: Option<&String>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let bound = self.values.first().and_then(|bound| integer(bound));
        value.and_then(|value| integer(value)).zip(bound).is_some_and(|(value, bound)| holds(value, bound))
    }
}

/// What is wrong with a key, at this path.
fn key_fault(key: &str, path: &str) -> Option<String> {
    let faults = key_faults(key);
    (!faults.is_empty()).then(|| format!("{path}: Invalid value: {}: {}", go_quote(key), faults.join("; ")))
}

/// What Go's `ParseInt` takes: a sign and digits.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests;
