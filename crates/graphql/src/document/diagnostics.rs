//! Selects the validation error to report.
//!
//! - A subscription must have one root field. The validator counts fields as they are written; the
//!   specification counts their response keys (`CollectSubscriptionFields`), because fields of one
//!   key are merged.
//! - A fragment on an unknown type, or on a type without fields, is an error. The validator also
//!   reports its spreads, which may come first in the document and are only a consequence.

use std::collections::HashSet;

use apollo_compiler::diagnostic::ToCliReport;
use apollo_compiler::executable::{Selection, SelectionSet};
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::validation::{DiagnosticData, DiagnosticList};
use apollo_compiler::{ExecutableDocument, ast};

use super::Schema;

/// Returns the error to report; `None` if none is relevant, so that the document is valid.
pub(super) fn first_relevant<'a>(
    schema: &Schema,
    tree: &ast::Document,
    document: &ExecutableDocument,
    findings: &'a DiagnosticList,
) -> Option<&'a DiagnosticData> {
    let counting = || {
        findings
            .iter()
            .map(|finding| finding.error)
            .filter(|finding| !is_merged(document, finding))
    };
    counting()
        .find(|finding| !is_consequence(schema, tree, finding))
        .or_else(|| counting().next())
}

/// Returns the first error about two fields of one response key whose arguments differ.
pub(super) fn argument_conflict(findings: &DiagnosticList) -> Option<&DiagnosticData> {
    let mut all = findings.iter().map(|finding| finding.error);
    all.find(|finding| {
        finding
            .to_string()
            .starts_with("operation must not provide conflicting field arguments")
    })
}

/// Returns whether an error is about root fields of a subscription that are merged into one.
fn is_merged(document: &ExecutableDocument, finding: &DiagnosticData) -> bool {
    if !finding
        .to_string()
        .ends_with(" can only have one root field")
    {
        return false;
    }
    let operation = document
        .operations
        .iter()
        .find(|operation| operation.location() == finding.location());
    operation.is_some_and(|operation| {
        let mut keys = HashSet::new();
        collect_keys(
            document,
            &operation.selection_set,
            &mut HashSet::new(),
            &mut keys,
        );
        keys.len() == 1
    })
}

/// Collects the response keys of a selection set, fragments resolved.
fn collect_keys<'d>(
    document: &'d ExecutableDocument,
    set: &'d SelectionSet,
    seen: &mut HashSet<&'d str>,
    keys: &mut HashSet<&'d str>,
) {
    for selection in &set.selections {
        match selection {
            Selection::Field(field) => {
                keys.insert(field.response_name());
            }
            Selection::InlineFragment(inline) => {
                collect_keys(document, &inline.selection_set, seen, keys);
            }
            Selection::FragmentSpread(spread) => {
                if let Some(fragment) = document.fragments.get(&spread.fragment_name)
                    && seen.insert(&spread.fragment_name)
                {
                    collect_keys(document, &fragment.selection_set, seen, keys);
                }
            }
        }
    }
}

/// Returns whether an error is about the spread of a fragment whose definition has an error itself.
fn is_consequence(schema: &Schema, tree: &ast::Document, finding: &DiagnosticData) -> bool {
    let message = finding.to_string();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let first = quoted.next().unwrap_or_default();
    let second = quoted.next().unwrap_or_default();
    if message.starts_with("cannot find fragment ") {
        return tree.definitions.iter().any(|definition| {
            definition
                .as_fragment_definition()
                .is_some_and(|fragment| fragment.name == first)
        });
    }
    let has_fields = |definition: &ExtendedType| {
        definition.is_object() || definition.is_interface() || definition.is_union()
    };
    message.starts_with("fragment `")
        && message.contains(" with type condition ")
        && !schema.type_definition(second).is_some_and(has_fields)
}
