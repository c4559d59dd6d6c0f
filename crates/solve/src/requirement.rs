//! Requirements of bundles: properties that a dependency must meet. They are parsed like upstream's,
//! with its error messages.

mod constraint;

use std::fmt;

use fbc::work::Step;
use fbc_grammar::range::BlangRange;
use serde_json::{Map, Value};

use crate::budget::SolveBudget;
use crate::entry_properties::EntryProperties;
use crate::error::{ParseRequirementError, SolveError};
use crate::property::{Gvk, LABEL, PACKAGE, read_fields, read_gvk};
use crate::rule::Rule;

/// A requirement that one bundle can meet.
#[derive(Debug)]
pub(crate) struct ParsedRequirement {
    pub(crate) predicate: Predicate,
    /// Message that its author has written for the case that it is not met.
    pub(crate) failure_message: Option<String>,
}

/// A condition on one bundle.
#[derive(Debug)]
pub(crate) enum Predicate {
    /// It belongs to the package, in a version of the range.
    Package {
        name: String,
        range: String,
        versions: BlangRange,
        comparators: usize,
    },
    /// It provides the API.
    Api(Gvk<'static>),
    /// It has the label.
    Label(String),
    /// All of these hold.
    All(Vec<Predicate>),
    /// One of these holds.
    Any(Vec<Predicate>),
    /// None of these holds.
    Not(Vec<Predicate>),
    /// A CEL rule over its properties.
    Rule { rule: Box<Rule>, message: String },
}

impl ParsedRequirement {
    /// Parses a property of one of the [`fbc::REQUIREMENT_TYPES`].
    ///
    /// # Errors
    /// With upstream's message, if the value is malformed.
    pub(crate) fn read(
        type_name: &str,
        value: &[u8],
        budget: &SolveBudget<'_>,
    ) -> Result<Self, ParseRequirementError> {
        let parsed = || serde_json::from_slice::<Value>(value).map_err(|error| error.to_string());
        let simple = |predicate| Self {
            predicate,
            failure_message: None,
        };
        Ok(match type_name {
            "olm.gvk.required" => simple(Predicate::Api(read_gvk(&parsed()?)?)),
            "olm.package.required" => {
                let [name, range] = read_fields(&parsed()?, PACKAGE)?;
                simple(package(name, range, budget)?)
            }
            "olm.label.required" => {
                let [label] = read_fields(&parsed()?, LABEL)?;
                simple(Predicate::Label(label))
            }
            _ => constraint::read(value, budget)?,
        })
    }
}

/// Creates the predicate of a package in a range.
fn package(
    name: String,
    range: String,
    budget: &SolveBudget<'_>,
) -> Result<Predicate, ParseRequirementError> {
    budget.draw(Step::ParsedByte, range.len())?;
    let versions = BlangRange::parse(&range).map_err(|error| error.to_string())?;
    Ok(Predicate::Package {
        name,
        range,
        comparators: versions.comparators(),
        versions,
    })
}

impl Predicate {
    /// Returns whether a bundle with these properties meets the condition.
    pub(crate) fn holds(
        &self,
        properties: &EntryProperties<'_>,
        budget: &SolveBudget<'_>,
    ) -> Result<bool, SolveError<'static>> {
        budget.draw(Step::Comparison, 1)?;
        Ok(match self {
            Self::Package {
                name,
                versions,
                comparators,
                ..
            } => {
                budget.draw(Step::Posting, properties.packages.len())?;
                properties.packages.iter().any(|package| package == name)
                    && properties.has_version_in(versions, *comparators, budget)?
            }
            Self::Api(api) => {
                budget.draw(Step::Posting, properties.apis.len())?;
                properties.apis.contains(api)
            }
            Self::Label(label) => {
                budget.draw(Step::Posting, properties.labels.len())?;
                properties.labels.contains(label)
            }
            Self::All(all) => all.iter().try_fold(true, |met, one| {
                Ok::<_, SolveError<'static>>(met && one.holds(properties, budget)?)
            })?,
            Self::Any(any) => any_holds(any, properties, budget)?,
            Self::Not(not) => !any_holds(not, properties, budget)?,
            Self::Rule { rule, .. } => properties.meet(rule, budget)?,
        })
    }
}

fn any_holds(
    any: &[Predicate],
    properties: &EntryProperties<'_>,
    budget: &SolveBudget<'_>,
) -> Result<bool, SolveError<'static>> {
    any.iter()
        .try_fold(false, |met, one| Ok(met || one.holds(properties, budget)?))
}

impl fmt::Display for Predicate {
    /// Writes the condition like upstream, which does not show that a `not` negates.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut joined = |list: &[Self], separator: &str| {
            list.iter().enumerate().try_for_each(|(at, one)| {
                if at > 0 {
                    f.write_str(separator)?;
                }
                write!(f, "{one}")
            })
        };
        match self {
            Self::Package { name, range, .. } => {
                write!(f, "with package: {name} and with version in range: {range}")
            }
            Self::Api(Gvk {
                group,
                version,
                kind,
            }) => {
                write!(
                    f,
                    "providing an API with group: {group}, version: {version}, kind: {kind}"
                )
            }
            Self::Label(label) => write!(f, "with label: {label}"),
            Self::All(list) => joined(list, " and "),
            Self::Any(list) => joined(list, " or "),
            Self::Not(list) => joined(list, " and not "),
            Self::Rule { rule, message } => {
                write!(
                    f,
                    "with constraint: \"{}\" and message: \"{message}\"",
                    rule.text()
                )
            }
        }
    }
}

/// Returns the value of a key. Like in Go, case is ignored and the last duplicate counts.
fn get<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    object
        .iter()
        .rfind(|(name, _)| name.eq_ignore_ascii_case(key))
        .map(|(_, value)| value)
}
