//! Coercion of literals in a document: arguments, defaults, and the conditions of `@skip` and
//! `@include`.

use std::fmt::Display;
use std::sync::Arc;

use apollo_compiler::ast::{self, FieldDefinition, InputValueDefinition, Type};
use apollo_compiler::executable::{self, Selection};
use apollo_compiler::schema::{ExtendedType, InputObjectType};
use apollo_compiler::{Name, Node};
use serde_json::{Map, Value};

use super::{CoercionError, InputPathStep, default_of, exactly_one, path_text};
use crate::schema::Schema;

/// The coerced arguments of a field. An argument that is neither provided nor has a default is
/// absent. Clones share memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arguments(Option<Arc<[(Name, Value)]>>);

/// An argument that is a list of strings, as a sorted set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StringSet<'a>(&'a [Value]);

impl Arguments {
    /// No arguments.
    pub(crate) const NONE: Self = Self(None);

    /// Returns the value of an argument; `null` if it is absent.
    pub(crate) fn get(&self, name: &str) -> &Value {
        let arguments = self.0.as_deref().unwrap_or_default();
        arguments
            .iter()
            .find(|(other, _)| other == name)
            .map_or(&Value::Null, |(_, value)| value)
    }

    /// Returns an argument that is a string or an enum value.
    pub(crate) fn string(&self, name: &str) -> Option<&str> {
        self.get(name).as_str()
    }

    /// Returns an argument that is a list of strings; `None` if it is absent or empty, which both
    /// mean no condition.
    pub(crate) fn strings(&self, name: &str) -> Option<StringSet<'_>> {
        self.get(name)
            .as_array()
            .filter(|items| !items.is_empty())
            .map(|items| StringSet(items))
    }

    /// Returns an argument that is an `Int`.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        self.get(name).as_i64()
    }
}

impl<'a> StringSet<'a> {
    /// Returns whether the set contains a string.
    pub(crate) fn contains(self, text: &str) -> bool {
        self.0
            .binary_search_by(|item| item.as_str().cmp(&Some(text)))
            .is_ok()
    }

    /// Iterates over the distinct strings in sorted order.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter_map(Value::as_str)
    }
}

/// Coerces the arguments of a field of a type (`CoerceArgumentValues` of the specification).
pub(crate) fn arguments(
    schema: &Schema,
    type_name: &str,
    definition: &FieldDefinition,
    field: &executable::Field,
    variables: &Map<String, Value>,
) -> Result<Arguments, CoercionError> {
    let mut coerced = Vec::with_capacity(definition.arguments.len().min(field.arguments.len()));
    for argument in &definition.arguments {
        let written = field
            .arguments
            .iter()
            .find(|written| written.name == argument.name);
        let coordinate = || {
            format!(
                "Argument \"{type_name}.{}({}:)\"",
                definition.name, argument.name
            )
        };
        let value = match written {
            Some(written) => {
                let mut literals = LiteralCoercion {
                    schema,
                    variables,
                    path: Vec::new(),
                };
                literals
                    .argument(argument, &written.value)
                    .map_err(|error| {
                        let message =
                            format!("{} has invalid value{}", coordinate(), error.message);
                        CoercionError { message, ..error }
                    })?
            }
            None if argument.is_required() => {
                let message = format!(
                    "{} of required type \"{}\" was not provided.",
                    coordinate(),
                    argument.ty
                );
                return Err(CoercionError {
                    message,
                    span: field.name.location(),
                });
            }
            None => default_of(schema, argument),
        };
        let is_ordered = ORDERED == (definition.name.as_str(), argument.name.as_str());
        let value = value.map(|value| {
            if is_ordered {
                value
            } else {
                as_set(&argument.ty, value)
            }
        });
        coerced.extend(value.map(|value| (argument.name.clone(), value)));
    }
    Ok(Arguments((!coerced.is_empty()).then(|| coerced.into())))
}

/// Field and argument of the only list of strings whose order counts.
const ORDERED: (&str, &str) = ("platformMatrix", "catalogs");

/// Sorts a list of strings and removes duplicates: every other argument of that type is a set.
fn as_set(ty: &Type, mut value: Value) -> Value {
    if let Value::Array(items) = &mut value
        && ty.inner_named_type() == "String"
    {
        items.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        items.dedup();
    }
    value
}

