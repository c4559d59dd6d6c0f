//! Upstream's limits of a document, counted as upstream counts them, before validation.
//!
//! Introspection has its own limit here, so that the query with which tools read a schema
//! passes.

use std::collections::{HashMap, HashSet};

use apollo_compiler::Name;
use apollo_compiler::ast::{Argument, Definition, Document, Field, Selection, Value};
use graphql::errors::{Code, Error};

/// Maximum depth of fields and fragments within one another, each of them a level, introspection
/// apart.
pub const MAX_DEPTH: usize = 10;

/// Maximum depth within `__schema` and `__type`: the query that tools send has 18 levels.
pub const MAX_INTROSPECTION_DEPTH: usize = 24;

/// Maximum number of fields with an alias, of all operations together; a fragment counts once for
/// each.
pub const MAX_ALIASES: usize = 50;

/// Maximum number of fields, of all operations together; a fragment counts once for each.
pub const MAX_FIELDS: usize = 500;

/// Counts of a document.
#[derive(Default)]
struct DocumentCounts<'d> {
    fragments: HashMap<&'d str, &'d [Selection]>,
    aliases: usize,
    fields: usize,
}

/// The document exceeds the maximum depth.
struct DepthError;

/// Checks a document.
///
/// # Errors
/// The first limit that the document exceeds, with upstream's text.
pub(crate) fn check(document: &Document) -> Result<(), Error> {
    let mut counts = DocumentCounts::default();
    for definition in &document.definitions {
        if let Definition::FragmentDefinition(fragment) = definition {
            counts
                .fragments
                .insert(&fragment.name, &fragment.selection_set);
        }
    }
    for definition in &document.definitions {
        let Definition::OperationDefinition(operation) = definition else {
            continue;
        };
        let walked = counts.walk(&operation.selection_set, MAX_DEPTH, &mut HashSet::new());
        walked.map_err(|DepthError| {
            Error::request(
                Code::MaxDepth,
                format!("query exceeds maximum depth of {MAX_DEPTH}"),
            )
        })?;
    }
    if counts.aliases > MAX_ALIASES {
        return Err(Error::request(
            Code::MaxAliases,
            format!("query exceeds maximum alias count of {MAX_ALIASES}"),
        ));
    }
    if counts.fields > MAX_FIELDS {
        return Err(Error::request(
            Code::CostEstimated,
            format!("query exceeds maximum field count of {MAX_FIELDS}"),
        ));
    }
    Ok(())
}

