//! Properties as upstream decodes them.

use std::borrow::Cow;

use fbc::GroupVersionKind;
use serde_json::Value;

/// Group, version and kind of a Kubernetes API.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Gvk<'a> {
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
}

/// A property with its value as JSON text.
#[derive(Clone, Debug)]
pub(crate) struct RawProperty<'a> {
    pub(crate) type_name: Cow<'a, str>,
    pub(crate) value: Cow<'a, [u8]>,
}

impl<'a> From<GroupVersionKind<'a>> for Gvk<'a> {
    fn from(
        GroupVersionKind {
            group,
            version,
            kind,
        }: GroupVersionKind<'a>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }
}

/// Fields of a Go struct that a property's value is decoded into: names, for its error messages, and
/// JSON keys.
pub(crate) type Fields<const N: usize> = [(&'static str, &'static str); N];

const GVK: Fields<3> = [("Group", "group"), ("Version", "version"), ("Kind", "kind")];
pub(crate) const PACKAGE: Fields<2> = [
    ("PackageName", "packageName"),
    ("VersionRange", "versionRange"),
];
pub(crate) const LABEL: Fields<1> = [("Label", "label")];

/// Decodes the value of an `olm.gvk` or `olm.gvk.required`.
pub(crate) fn read_gvk(value: &Value) -> Result<Gvk<'static>, String> {
    let [group, version, kind] = read_fields(value, GVK)?;
    Ok(Gvk {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
    })
}

/// Decodes the value of an `olm.label`.
pub(crate) fn read_label(value: &Value) -> Result<String, String> {
    read_fields(value, LABEL).map(|[label]| label)
}

/// Decodes strings of an object like Go's `encoding/json`: names match in any case, unknown fields
/// are ignored, missing ones are empty.
///
/// # Errors
/// Go's message, if a value has another type.
pub(crate) fn read_fields<const N: usize>(
    value: &Value,
    names: Fields<N>,
) -> Result<[String; N], String> {
    let mut texts = [const { String::new() }; N];
    let object = match value {
        Value::Null => return Ok(texts),
        Value::Object(object) => object,
        other => {
            let fields = names
                .map(|(name, key)| format!("{name} string \"json:\\\"{key}\\\"\""))
                .join("; ");
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type struct {{ {fields} }}",
                json_type(other)
            ));
        }
    };
    for (key, value) in object {
        let Some(at) = names
            .iter()
            .position(|(_, name)| name.eq_ignore_ascii_case(key))
        else {
            continue;
        };
        match value {
            Value::Null => {}
            Value::String(text) => texts[at].clone_from(text),
            other => {
                let json_type = json_type(other);
                let key = names[at].1;
                return Err(format!(
                    "json: cannot unmarshal {json_type} into Go struct field .{key} of type string"
                ));
            }
        }
    }
    Ok(texts)
}

/// Returns Go's name for the type of a JSON value.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
