//! Checks for errors that the specification requires and apollo-compiler does not find.
//!
//! - An empty selection set: the parser follows a later draft; the specification of September 2025
//!   does not allow it.
//! - Two fields of one name in an input object: the syntax tree has both and the validator does not
//!   compare them.
//! - An argument or an input object field without a value: the parser accepts it and omits it from
//!   the syntax tree.
//! - A definition that is cut off at the end of the text: the parser may omit it from the syntax
//!   tree.
//! - A nullable variable in a non-null position whose default is `null`: the validator assumes that
//!   a default is non-null.

use apollo_compiler::ast::{self, Definition, Selection, Value};
use apollo_compiler::{Name, Node};

use super::source_positions::{end_of_name, next_token, token_starts_with};
use crate::errors::{Code, Error, Location};

/// An error with its position.
pub(super) struct SyntaxError {
    code: Code,
    message: String,
    /// Byte offset in the source text.
    offset: Option<usize>,
}

impl SyntaxError {
    fn syntax(message: &str, offset: Option<usize>) -> Self {
        Self {
            code: Code::ParseFailed,
            message: format!("syntax error: {message}"),
            offset,
        }
    }

    /// Returns whether this is a syntax error before an offset.
    pub(super) fn is_before(&self, offset: Option<usize>) -> bool {
        self.code == Code::ParseFailed
            && self
                .offset
                .zip(offset)
                .is_some_and(|(own, offset)| own < offset)
    }

    /// Converts the error, with its line and column in the source text.
    pub(super) fn into_error(self, text: &str) -> Error {
        Error::request(self.code, self.message).at(self
            .offset
            .map(|offset| Location::from_offset(text, offset)))
    }
}

/// Checks a document.
///
/// # Errors
/// The first syntax error, or else the first repeated input object field.
pub(super) fn check(document: &ast::Document, text: &str) -> Result<(), SyntaxError> {
    let mut check = SyntaxCheck {
        text,
        repeated: None,
    };
    for definition in &document.definitions {
        match definition {
            Definition::OperationDefinition(operation) => {
                for variable in &operation.variables {
                    variable
                        .default_value
                        .iter()
                        .try_for_each(|default| check.value(default))?;
                    check.directives(&variable.directives)?;
                }
                check.directives(&operation.directives)?;
                check.selections(&operation.selection_set, end_offset(operation))?;
            }
            Definition::FragmentDefinition(fragment) => {
                check.directives(&fragment.directives)?;
                check.selections(&fragment.selection_set, end_offset(fragment))?;
            }
            // Validation rejects every other definition.
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
        return Err(SyntaxError::syntax(
            "unexpected end of the document within a definition",
            Some(text.len()),
        ));
    }
    // Syntax errors are reported before validation errors.
    check.repeated.map_or(Ok(()), Err)
}

/// Returns the document without the variable defaults that are `null`, for validation only: such a
/// variable is nullable like one without a default. `None` if there is no such default.
pub(super) fn without_null_defaults(document: &ast::Document) -> Option<ast::Document> {
    let is_null =
        |default: &Option<Node<Value>>| default.as_ref().is_some_and(|value| value.is_null());
    let has_one = document
        .definitions
        .iter()
        .any(|definition| match definition {
            Definition::OperationDefinition(operation) => operation
                .variables
                .iter()
                .any(|variable| is_null(&variable.default_value)),
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

/// A walk over the syntax tree of one document.
struct SyntaxCheck<'a> {
    text: &'a str,
    /// The first repeated field of an input object.
    repeated: Option<SyntaxError>,
}

impl SyntaxCheck<'_> {
    /// Checks a selection set. `end` is the offset after its closing brace.
    fn selections(
        &mut self,
        selections: &[Selection],
        end: Option<usize>,
    ) -> Result<(), SyntaxError> {
        if selections.is_empty() {
            let brace = end.and_then(|end| end.checked_sub(1));
            return Err(SyntaxError::syntax(
                "expected a field or a fragment, found an empty selection",
                brace,
            ));
        }
        selections.iter().try_for_each(|selection| match selection {
            Selection::Field(field) => {
                self.arguments(&field.name, &field.arguments)?;
                self.directives(&field.directives)?;
                field
                    .selection_set
                    .iter()
                    .try_for_each(|set| self.selections(set, end_offset(field)))
            }
            Selection::InlineFragment(inline) => {
                self.directives(&inline.directives)?;
                self.selections(&inline.selection_set, end_offset(inline))
            }
            Selection::FragmentSpread(spread) => self.directives(&spread.directives),
        })
    }

    fn directives(&mut self, directives: &ast::DirectiveList) -> Result<(), SyntaxError> {
        directives
            .iter()
            .try_for_each(|directive| self.arguments(&directive.name, &directive.arguments))
    }

    /// Checks the arguments of a field or a directive with this name.
    fn arguments(
        &mut self,
        name: &Name,
        arguments: &[Node<ast::Argument>],
    ) -> Result<(), SyntaxError> {
        let mut end = name
            .location()
            .map(|span| next_token(self.text, span.end_offset()));
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

    /// Checks that the token that ends at `last` is followed by the token at `start`.
    fn follows(&self, last: Option<usize>, start: Option<usize>) -> Result<(), SyntaxError> {
        match (last, start) {
            (Some(last), Some(start)) if next_token(self.text, last + 1) != start => {
                self.check_missing_colon(last)
            }
            _ => Ok(()),
        }
    }

    /// Checks that the token that ends at `last` is followed by the closing character of the list.
    fn closes(&self, last: Option<usize>, close: char) -> Result<(), SyntaxError> {
        match last {
            Some(last) if !token_starts_with(self.text, next_token(self.text, last + 1), close) => {
                self.check_missing_colon(last)
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if the token that ends at `last` is followed by a name without a colon. In
    /// a text that the parser rejects it may be followed by something else, which the parser
    /// reports.
    fn check_missing_colon(&self, last: usize) -> Result<(), SyntaxError> {
        let name = next_token(self.text, last + 1);
        let end = end_of_name(self.text, name);
        let place = next_token(self.text, end);
        if end == name || token_starts_with(self.text, place, ':') {
            return Ok(());
        }
        Err(SyntaxError::syntax(
            "expected `:` and a value after a name",
            Some(place),
        ))
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
        offset: name.location().map(|span| span.offset()),
    })
}
