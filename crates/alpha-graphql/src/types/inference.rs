//! Inference of fields and their types from the keys and first values of the blobs of each schema.

use std::collections::{BTreeMap, HashMap};

use fbc::Catalog;
use fbc::work::{Step, Work};
use fbc_read::json::{JsonText, JsonValue};

use super::{FieldKind, InferenceError, MAX_KEYS, MAX_NAME_BYTES, MAX_SCHEMAS, names};

/// Number of elements of a list from which its type is inferred, as upstream.
const TYPED_ELEMENTS: usize = 10;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarType {
    String,
    Int,
    Float,
    Boolean,
}

/// The JSON type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonType {
    Null,
    Boolean,
    Number,
    String,
    List,
    Object,
}

/// Type of a field by its first value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstType {
    Scalar(ScalarType),
    List(ScalarType),
}

/// Blobs and fields of a schema.
#[derive(Debug, Default)]
pub(super) struct InferredObject {
    pub(super) blobs: Vec<u32>,
    pub(super) fields: Vec<InferredField>,
}

/// A field with the keys that are mapped to its name.
#[derive(Debug)]
pub(super) struct InferredField {
    pub(super) name: String,
    /// Type of the first value.
    pub(super) first: FirstType,
    /// JSON texts of its keys.
    pub(super) keys: Vec<Box<[u8]>>,
    /// Fields of the objects in its lists; `None` without such objects.
    pub(super) nested: Option<Vec<InferredField>>,
}

impl InferredField {
    /// Returns whether the field, or a field of its objects, has the type `Float` or a list of it.
    pub(super) fn has_floats(&self) -> bool {
        match &self.nested {
            Some(nested) => nested.iter().any(Self::has_floats),
            None => matches!(
                self.first,
                FirstType::Scalar(ScalarType::Float) | FirstType::List(ScalarType::Float)
            ),
        }
    }
}

/// Counts of one pass over a catalog.
#[derive(Default)]
pub(super) struct SchemaInference {
    keys: usize,
    name_bytes: usize,
}

/// Fields of an object type while they are being inferred.
#[derive(Default)]
struct ObjectInference<'c> {
    fields: Vec<InferredField>,
    /// Indices of fields by the JSON texts of their keys.
    by_key: HashMap<&'c [u8], usize>,
    by_name: HashMap<String, usize>,
    /// Fields of the objects in lists, by the index of the list's field.
    nested: HashMap<usize, ObjectInference<'c>>,
}

impl SchemaInference {
    /// Infers the schemas of a catalog, by name.
    pub(super) fn infer(
        catalog: &Catalog,
        work: &Work<'_>,
    ) -> Result<BTreeMap<String, InferredObject>, InferenceError> {
        let mut inference = Self::default();
        if catalog.schemas().len() > MAX_SCHEMAS {
            return Err(InferenceError::Schemas);
        }
        let mut schemas: HashMap<&str, (Vec<u32>, ObjectInference<'_>)> = HashMap::new();
        for at in 0..catalog.meta_count() {
            let meta = catalog.meta_at(at);
            if meta.schema().is_empty() {
                continue;
            }
            let blob = meta.blob();
            work.draw(Step::JsonByte, blob.raw().len())?;
            let (blobs, inferred) = schemas.entry(meta.schema()).or_default();
            blobs.push(u32::try_from(at).unwrap_or(u32::MAX));
            inference.object(inferred, blob, true)?;
        }
        inference.name_bytes += schemas.keys().map(|schema| schema.len()).sum::<usize>();
        if inference.name_bytes > MAX_NAME_BYTES {
            return Err(InferenceError::NameBytes);
        }
        let done = schemas.into_iter().map(|(schema, (blobs, inferred))| {
            (
                schema.to_owned(),
                InferredObject {
                    blobs,
                    fields: inferred.into_fields(),
                },
            )
        });
        Ok(done.collect())
    }

    /// Adds the members of an object, and of a blob (`is_top`) also the objects in its lists.
    fn object<'c>(
        &mut self,
        inferred: &mut ObjectInference<'c>,
        object: JsonValue<'c>,
        is_top: bool,
    ) -> Result<(), InferenceError> {
        let mut result = Ok(());
        // A damaged line has no more members.
        let _ = object.each_member(|key, value| {
            if result.is_ok() {
                result = self.member(inferred, key, value, is_top);
            }
        });
        result
    }

