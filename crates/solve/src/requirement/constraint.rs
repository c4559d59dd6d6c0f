//! Parses the value of an `olm.constraint`.
//!
//! The order of the checks is upstream's, so that a value with several errors gets the same message:
//! size, fields and types, then ranges and rules.

use fbc::MAX_CONSTRAINT_BYTES;
use fbc_grammar::go_quote;
use serde_json::{Map, Value};

use super::{ParsedRequirement, Predicate, get, package};
use crate::budget::SolveBudget;
use crate::error::{ParseRequirementError, RequirementError};
use crate::property::{Gvk, json_type};
use crate::rule::Rule;

/// Kinds of a constraint. If a constraint sets several, the first one in this order counts.
const KINDS: [&str; 6] = ["gvk", "package", "all", "any", "not", "cel"];

/// Parses a constraint.
///
/// # Errors
/// Upstream's message.
pub(super) fn read(
    value: &[u8],
    budget: &SolveBudget<'_>,
) -> Result<ParsedRequirement, ParseRequirementError> {
    let parse = |reason: String| RequirementError::from(format!("parse olm.constraint: {reason}"));
    if value.len() > MAX_CONSTRAINT_BYTES {
        let reason = format!(
            "olm.constraint value is greater than max constraint size {MAX_CONSTRAINT_BYTES} bytes"
        );
        return Err(parse(reason).into());
    }
    let value: Value = serde_json::from_slice(value).map_err(|error| parse(error.to_string()))?;
    check(&value, "").map_err(parse)?;
    let predicate = predicate(&value, budget).map_err(|error| match error {
        ParseRequirementError::Invalid(RequirementError { message, is_limit }) => {
            RequirementError {
                message: format!("convert olm.constraint to resolver predicate: {message}"),
                is_limit,
            }
            .into()
        }
        stopped @ ParseRequirementError::Stopped(_) => stopped,
    })?;
    let message = value
        .as_object()
        .and_then(|object| text(object, "failureMessage"));
    Ok(ParsedRequirement {
        predicate,
        failure_message: message.filter(|message| !message.is_empty()),
    })
}

/// Checks the fields and types of a constraint at a path, such as `all.constraints`.
fn check(value: &Value, path: &str) -> Result<(), String> {
    let Some(object) = object(value, "Constraint", "constraints.Constraint", path)? else {
        return Ok(());
    };
    for (key, value) in object {
        let lower = key.to_ascii_lowercase();
        let path = join(path, &lower);
        match &*lower {
            "failuremessage" => string(value, "Constraint", &join("", "failureMessage"))?,
            "gvk" => strings(value, "GVKConstraint", &path, &["group", "kind", "version"])?,
            "package" => strings(
                value,
                "PackageConstraint",
                &path,
                &["packageName", "versionRange"],
            )?,
            "cel" => strings(value, "Cel", &path, &["rule"])?,
            "all" | "any" | "not" => check_list(value, &path)?,
            _ => return Err(unknown(key)),
        }
    }
    Ok(())
}

/// Checks a compound constraint.
fn check_list(value: &Value, path: &str) -> Result<(), String> {
    let Some(object) = object(value, "Constraint", "constraints.CompoundConstraint", path)? else {
        return Ok(());
    };
    for (key, value) in object {
        if !key.eq_ignore_ascii_case("constraints") {
            return Err(unknown(key));
        }
        let path = join(path, "constraints");
        match value {
            Value::Null => {}
            Value::Array(list) => list.iter().try_for_each(|one| check(one, &path))?,
            other => {
                return Err(mismatch(
                    other,
                    "CompoundConstraint",
                    &path,
                    "[]constraints.Constraint",
                ));
            }
        }
    }
    Ok(())
}

/// Checks an object whose fields are these strings.
fn strings(value: &Value, go_struct: &str, path: &str, names: &[&str]) -> Result<(), String> {
    let Some(object) = object(
        value,
        "Constraint",
        &format!("constraints.{go_struct}"),
        path,
    )?
    else {
        return Ok(());
    };
    for (key, value) in object {
        let name = names
            .iter()
            .find(|name| name.eq_ignore_ascii_case(key))
            .ok_or_else(|| unknown(key))?;
        string(value, go_struct, &join(path, name))?;
    }
    Ok(())
}

fn object<'v>(
    value: &'v Value,
    go_struct: &str,
    go_type: &str,
    path: &str,
) -> Result<Option<&'v Map<String, Value>>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Object(object) => Ok(Some(object)),
        other if path.is_empty() => Err(format!(
            "json: cannot unmarshal {} into Go value of type {go_type}",
            json_type(other)
        )),
        other => Err(mismatch(other, go_struct, path, go_type)),
    }
}

fn string(value: &Value, go_struct: &str, path: &str) -> Result<(), String> {
    match value {
        Value::Null | Value::String(_) => Ok(()),
        other => Err(mismatch(other, go_struct, path, "string")),
    }
}

fn unknown(key: &str) -> String {
    format!("json: unknown field {}", go_quote(key))
}

fn mismatch(value: &Value, go_struct: &str, path: &str, go_type: &str) -> String {
    format!(
        "json: cannot unmarshal {} into Go struct field {go_struct}.{path} of type {go_type}",
        json_type(value)
    )
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Converts a checked constraint: the first of its [`KINDS`] that is set.
fn predicate(value: &Value, budget: &SolveBudget<'_>) -> Result<Predicate, ParseRequirementError> {
    let empty = Map::new();
    let object = value.as_object().unwrap_or(&empty);
    let set = |kind: &&str| get(object, kind).is_some_and(|value| !value.is_null());
    let kind = KINDS
        .into_iter()
        .find(set)
        .ok_or_else(|| "constraint is empty".to_owned())?;
    let body = get(object, kind)
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let field = |name| text(body, name).unwrap_or_default();
    let list = || {
        let list = get(body, "constraints").and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .map(|one| predicate(one, budget))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(match kind {
        "gvk" => Predicate::Api(Gvk {
            group: field("group").into(),
            version: field("version").into(),
            kind: field("kind").into(),
        }),
        "package" => package(field("packageName"), field("versionRange"), budget)?,
        "all" => Predicate::All(list()?),
        "any" => Predicate::Any(list()?),
        "not" => Predicate::Not(list()?),
        _ => {
            let rule = Box::new(Rule::compile(&field("rule"), budget)?);
            Predicate::Rule {
                rule,
                message: text(object, "failureMessage").unwrap_or_default(),
            }
        }
    })
}

fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    get(object, key).and_then(Value::as_str).map(str::to_owned)
}
