//! What the specification forbids and apollo-compiler lets pass.
//!
//! - An empty selection set: the parser follows a later draft, the specification of September 2025 has none.
//! - Two fields of one name in an input object: the tree keeps both and the validator does not look.
//! - An argument or a field of an input object that is a name alone: the parser takes it and leaves it out of the tree.
//! - A definition that the text breaks off in: the parser may leave it out of the tree.
//! - A variable that may be null where nothing may be, when its default is null: the validator takes any default for one
//!   that is not.

use apollo_compiler::ast::{self, Definition, Selection, Value};
use apollo_compiler::{Name, Node};

use super::source_positions::{end_of_name, next_token, token_starts_with};
use crate::errors::{Code, Error, Location};

/// Something forbidden, and where it is.
pub(super) struct SyntaxError {
    code: Code,
    message: String,
    /// An offset in the text.
    place: Option<usize>,
}

impl SyntaxError {
    fn syntax(message: &str, place: Option<usize>) -> Self {
        Self { code: Code::ParseFailed, message: format!("syntax error: {message}"), place }
    }

    /// Whether it is no GraphQL and stands before a place.
    pub(super) fn is_before(&self, place: Option<usize>) -> bool {
        self.code == Code::ParseFailed && self.place.zip(place).is_some_and(|(own, place)| own < place)
    }

    pub(super) fn into_error(self, text: &str) -> Error {
        Error::request(self.code, self.message).at(self.place.map(|offset| Location::from_offset(text, offset)))
    }
}

/// Finds the first fault of a document.
pub(super) fn check(document: &ast::Document, text: &str) -> Result<(), SyntaxError> {
    let mut check = SyntaxCheck { text, repeated: None };
    for definition in &document.definitions {
        match definition {
            Definition::OperationDefinition(operation) => {
                for variable in &operation.variables {
                    variable.default_value.iter().try_for_each(|default| check.value(default))?;
                    check.directives(&variable.directives)?;
                }
                check.directives(&operation.directives)?;
                check.selections(&operation.selection_set, end_offset(operation))?;
            }
            Definition::FragmentDefinition(fragment) => {
                check.directives(&fragment.directives)?;
                check.selections(&fragment.selection_set, end_offset(fragment))?;
            }
            // Validation refuses every other definition.
            _ => {}
        }
    }
    let end = match document.definitions.last() {
        None => Some(0),
        Some(Definition::OperationDefinition(operation)) => end_offset(operation),
        Some(Definition::FragmentDefinition(fragment)) => end_offset(fragment),
        Some(_) => None,
    };
    if end.is_some_and(|end| next_token(text, end) < text.len()) {
        return Err(SyntaxError::syntax("expected a definition that ends", Some(text.len())));
    }
    // What is no GraphQL is told before what does not fit.
    check.repeated.map_or(Ok(()), Err)
}

/// The document without defaults of null, for the validator alone: a variable that has one may be null as any other.
pub(super) fn without_null_defaults(document: &ast::Document) -> Option<ast::Document> {
    let is_null = |default: &Option<Node<Value>>| default.as_ref().is_some_and(|value| value.is_null());
    let has_one = document.definitions.iter().any(|definition| match definition {
        Definition::OperationDefinition(operation) => {
            operation.variables.iter().any(|variable| is_null(&variable.default_value))
        }
        _ => false,
    });
    let mut stripped = has_one.then(|| document.clone())?;
    for definition in &mut stripped.definitions {
        if let Definition::OperationDefinition(operation) = definition {
            for variable in &mut operation.make_mut().variables {
                if is_null(&variable.default_value) {
                    variable.make_mut().default_value = None;
                }
            }
        }
    }
    Some(stripped)
}

struct SyntaxCheck<'a> {
    text: &'a str,
    /// The first input field that stands twice.
    repeated: Option<SyntaxError>,
}

