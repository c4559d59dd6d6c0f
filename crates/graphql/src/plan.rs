//! Plans: the selection sets of an operation, prepared for execution.
//!
//! In a plan the fields are collected and merged (`CollectFields` of the specification), fragments
//! are resolved for each concrete type, `@skip` and `@include` are evaluated, arguments are
//! coerced, and each response key is JSON text. A plan borrows from its document. This module does
//! not know what the fields mean.

pub(super) mod cost;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ptr;
use std::sync::Arc;

use apollo_compiler::Node;
use apollo_compiler::ast::FieldDefinition;
use apollo_compiler::collections::IndexMap;
use apollo_compiler::executable::{self, Selection, SelectionSet};
use apollo_compiler::parser::SourceSpan;
use apollo_compiler::schema::ExtendedType;
use serde_json::{Map, Value};

use super::coercion::{self, Arguments, CoercionError};
use super::document::Document;
use super::fields::FieldId;
use super::schema::Schema;

/// Plan of a selection set for objects of one concrete type.
#[derive(Debug)]
pub(super) struct Plan<'d> {
    /// Name of the type.
    pub(super) type_name: &'d str,
    /// Fields in the order of the response.
    pub(super) fields: Vec<PlannedField<'d>>,
    /// Error of an argument of `@skip` or `@include` in the selection set, because of which no
    /// object can be written.
    pub(super) error: Option<Arc<CoercionError>>,
}

/// A field of a plan: fields of one response key, merged.
#[derive(Debug)]
pub(super) struct PlannedField<'d> {
    /// Opening brace or comma, response key and colon as JSON text: `{"key":` or `,"key":`.
    pub(super) prefix: Box<[u8]>,
    /// Response key: the alias, or else the name.
    pub(super) key: &'d str,
    /// Name in the schema.
    pub(super) name: &'d str,
    /// Identifier of the field in the schema.
    pub(super) id: FieldId,
    /// True if the type is nullable.
    pub(super) nullable: bool,
    /// True if the type is a list with a nullable item type.
    pub(super) nullable_items: bool,
    /// True if the type is a list.
    pub(super) list: bool,
    /// Coerced arguments, or the first coercion error.
    pub(super) arguments: CoercedArguments,
    /// Plan of the value.
    pub(super) value: ValuePlan<'d>,
    /// Position of the first of the merged fields in the document.
    pub(super) span: Option<SourceSpan>,
}

/// The coerced arguments of a field, or the first coercion error.
type CoercedArguments = Result<Arguments, Arc<CoercionError>>;

/// Plan of a field's value.
#[derive(Debug)]
pub(super) enum ValuePlan<'d> {
    /// `__typename`: the name of the object's type.
    TypeName,
    /// A scalar or an enum.
    Leaf,
    /// An object of one type.
    Object(Plan<'d>),
    /// An object of an interface or a union: one plan per possible type.
    Abstract(Vec<Plan<'d>>),
    /// `__schema` or `__type`.
    Introspection(Plan<'d>),
}

impl Plan<'_> {
    /// Returns its own error, or else the first error of its fields at any depth.
    pub(super) fn first_error(&self) -> Option<Arc<CoercionError>> {
        let first_field_error = || {
            self.fields
                .iter()
                .find_map(|field| match (&field.arguments, &field.value) {
                    (Err(error), _) => Some(Arc::clone(error)),
                    (_, ValuePlan::Object(plan)) => plan.first_error(),
                    _ => None,
                })
        };
        self.error.clone().or_else(first_field_error)
    }
}

impl<'d> PlannedField<'d> {
    /// Returns the plan for an object of this type.
    pub(super) fn plan(&self, type_name: &str) -> Option<&Plan<'d>> {
        match &self.value {
            ValuePlan::Object(plan) | ValuePlan::Introspection(plan) => Some(plan),
            ValuePlan::Abstract(plans) => plans.iter().find(|plan| plan.type_name == type_name),
            ValuePlan::TypeName | ValuePlan::Leaf => None,
        }
    }
}

/// Plans an operation with its coerced variables.
///
/// # Errors
/// An argument of `@skip` or `@include` at the root cannot be coerced.
pub(super) fn plan<'d>(
    schema: &'d Schema,
    document: &'d Document,
    operation: &'d executable::Operation,
    variables: &Map<String, Value>,
) -> Result<Plan<'d>, Arc<CoercionError>> {
    let planner = Planner {
        schema,
        document,
        variables,
        coerced: RefCell::default(),
    };
    let plan = planner.plan(operation.object_type(), &[&operation.selection_set]);
    // An error at the root has no path.
    match plan.error {
        Some(error) => Err(error),
        None => Ok(plan),
    }
}

struct Planner<'d, 'v> {
    schema: &'d Schema,
    document: &'d Document,
    variables: &'v Map<String, Value>,
    /// Coerced arguments by the addresses of the field and its definition: the arguments in a
    /// fragment are coerced once, however often it is spread.
    coerced: RefCell<HashMap<(usize, usize), CoercedArguments>>,
}

/// Fields of one response key. The first determines name and arguments; the selection sets of all
/// are merged.
struct FieldGroup<'d> {
    first: &'d Node<executable::Field>,
    others: Vec<&'d Node<executable::Field>>,
}

/// Fields of a selection set, by response key.
#[derive(Default)]
struct CollectedFields<'d> {
    groups: IndexMap<&'d str, FieldGroup<'d>>,
    fragments: HashSet<&'d str>,
}

