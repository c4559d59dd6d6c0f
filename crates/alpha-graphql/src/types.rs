//! Types of a catalog: those that the dialect has for its schemas, with their fields, as upstream
//! infers them from the blobs in one pass.
//!
//! Upstream refuses a whole catalog if two names collide. Here, the bytewise first schema keeps the
//! name, and [`CatalogTypes::omitted`] lists the others.

mod inference;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fbc::Catalog;
use fbc::work::{Work, WorkStopped};

use super::names;
use inference::{InferredField, InferredObject, SchemaInference};

pub(crate) use inference::{JsonType, ScalarType, kind_of};

/// Maximum number of schemas of a catalog.
pub const MAX_SCHEMAS: usize = 5_000;

/// Maximum number of keys of all schemas of a catalog, those within lists of objects included.
pub const MAX_KEYS: usize = 20_000;

/// Maximum size in bytes of the names of all schemas and keys of a catalog.
pub const MAX_NAME_BYTES: usize = 2 << 20;

/// Names of types that no schema may have.
const RESERVED: [&str; 6] = [
    "Query",
    "String",
    "Int",
    "Boolean",
    "CatalogSummary",
    "SchemaSummary",
];

/// Name of a type that a schema may have where no field has the scalar of that name: as upstream,
/// whose schemas have only those scalars that they use.
pub(crate) const FLOAT: &str = "Float";

/// The types of a catalog.
#[derive(Debug, Default)]
pub(crate) struct CatalogTypes {
    /// The types of schemas, by the fields of the root.
    pub(crate) types: BTreeMap<String, SchemaType>,
    /// Every schema of the catalog, by name.
    pub(crate) summaries: Vec<SchemaSummary>,
    /// Types that the dialect does not have.
    pub(crate) omitted: Vec<OmittedType>,
}

/// The type of a schema.
#[derive(Debug)]
pub(crate) struct SchemaType {
    pub(crate) name: String,
    pub(crate) fields: Fields,
    /// Indices of its blobs, in catalog order.
    pub(crate) blobs: Box<[u32]>,
}

/// Fields of a type, by name.
pub(crate) type Fields = BTreeMap<String, TypeField>;

/// A field of a type.
#[derive(Debug)]
pub(crate) struct TypeField {
    pub(crate) kind: FieldKind,
    /// JSON texts of its keys, usually one.
    pub(crate) keys: Vec<Box<[u8]>>,
}

/// The type of a field.
#[derive(Debug)]
pub(crate) enum FieldKind {
    /// A scalar.
    Scalar(ScalarType),
    /// A list of scalars.
    List(ScalarType),
    /// A list of objects.
    Objects {
        /// Name of their type.
        name: String,
        fields: Fields,
    },
}

/// Counts of a schema, for the field `summary`.
#[derive(Debug)]
pub(crate) struct SchemaSummary {
    pub(crate) name: String,
    pub(crate) objects: usize,
    pub(crate) fields: usize,
}

/// A schema, or the type of a list of objects, that the dialect does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OmittedType {
    /// The root field or the type of a schema has an invalid or reserved name.
    Name { schema: String, name: String },
    /// Another schema has the same name.
    Clash {
        schema: String,
        other: String,
        name: String,
    },
    /// The type of a list of objects has the name of another type, so that the list is text.
    List {
        schema: String,
        field: String,
        name: String,
    },
}

/// Error that leaves a catalog without a schema in this dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InferenceError {
    #[error("the catalog has more than {MAX_SCHEMAS} schemas")]
    Schemas,
    #[error("the blobs of the catalog have more than {MAX_KEYS} different keys")]
    Keys,
    #[error("the names of schemas and keys of the catalog have more than {MAX_NAME_BYTES} bytes")]
    NameBytes,
    #[error("reading the blobs of the catalog takes too long")]
    Stopped,
    /// Error in the text of the schema.
    #[error("{0}")]
    Invalid(String),
}

