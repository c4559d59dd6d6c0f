//! The schema that documents are validated against, and look-ups in it.

use std::collections::HashMap;

use apollo_compiler::schema::{ExtendedType, FieldDefinition, Implementers};
use apollo_compiler::validation::Valid;
use apollo_compiler::{Name, ast};

/// Source text of the schema (`schema.graphql`).
pub const SDL: &str = include_str!("../../../schema.graphql");

/// Name that an object type `Float` has in the text of a schema: the parser knows that name as a
/// scalar's, which a schema without fields of that scalar need not have.
pub(super) const FLOAT_OBJECT: &str = "Float_";

/// The schema that documents are validated against.
pub(super) struct Schema {
    pub(super) valid: Valid<apollo_compiler::Schema>,
    pub(super) implementers: apollo_compiler::collections::HashMap<Name, Implementers>,
    /// The object types of each interface and union, by name.
    possible_types: HashMap<Name, Vec<Name>>,
}

impl Schema {
    /// Parses [`SDL`].
    ///
    /// # Panics
    /// If it is not a valid schema, which a test rules out.
    pub(super) fn load() -> Self {
        Self::parse_sdl(SDL).unwrap_or_else(|error| panic!("schema.graphql: {error}"))
    }

    /// Parses the text of a schema.
    ///
    /// # Errors
    /// The text of the first error in it.
    pub(super) fn parse_sdl(sdl: &str) -> Result<Self, String> {
        let parsed = apollo_compiler::Schema::parse(sdl, "schema.graphql").map(with_float_objects);
        let valid = parsed
            .and_then(apollo_compiler::Schema::validate)
            .map_err(|invalid| {
                let first = invalid.errors.iter().next();
                first.map_or_else(
                    || "not a valid schema".to_owned(),
                    |first| first.error.to_string(),
                )
            })?;
        let implementers = valid.implementers_map();
        let mut possible_types: HashMap<Name, Vec<Name>> = HashMap::new();
        for (name, implementers) in &implementers {
            possible_types.insert(name.clone(), implementers.objects.iter().cloned().collect());
        }
        for (name, definition) in &valid.types {
            if let ExtendedType::Union(union) = definition {
                possible_types.insert(
                    name.clone(),
                    union
                        .members
                        .iter()
                        .map(|member| member.as_ref().clone())
                        .collect(),
                );
            }
        }
        Ok(Self {
            valid,
            implementers,
            possible_types,
        })
    }

    /// Returns the definitions of all types.
    pub(super) fn types(&self) -> impl Iterator<Item = &ExtendedType> {
        self.valid.types.values()
    }

    /// Returns the definition of a type.
    pub(super) fn type_definition(&self, name: &str) -> Option<&ExtendedType> {
        self.valid.types.get(name)
    }

    /// Returns the definition of a field, also of introspection fields such as `__typename`.
    pub(super) fn field_definition(
        &self,
        type_name: &str,
        field: &str,
    ) -> Option<&FieldDefinition> {
        self.valid
            .type_field(type_name, field)
            .ok()
            .map(AsRef::as_ref)
    }

    /// Returns the object types of an interface or a union; empty for other types.
    pub(super) fn possible_types(&self, name: &str) -> &[Name] {
        self.possible_types.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a fragment on `condition` applies to objects of `type_name`.
    pub(super) fn fragment_applies(&self, type_name: &str, condition: &str) -> bool {
        type_name == condition
            || self
                .possible_types(condition)
                .iter()
                .any(|possible| possible == type_name)
    }
}

/// Gives the object type [`FLOAT_OBJECT`] of a schema the name `Float`, in the place of the scalar.
fn with_float_objects(mut schema: apollo_compiler::Schema) -> apollo_compiler::Schema {
    let Some(ExtendedType::Object(mut object)) = schema.types.shift_remove(FLOAT_OBJECT) else {
        return schema;
    };
    let name = apollo_compiler::name!("Float");
    object.make_mut().name = name.clone();
    schema
        .types
        .insert(name.clone(), ExtendedType::Object(object));
    for definition in schema.types.values_mut() {
        if let ExtendedType::Object(object) = definition {
            for field in object.make_mut().fields.values_mut() {
                if field.ty.inner_named_type() == FLOAT_OBJECT {
                    rename(&mut field.make_mut().ty, &name);
                }
            }
        }
    }
    schema
}

/// Replaces the name within a type.
fn rename(ty: &mut ast::Type, name: &Name) {
    match ty {
        ast::Type::Named(old) | ast::Type::NonNullNamed(old) => *old = name.clone(),
        ast::Type::List(item) | ast::Type::NonNullList(item) => rename(item, name),
    }
}
