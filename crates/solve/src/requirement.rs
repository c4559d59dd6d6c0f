//! Requirements of bundles: properties that dependencies must meet, read as upstream reads them,
//! with its messages.

mod constraint;

use std::fmt;

use fbc::work::Step;
use fbc_grammar::range::BlangRange;
use serde_json::{Map, Value};

use crate::facts::{Api, BundleFacts};
use crate::meter::{Halt, Meter};
use crate::rule::Rule;

/// A requirement that one bundle can meet.
#[derive(Debug)]
pub(crate) struct ParsedRequirement {
    pub(crate) predicate: Predicate,
    /// The message of its author for when it is not met; `None` when there is none.
    pub(crate) failure_message: Option<String>,
}

/// A condition on one bundle.
#[derive(Debug)]
pub(crate) enum Predicate {
    /// It is of the package, in a version of the range.
    Package {
        name: String,
        range: String,
        versions: BlangRange,
        comparators: usize,
    },
    /// It provides the API.
    Api(Api<'static>),
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

/// Why a requirement cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Upstream's message, or ours for a limit that it does not have.
    pub(crate) message: String,
    /// Whether the requirement exceeds a limit.
    pub(crate) is_limit: bool,
}

/// Why a requirement is not read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// It is malformed, or exceeds a limit of its own.
    Fault(Fault),
    /// The account refused more work.
    Halted(Halt<'static>),
}

impl From<Fault> for Unreadable {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<String> for Unreadable {
    fn from(message: String) -> Self {
        Self::Fault(message.into())
    }
}

impl From<Halt<'static>> for Unreadable {
    fn from(halt: Halt<'static>) -> Self {
        Self::Halted(halt)
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self {
            message,
            is_limit: false,
        }
    }
}

impl ParsedRequirement {
    /// Reads a property of one of the [`fbc::REQUIREMENT_TYPES`].
    ///
    /// # Errors
    /// With upstream's message, if the value is malformed.
    pub(crate) fn read(
        type_name: &str,
        value: &[u8],
        meter: &Meter<'_>,
    ) -> Result<Self, Unreadable> {
        let parsed = || serde_json::from_slice::<Value>(value).map_err(|error| error.to_string());
        let simple = |predicate| Self {
            predicate,
            failure_message: None,
        };
        Ok(match type_name {
            "olm.gvk.required" => simple(Predicate::Api(read_api(&parsed()?)?)),
            "olm.package.required" => {
                let [name, range] = fields(&parsed()?, PACKAGE)?;
                simple(package(name, range, meter)?)
            }
            "olm.label.required" => {
                let [label] = fields(&parsed()?, LABEL)?;
                simple(Predicate::Label(label))
            }
            _ => constraint::read(value, meter)?,
        })
    }
}

/// Go's names of the fields of a property's value, each with its key, for its messages.
type Fields<const N: usize> = [(&'static str, &'static str); N];

const API: Fields<3> = [("Group", "group"), ("Version", "version"), ("Kind", "kind")];
const PACKAGE: Fields<2> = [
    ("PackageName", "packageName"),
    ("VersionRange", "versionRange"),
];
const LABEL: Fields<1> = [("Label", "label")];

/// Reads the value of an `olm.gvk` or `olm.gvk.required`.
pub(crate) fn read_api(value: &Value) -> Result<Api<'static>, String> {
    let [group, version, kind] = fields(value, API)?;
    Ok(Api {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
    })
}

/// Reads the value of an `olm.label`.
pub(crate) fn read_label(value: &Value) -> Result<String, String> {
    fields(value, LABEL).map(|[label]| label)
}

/// Reads strings of an object as Go does: names match in any case, unknown fields are ignored,
/// missing ones are empty.
fn fields<const N: usize>(value: &Value, names: Fields<N>) -> Result<[String; N], String> {
    let mut texts = [const { String::new() }; N];
    let object = match value {
        Value::Null => return Ok(texts),
        Value::Object(object) => object,
        other => {
            let fields = names
                .map(|(name, key)| format!("{name} string \"json:\\\"{key}\\\"\""))
                .join("; ");
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type struct {{ {fields} }}",
                json_type(other)
            ));
        }
    };
    for (key, value) in object {
        let Some(at) = names
            .iter()
            .position(|(_, name)| name.eq_ignore_ascii_case(key))
        else {
            continue;
        };
        match value {
            Value::Null => {}
            Value::String(text) => texts[at].clone_from(text),
            other => {
                let json_type = json_type(other);
                let key = names[at].1;
                return Err(format!(
                    "json: cannot unmarshal {json_type} into Go struct field .{key} of type string"
                ));
            }
        }
    }
    Ok(texts)
}

/// Go's name for the type of a JSON value.
fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A predicate of a package in a range.
fn package(name: String, range: String, meter: &Meter<'_>) -> Result<Predicate, Unreadable> {
    meter.draw(Step::ParsedByte, range.len())?;
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
        facts: &BundleFacts<'_>,
        meter: &Meter<'_>,
    ) -> Result<bool, Halt<'static>> {
        meter.draw(Step::Comparison, 1)?;
        Ok(match self {
            Self::Package {
                name,
                versions,
                comparators,
                ..
            } => {
                meter.draw(Step::Posting, facts.packages.len())?;
                facts.packages.iter().any(|package| package == name)
                    && facts.has_version_in(versions, *comparators, meter)?
            }
            Self::Api(api) => {
                meter.draw(Step::Posting, facts.apis.len())?;
                facts.apis.contains(api)
            }
            Self::Label(label) => {
                meter.draw(Step::Posting, facts.labels.len())?;
                facts.labels.contains(label)
            }
            Self::All(all) => all.iter().try_fold(true, |met, one| {
                Ok::<_, Halt<'static>>(met && one.holds(facts, meter)?)
            })?,
            Self::Any(any) => any_holds(any, facts, meter)?,
            Self::Not(not) => !any_holds(not, facts, meter)?,
            Self::Rule { rule, .. } => facts.meet(rule, meter)?,
        })
    }
}

fn any_holds(
    any: &[Predicate],
    facts: &BundleFacts<'_>,
    meter: &Meter<'_>,
) -> Result<bool, Halt<'static>> {
    any.iter()
        .try_fold(false, |met, one| Ok(met || one.holds(facts, meter)?))
}

impl fmt::Display for Predicate {
    /// Writes the condition as upstream does, which leaves out that a `not` negates.
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
            Self::Api(Api {
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

/// Returns the value of a key in any case, as Go looks fields up; the last one counts.
fn get<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    object
        .iter()
        .rfind(|(name, _)| name.eq_ignore_ascii_case(key))
        .map(|(_, value)| value)
}