impl CatalogTypes {
    /// Infers the types of a catalog. It reads every line once.
    ///
    /// # Errors
    /// If the catalog exceeds a limit, or the work is stopped.
    pub(crate) fn infer(catalog: &Catalog, work: &Work<'_>) -> Result<Self, InferenceError> {
        let inferred = SchemaInference::infer(catalog, work)?;
        let mut types = Self::default();
        // Schemas before nested types, so that they keep their names.
        let has_floats = inferred
            .values()
            .any(|object| object.fields.iter().any(InferredField::has_floats));
        let reserved = RESERVED.into_iter().chain(has_floats.then_some(FLOAT));
        let mut taken: BTreeMap<String, String> = reserved
            .map(|name| (name.to_owned(), String::new()))
            .collect();
        let mut kept = Vec::new();
        for (schema, object) in inferred {
            let fields = object.fields.len();
            types.summaries.push(SchemaSummary {
                name: schema.clone(),
                objects: object.blobs.len(),
                fields,
            });
            let root = names::root_field(&schema);
            let name = names::type_name(&schema);
            let other = taken.get(&name).or_else(|| taken.get(&root));
            if !names::is_valid(&root) {
                types.omitted.push(OmittedType::Name { schema, name: root });
            } else if let Some(other) = other.filter(|other| other.is_empty()) {
                debug_assert!(other.is_empty());
                types.omitted.push(OmittedType::Name { schema, name });
            } else if let Some(other) = other {
                types.omitted.push(OmittedType::Clash {
                    schema,
                    other: other.clone(),
                    name,
                });
            } else {
                // One set for both: types begin with capital letters and root fields do not.
                taken.insert(name.clone(), schema.clone());
                taken.insert(root.clone(), schema.clone());
                kept.push((schema, root, name, object));
            }
        }
        let mut taken: BTreeSet<String> = taken.into_keys().collect();
        for (schema, root, name, object) in kept {
            let InferredObject { fields, blobs } = object;
            let fields = fields
                .into_iter()
                .map(|field| types.field(&schema, &name, field, &mut taken))
                .collect();
            types.types.insert(
                root,
                SchemaType {
                    name,
                    fields,
                    blobs: blobs.into(),
                },
            );
        }
        Ok(types)
    }

    fn field(
        &mut self,
        schema: &str,
        type_name: &str,
        field: InferredField,
        taken: &mut BTreeSet<String>,
    ) -> (String, TypeField) {
        let InferredField {
            name,
            first,
            keys,
            nested,
        } = field;
        let kind = match nested {
            None => first.kind(),
            Some(nested) => {
                let nested_name = type_name.to_owned() + &names::type_name(&name);
                if taken.insert(nested_name.clone()) {
                    let plain = |field: InferredField| {
                        (
                            field.name,
                            TypeField {
                                kind: field.first.kind(),
                                keys: field.keys,
                            },
                        )
                    };
                    FieldKind::Objects {
                        name: nested_name,
                        fields: nested.into_iter().map(plain).collect(),
                    }
                } else {
                    let schema = schema.to_owned();
                    let field = name.clone();
                    self.omitted.push(OmittedType::List {
                        schema,
                        field,
                        name: nested_name,
                    });
                    FieldKind::Scalar(ScalarType::String)
                }
            }
        };
        (name, TypeField { kind, keys })
    }

    /// Returns its memory in bytes (approximate).
    pub(crate) fn bytes(&self) -> usize {
        let of_types = self
            .types
            .values()
            .map(|ty| size_of_val(&*ty.blobs) + bytes_of(&ty.fields));
        of_types.sum::<usize>() + self.summaries.len() * 256
    }
}

fn bytes_of(fields: &Fields) -> usize {
    let of_field = |(name, field): (&String, &TypeField)| {
        let nested = if let FieldKind::Objects { fields, .. } = &field.kind {
            bytes_of(fields)
        } else {
            0
        };
        name.len()
            + field.keys.iter().map(|key| key.len() + 16).sum::<usize>()
            + size_of::<TypeField>() * 2
            + nested
    };
    fields.iter().map(of_field).sum()
}

impl fmt::Display for OmittedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { schema, name } => {
                write!(
                    f,
                    "the schema \"{schema}\" is not served here: it would have the name \"{name}\""
                )
            }
            Self::Clash {
                schema,
                other,
                name,
            } => write!(
                f,
                "the schema \"{schema}\" is not served here: like \"{other}\" it would have the name \"{name}\""
            ),
            Self::List {
                schema,
                field,
                name,
            } => write!(
                f,
                "the field \"{field}\" of the schema \"{schema}\" is text here: another type has the name \"{name}\""
            ),
        }
    }
}

impl From<WorkStopped> for InferenceError {
    fn from(WorkStopped: WorkStopped) -> Self {
        Self::Stopped
    }
}

#[cfg(test)]
mod tests;
