//! Documents against another schema than the project's own: one of object types, lists and scalars
//! that is made at run time.
//!
//! Parsing, limits, validation, coercion and introspection are those of `schema.graphql`. The
//! caller resolves fields and writes responses.

use apollo_compiler::ast;
use apollo_compiler::schema::ExtendedType;
use serde_json::{Map, Value};

use super::coercion::{self, Arguments};
use super::document::{Document, ParsedText};
use super::errors::{Code, Cost, Error};
use super::introspection::{self, PlannedOperation};
use super::limits::Limits;
use super::plan::{self, Plan, PlannedField, ValuePlan};
use super::schema::{self, Schema};

/// Maximum number of values of introspection that a request may have, estimated as the fields that
/// it selects times what the schema declares: memory, because all of them are made before the first
/// one is written.
pub const MAX_INTROSPECTED_VALUES: u64 = 2_000_000;

/// Name that an object type has in the text of a schema in which its name is `Float`; no field may
/// have the scalar then.
pub const FLOAT_OBJECT: &str = schema::FLOAT_OBJECT;

/// A schema that was made when the program ran.
pub struct RuntimeSchema {
    schema: Schema,
    /// Number of types, fields and arguments that it declares, those of introspection included.
    declared: u64,
}

/// A document within the limits, not yet validated.
pub struct ParsedDocument(ParsedText);

/// A document that is valid against a [`RuntimeSchema`].
pub struct ValidDocument(Document);

/// A selected field: fields of one response key, merged, in the order of the document.
#[derive(Debug)]
pub struct SelectedField {
    /// Response key: the alias, or else the name.
    pub key: Box<str>,
    /// Name in the schema.
    pub name: Box<str>,
    arguments: Arguments,
    /// Selection of its value.
    pub value: SelectedValue,
}

/// Selection of the value of a field.
#[derive(Debug)]
pub enum SelectedValue {
    /// `__typename`: the name of the type.
    TypeName(Box<str>),
    /// A scalar, or a list of scalars.
    Leaf,
    /// Fields of an object, or of the objects of a list.
    Object(Vec<SelectedField>),
    /// `__schema` or `__type`: the value as JSON text.
    Introspection(Box<[u8]>),
}

impl SelectedField {
    /// Returns the coerced value of an argument of the type `Int`; `None` if it is `null`.
    pub fn integer(&self, argument: &str) -> Option<i64> {
        self.arguments.integer(argument)
    }
}

impl ParsedDocument {
    /// Parses a document and checks it against the limits that depend on it alone.
    ///
    /// # Errors
    /// The first syntax error or exceeded limit.
    pub fn parse(text: &str, limits: &Limits) -> Result<Self, Error> {
        ParsedText::parse(text, limits).map(Self)
    }

    /// Returns its syntax tree.
    pub fn tree(&self) -> &ast::Document {
        self.0.tree()
    }

    /// Returns its syntax tree, to be changed before it is validated.
    pub fn tree_mut(&mut self) -> &mut ast::Document {
        self.0.tree_mut()
    }
}

impl ValidDocument {
    /// Returns whether an operation selects `__schema` or `__type`, which [`RuntimeSchema::select`]
    /// executes.
    pub fn introspects(&self) -> bool {
        self.0.introspects()
    }
}

impl RuntimeSchema {
    /// Parses the text of a schema.
    ///
    /// # Errors
    /// The text of the first error in it.
    pub fn parse(sdl: &str) -> Result<Self, String> {
        let schema = Schema::parse_sdl(sdl)?;
        let declared = schema.types().map(|definition| match definition {
            ExtendedType::Object(object) => {
                1 + object
                    .fields
                    .values()
                    .map(|field| 1 + field.arguments.len() as u64)
                    .sum::<u64>()
            }
            _ => 1,
        });
        Ok(Self {
            declared: declared.sum(),
            schema,
        })
    }

    /// Validates a document.
    ///
    /// # Errors
    /// The first error.
    pub fn validate(
        &self,
        document: ParsedDocument,
        limits: &Limits,
    ) -> Result<ValidDocument, Error> {
        self.schema.validate(document.0, limits).map(ValidDocument)
    }

