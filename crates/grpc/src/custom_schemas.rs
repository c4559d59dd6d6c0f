//! Blobs with custom schemas, as `google.protobuf.Struct`.

use std::collections::BTreeMap;

use fbc::Meta;
use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde_json::Value as Json;

/// Maximum nesting of objects and arrays in a blob that is shown. Clients in every language can
/// read so many.
pub const MAX_STRUCT_DEPTH: usize = 32;

/// Converts a blob; `None` if it is nested too deeply, or if a number does not fit a double.
pub(crate) fn to_struct(blob: Meta<'_>) -> Option<Struct> {
    let Json::Object(members) = serde_json::from_slice(blob.blob().raw()).ok()? else {
        return None;
    };
    Some(Struct {
        fields: to_fields(members, MAX_STRUCT_DEPTH)?,
    })
}

fn to_fields(
    members: serde_json::Map<String, Json>,
    depth: usize,
) -> Option<BTreeMap<String, Value>> {
    let depth = depth.checked_sub(1)?;
    members
        .into_iter()
        .map(|(key, value)| Some((key, to_value(value, depth)?)))
        .collect()
}

fn to_value(json: Json, depth: usize) -> Option<Value> {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(is_true) => Kind::BoolValue(is_true),
        // `google.protobuf.Value` has doubles only, as upstream.
        Json::Number(number) => Kind::NumberValue(number.as_f64()?),
        Json::String(text) => Kind::StringValue(text),
        Json::Array(elements) => {
            let depth = depth.checked_sub(1)?;
            let values = elements
                .into_iter()
                .map(|element| to_value(element, depth))
                .collect::<Option<_>>()?;
            Kind::ListValue(ListValue { values })
        }
        Json::Object(members) => Kind::StructValue(Struct {
            fields: to_fields(members, depth)?,
        }),
    };
    Some(Value { kind: Some(kind) })
}
