//! The estimated cost (query complexity) of a plan: the number of objects that it produces if every
//! list has its maximum length, or the length that the schema assumes (`@listSize`).
//!
//! An object costs 1 and a scalar nothing. The fields of a list's items cost for each item. A field
//! that does more work than its objects account for adds its weight (`@cost`).

use super::{Plan, PlannedField, ValuePlan};
use crate::connection::page_size;
use crate::fields::{FieldId, ListSize, QueryField, facts};
use crate::limits::Limits;
use crate::write::facets::FACET_VALUES;

/// Estimates the cost of a plan, in objects.
pub(crate) fn cost(plan: &Plan<'_>, limits: &Limits) -> u64 {
    fields(plan, 1, limits)
}

/// Returns whether a plan copies raw JSON, whose size the cost does not reflect.
pub(crate) fn copies_json(plan: &Plan<'_>) -> bool {
    plan.fields.iter().any(|field| match &field.value {
        ValuePlan::Leaf => facts(field.id).is_json,
        ValuePlan::Object(plan) => copies_json(plan),
        ValuePlan::Abstract(plans) => plans.iter().any(copies_json),
        ValuePlan::TypeName | ValuePlan::Introspection(_) => false,
    })
}

/// Returns the cost of the fields of an object; `page` is the number of its items if it is a
/// connection.
fn fields(plan: &Plan<'_>, page: u64, limits: &Limits) -> u64 {
    plan.fields.iter().fold(0, |sum, field| {
        sum.saturating_add(value(plan.type_name, field, page, limits))
    })
}

fn value(type_name: &str, field: &PlannedField<'_>, page: u64, limits: &Limits) -> u64 {
    let inner = |plan: &Plan<'_>| fields(plan, items(field, limits), limits).saturating_add(1);
    let each = match &field.value {
        ValuePlan::TypeName | ValuePlan::Leaf => return 0,
        ValuePlan::Object(plan) | ValuePlan::Introspection(plan) => inner(plan),
        ValuePlan::Abstract(plans) => plans.iter().map(inner).max().unwrap_or(1),
    };
    let objects = if field.list {
        each.saturating_mul(length(type_name, field, page))
    } else {
        each
    };
    objects.saturating_add(facts(field.id).weight)
}

/// Returns the page size of this field, if its value is a connection.
fn items(field: &PlannedField<'_>, limits: &Limits) -> u64 {
    field
        .arguments
        .as_ref()
        .map_or(1, |arguments| page_size(arguments, limits) as u64)
}

/// Returns the length to assume for a list.
fn length(type_name: &str, field: &PlannedField<'_>, page: u64) -> u64 {
    match (field.id, facts(field.id).list_size) {
        (FieldId::Other, _) => introspection_length(type_name, field.name),
        // The cost specification does not allow a list as a slicing argument.
        (FieldId::Query(QueryField::Nodes), _) => list_argument(field, "ids"),
        (FieldId::Query(QueryField::AvailableUpgrades), _) => list_argument(field, "installed"),
        (_, ListSize::Page) => page,
        (_, ListSize::Sliced(argument)) => {
            let limit = field
                .arguments
                .as_ref()
                .ok()
                .and_then(|arguments| arguments.integer(argument));
            u64::try_from(limit.unwrap_or_default())
                .unwrap_or_default()
                .min(FACET_VALUES as u64)
        }
        (_, ListSize::Assumed(length)) => length,
    }
}

/// Returns the length of a list that is an argument.
fn list_argument(field: &PlannedField<'_>, name: &str) -> u64 {
    field.arguments.as_ref().map_or(1, |arguments| {
        arguments.get(name).as_array().map_or(1, Vec::len) as u64
    })
}

/// Returns the length to assume for a list of introspection, for which the schema has no
/// directives.
fn introspection_length(type_name: &str, name: &str) -> u64 {
    match (type_name, name) {
        ("__Schema", "types") => 100,
        ("__Type", "interfaces") => 1,
        ("__Field" | "__Directive", "args") | ("__Type", "inputFields") => 4,
        _ => 10,
    }
}

#[cfg(test)]
mod tests;