    /// Returns the fields that an operation selects at its root, with fragments and directives
    /// resolved and introspection executed.
    ///
    /// # Errors
    /// Request errors, for which nothing may be executed.
    pub fn select(
        &self,
        ValidDocument(document): &ValidDocument,
        operation_name: Option<&str>,
        raw_variables: &Map<String, Value>,
        limits: &Limits,
    ) -> Result<Vec<SelectedField>, Vec<Error>> {
        let operation = document
            .operation(operation_name)
            .map_err(|error| vec![error])?;
        let variables =
            coercion::variables(&self.schema, document, operation, raw_variables, limits)?;
        let plan = plan::plan(&self.schema, document, operation, &variables);
        let planned = plan.and_then(|plan| plan.first_error().map_or(Ok(plan), Err));
        let plan = planned.map_err(|error| {
            vec![
                Error::request(Code::BadUserInput, error.message.clone())
                    .at(document.location(error.span)),
            ]
        })?;
        let introspected = || {
            self.check_introspection(&plan)?;
            introspection::execute(
                &self.schema,
                PlannedOperation {
                    document,
                    operation,
                    variables: &variables,
                    plan: &plan,
                },
            )
        };
        let mut introspected = introspected().map_err(|error| vec![error])?;
        Ok(selected(&plan, &mut introspected))
    }

    fn check_introspection(&self, plan: &Plan<'_>) -> Result<(), Error> {
        let selected = plan.fields.iter().map(|field| match &field.value {
            ValuePlan::Introspection(plan) => count(plan),
            _ => 0,
        });
        let cost = selected.sum::<u64>().saturating_mul(self.declared);
        if cost <= MAX_INTROSPECTED_VALUES {
            return Ok(());
        }
        let cost = Cost {
            cost,
            maximum: MAX_INTROSPECTED_VALUES,
        };
        let message = format!(
            "the introspection may have {} values; at most {} are allowed",
            cost.cost, cost.maximum
        );
        Err(Error {
            cost: Some(cost),
            ..Error::request(Code::CostEstimated, message)
        })
    }
}

/// Returns the number of fields of a plan, at any depth.
fn count(plan: &Plan<'_>) -> u64 {
    let nested = |field: &PlannedField<'_>| match &field.value {
        ValuePlan::Object(plan) | ValuePlan::Introspection(plan) => count(plan),
        ValuePlan::Abstract(plans) => plans.iter().map(count).sum(),
        ValuePlan::TypeName | ValuePlan::Leaf => 0,
    };
    plan.fields.iter().map(|field| 1 + nested(field)).sum()
}

