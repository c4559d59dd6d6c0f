//! The properties of a bundle, from its metadata and its CSV.

use super::{Parsed, annotation, apis, property};
use crate::value::{Members, Value};

/// Makes the properties of a bundle but those of its manifests: each once, sorted by type and
/// value, `olm.csv.metadata` last.
pub(super) fn properties(parsed: &Parsed, package: &str, warnings: &mut Vec<String>) -> Vec<Value> {
    let mut all = parsed.properties.clone();
    all.push(package_property(parsed, package));
    all.extend(annotated(parsed, warnings));
    keep_last_package(&mut all);
    let gvk = |kind: &str, api: &apis::Api| {
        let members = [
            ("group", &api.group),
            ("kind", &api.kind),
            ("version", &api.version),
        ];
        property(
            kind,
            Value::object(members.map(|(key, text)| (key, Value::text(text)))),
        )
    };
    all.extend(
        apis::provided(&parsed.csv, &parsed.defined)
            .iter()
            .map(|api| gvk("olm.gvk", api)),
    );
    all.extend(
        apis::required(&parsed.csv)
            .iter()
            .map(|api| gvk("olm.gvk.required", api)),
    );
    all.extend(parsed.dependencies.iter().map(dependency));
    sort(&mut all);
    all
}

/// Sorts properties by type and value, each once; those with manifests and the metadata of the CSV
/// come last.
fn sort(all: &mut Vec<Value>) {
    let key = |property: &Value| {
        let kind = property.str("type").to_owned();
        (
            is_large(&kind),
            kind,
            property.get("value").map(Value::to_json),
        )
    };
    all.sort_by_cached_key(key);
    all.dedup();
}

/// Tells whether a property has manifests or the metadata of a CSV.
pub(crate) fn is_large(kind: &str) -> bool {
    matches!(kind, "olm.bundle.object" | "olm.csv.metadata")
}

/// Of several `olm.package`, upstream keeps the last.
fn keep_last_package(all: &mut Vec<Value>) {
    let is_package = |property: &Value| property.str("type") == "olm.package";
    let last = all.iter().rposition(is_package);
    let mut at = 0;
    all.retain(|property| {
        at += 1;
        !is_package(property) || Some(at - 1) == last
    });
}

fn package_property(parsed: &Parsed, package: &str) -> Value {
    let version = parsed
        .csv
        .at(&["spec", "version"])
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut members: Members = [("packageName", package), ("version", version)]
        .map(|(key, text)| (key.to_owned(), Value::text(text)))
        .into();
    let release = match parsed.csv.at(&["spec", "release"]) {
        Some(Value::String(text) | Value::Number(text)) if !text.is_empty() => Some(text),
        _ => None,
    };
    members.extend(release.map(|text| ("release".to_owned(), Value::text(text))));
    property("olm.package", Value::Object(members))
}

/// Reads the annotation `olm.properties` of the CSV.
fn annotated(parsed: &Parsed, warnings: &mut Vec<String>) -> Vec<Value> {
    let path = ["metadata", "annotations", "olm.properties"];
    let Some(text) = parsed.csv.at(&path).and_then(Value::as_str) else {
        return Vec::new();
    };
    if let Ok(Value::Array(properties)) = Value::parse(text) {
        return properties;
    }
    let package = annotation(&parsed.annotations, "package.v1");
    warnings.push(format!(
        "cannot read the annotation olm.properties of package `{package}`: not a JSON array"
    ));
    Vec::new()
}

/// Makes the property of an entry of `dependencies.yaml`.
fn dependency(dependency: &Value) -> Value {
    let kind = dependency.str("type");
    let value = dependency.get("value");
    let text = |key: &str| Value::text(value.map(|value| value.str(key)).unwrap_or_default());
    match kind {
        "olm.package" => {
            let members = [
                ("packageName", text("packageName")),
                ("versionRange", text("version")),
            ];
            property("olm.package.required", Value::object(members))
        }
        "olm.gvk" => {
            let members = ["group", "kind", "version"].map(|key| (key, text(key)));
            property("olm.gvk.required", Value::object(members))
        }
        _ => property(kind, value.cloned().unwrap_or(Value::Null)),
    }
}
