//! Input coercion: converts variables and arguments to values of their types.
//!
//! It follows the specification of September 2025 (`CoerceVariableValues`, `CoerceArgumentValues`,
//! input objects and `@oneOf`), with the messages of graphql-js 17. Coerced values are JSON: an
//! enum value is its name, an `ID` is a string, and a value that is neither provided nor has a
//! default is absent.

mod arguments;
mod show;

use apollo_compiler::ast::{InputValueDefinition, Type};
use apollo_compiler::parser::SourceSpan;
use apollo_compiler::schema::{ExtendedType, InputObjectType};
use apollo_compiler::{Name, Node, ast, executable};
use serde_json::{Map, Value};

use super::document::{Document, suggestions};
use super::errors::{Code, Error};
use super::limits::{IntrospectionPolicy, Limits};
use super::schema::Schema;
use show::show;

pub(super) use arguments::{Arguments, StringSet, arguments, condition};
pub use show::MAX_SHOWN_BYTES;

/// Error of a value that cannot be coerced to its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CoercionError {
    pub(super) message: String,
    pub(super) span: Option<SourceSpan>,
}

/// Segment of the path into an input value.
#[derive(Clone)]
enum InputPathStep<'a> {
    Field(&'a str),
    Item(usize),
}

/// Maximum number of errors of variables that a response lists, as in graphql-js: each shows a
/// value, which may have many errors.
pub const MAX_VARIABLE_ERRORS: usize = 50;

/// Coerces the variables of an operation.
///
/// # Errors
/// Every error of every variable, up to [`MAX_VARIABLE_ERRORS`].
pub(super) fn variables(
    schema: &Schema,
    document: &Document,
    operation: &executable::Operation,
    raw_variables: &Map<String, Value>,
    limits: &Limits,
) -> Result<Map<String, Value>, Vec<Error>> {
    let mut coerced = Map::new();
    let mut errors = Vec::new();
    for definition in &operation.variables {
        let name = definition.name.as_str();
        let mut coercion = VariableCoercion {
            schema,
            limits,
            path: Vec::new(),
            errors: Vec::new(),
        };
        let value = match (raw_variables.get(name), &definition.default_value) {
            (Some(value), _) => coercion.value(&definition.ty, value),
            (None, Some(default)) => match arguments::constant(schema, &definition.ty, default) {
                Ok(value) => value,
                Err(error) => {
                    coercion.errors.push((String::new(), error.message));
                    Value::Null
                }
            },
            (None, None) if definition.ty.is_non_null() => coercion.add_error(|| {
                format!(
                    "Expected a value of non-null type \"{}\" to be provided.",
                    definition.ty
                )
            }),
            (None, None) => continue,
        };
        coerced.insert(name.to_owned(), value);
        errors.extend(coercion.errors.into_iter().map(|(path, message)| {
            let message = format!("Variable \"${name}\" has invalid value{path}: {message}");
            Error::request(Code::BadUserInput, message).at(document.location(definition.location()))
        }));
        if errors.len() > MAX_VARIABLE_ERRORS {
            errors.truncate(MAX_VARIABLE_ERRORS);
            let message =
                "Too many errors processing variables, error limit reached. Execution aborted.";
            errors.push(Error::request(Code::BadUserInput, message));
            break;
        }
    }
    if errors.is_empty() {
        Ok(coerced)
    } else {
        Err(errors)
    }
}

/// Coercion of one variable: converts its JSON value and collects errors.
struct VariableCoercion<'a> {
    schema: &'a Schema,
    limits: &'a Limits,
    path: Vec<InputPathStep<'a>>,
    /// Path and message of each error, up to one more than a response lists.
    errors: Vec<(String, String)>,
}

impl<'a> VariableCoercion<'a> {
    fn value(&mut self, ty: &Type, value: &'a Value) -> Value {
        if value.is_null() {
            if ty.is_non_null() {
                self.add_error(|| {
                    format!("Expected value of non-null type \"{ty}\" not to be null.")
                });
            }
            return Value::Null;
        }
        if !ty.is_list() {
            return self.named(ty.inner_named_type(), value);
        }
        match value {
            Value::Array(items) if items.len() > self.limits.list_items => {
                let maximum = self.limits.list_items;
                self.add_error(|| {
                    format!(
                        "Expected a list of at most {maximum} items, found {}.",
                        items.len()
                    )
                })
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(at, item)| {
                    self.within(InputPathStep::Item(at), |coercion| {
                        coercion.value(ty.item_type(), item)
                    })
                })
                .collect(),
            item => Value::Array(vec![self.value(ty.item_type(), item)]),
        }
    }

    fn named(&mut self, name: &str, value: &'a Value) -> Value {
        match self.schema.type_definition(name) {
            Some(ExtendedType::InputObject(definition)) => self.object(definition, value),
            Some(ExtendedType::Enum(definition)) => match value.as_str() {
                Some(text) if definition.values.contains_key(text) => value.clone(),
                Some(text) => {
                    let values = definition.values.keys().map(Name::as_str);
                    let end = self
                        .did_you_mean("the enum value ", text, values)
                        .unwrap_or_else(|| ".".to_owned());
                    self.add_error(|| {
                        format!("Value \"{text}\" does not exist in \"{name}\" enum{end}")
                    })
                }
                None => self.add_error(|| {
                    format!(
                        "Enum \"{name}\" cannot represent non-string value: {}.",
                        show(value)
                    )
                }),
            },
            _ => scalar(name, value).unwrap_or_else(|message| self.add_error(|| message)),
        }
    }