impl SyntaxCheck<'_> {
    /// `end` is where the node ends whose selections they are, just behind their brace.
    fn selections(&mut self, selections: &[Selection], end: Option<usize>) -> Result<(), SyntaxError> {
        if selections.is_empty() {
            let brace = end.and_then(|end| end.checked_sub(1));
            return Err(SyntaxError::syntax("expected a field or a fragment, found an empty selection", brace));
        }
        selections.iter().try_for_each(|selection| match selection {
            Selection::Field(field) => {
                self.arguments(&field.name, &field.arguments)?;
                self.directives(&field.directives)?;
                field.selection_set.iter().try_for_each(|set| self.selections(set, end_offset(field)))
            }
            Selection::InlineFragment(inline) => {
                self.directives(&inline.directives)?;
                self.selections(&inline.selection_set, end_offset(inline))
            }
            Selection::FragmentSpread(spread) => self.directives(&spread.directives),
        })
    }

    fn directives(&mut self, directives: &ast::DirectiveList) -> Result<(), SyntaxError> {
        directives.iter().try_for_each(|directive| self.arguments(&directive.name, &directive.arguments))
    }

    /// The arguments behind the name of a field or of a directive.
    fn arguments(&mut self, name: &Name, arguments: &[Node<ast::Argument>]) -> Result<(), SyntaxError> {
        let mut end = name.location().map(|span| next_token(self.text, span.end_offset()));
        if end.is_some_and(|open| !token_starts_with(self.text, open, '(')) {
            return Ok(());
        }
        for argument in arguments {
            self.follows(end, argument.location().map(|span| span.offset()))?;
            end = argument.location().map(|span| span.end_offset() - 1);
            self.value(&argument.value)?;
        }
        self.closes(end, ')')
    }

    fn value(&mut self, value: &Node<Value>) -> Result<(), SyntaxError> {
        match value.as_ref() {
            Value::List(items) => items.iter().try_for_each(|item| self.value(item)),
            Value::Object(fields) => {
                let mut end = value.location().map(|span| span.offset());
                for (name, value) in fields {
                    self.follows(end, name.location().map(|span| span.offset()))?;
                    end = value.location().map(|span| span.end_offset() - 1);
                    self.value(value)?;
                }
                self.repeated = self.repeated.take().or_else(|| repeated(fields));
                self.closes(end, '}')
            }
            _ => Ok(()),
        }
    }

    /// Nothing lies between the token that ends at `last` and the one at `start`.
    fn follows(&self, last: Option<usize>, start: Option<usize>) -> Result<(), SyntaxError> {
        match (last, start) {
            (Some(last), Some(start)) if next_token(self.text, last + 1) != start => self.check_missing_colon(last),
            _ => Ok(()),
        }
    }

    /// Nothing lies between the token that ends at `last` and the one that closes the list.
    fn closes(&self, last: Option<usize>, close: char) -> Result<(), SyntaxError> {
        match last {
            Some(last) if !token_starts_with(self.text, next_token(self.text, last + 1), close) => {
                self.check_missing_colon(last)
            }
            _ => Ok(()),
        }
    }

    /// A name without a colon lies behind the token that ends at `last`. In a text that the parser refuses it may be
    /// something else, which the parser tells of.
    fn check_missing_colon(&self, last: usize) -> Result<(), SyntaxError> {
        let name = next_token(self.text, last + 1);
        let end = end_of_name(self.text, name);
        let place = next_token(self.text, end);
        if end == name || token_starts_with(self.text, place, ':') {
            return Ok(());
        }
        Err(SyntaxError::syntax("expected `:` and a value behind a name", Some(place)))
    }
}

fn end_offset<T>(node: &Node<T>) -> Option<usize> {
    node.location().map(|span| span.end_offset())
}

fn repeated(fields: &[(Name, Node<Value>)]) -> Option<SyntaxError> {
    let mut seen = std::collections::HashSet::new();
    let (name, _) = fields.iter().find(|(name, _)| !seen.insert(name))?;
    Some(SyntaxError {
        code: Code::ValidationFailed,
        message: format!("There can be only one input field named \"{name}\"."),
        place: name.location().map(|span| span.offset()),
    })
}
