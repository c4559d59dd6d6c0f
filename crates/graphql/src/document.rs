//! Documents: parsing and validation, and introspection of the schema.
//!
//! Only this module and `schema` use the parser, the validator and the introspection of
//! apollo-compiler, so that they can be replaced here. Other modules read the syntax trees that it
//! returns. It does not know catalogs.

mod commas;
mod diagnostics;
mod list_arguments;
mod source_positions;
pub(super) mod suggestions;
mod syntax_check;

use apollo_compiler::diagnostic::ToCliReport;
use apollo_compiler::parser::{Parser, SourceSpan};
use apollo_compiler::response::JsonMap;
use apollo_compiler::validation::{DiagnosticData, Valid, WithErrors};
use apollo_compiler::{ExecutableDocument, ast, executable, introspection};

use super::dependencies::Dependencies;
use super::errors::{Code, Error, Location};
use super::limits::{self, IntrospectionPolicy, Limits};
use super::schema::Schema;

/// A document within the limits that depend on it alone, not yet validated.
pub(super) struct ParsedText {
    text: Box<str>,
    tree: ast::Document,
}

/// A valid document, ready to be executed.
pub(super) struct Document {
    text: Box<str>,
    valid: Valid<ExecutableDocument>,
    /// Dependencies of each operation, in the order of the document.
    dependencies: Box<[Dependencies]>,
}

impl Schema {
    /// Parses a document, checks it against the limits and validates it.
    ///
    /// # Errors
    /// The first syntax error, exceeded limit or validation error.
    pub(super) fn parse(&self, text: &str, limits: &Limits) -> Result<Document, Error> {
        let mut document = self.validate(ParsedText::parse(text, limits)?, limits)?;
        let operations = document.valid.operations.iter();
        document.dependencies = operations
            .map(|operation| Dependencies::new(&document.valid, operation))
            .collect();
        Ok(document)
    }

    /// Validates a document, whose dependencies are left open.
    ///
    /// # Errors
    /// The first error.
    pub(super) fn validate(&self, parsed: ParsedText, limits: &Limits) -> Result<Document, Error> {
        let ParsedText { text, tree } = parsed;
        let validate = |tree: &ast::Document| {
            tree.to_executable_validate(&self.valid).or_else(|invalid| {
                match diagnostics::first_relevant(self, tree, &invalid.partial, &invalid.errors) {
                    Some(finding) => Err(self.invalid(&text, finding, limits)),
                    None => Ok(Valid::assume_valid(invalid.partial)),
                }
            })
        };
        if let Some(stripped) = syntax_check::without_null_defaults(&tree) {
            validate(&stripped)?;
        }
        let valid = validate(&tree)?;
        if let Some(objects) = list_arguments::lists_to_objects(&tree)
            && let Err(invalid) = objects.to_executable_validate(&self.valid)
            && let Some(finding) = diagnostics::argument_conflict(&invalid.errors)
        {
            return Err(diagnostic_error(Code::ValidationFailed, &text, finding));
        }
        Ok(Document {
            text,
            valid,
            dependencies: Box::default(),
        })
    }

    /// Converts a validation error, with names that may have been meant if clients may read the
    /// schema.
    fn invalid(&self, text: &str, finding: &DiagnosticData, limits: &Limits) -> Error {
        let mut error = diagnostic_error(Code::ValidationFailed, text, finding);
        if limits.introspection == IntrospectionPolicy::Enabled {
            error
                .message
                .push_str(&suggestions::did_you_mean(self, &finding.to_string()));
        }
        error
    }

    /// Executes the introspection fields at the root of an operation. Returns their values by
    /// response key.
    ///
    /// `variables` must be coerced.
    pub(super) fn introspect(
        &self,
        document: &Document,
        operation: &executable::Operation,
        variables: JsonMap,
    ) -> Result<JsonMap, Error> {
        let variables = Valid::assume_valid(variables);
        introspection::partial_execute(
            &self.valid,
            &self.implementers,
            &document.valid,
            operation,
            &variables,
        )
        .map_err(|error| error.message().to_string())
        .and_then(|answer| {
            answer
                .data
                .ok_or_else(|| "introspection gave no data".to_owned())
        })
        .map_err(|reason| {
            tracing::error!(reason, "introspection failed");
            Error::request(Code::Internal, "internal server error")
        })
    }
}

impl ParsedText {
    /// Parses a document and checks it against the limits.
    ///
    /// # Errors
    /// The first syntax error or exceeded limit.
    pub(super) fn parse(text: &str, limits: &Limits) -> Result<Self, Error> {
        let tree = parse_tree(text, limits)?;
        limits::check(&tree, limits)?;
        syntax_check::check(&tree, text).map_err(|error| error.into_error(text))?;
        Ok(Self {
            text: text.into(),
            tree,
        })
    }