fn selected(
    plan: &Plan<'_>,
    introspected: &mut introspection::IntrospectionData,
) -> Vec<SelectedField> {
    let field = |field: &PlannedField<'_>| {
        let value = match &field.value {
            ValuePlan::TypeName => SelectedValue::TypeName(plan.type_name.into()),
            ValuePlan::Object(plan) => SelectedValue::Object(selected(plan, introspected)),
            ValuePlan::Introspection(_) => {
                let found = introspected.iter_mut().find(|(key, _)| **key == *field.key);
                let text = found
                    .map(|(_, text)| std::mem::take(text))
                    .filter(|text| !text.is_empty());
                SelectedValue::Introspection(text.unwrap_or_else(|| b"null".as_slice().into()))
            }
            // There are no interfaces and no unions.
            ValuePlan::Leaf | ValuePlan::Abstract(_) => SelectedValue::Leaf,
        };
        let arguments = field.arguments.clone().unwrap_or(Arguments::NONE);
        SelectedField {
            key: field.key.into(),
            name: field.name.into(),
            arguments,
            value,
        }
    };
    plan.fields.iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDL: &str = "type Query { as(limit: Int = 100): [A] } type A { b: String c: [A] }";

    fn select(query: &str) -> Result<Vec<SelectedField>, Vec<Error>> {
        let schema = RuntimeSchema::parse(SDL).unwrap();
        let limits = Limits::default();
        let document = ParsedDocument::parse(query, &limits).map_err(|error| vec![error])?;
        let document = schema
            .validate(document, &limits)
            .map_err(|error| vec![error])?;
        schema.select(&document, None, &Map::new(), &limits)
    }

    #[test]
    fn a_document_is_selected_from_a_schema_that_was_made_at_run_time() {
        let fields = select(
            "{ x: as { ...F b } __typename __type(name: \"A\") { name } } fragment F on A { c { b } }",
        );
        let [x, typename, ty] = &fields.unwrap()[..] else {
            panic!("there are three")
        };
        assert_eq!(
            (&*x.key, &*x.name, x.integer("limit")),
            ("x", "as", Some(100))
        );
        let SelectedValue::Object(of_x) = &x.value else {
            panic!("{x:?}")
        };
        assert_eq!(
            of_x.iter().map(|field| &*field.key).collect::<Vec<_>>(),
            ["c", "b"]
        );
        assert!(matches!(&typename.value, SelectedValue::TypeName(name) if &**name == "Query"));
        assert!(
            matches!(&ty.value, SelectedValue::Introspection(text) if **text == *br#"{"name":"A"}"#)
        );
    }

    #[test]
    fn an_object_type_may_have_the_name_of_the_scalar_that_no_field_has() {
        let sdl = "type Query { floats: [Float_] } type Float_ { name: String of: Float_ }";
        let schema = RuntimeSchema::parse(sdl).unwrap();
        let limits = Limits::default();
        let select = |query: &str| {
            let document = schema
                .validate(ParsedDocument::parse(query, &limits).unwrap(), &limits)
                .unwrap();
            schema
                .select(&document, None, &Map::new(), &limits)
                .unwrap()
        };
        let fields = select("{ floats { __typename name ... on Float { of { name } } } }");
        let SelectedValue::Object(of_float) = &fields[0].value else {
            panic!("{fields:?}")
        };
        assert!(matches!(&of_float[0].value, SelectedValue::TypeName(name) if &**name == "Float"));
        assert_eq!(
            of_float.iter().map(|field| &*field.key).collect::<Vec<_>>(),
            ["__typename", "name", "of"]
        );
        let fields = select("{ __type(name: \"Float\") { kind fields { name type { name } } } }");
        let SelectedValue::Introspection(text) = &fields[0].value else {
            panic!("{fields:?}")
        };
        assert_eq!(
            str::from_utf8(text).unwrap(),
            r#"{"kind":"OBJECT","fields":[{"name":"name","type":{"name":"String"}},{"name":"of","type":{"name":"Float"}}]}"#
        );
    }

    #[test]
    fn what_is_not_valid_against_the_schema_is_refused() {
        for query in [
            "{",
            "{ packages { name } }",
            "{ as(limit: \"x\") { b } }",
            "mutation { as { b } }",
        ] {
            assert_eq!(
                select(query).map(drop).map_err(|errors| errors.len()),
                Err(1),
                "{query}"
            );
        }
    }

    #[test]
    fn introspection_is_bounded_by_what_the_schema_declares() {
        let types = (0..2_000)
            .map(|number| format!("type T{number} {{ a: Int b: Int }} "))
            .collect::<Vec<_>>()
            .concat();
        let schema = RuntimeSchema::parse(&(types + "type Query { a: T0 }")).unwrap();
        let limits = Limits {
            tokens: 20_000,
            aliases: 1_000,
            ..Limits::default()
        };
        let code = |fields: usize| {
            let names = (0..fields)
                .map(|number| format!("a{number}: name "))
                .collect::<Vec<_>>()
                .concat();
            let query = format!("{{ __schema {{ types {{ {names} }} }} }}");
            let document = schema
                .validate(ParsedDocument::parse(&query, &limits).unwrap(), &limits)
                .unwrap();
            schema
                .select(&document, None, &Map::new(), &limits)
                .err()
                .map(|errors| errors[0].code)
        };
        assert_eq!((code(100), code(400)), (None, Some(Code::CostEstimated)));
    }
}