impl<'d> Planner<'d, '_> {
    fn plan(&self, type_name: &'d str, selections: &[&'d SelectionSet]) -> Plan<'d> {
        let mut collected = CollectedFields::default();
        if let Err(error) = selections
            .iter()
            .try_for_each(|set| self.collect(type_name, set, &mut collected))
        {
            return Plan {
                type_name,
                fields: Vec::new(),
                error: Some(error),
            };
        }
        let mut fields = Vec::with_capacity(collected.groups.len());
        for group in collected.groups.into_values() {
            // Validation ensures that every field is defined.
            let Some(definition) = self.schema.field_definition(type_name, &group.first.name)
            else {
                continue;
            };
            fields.push(self.field(type_name, definition, &group, fields.is_empty()));
        }
        Plan {
            type_name,
            fields,
            error: None,
        }
    }

    fn collect(
        &self,
        type_name: &str,
        set: &'d SelectionSet,
        into: &mut CollectedFields<'d>,
    ) -> Result<(), Arc<CoercionError>> {
        for selection in &set.selections {
            if !coercion::condition(self.schema, selection, self.variables)? {
                continue;
            }
            let (condition, set) = match selection {
                Selection::Field(field) => {
                    into.add(field);
                    continue;
                }
                Selection::InlineFragment(inline) => {
                    (inline.type_condition.as_ref(), &inline.selection_set)
                }
                Selection::FragmentSpread(spread) => {
                    let Some(fragment) = self.document.fragment(&spread.fragment_name) else {
                        continue;
                    };
                    if !into.fragments.insert(&spread.fragment_name) {
                        continue;
                    }
                    (Some(fragment.type_condition()), &fragment.selection_set)
                }
            };
            if condition.is_none_or(|condition| self.schema.fragment_applies(type_name, condition))
            {
                self.collect(type_name, set, into)?;
            }
        }
        Ok(())
    }

    fn field(
        &self,
        type_name: &str,
        definition: &'d FieldDefinition,
        group: &FieldGroup<'d>,
        is_first: bool,
    ) -> PlannedField<'d> {
        let key = group.first.response_name().as_str();
        let name = group.first.name.as_str();
        let mut arguments = self.arguments(type_name, definition, group.first);
        let value = self.value_plan(definition, group).unwrap_or_else(|error| {
            arguments = Err(error);
            ValuePlan::Leaf
        });
        PlannedField {
            prefix: prefix(key, is_first),
            key,
            name,
            id: FieldId::from_names(type_name, name),
            nullable: !definition.ty.is_non_null(),
            nullable_items: !definition.ty.item_type().is_non_null(),
            list: definition.ty.is_list(),
            arguments,
            value,
            span: group.first.location(),
        }
    }

    fn arguments(
        &self,
        type_name: &str,
        definition: &FieldDefinition,
        field: &executable::Field,
    ) -> CoercedArguments {
        if definition.arguments.is_empty() {
            return Ok(Arguments::NONE);
        }
        let key = (
            ptr::from_ref(field).addr(),
            ptr::from_ref(definition).addr(),
        );
        let mut coerced = self.coerced.borrow_mut();
        let entry = coerced.entry(key).or_insert_with(|| {
            coercion::arguments(self.schema, type_name, definition, field, self.variables)
                .map_err(Arc::new)
        });
        entry.clone()
    }

    fn value_plan(
        &self,
        definition: &'d FieldDefinition,
        group: &FieldGroup<'d>,
    ) -> Result<ValuePlan<'d>, Arc<CoercionError>> {
        let name = group.first.name.as_str();
        if name == "__typename" {
            return Ok(ValuePlan::TypeName);
        }
        let sets = group.selection_sets();
        let type_name = definition.ty.inner_named_type();
        match self.schema.type_definition(type_name) {
            Some(ExtendedType::Object(_)) => {
                let plan = self.plan(type_name, &sets);
                if !matches!(name, "__schema" | "__type") {
                    return Ok(ValuePlan::Object(plan));
                }
                // An introspection field is executed as a whole, so an error in it is an error of
                // the field.
                match plan.first_error() {
                    Some(error) => Err(error),
                    None => Ok(ValuePlan::Introspection(plan)),
                }
            }
            Some(ExtendedType::Interface(_) | ExtendedType::Union(_)) => {
                let types = self.schema.possible_types(type_name).iter();
                Ok(ValuePlan::Abstract(
                    types.map(|name| self.plan(name, &sets)).collect(),
                ))
            }
            _ => Ok(ValuePlan::Leaf),
        }
    }
}

impl<'d> CollectedFields<'d> {
    fn add(&mut self, field: &'d Node<executable::Field>) {
        self.groups
            .entry(field.response_name().as_str())
            .and_modify(|group| group.others.push(field))
            .or_insert(FieldGroup {
                first: field,
                others: Vec::new(),
            });
    }
}

impl<'d> FieldGroup<'d> {
    fn selection_sets(&self) -> Vec<&'d SelectionSet> {
        std::iter::once(self.first)
            .chain(self.others.iter().copied())
            .filter_map(|field| field.selection_set.as_ref())
            .collect()
    }
}

/// Returns the text before a field's value. A response key is a name, which needs no escapes in
/// JSON.
fn prefix(key: &str, first: bool) -> Box<[u8]> {
    let mut text = Vec::with_capacity(key.len() + 4);
    text.extend_from_slice(if first { b"{\"" } else { b",\"" });
    text.extend_from_slice(key.as_bytes());
    text.extend_from_slice(b"\":");
    text.into_boxed_slice()
}

#[cfg(test)]
mod tests;
