//! What the blobs of each schema have: keys, and the types of their first values.

use std::collections::{BTreeMap, HashMap};

use fbc::Catalog;
use fbc::work::{Step, Work};
use fbc_read::json::JsonValue;

use super::{FieldKind, MAX_KEYS, MAX_NAME_BYTES, MAX_SCHEMAS, ShapeError, names};

/// Number of elements of a list that say of what type it is.
const TYPED_ELEMENTS: usize = 10;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    String,
    Int,
    Float,
    Boolean,
}

/// The JSON type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    List,
    Object,
}

/// The type that a value alone gives to its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    Scalar(Scalar),
    List(Scalar),
}

/// What the blobs of a schema have.
#[derive(Debug, Default)]
pub(super) struct GatheredObject {
    pub(super) blobs: Vec<u32>,
    pub(super) fields: Vec<GatheredField>,
}

/// A field, by the keys that give it its name.
#[derive(Debug)]
pub(super) struct GatheredField {
    pub(super) name: String,
    /// The type of the first value that was seen.
    pub(super) first: First,
    /// The JSON texts of its keys.
    pub(super) keys: Vec<Box<[u8]>>,
    /// The fields of the objects in its lists, if there are any.
    pub(super) nested: Option<Vec<GatheredField>>,
}

impl GatheredField {
    /// Returns whether it is of the scalar type `Float`, or a list of these, or of objects with
    /// such fields.
    pub(super) fn has_floats(&self) -> bool {
        match &self.nested {
            Some(nested) => nested.iter().any(Self::has_floats),
            None => matches!(
                self.first,
                First::Scalar(Scalar::Float) | First::List(Scalar::Float)
            ),
        }
    }
}

/// The pass over a catalog.
#[derive(Default)]
pub(super) struct Gathering {
    keys: usize,
    name_bytes: usize,
}

/// The fields of an object type while they are gathered.
#[derive(Default)]
struct Gathered<'c> {
    fields: Vec<GatheredField>,
    /// Indexes of fields by the JSON texts of their keys.
    by_key: HashMap<&'c [u8], usize>,
    by_name: HashMap<String, usize>,
    /// The fields of the objects in lists, by the index of the list's field.
    nested: HashMap<usize, Gathered<'c>>,
}

impl Gathering {
    /// Gathers the schemas of a catalog, by name.
    pub(super) fn of(
        catalog: &Catalog,
        work: &Work<'_>,
    ) -> Result<BTreeMap<String, GatheredObject>, ShapeError> {
        let mut gathering = Self::default();
        if catalog.schemas().len() > MAX_SCHEMAS {
            return Err(ShapeError::Schemas);
        }
        let mut schemas: HashMap<&str, (Vec<u32>, Gathered<'_>)> = HashMap::new();
        for at in 0..catalog.meta_count() {
            let meta = catalog.meta_at(at);
            if meta.schema().is_empty() {
                continue;
            }
            let blob = meta.blob();
            work.draw(Step::JsonByte, blob.raw().len())?;
            let (blobs, gathered) = schemas.entry(meta.schema()).or_default();
            blobs.push(u32::try_from(at).unwrap_or(u32::MAX));
            gathering.object(gathered, blob, true)?;
        }
        gathering.name_bytes += schemas.keys().map(|schema| schema.len()).sum::<usize>();
        if gathering.name_bytes > MAX_NAME_BYTES {
            return Err(ShapeError::NameBytes);
        }
        let done = schemas.into_iter().map(|(schema, (blobs, gathered))| {
            (
                schema.to_owned(),
                GatheredObject {
                    blobs,
                    fields: gathered.into_fields(),
                },
            )
        });
        Ok(done.collect())
    }

    /// Adds the members of an object; of those at the top, lists of objects too.
    fn object<'c>(
        &mut self,
        gathered: &mut Gathered<'c>,
        object: JsonValue<'c>,
        is_top: bool,
    ) -> Result<(), ShapeError> {
        let mut result = Ok(());
        // A damaged line has no more members.
        let _ = object.each_member(|key, value| {
            if result.is_ok() {
                result = self.member(
                    gathered,
                    (key.raw(), || key.decode().into_owned()),
                    value,
                    is_top,
                );
            }
        });
        result
    }

    fn member<'c>(
        &mut self,
        gathered: &mut Gathered<'c>,
        (key, decoded): (&'c [u8], impl FnOnce() -> String),
        value: JsonValue<'c>,
        is_top: bool,
    ) -> Result<(), ShapeError> {
        let field = if let Some(field) = gathered.by_key.get(key) {
            *field
        } else {
            self.keys += 1;
            self.name_bytes += key.len();
            if self.keys > MAX_KEYS {
                return Err(ShapeError::Keys);
            }
            if self.name_bytes > MAX_NAME_BYTES {
                return Err(ShapeError::NameBytes);
            }
            gathered.add(key, &decoded(), value, is_top)
        };
        if is_top && kind_of(value.raw()) == Kind::List {
            self.elements(gathered, field, value)?;
        }
        Ok(())
    }