/// Returns whether a selection is included: `@skip` is false and `@include` is true, where present.
pub(crate) fn condition(
    schema: &Schema,
    selection: &Selection,
    variables: &Map<String, Value>,
) -> Result<bool, CoercionError> {
    for (name, expected) in [("skip", false), ("include", true)] {
        let Some(directive) = selection.directives().get(name) else {
            continue;
        };
        let Some(value) = directive.specified_argument_by_name("if") else {
            continue;
        };
        let ty = Type::NonNullNamed(apollo_compiler::name!("Boolean"));
        let found = LiteralCoercion {
            schema,
            variables,
            path: Vec::new(),
        }
        .value(&ty, value)
        .map_err(|error| {
            let message = format!(
                "Argument \"@{name}(if:)\" has invalid value{}",
                error.message
            );
            CoercionError { message, ..error }
        })?;
        if found != Some(Value::Bool(expected)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Coerces a literal without variables.
pub(super) fn constant(
    schema: &Schema,
    ty: &Type,
    literal: &Node<ast::Value>,
) -> Result<Value, CoercionError> {
    let none = Map::new();
    let value = LiteralCoercion {
        schema,
        variables: &none,
        path: Vec::new(),
    }
    .value(ty, literal)?;
    Ok(value.unwrap_or(Value::Null))
}

/// Coercion of literals with variables. The message of an error begins with its path and a colon.
struct LiteralCoercion<'a> {
    schema: &'a Schema,
    variables: &'a Map<String, Value>,
    path: Vec<InputPathStep<'a>>,
}

impl<'a> LiteralCoercion<'a> {
    fn argument(
        &mut self,
        definition: &InputValueDefinition,
        literal: &'a Node<ast::Value>,
    ) -> Result<Option<Value>, CoercionError> {
        let absent = literal
            .as_variable()
            .is_some_and(|name| !self.variables.contains_key(name.as_str()));
        if absent && !definition.is_required() {
            return Ok(default_of(self.schema, definition));
        }
        self.value(&definition.ty, literal)
    }

    /// Coerces a literal; `None` if it is a variable without a value and the type is nullable.
    fn value(
        &mut self,
        ty: &Type,
        literal: &'a Node<ast::Value>,
    ) -> Result<Option<Value>, CoercionError> {
        if let ast::Value::Variable(name) = literal.as_ref() {
            let value = self.variables.get(name.as_str());
            return match value {
                None if ty.is_non_null() => Err(self.error(
                    literal,
                    format!("Expected variable \"${name}\" provided to type \"{ty}\" to provide a runtime value."),
                )),
                Some(Value::Null) if ty.is_non_null() => Err(self.error(
                    literal,
                    format!("Expected variable \"${name}\" provided to non-null type \"{ty}\" not to be null."),
                )),
                value => Ok(value.cloned()),
            };
        }
        if literal.is_null() {
            if ty.is_non_null() {
                let message = format!("Expected value of non-null type \"{ty}\" not to be null.");
                return Err(self.error(literal, message));
            }
            return Ok(Some(Value::Null));
        }
        if ty.is_list() {
            return self.list(ty.item_type(), literal).map(Some);
        }
        let name = ty.inner_named_type();
        match self.schema.type_definition(name) {
            Some(ExtendedType::InputObject(definition)) => self.object(definition, literal),
            definition => leaf(definition, name, literal).map_or_else(
                || {
                    Err(self.error(
                        literal,
                        format!("Expected value of type \"{name}\", found: {literal}."),
                    ))
                },
                |value| Ok(Some(value)),
            ),
        }
    }

    fn list(&mut self, item: &Type, literal: &'a Node<ast::Value>) -> Result<Value, CoercionError> {
        let ast::Value::List(literals) = literal.as_ref() else {
            return Ok(Value::Array(vec![
                self.value(item, literal)?.unwrap_or(Value::Null),
            ]));
        };
        let mut items = Vec::with_capacity(literals.len());
        for (at, literal) in literals.iter().enumerate() {
            self.path.push(InputPathStep::Item(at));
            items.push(self.value(item, literal)?.unwrap_or(Value::Null));
            self.path.pop();
        }
        Ok(Value::Array(items))
    }

    fn object(
        &mut self,
        definition: &'a InputObjectType,
        literal: &'a Node<ast::Value>,
    ) -> Result<Option<Value>, CoercionError> {
        let type_name = &definition.name;
        let ast::Value::Object(written) = literal.as_ref() else {
            let message = format!(
                "Expected value of type \"{type_name}\" to be an object, found: {literal}."
            );
            return Err(self.error(literal, message));
        };
        let mut coerced = Map::new();
        for (name, field) in &definition.fields {
            let value = match written.iter().find(|(other, _)| other == name) {
                Some((_, value)) => {
                    self.path.push(InputPathStep::Field(name));
                    let value = self.argument(field, value)?;
                    self.path.pop();
                    value
                }
                None if field.is_required() => {
                    let message = format!(
                        "Expected value of type \"{type_name}\" to include required field \"{name}\", found: {literal}."
                    );
                    return Err(self.error(literal, message));
                }
                None => default_of(self.schema, field),
            };
            coerced.extend(value.map(|value| (name.to_string(), value)));
        }
        if definition.is_one_of() {
            self.one_of(definition, written, &coerced, literal)?;
        }
        Ok(Some(Value::Object(coerced)))
    }

    fn one_of(
        &mut self,
        definition: &InputObjectType,
        written: &[(Name, Node<ast::Value>)],
        coerced: &Map<String, Value>,
        literal: &Node<ast::Value>,
    ) -> Result<(), CoercionError> {
        let type_name = &definition.name;
        let message = match written {
            [(name, value)] => match (coerced.get(name.as_str()), value.as_variable()) {
                (Some(Value::Null), Some(variable)) => format!(
                    "Expected variable \"${variable}\" provided to field \"{name}\" for OneOf Input Object type \
                     \"{type_name}\" not to be null."
                ),
                (None, Some(variable)) => format!(
                    "Expected variable \"${variable}\" provided to field \"{name}\" for OneOf Input Object type \
                     \"{type_name}\" to provide a runtime value."
                ),
                (Some(Value::Null) | None, None) => exactly_one(type_name),
                (Some(_), _) => return Ok(()),
            },
            _ => exactly_one(type_name),
        };
        Err(self.error(literal, message))
    }

    fn error(&self, literal: &Node<ast::Value>, message: impl Display) -> CoercionError {
        CoercionError {
            message: format!("{}: {message}", path_text(&self.path)),
            span: literal.location(),
        }
    }
}

fn leaf(definition: Option<&ExtendedType>, name: &str, literal: &ast::Value) -> Option<Value> {
    match (name, literal) {
        ("Int", ast::Value::Int(integer)) => Some(integer.try_to_i32().ok()?.into()),
        ("Float", number) => Some(number.to_f64()?.into()),
        ("String" | "ID", ast::Value::String(text)) => Some(text.as_str().into()),
        ("ID", ast::Value::Int(integer)) => Some(integer.as_str().into()),
        ("Boolean", ast::Value::Boolean(value)) => Some((*value).into()),
        ("JSON", literal) => json(literal),
        (_, ast::Value::Enum(value)) => {
            let known = definition?.as_enum()?.values.contains_key(value);
            known.then(|| value.as_str().into())
        }
        _ => None,
    }
}

/// Converts a literal of the scalar `JSON`; `None` if a variable is inside of it.
fn json(literal: &ast::Value) -> Option<Value> {
    Some(match literal {
        ast::Value::Null => Value::Null,
        ast::Value::Boolean(value) => (*value).into(),
        ast::Value::String(text) => text.as_str().into(),
        ast::Value::Enum(name) => name.as_str().into(),
        ast::Value::Int(_) | ast::Value::Float(_) => {
            serde_json::from_str(&literal.to_string()).ok()?
        }
        ast::Value::List(items) => items.iter().map(|item| json(item)).collect::<Option<_>>()?,
        ast::Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| Some((name.to_string(), json(value)?)));
            Value::Object(members.collect::<Option<_>>()?)
        }
        ast::Value::Variable(_) => return None,
    })
}