    /// Returns its syntax tree.
    pub(super) fn tree(&self) -> &ast::Document {
        &self.tree
    }

    /// Returns its syntax tree, to be changed before it is validated.
    pub(super) fn tree_mut(&mut self) -> &mut ast::Document {
        &mut self.tree
    }
}

impl Document {
    /// Returns the operation of this name, or the only one if `name` is `None` (`GetOperation` of
    /// the specification).
    pub(super) fn operation(&self, name: Option<&str>) -> Result<&executable::Operation, Error> {
        let operations = &self.valid.operations;
        operations.get(name).map(AsRef::as_ref).map_err(|_| {
            let message = match name {
                Some(name) => format!("Unknown operation named \"{name}\"."),
                None if operations.is_empty() => "Must provide an operation.".to_owned(),
                None => {
                    "Must provide operation name if query contains multiple operations.".to_owned()
                }
            };
            Error::request(Code::OperationResolutionFailure, message)
        })
    }

    /// Returns the dependencies of the operation of this name, or of the only one if `name` is
    /// `None`.
    pub(super) fn dependencies(&self, name: Option<&str>) -> Option<&Dependencies> {
        match name {
            Some(name) => {
                let mut operations = self.valid.operations.iter().zip(&self.dependencies);
                operations.find_map(|(operation, found)| {
                    (operation.name.as_ref()? == name).then_some(found)
                })
            }
            None => self
                .dependencies
                .first()
                .filter(|_| self.dependencies.len() == 1),
        }
    }

    /// Returns whether an operation selects `__schema` or `__type`.
    pub(super) fn introspects(&self) -> bool {
        let roots = self
            .valid
            .operations
            .iter()
            .flat_map(|operation| operation.root_fields(&self.valid));
        roots
            .into_iter()
            .any(|field| matches!(field.name.as_str(), "__schema" | "__type"))
    }

    /// Returns the definition of a fragment.
    pub(super) fn fragment(&self, name: &str) -> Option<&executable::Fragment> {
        self.valid.fragments.get(name).map(AsRef::as_ref)
    }

    /// Converts a span of the source text to line and column.
    pub(super) fn location(&self, span: Option<SourceSpan>) -> Option<Location> {
        span.map(|span| Location::from_offset(&self.text, span.offset()))
    }

    /// Source text of the document.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Parses a document. The parser rejects some insignificant commas, so a text that it rejects is
/// parsed again without commas.
fn parse_tree(text: &str, limits: &Limits) -> Result<ast::Document, Error> {
    let read = |text: &str| {
        let mut parser = Parser::new()
            .token_limit(limits.tokens)
            .recursion_limit(limits.nesting);
        let parsed = parser.parse_ast(text, "document");
        parsed.map_err(|invalid| syntax_error(&parser, text, &invalid, limits))
    };
    read(text).or_else(|error| match commas::blank_commas(text) {
        Some(blanked) if error.code == Code::ParseFailed => read(&blanked),
        _ => Err(error),
    })
}

fn syntax_error(
    parser: &Parser,
    text: &str,
    invalid: &WithErrors<ast::Document>,
    limits: &Limits,
) -> Error {
    if parser.tokens_reached() > limits.tokens {
        let message = format!("the document has more than {} tokens", limits.tokens);
        return Error::request(Code::MaxTokens, message);
    }
    if parser.recursion_reached() > limits.nesting {
        let message = format!("the document is nested more than {} deep", limits.nesting);
        return Error::request(Code::MaxDepth, message);
    }
    let Some(first) = invalid.errors.iter().next() else {
        return Error::request(
            Code::Internal,
            "the parser rejected the document without an error",
        );
    };
    // An error that the parser misses may come before the first one that it finds.
    let place = first.error.location().map(|span| span.offset());
    match syntax_check::check(&invalid.partial, text) {
        Err(error) if error.is_before(place) => error.into_error(text),
        _ => diagnostic_error(Code::ParseFailed, text, first.error),
    }
}

/// Converts one error of the parser or validator. Printing all of them with excerpts of the source
/// text takes seconds for a hostile document.
fn diagnostic_error(code: Code, text: &str, finding: &DiagnosticData) -> Error {
    let message = finding.to_string();
    let place = finding
        .location()
        .map(|span| source_positions::refine_offset(&message, text, span.offset()));
    Error::request(code, message).at(place.map(|offset| Location::from_offset(text, offset)))
}

#[cfg(test)]
mod tests;