    /// Adds the objects among the first elements of a list, if one of them has a key.
    fn elements<'c>(
        &mut self,
        gathered: &mut Gathered<'c>,
        field: usize,
        list: JsonValue<'c>,
    ) -> Result<(), ShapeError> {
        let elements = first_elements(list);
        let mut objects = elements
            .iter()
            .filter(|element| kind_of(element.raw()) == Kind::Object);
        if objects.clone().all(|object| object.raw() == b"{}") {
            return Ok(());
        }
        let nested = gathered.nested.entry(field).or_default();
        objects.try_for_each(|object| self.object(nested, *object, false))
    }
}

impl<'c> Gathered<'c> {
    /// Adds a key that was not seen before, and returns the index of its field.
    fn add(&mut self, key: &'c [u8], decoded: &str, value: JsonValue<'c>, is_top: bool) -> usize {
        let name = names::field_name(decoded);
        let field = *self.by_name.entry(name).or_insert_with_key(|name| {
            let first = if is_top {
                First::of(value)
            } else {
                First::of_nested(value)
            };
            self.fields.push(GatheredField {
                name: name.clone(),
                first,
                keys: Vec::new(),
                nested: None,
            });
            self.fields.len() - 1
        });
        self.by_key.insert(key, field);
        self.fields[field].keys.push(key.into());
        field
    }

    fn into_fields(mut self) -> Vec<GatheredField> {
        for (field, nested) in std::mem::take(&mut self.nested) {
            self.fields[field].nested = Some(nested.into_fields());
        }
        self.fields
    }
}

impl First {
    /// The type that a value of a blob gives to its field, lists of objects apart.
    fn of(value: JsonValue<'_>) -> Self {
        match kind_of(value.raw()) {
            Kind::List => Self::List(element_type(&first_elements(value))),
            _ => Self::Scalar(scalar(value.raw())),
        }
    }

    /// The type that a value of an object in a list gives to its field.
    fn of_nested(value: JsonValue<'_>) -> Self {
        match kind_of(value.raw()) {
            Kind::List => Self::List(
                first_elements(value)
                    .first()
                    .map_or(Scalar::String, |first| scalar(first.raw())),
            ),
            _ => Self::Scalar(scalar(value.raw())),
        }
    }

    pub(super) fn kind(self) -> FieldKind {
        match self {
            Self::Scalar(scalar) => FieldKind::Scalar(scalar),
            Self::List(scalar) => FieldKind::List(scalar),
        }
    }
}

/// The type of the elements of a list of scalars, by its first elements.
fn element_type(elements: &[JsonValue<'_>]) -> Scalar {
    let mut kinds = elements
        .iter()
        .map(|element| (kind_of(element.raw()), element))
        .filter(|(kind, _)| *kind != Kind::Null);
    let Some((first, element)) = kinds.clone().next() else {
        return Scalar::String;
    };
    let has_objects = kinds.clone().any(|(kind, _)| kind == Kind::Object);
    if !has_objects && kinds.any(|(kind, _)| kind != first) {
        return Scalar::String;
    }
    scalar(element.raw())
}

fn first_elements(list: JsonValue<'_>) -> Vec<JsonValue<'_>> {
    let mut elements = Vec::with_capacity(TYPED_ELEMENTS);
    // Of a damaged list, what comes before the damage.
    let _ = list.each_element(|element| {
        if elements.len() < TYPED_ELEMENTS {
            elements.push(element);
        }
    });
    elements
}

/// The scalar type of a value by itself; what is no scalar is text.
fn scalar(raw: &[u8]) -> Scalar {
    match kind_of(raw) {
        Kind::Boolean => Scalar::Boolean,
        Kind::Number if is_integral(raw) => Scalar::Int,
        Kind::Number => Scalar::Float,
        Kind::Null | Kind::String | Kind::List | Kind::Object => Scalar::String,
    }
}

/// Whether a number is integral and fits 64 bits once it is read as a double.
fn is_integral(raw: &[u8]) -> bool {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let number = std::str::from_utf8(raw)
        .ok()
        .and_then(|text| text.parse::<f64>().ok());
    number.is_some_and(|number| number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number))
}

/// The JSON type of a value in a canonical line.
pub(crate) fn kind_of(raw: &[u8]) -> Kind {
    match raw.first() {
        Some(b'"') => Kind::String,
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::List,
        Some(b't' | b'f') => Kind::Boolean,
        Some(b'-' | b'0'..=b'9') => Kind::Number,
        _ => Kind::Null,
    }
}