impl<'d> DocumentCounts<'d> {
    /// Counts selections that may have so many levels. `seen` are the fragments that an operation has
    /// spread before.
    fn walk(
        &mut self,
        selections: &'d [Selection],
        levels: usize,
        seen: &mut HashSet<&'d str>,
    ) -> Result<(), DepthError> {
        for selection in selections {
            let below = levels.checked_sub(1).ok_or(DepthError)?;
            match selection {
                Selection::Field(field) => {
                    self.fields += 1;
                    self.aliases += usize::from(field.alias.is_some());
                    self.walk(nested(field), levels_below(field, below), seen)?;
                }
                Selection::InlineFragment(inline) => {
                    self.walk(&inline.selection_set, below, seen)?;
                }
                Selection::FragmentSpread(spread) => {
                    let fragment = self.fragments.get(spread.fragment_name.as_str()).copied();
                    if let Some(fragment) = fragment.filter(|_| seen.insert(&spread.fragment_name))
                    {
                        self.walk(fragment, below, seen)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn nested(field: &Field) -> &[Selection] {
    field.selection_set.as_deref().unwrap_or_default()
}

fn levels_below(field: &Field, levels: usize) -> usize {
    match field.name.as_str() {
        "__schema" | "__type" => MAX_INTROSPECTION_DEPTH,
        _ => levels,
    }
}

/// Removes integer arguments beyond 32 bits: upstream treats them as absent, and validation would
/// refuse them.
pub(crate) fn remove_wide_integers(document: &mut Document) {
    for definition in &mut document.definitions {
        match definition {
            Definition::OperationDefinition(operation)
                if has_wide_integers(&operation.selection_set) =>
            {
                remove_from(&mut operation.make_mut().selection_set);
            }
            Definition::FragmentDefinition(fragment)
                if has_wide_integers(&fragment.selection_set) =>
            {
                remove_from(&mut fragment.make_mut().selection_set);
            }
            _ => {}
        }
    }
}

fn has_wide_integers(selections: &[Selection]) -> bool {
    selections.iter().any(|selection| match selection {
        Selection::Field(field) => {
            field.arguments.iter().any(|argument| is_wide(argument))
                || has_wide_integers(nested(field))
        }
        Selection::InlineFragment(inline) => has_wide_integers(&inline.selection_set),
        Selection::FragmentSpread(_) => false,
    })
}

fn remove_from(selections: &mut [Selection]) {
    for selection in selections {
        match selection {
            Selection::Field(field) => {
                let field = field.make_mut();
                field.arguments.retain(|argument| !is_wide(argument));
                field
                    .selection_set
                    .iter_mut()
                    .for_each(|set| remove_from(set));
            }
            Selection::InlineFragment(inline) => remove_from(&mut inline.make_mut().selection_set),
            Selection::FragmentSpread(_) => {}
        }
    }
}

fn is_wide(argument: &Argument) -> bool {
    const PAGED: [Name; 2] = [
        apollo_compiler::name!("limit"),
        apollo_compiler::name!("offset"),
    ];
    PAGED.contains(&argument.name)
        && matches!(&*argument.value, Value::Int(number) if number.try_to_i32().is_err())
}

#[cfg(test)]
mod tests {
    use graphql::limits::Limits;
    use graphql::runtime_schema::ParsedDocument;

    use super::*;

    fn error(query: &str) -> Option<String> {
        let limits = Limits {
            tokens: 20_000,
            aliases: 1_000,
            root_fields: 10_000,
            ..Limits::default()
        };
        check(ParsedDocument::parse(query, &limits).unwrap().tree())
            .err()
            .map(|error| error.message)
    }

    fn nested(levels: usize, open: &str) -> String {
        format!(
            "{{ {} a {} }}",
            open.repeat(levels - 1),
            "}".repeat(levels - 1)
        )
    }

    #[test]
    fn each_limit_is_counted_as_upstream_counts_it() {
        let too_deep = Some("query exceeds maximum depth of 10".to_owned());
        for open in ["a { ", "... { ", "... on Query { "] {
            assert_eq!(
                [error(&nested(10, open)), error(&nested(11, open))],
                [None, too_deep.clone()],
                "{open}"
            );
        }
        let aliases = |count: usize| {
            (0..count)
                .map(|at| format!("a{at}: a "))
                .collect::<Vec<_>>()
                .concat()
        };
        let two = |count| {
            format!(
                "query A {{ {} }} query B {{ {} }}",
                aliases(25),
                aliases(count)
            )
        };
        let too_many = Some("query exceeds maximum alias count of 50".to_owned());
        assert_eq!([error(&two(25)), error(&two(26))], [None, too_many]);
        let fields = |count: usize| {
            format!(
                "{{ ...F ...F }} fragment F on Query {{ {} }}",
                "a ".repeat(count)
            )
        };
        let too_many = Some("query exceeds maximum field count of 500".to_owned());
        assert_eq!([error(&fields(500)), error(&fields(501))], [None, too_many]);
    }

    #[test]
    fn a_cycle_of_fragments_is_counted_once_and_left_to_validation() {
        assert_eq!(error("{ ...A } fragment A on Query { a ...A }"), None);
        assert_eq!(
            error("{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }"),
            None
        );
    }

    #[test]
    fn introspection_has_a_limit_of_its_own() {
        let levels = |count: usize| format!("{{ __schema {} }}", nested(count, "ofType { "));
        let too_deep = Some("query exceeds maximum depth of 10".to_owned());
        assert_eq!([error(&levels(24)), error(&levels(25))], [None, too_deep]);
    }

    #[test]
    fn numbers_beyond_32_bits_count_as_absent() {
        let mut parsed = ParsedDocument::parse(
            "{ a(limit: 3000000000, offset: 1) ...{ b(offset: -3000000000) } }",
            &Limits::default(),
        )
        .unwrap();
        remove_wide_integers(parsed.tree_mut());
        let text = parsed.tree().serialize().no_indent().to_string();
        assert_eq!(text, "{ a(offset: 1) ... { b } }");
    }
}