    fn object(&mut self, definition: &'a InputObjectType, value: &'a Value) -> Value {
        let type_name = &definition.name;
        let Value::Object(members) = value else {
            return self.add_error(|| {
                format!(
                    "Expected value of type \"{type_name}\" to be an object, found: {}.",
                    show(value)
                )
            });
        };
        let mut coerced = Map::new();
        for (name, field) in &definition.fields {
            if let Some(value) = members.get(name.as_str()) {
                let value = self.within(InputPathStep::Field(name), |coercion| {
                    coercion.value(&field.ty, value)
                });
                coerced.insert(name.to_string(), value);
            } else if field.is_required() {
                self.add_error(|| {
                    let found = show(value);
                    format!(
                        "Expected value of type \"{type_name}\" to include required field \"{name}\", found: {found}."
                    )
                });
            } else if let Some(value) = default_of(self.schema, field) {
                coerced.insert(name.to_string(), value);
            }
        }
        for name in members
            .keys()
            .filter(|name| !definition.fields.contains_key(name.as_str()))
        {
            let known = definition.fields.keys().map(Name::as_str);
            let end = self
                .did_you_mean("", name, known)
                .map(|question| question + " Found");
            let end = end.unwrap_or_else(|| ", found".to_owned());
            self.add_error(|| {
                let found = show(value);
                format!("Expected value of type \"{type_name}\" not to include unknown field \"{name}\"{end}: {found}.")
            });
        }
        if definition.is_one_of() {
            self.one_of(definition, members);
        }
        Value::Object(coerced)
    }

    fn one_of(&mut self, definition: &'a InputObjectType, members: &'a Map<String, Value>) {
        let mut known = members
            .iter()
            .filter(|(name, _)| definition.fields.contains_key(name.as_str()));
        match (known.next(), known.next()) {
            (Some((name, Value::Null)), None) => {
                self.within(InputPathStep::Field(name), |coercion| {
                    coercion.add_error(|| exactly_one(&definition.name))
                });
            }
            (Some(_), None) => {}
            _ => {
                self.add_error(|| exactly_one(&definition.name));
            }
        }
    }

    fn within<T>(&mut self, step: InputPathStep<'a>, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let value = inner(self);
        self.path.pop();
        value
    }

    /// Asks which name was meant, if clients may read the schema; `None` if none is similar.
    fn did_you_mean<'n>(
        &self,
        what: &str,
        written: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> Option<String> {
        let may_be_told = self.limits.introspection == IntrospectionPolicy::Enabled
            && !self.has_too_many_errors();
        may_be_told
            .then(|| suggestions::question(what, written, names))
            .filter(|question| !question.is_empty())
    }

    /// Adds an error, unless there are too many. Returns the value in the place of the one that has
    /// it.
    fn add_error(&mut self, message: impl FnOnce() -> String) -> Value {
        if !self.has_too_many_errors() {
            self.errors.push((path_text(&self.path), message()));
        }
        Value::Null
    }

    fn has_too_many_errors(&self) -> bool {
        self.errors.len() > MAX_VARIABLE_ERRORS
    }
}

fn scalar(name: &str, value: &Value) -> Result<Value, String> {
    let found = || show(value);
    match name {
        "Int" => match integer(value) {
            Some(integer) if i32::try_from(integer).is_ok() => Ok(integer.into()),
            Some(_) => Err(format!(
                "Int cannot represent non 32-bit signed integer value: {}",
                found()
            )),
            None if value.as_f64().is_some_and(|number| number.fract() == 0.0) => Err(format!(
                "Int cannot represent non 32-bit signed integer value: {}",
                found()
            )),
            None => Err(format!(
                "Int cannot represent non-integer value: {}",
                found()
            )),
        },
        "Float" if value.is_number() => Ok(value.clone()),
        "Float" => Err(format!(
            "Float cannot represent non numeric value: {}",
            found()
        )),
        "String" | "ID" if value.is_string() => Ok(value.clone()),
        "String" => Err(format!(
            "String cannot represent a non string value: {}",
            found()
        )),
        "Boolean" if value.is_boolean() => Ok(value.clone()),
        "Boolean" => Err(format!(
            "Boolean cannot represent a non boolean value: {}",
            found()
        )),
        "JSON" => Ok(value.clone()),
        "ID" => id(value)
            .map(Value::from)
            .ok_or_else(|| format!("ID cannot represent value: {}", found())),
        _ => Err(format!(
            "Expected value of type \"{name}\", found: {}.",
            found()
        )),
    }
}

/// Returns an integral number that a double represents exactly: `1`, and also `1.0`.
fn integer(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the number has no fraction and is in range"
        )]
        (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
    })
}

/// Returns the text of an `ID` for an integral number of any size.
fn id(value: &Value) -> Option<String> {
    let large = || {
        value
            .as_f64()
            .filter(|number| number.fract() == 0.0)
            .map(|number| number.to_string())
    };
    let text = integer(value).map(|integer| integer.to_string());
    text.or_else(|| value.as_u64().map(|integer| integer.to_string()))
        .or_else(large)
}

/// Returns the default of an input field or an argument. Defaults in the schema are valid.
fn default_of(schema: &Schema, definition: &InputValueDefinition) -> Option<Value> {
    let default: &Node<ast::Value> = definition.default_value.as_ref()?;
    arguments::constant(schema, &definition.ty, default).ok()
}

fn exactly_one(type_name: &str) -> String {
    format!(
        "Within OneOf Input Object type \"{type_name}\", exactly one field must be specified, and the value for that \
         field must be non-null."
    )
}

fn path_text(path: &[InputPathStep<'_>]) -> String {
    let steps = path.iter().map(|step| match step {
        InputPathStep::Field(name) => format!(".{name}"),
        InputPathStep::Item(at) => format!("[{at}]"),
    });
    if path.is_empty() {
        String::new()
    } else {
        format!(" at {}", steps.collect::<Vec<_>>().concat())
    }
}

#[cfg(test)]
mod tests;
