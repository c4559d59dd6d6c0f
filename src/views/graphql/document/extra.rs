//! What the specification forbids and apollo-compiler lets pass.
//!
//! - An empty selection set: the parser follows a later draft, the specification of September 2025 has none.
//! - Two fields of one name in an input object: the tree keeps both and the validator does not look.

use apollo_compiler::ast::{self, Definition, Selection, Value};
use apollo_compiler::parser::SourceSpan;
use apollo_compiler::{Name, Node};

use crate::views::graphql::errors::{Code, Error, Location};

/// Something forbidden, and where it is.
pub(super) struct Fault {
    code: Code,
    message: String,
    place: Option<SourceSpan>,
}

impl Fault {
    pub(super) fn into_error(self, text: &str) -> Error {
        Error::request(self.code, self.message).at(self.place.map(|span| Location::of(text, span.offset())))
    }
}

/// Finds the first fault of a document.
pub(super) fn check(document: &ast::Document) -> Result<(), Fault> {
    for definition in &document.definitions {
        match definition {
            Definition::OperationDefinition(operation) => {
                for variable in &operation.variables {
                    variable.default_value.iter().try_for_each(value)?;
                    directives(&variable.directives)?;
                }
                directives(&operation.directives)?;
                selections(&operation.selection_set, operation.location())?;
            }
            Definition::FragmentDefinition(fragment) => {
                directives(&fragment.directives)?;
                selections(&fragment.selection_set, fragment.location())?;
            }
            // Validation refuses every other definition.
            _ => {}
        }
    }
    Ok(())
}

fn selections(selections: &[Selection], place: Option<SourceSpan>) -> Result<(), Fault> {
    if selections.is_empty() {
        let message = "syntax error: expected a field or a fragment, found an empty selection".to_owned();
        return Err(Fault { code: Code::ParseFailed, message, place });
    }
    selections.iter().try_for_each(|selection| match selection {
        Selection::Field(field) => {
            arguments(&field.arguments)?;
            directives(&field.directives)?;
            field.selection_set.iter().try_for_each(|set| self::selections(set, field.location()))
        }
        Selection::InlineFragment(inline) => {
            directives(&inline.directives)?;
            self::selections(&inline.selection_set, inline.location())
        }
        Selection::FragmentSpread(spread) => directives(&spread.directives),
    })
}

fn directives(directives: &ast::DirectiveList) -> Result<(), Fault> {
    directives.iter().try_for_each(|directive| arguments(&directive.arguments))
}

fn arguments(arguments: &[Node<ast::Argument>]) -> Result<(), Fault> {
    arguments.iter().try_for_each(|argument| value(&argument.value))
}

fn value(value: &Node<Value>) -> Result<(), Fault> {
    match value.as_ref() {
        Value::List(items) => items.iter().try_for_each(self::value),
        Value::Object(fields) => {
            unique(fields)?;
            fields.iter().try_for_each(|(_, value)| self::value(value))
        }
        _ => Ok(()),
    }
}

fn unique(fields: &[(Name, Node<Value>)]) -> Result<(), Fault> {
    let mut seen = std::collections::HashSet::new();
    match fields.iter().find(|(name, _)| !seen.insert(name)) {
        None => Ok(()),
        Some((name, _)) => Err(Fault {
            code: Code::ValidationFailed,
            message: format!("There can be only one input field named \"{name}\"."),
            place: name.location(),
        }),
    }
}