    fn member<'c>(
        &mut self,
        inferred: &mut ObjectInference<'c>,
        key: JsonText<'c>,
        value: JsonValue<'c>,
        is_top: bool,
    ) -> Result<(), InferenceError> {
        let field = if let Some(field) = inferred.by_key.get(key.raw()) {
            *field
        } else {
            self.keys += 1;
            self.name_bytes += key.raw().len();
            if self.keys > MAX_KEYS {
                return Err(InferenceError::Keys);
            }
            if self.name_bytes > MAX_NAME_BYTES {
                return Err(InferenceError::NameBytes);
            }
            inferred.add(key, value, is_top)
        };
        if is_top && kind_of(value.raw()) == JsonType::List {
            self.elements(inferred, field, value)?;
        }
        Ok(())
    }

    /// Adds the objects among the first elements of a list, if one of them has a key.
    fn elements<'c>(
        &mut self,
        inferred: &mut ObjectInference<'c>,
        field: usize,
        list: JsonValue<'c>,
    ) -> Result<(), InferenceError> {
        let elements = first_elements(list);
        let mut objects = elements
            .iter()
            .filter(|element| kind_of(element.raw()) == JsonType::Object);
        if objects.clone().all(|object| object.raw() == b"{}") {
            return Ok(());
        }
        let nested = inferred.nested.entry(field).or_default();
        objects.try_for_each(|object| self.object(nested, *object, false))
    }
}

impl<'c> ObjectInference<'c> {
    /// Adds a key that was not seen before, and returns the index of its field.
    fn add(&mut self, key: JsonText<'c>, value: JsonValue<'c>, is_top: bool) -> usize {
        let name = names::field_name(&key.decode());
        let field = *self.by_name.entry(name).or_insert_with_key(|name| {
            let first = if is_top {
                FirstType::from_value(value)
            } else {
                FirstType::from_nested_value(value)
            };
            self.fields.push(InferredField {
                name: name.clone(),
                first,
                keys: Vec::new(),
                nested: None,
            });
            self.fields.len() - 1
        });
        self.by_key.insert(key.raw(), field);
        self.fields[field].keys.push(key.raw().into());
        field
    }

    fn into_fields(mut self) -> Vec<InferredField> {
        for (field, nested) in std::mem::take(&mut self.nested) {
            self.fields[field].nested = Some(nested.into_fields());
        }
        self.fields
    }
}

impl FirstType {
    /// Returns the type of a field by its value in a blob, lists of objects apart.
    fn from_value(value: JsonValue<'_>) -> Self {
        match kind_of(value.raw()) {
            JsonType::List => Self::List(element_type(&first_elements(value))),
            _ => Self::Scalar(scalar(value.raw())),
        }
    }

    /// Returns the type of a field by its value in an object of a list. Upstream looks only at the
    /// first element of a nested list.
    fn from_nested_value(value: JsonValue<'_>) -> Self {
        match kind_of(value.raw()) {
            JsonType::List => Self::List(
                first_elements(value)
                    .first()
                    .map_or(ScalarType::String, |first| scalar(first.raw())),
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

/// Returns the type of a list's elements by its first elements.
fn element_type(elements: &[JsonValue<'_>]) -> ScalarType {
    let mut kinds = elements
        .iter()
        .map(|element| (kind_of(element.raw()), element))
        .filter(|(kind, _)| *kind != JsonType::Null);
    let Some((first, element)) = kinds.clone().next() else {
        return ScalarType::String;
    };
    let has_objects = kinds.clone().any(|(kind, _)| kind == JsonType::Object);
    if !has_objects && kinds.any(|(kind, _)| kind != first) {
        return ScalarType::String;
    }
    scalar(element.raw())
}

fn first_elements(list: JsonValue<'_>) -> Vec<JsonValue<'_>> {
    let mut elements = Vec::with_capacity(TYPED_ELEMENTS);
    // A damaged list keeps the elements before the damage.
    let _ = list.each_element(|element| {
        if elements.len() < TYPED_ELEMENTS {
            elements.push(element);
        }
    });
    elements
}

/// Returns the scalar type of a value; `String` for one that is no scalar.
fn scalar(raw: &[u8]) -> ScalarType {
    match kind_of(raw) {
        JsonType::Boolean => ScalarType::Boolean,
        JsonType::Number if is_integral(raw) => ScalarType::Int,
        JsonType::Number => ScalarType::Float,
        JsonType::Null | JsonType::String | JsonType::List | JsonType::Object => ScalarType::String,
    }
}

/// Returns whether a number, as a double, is integral and fits 64 bits: Go's decoder reads doubles.
fn is_integral(raw: &[u8]) -> bool {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let number = std::str::from_utf8(raw)
        .ok()
        .and_then(|text| text.parse::<f64>().ok());
    number.is_some_and(|number| number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number))
}

/// Returns the JSON type of a value in a canonical line.
pub(crate) fn kind_of(raw: &[u8]) -> JsonType {
    match raw.first() {
        Some(b'"') => JsonType::String,
        Some(b'{') => JsonType::Object,
        Some(b'[') => JsonType::List,
        Some(b't' | b'f') => JsonType::Boolean,
        Some(b'-' | b'0'..=b'9') => JsonType::Number,
        _ => JsonType::Null,
    }
}
