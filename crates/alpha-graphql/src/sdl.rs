//! The text of the schema of a catalog.

use std::fmt::Write as _;

use graphql::runtime_schema::FLOAT_OBJECT;

use super::types::{CatalogTypes, FLOAT, FieldKind, Fields, ScalarType};

/// Types and arguments that every catalog has.
const SUMMARIES: &str = "type CatalogSummary{totalSchemas:Int schemas:[SchemaSummary]}\n\
     type SchemaSummary{name:String totalObjects:Int totalFields:Int}\n";

const ARGUMENTS: &str = "(\"Maximum number of items to return\" limit:Int=100 \"Number of items to skip\" offset:Int=0)";

/// Writes the schema.
pub(crate) fn write(types: &CatalogTypes) -> String {
    let mut sdl = String::from(SUMMARIES);
    let mut root = String::from("schema{query:Query}\ntype Query{summary:CatalogSummary");
    for (field, ty) in &types.types {
        let name = if ty.name == FLOAT {
            FLOAT_OBJECT
        } else {
            &ty.name
        };
        add(&mut root, format_args!("\n{field}{ARGUMENTS}:[{name}]"));
        object(&mut sdl, name, &ty.fields);
    }
    sdl + &root + "}\n"
}

fn object(sdl: &mut String, name: &str, fields: &Fields) {
    add(sdl, format_args!("type {name}{{"));
    for (name, field) in fields {
        match &field.kind {
            FieldKind::Scalar(scalar) => add(sdl, format_args!("\n{name}:{}", scalar.name())),
            FieldKind::List(scalar) => add(sdl, format_args!("\n{name}:[{}]", scalar.name())),
            FieldKind::Objects { name: ty, .. } => add(sdl, format_args!("\n{name}:[{ty}]")),
        }
    }
    sdl.push_str("}\n");
    for field in fields.values() {
        if let FieldKind::Objects { name, fields } = &field.kind {
            object(sdl, name, fields);
        }
    }
}

fn add(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a string takes all text");
}

impl ScalarType {
    /// Its name in the schema.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::Int => "Int",
            Self::Float => "Float",
            Self::Boolean => "Boolean",
        }
    }
}
