//! The properties of a bundle, from its metadata and its CSV.

use super::{ParsedBundle, annotation, apis, property};
use crate::value::{BlobValue, Members};

/// Makes the properties of a bundle without those of its manifests: each once, sorted by type and
/// value, `olm.csv.metadata` last.
pub(super) fn properties(
    parsed: &ParsedBundle,
    package: &str,
    warnings: &mut Vec<String>,
) -> Vec<BlobValue> {
    let mut all = parsed.properties.clone();
    all.push(package_property(parsed, package));
    all.extend(annotated(parsed, warnings));
    keep_last_package(&mut all);
    let gvk = |kind: &str, api: &apis::BundleApi| {
        let members = [
            ("group", &api.group),
            ("kind", &api.kind),
            ("version", &api.version),
        ];
        property(
            kind,
            BlobValue::object(members.map(|(key, text)| (key, BlobValue::text(text)))),
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

/// Sorts properties by type and value, each once; those with manifests or the metadata of the CSV
/// come last.
fn sort(all: &mut Vec<BlobValue>) {
    let key = |property: &BlobValue| {
        let kind = property.str("type").to_owned();
        (
            has_manifests(&kind),
            kind,
            property.get("value").map(BlobValue::to_json),
        )
    };
    // Values are compared as text, which is made once for each.
    all.sort_by_cached_key(key);
    all.dedup();
}

/// Tells whether a property has manifests or the metadata of a CSV.
pub(super) fn has_manifests(kind: &str) -> bool {
    matches!(kind, "olm.bundle.object" | "olm.csv.metadata")
}

/// Removes every `olm.package` but the last, as upstream does.
fn keep_last_package(all: &mut Vec<BlobValue>) {
    let is_package = |property: &BlobValue| property.str("type") == "olm.package";
    let last = all.iter().rposition(is_package);
    let mut index = 0..;
    all.retain(|property| index.next() == last || !is_package(property));
}

fn package_property(parsed: &ParsedBundle, package: &str) -> BlobValue {
    let version = parsed
        .csv
        .at(&["spec", "version"])
        .and_then(BlobValue::as_str)
        .unwrap_or_default();
    let mut members: Members = [("packageName", package), ("version", version)]
        .map(|(key, text)| (key.to_owned(), BlobValue::text(text)))
        .into();
    let release = match parsed.csv.at(&["spec", "release"]) {
        Some(BlobValue::String(text) | BlobValue::Number(text)) if !text.is_empty() => Some(text),
        _ => None,
    };
    members.extend(release.map(|text| ("release".to_owned(), BlobValue::text(text))));
    property("olm.package", BlobValue::Object(members))
}

/// Reads the annotation `olm.properties` of the CSV.
fn annotated(parsed: &ParsedBundle, warnings: &mut Vec<String>) -> Vec<BlobValue> {
    let path = ["metadata", "annotations", "olm.properties"];
    let Some(text) = parsed.csv.at(&path).and_then(BlobValue::as_str) else {
        return Vec::new();
    };
    if let Ok(BlobValue::Array(properties)) = BlobValue::parse(text) {
        return properties;
    }
    let package = annotation(&parsed.annotations, "package.v1");
    warnings.push(format!(
        "cannot read the annotation olm.properties of package `{package}`: not a JSON array"
    ));
    Vec::new()
}

/// Makes the property of an entry of `dependencies.yaml`.
fn dependency(dependency: &BlobValue) -> BlobValue {
    let kind = dependency.str("type");
    let value = dependency.get("value");
    let text = |key: &str| BlobValue::text(value.map(|value| value.str(key)).unwrap_or_default());
    match kind {
        "olm.package" => {
            let members = [
                ("packageName", text("packageName")),
                ("versionRange", text("version")),
            ];
            property("olm.package.required", BlobValue::object(members))
        }
        "olm.gvk" => {
            let members = ["group", "kind", "version"].map(|key| (key, text(key)));
            property("olm.gvk.required", BlobValue::object(members))
        }
        _ => property(kind, value.cloned().unwrap_or(BlobValue::Null)),
    }
}
