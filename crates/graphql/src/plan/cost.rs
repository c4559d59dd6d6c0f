//! What a plan may cost: how many objects it produces when every list is as long as it may be, or as long as such
//! lists usually are.
//!
//! An object counts 1 and a scalar nothing. The fields of a list count for each of its elements. What takes work beside
//! its objects counts that too.

use super::{Field, Plan, Selected};
use crate::connection::page_size;
use crate::limits::Limits;
use crate::write::packages::FACET_VALUES;

/// The cost of a plan, in objects.
pub(crate) fn cost(plan: &Plan<'_>, limits: &Limits) -> u64 {
    fields(plan, 1, limits)
}

/// Whether a plan copies raw JSON, whose size no cost tells.
pub(crate) fn copies_json(plan: &Plan<'_>) -> bool {
    plan.fields.iter().any(|field| match &field.value {
        Selected::Leaf => matches!(field.name, "blob" | "value" | "object" | "examples" | "annotations"),
        Selected::Object(plan) => copies_json(plan),
        Selected::Abstract(plans) => plans.iter().any(copies_json),
        Selected::TypeName | Selected::Introspection(_) => false,
    })
}

/// The cost of the fields of an object; `page` is how many items it has when it is a connection.
fn fields(plan: &Plan<'_>, page: u64, limits: &Limits) -> u64 {
    plan.fields.iter().fold(0, |sum, field| sum.saturating_add(value(plan.type_name, field, page, limits)))
}

fn value(type_name: &str, field: &Field<'_>, page: u64, limits: &Limits) -> u64 {
    let inner = |plan: &Plan<'_>| fields(plan, items(field, limits), limits).saturating_add(1);
    let each = match &field.value {
        Selected::TypeName | Selected::Leaf => return 0,
        Selected::Object(plan) | Selected::Introspection(plan) => inner(plan),
        Selected::Abstract(plans) => plans.iter().map(inner).max().unwrap_or(1),
    };
    let objects = if field.list { each.saturating_mul(length(type_name, field, page)) } else { each };
    objects.saturating_add(work(type_name, field.name))
}

/// What a field takes beside the objects that it produces: about a microsecond each.
fn work(type_name: &str, name: &str) -> u64 {
    match (type_name, name) {
        // All edges of a package; the names and hashes of two contents.
        ("Package", "updateGraph") | ("Query" | "CatalogChange", "diff") => 1_000,
        ("Bundle", "upgradePath") => 500,
        ("Query", "resolve") => 200,
        ("Package" | "Bundle", "successors") => 50,
        _ => 0,
    }
}

/// How many items a page of this field has, when its value is a connection.
fn items(field: &Field<'_>, limits: &Limits) -> u64 {
    field.arguments.as_ref().map_or(1, |arguments| page_size(arguments, limits) as u64)
}

/// How many values a facet has at most.
fn facet_values(field: &Field<'_>) -> u64 {
    let first = field.arguments.as_ref().ok().and_then(|arguments| arguments.integer("first")).unwrap_or_default();
    u64::try_from(first.min(FACET_VALUES)).unwrap_or_default()
}

/// How long a list is assumed to be: at or above the 95th percentile of real catalogs.
fn length(type_name: &str, field: &Field<'_>, page: u64) -> u64 {
    match (type_name, field.name) {
        ("Query", "nodes") => {
            field.arguments.as_ref().map_or(1, |arguments| arguments.get("ids").as_array().map_or(1, Vec::len) as u64)
        }
        ("PackageConnection" | "BundleConnection" | "ProblemConnection" | "MetaConnection", "nodes" | "edges") => page,
        ("PackageFacets", _) => facet_values(field),
        ("PackageDiff", "bundles") => 20,
        ("PackageDiff", "channels") => 5,
        ("Channel", "entries") => 40,
        ("UpdateGraph", "nodes") | ("Resolution" | "ResolutionFailure", "considered") => 80,
        ("UpdateGraph", "edges") | ("CatalogDiff", "packages") => 200,
        ("Package" | "Channel" | "Bundle", "properties")
        | ("Bundle", "providedApis" | "requiredApis" | "requiredPackages" | "relatedImages")
        | ("CsvMetadata", "annotations") => 30,
        ("__Schema", "types") => 100,
        ("__Type", "interfaces") => 1,
        ("__Field" | "__Directive", "args") | ("__Type", "inputFields") => 4,
        // Catalogs, labels, schemas, channels, the places of a bundle, the parts of a constraint, the rest of the
        // schema.
        _ => 10,
    }
}

#[cfg(test)]
mod tests;
