//! The shape of a catalog: which types the dialect has for its schemas, with their fields, as
//! upstream derives them from the blobs in one pass.
//!
//! Upstream takes a whole catalog down where two names meet. Here, the bytewise first schema keeps
//! the name; the others are not in the dialect, and are named in [`Shape::left_out`].

mod gather;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fbc::Catalog;
use fbc::work::{Work, WorkStopped};

use super::names;
use gather::{GatheredField, GatheredObject, Gathering};

pub(crate) use gather::{Kind, Scalar, kind_of};

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
pub(crate) struct Shape {
    /// The types of schemas, by the fields of the root.
    pub(crate) types: BTreeMap<String, SchemaType>,
    /// Every schema of the catalog, by name.
    pub(crate) summaries: Vec<SchemaSummary>,
    /// What is not in the dialect.
    pub(crate) left_out: Vec<LeftOut>,
}

/// The type of a schema.
#[derive(Debug)]
pub(crate) struct SchemaType {
    pub(crate) name: String,
    pub(crate) fields: Fields,
    /// The numbers of its blobs, in catalog order.
    pub(crate) blobs: Box<[u32]>,
}

/// Fields of a type, by name.
pub(crate) type Fields = BTreeMap<String, Field>;

/// A field of a type.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) kind: FieldKind,
    /// The JSON texts of its keys; usually there is one.
    pub(crate) keys: Vec<Box<[u8]>>,
}

/// The type of a field.
#[derive(Debug)]
pub(crate) enum FieldKind {
    /// A scalar.
    Scalar(Scalar),
    /// A list of scalars.
    List(Scalar),
    /// A list of objects.
    Objects {
        /// Name of their type.
        name: String,
        fields: Fields,
    },
}

/// What `summary` says of a schema.
#[derive(Debug)]
pub(crate) struct SchemaSummary {
    pub(crate) name: String,
    pub(crate) objects: usize,
    pub(crate) fields: usize,
}

/// A schema, or a list of objects, that the dialect does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// The field of the root or the type of a schema cannot be a name.
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

/// Why a catalog has no schema in this dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShapeError {
    #[error("the catalog has more than {MAX_SCHEMAS} schemas")]
    Schemas,
    #[error("the blobs of the catalog have more than {MAX_KEYS} different keys")]
    Keys,
    #[error("the names of schemas and keys of the catalog have more than {MAX_NAME_BYTES} bytes")]
    NameBytes,
    #[error("reading the blobs of the catalog takes too long")]
    Stopped,
    /// The text of the error in the schema.
    #[error("{0}")]
    Invalid(String),
}

impl Shape {
    /// Derives the types of a catalog. It reads every line once.
    ///
    /// # Errors
    /// If the catalog has more of something than a limit, or the account stops the work.
    pub(crate) fn of(catalog: &Catalog, work: &Work<'_>) -> Result<Self, ShapeError> {
        let gathered = Gathering::of(catalog, work)?;
        let mut shape = Self::default();
        // Schemas before nested types, so that they keep their names.
        let has_floats = gathered
            .values()
            .any(|object| object.fields.iter().any(GatheredField::has_floats));
        let reserved = RESERVED.into_iter().chain(has_floats.then_some(FLOAT));
        let mut taken: BTreeMap<String, String> = reserved
            .map(|name| (name.to_owned(), String::new()))
            .collect();
        let mut kept = Vec::new();
        for (schema, object) in gathered {
            let fields = object.fields.len();
            shape.summaries.push(SchemaSummary {
                name: schema.clone(),
                objects: object.blobs.len(),
                fields,
            });
            let root = names::root_field(&schema);
            let name = names::type_name(&schema);
            let other = taken.get(&name).or_else(|| taken.get(&root));
            if !names::is_valid(&root) {
                shape.left_out.push(LeftOut::Name { schema, name: root });
            } else if let Some(other) = other.filter(|other| other.is_empty()) {
                debug_assert!(other.is_empty());
                shape.left_out.push(LeftOut::Name { schema, name });
            } else if let Some(other) = other {
                shape.left_out.push(LeftOut::Clash {
                    schema,
                    other: other.clone(),
                    name,
                });
            } else {
                // Types begin with capital letters and fields of the root do not.
                taken.insert(name.clone(), schema.clone());
                taken.insert(root.clone(), schema.clone());
                kept.push((schema, root, name, object));
            }
        }
        let mut taken: BTreeSet<String> = taken.into_keys().collect();
        for (schema, root, name, object) in kept {
            let GatheredObject { fields, blobs } = object;
            let fields = fields
                .into_iter()
                .map(|field| shape.field(&schema, &name, field, &mut taken))
                .collect();
            shape.types.insert(
                root,
                SchemaType {
                    name,
                    fields,
                    blobs: blobs.into(),
                },
            );
        }
        Ok(shape)
    }

    fn field(
        &mut self,
        schema: &str,
        type_name: &str,
        field: GatheredField,
        taken: &mut BTreeSet<String>,
    ) -> (String, Field) {
        let GatheredField {
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
                    let plain = |field: GatheredField| {
                        (
                            field.name,
                            Field {
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
                    self.left_out.push(LeftOut::List {
                        schema,
                        field,
                        name: nested_name,
                    });
                    FieldKind::Scalar(Scalar::String)
                }
            }
        };
        (name, Field { kind, keys })
    }

    /// Its memory in bytes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let of_types = self
            .types
            .values()
            .map(|ty| size_of_val(&*ty.blobs) + bytes_of(&ty.fields));
        of_types.sum::<usize>() + self.summaries.len() * 256
    }
}

fn bytes_of(fields: &Fields) -> usize {
    let of_field = |(name, field): (&String, &Field)| {
        let nested = if let FieldKind::Objects { fields, .. } = &field.kind {
            bytes_of(fields)
        } else {
            0
        };
        name.len()
            + field.keys.iter().map(|key| key.len() + 16).sum::<usize>()
            + size_of::<Field>() * 2
            + nested
    };
    fields.iter().map(of_field).sum()
}

impl fmt::Display for LeftOut {
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

impl From<WorkStopped> for ShapeError {
    fn from(WorkStopped: WorkStopped) -> Self {
        Self::Stopped
    }
}

#[cfg(test)]
mod tests;
