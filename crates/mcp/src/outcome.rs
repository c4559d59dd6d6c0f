//! Decides whether the data of a response answers a call, or the call named what no catalog has.
//!
//! A name that does not exist is no error in GraphQL: it selects nothing. An assistant needs to know
//! which name that was, and which names there are.

use serde_json::{Map, Value};

use crate::error::ToolError;
use crate::tool::CatalogTool;

/// Fields of documents that are for errors only.
const HELPERS: [&str; 3] = ["served", "similar", "known"];

/// Code of a resolution of a package that no catalog has.
const PACKAGE_NOT_FOUND: &str = "PACKAGE_NOT_FOUND";

/// Returns the data of an answer, without the fields that are for errors only.
///
/// # Errors
/// A catalog, a package or a bundle in the variables does not exist.
pub(crate) fn judge(
    tool: CatalogTool,
    variables: &Map<String, Value>,
    mut data: Value,
) -> Result<Value, ToolError> {
    check_catalogs(variables, &data)?;
    check_package(variables, &data)?;
    if tool == CatalogTool::DescribeBundle {
        check_bundle(variables, &data)?;
    }

    if let Some(fields) = data.as_object_mut() {
        fields.retain(|name, _| !HELPERS.contains(&name.as_str()));
    }
    Ok(data)
}

fn check_catalogs(variables: &Map<String, Value>, data: &Value) -> Result<(), ToolError> {
    let Some(catalogs) = data["served"].as_array() else {
        return Ok(());
    };
    let served = names(catalogs, "name");
    let steps = items(variables.get("steps"));
    let of_steps = steps.iter().flat_map(|step| items(step.get("catalogs")));
    let requested = items(variables.get("catalogs"))
        .iter()
        .chain(variables.get("catalog"))
        .chain(of_steps);
    let unknown = requested
        .filter_map(Value::as_str)
        .find(|name| !served.iter().any(|other| other == name));
    match unknown {
        Some(name) => Err(ToolError::Catalog {
            name: name.to_owned(),
            served,
        }),
        None => Ok(()),
    }
}

fn check_package(variables: &Map<String, Value>, data: &Value) -> Result<(), ToolError> {
    let resolutions = [&data["similar"], &data["resolve"]];
    let Some(failure) = resolutions
        .into_iter()
        .find(|result| result["code"] == PACKAGE_NOT_FOUND)
    else {
        return Ok(());
    };
    let similar = items(failure.get("similarNames"));
    Err(ToolError::Package {
        name: text(variables, "package"),
        similar: similar.iter().filter_map(owned).collect(),
    })
}

fn check_bundle(variables: &Map<String, Value>, data: &Value) -> Result<(), ToolError> {
    if !items(data.pointer("/bundles/nodes")).is_empty() {
        return Ok(());
    }
    Err(ToolError::Bundle {
        package: text(variables, "package"),
        name: text(variables, "bundle"),
        known: names(items(data.pointer("/known/nodes")), "name"),
    })
}

/// Returns the items of a list; none if the value is no list.
fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn names(objects: &[Value], member: &str) -> Vec<String> {
    let names = objects.iter().filter_map(|object| owned(&object[member]));
    names.collect()
}

fn text(variables: &Map<String, Value>, name: &str) -> String {
    variables.get(name).and_then(owned).unwrap_or_default()
}

fn owned(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}
