//! Writes blobs to files as `opm` does: JSON with four spaces and fields in the order of their
//! schema, YAML with sorted keys.

mod line;
mod yaml;

use crate::value::{Members, Value, write_text};

pub use line::Line;

/// Format of a file of blobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// JSON objects one after the other.
    #[default]
    Json,
    /// YAML documents.
    Yaml,
}

impl Format {
    /// Appends a blob as `opm render` writes it: JSON ends with a line feed, a YAML document begins
    /// with `---`.
    pub fn write(self, blob: &Value, out: &mut String) {
        match self {
            Self::Json => {
                write_json(blob, shape_of(blob.str("schema")), 0, out);
                out.push('\n');
            }
            Self::Yaml => {
                out.push_str("---\n");
                yaml::write(blob, out);
            }
        }
    }

    /// Returns the extension of files of this format.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
        }
    }
}

/// The order in which an object's fields are written; fields that are not listed follow, sorted.
struct Shape(&'static [(&'static str, &'static Shape)]);

static SORTED: Shape = Shape(&[]);
static PACKAGE: Shape = Shape(&[
    ("schema", &SORTED),
    ("name", &SORTED),
    ("defaultChannel", &SORTED),
    ("icon", &SORTED),
    ("description", &SORTED),
    ("properties", &PROPERTY),
]);
static CHANNEL: Shape = Shape(&[
    ("schema", &SORTED),
    ("name", &SORTED),
    ("package", &SORTED),
    ("entries", &ENTRY),
    ("properties", &PROPERTY),
]);
static ENTRY: Shape = Shape(&[
    ("name", &SORTED),
    ("replaces", &SORTED),
    ("skips", &SORTED),
    ("skipRange", &SORTED),
]);
static BUNDLE: Shape = Shape(&[
    ("schema", &SORTED),
    ("name", &SORTED),
    ("package", &SORTED),
    ("image", &SORTED),
    ("properties", &PROPERTY),
    ("relatedImages", &RELATED_IMAGE),
]);
static PROPERTY: Shape = Shape(&[("type", &SORTED), ("value", &SORTED)]);
static RELATED_IMAGE: Shape = Shape(&[("name", &SORTED), ("image", &SORTED)]);
static DEPRECATIONS: Shape = Shape(&[
    ("schema", &SORTED),
    ("package", &SORTED),
    ("name", &SORTED),
    ("entries", &DEPRECATION),
]);
static DEPRECATION: Shape = Shape(&[("reference", &REFERENCE), ("message", &SORTED)]);
static REFERENCE: Shape = Shape(&[("schema", &SORTED), ("name", &SORTED)]);

fn shape_of(schema: &str) -> &'static Shape {
    match schema {
        "olm.package" => &PACKAGE,
        "olm.channel" => &CHANNEL,
        "olm.bundle" => &BUNDLE,
        "olm.deprecations" => &DEPRECATIONS,
        _ => &SORTED,
    }
}

/// Gives the keys of known fields their usual case.
pub(crate) fn with_usual_keys(blob: &Value) -> Value {
    let schema = blob.as_object().and_then(|members| {
        let (_, schema) = members
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case("schema"))?;
        schema.as_str()
    });
    with_keys_of(blob, shape_of(schema.unwrap_or_default()))
}

fn with_keys_of(value: &Value, shape: &Shape) -> Value {
    match value {
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| with_keys_of(item, shape)).collect())
        }
        Value::Object(members) => {
            let usual = |key: &String, value: &Value| {
                let known = shape
                    .0
                    .iter()
                    .find(|(known, _)| known.eq_ignore_ascii_case(key));
                known.map_or_else(
                    || (key.clone(), value.clone()),
                    |(known, shape)| ((*known).to_owned(), with_keys_of(value, shape)),
                )
            };
            Value::Object(
                members
                    .iter()
                    .map(|(key, value)| usual(key, value))
                    .collect(),
            )
        }
        plain => plain.clone(),
    }
}

fn write_json(value: &Value, shape: &Shape, depth: usize, out: &mut String) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                begin_line(at, depth + 1, out);
                write_json(item, shape, depth + 1, out);
            }
            end_line(depth, out);
            out.push(']');
        }
        Value::Object(members) if !members.is_empty() => {
            out.push('{');
            for (at, (key, value, shape)) in in_order(members, shape).enumerate() {
                begin_line(at, depth + 1, out);
                write_text(out, key);
                out.push_str(": ");
                write_json(value, shape, depth + 1, out);
            }
            end_line(depth, out);
            out.push('}');
        }
        plain => plain.write(out),
    }
}

/// Appends a blob as JSON without white space, its fields in the order in which `opm` writes them.
pub(crate) fn write_compact(blob: &Value, out: &mut String) {
    write_compact_json(blob, shape_of(blob.str("schema")), out);
}

fn write_compact_json(value: &Value, shape: &Shape, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_compact_json(item, shape, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (key, value, shape)) in in_order(members, shape).enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_text(out, key);
                out.push(':');
                write_compact_json(value, shape, out);
            }
            out.push('}');
        }
        plain => plain.write(out),
    }
}

fn in_order<'v>(
    members: &'v Members,
    shape: &Shape,
) -> impl Iterator<Item = (&'v String, &'v Value, &'static Shape)> {
    let listed = shape.0.iter().filter_map(|(key, shape)| {
        let (key, value) = members.get_key_value(*key)?;
        Some((key, value, *shape))
    });
    let is_listed = |key: &str| shape.0.iter().any(|(listed, _)| *listed == key);
    let others = members
        .iter()
        .filter(move |(key, _)| !is_listed(key))
        .map(|(key, value)| (key, value, &SORTED));
    listed.chain(others)
}

fn begin_line(at: usize, depth: usize, out: &mut String) {
    out.push_str(if at == 0 { "\n" } else { ",\n" });
    out.extend(std::iter::repeat_n("    ", depth));
}

fn end_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("    ", depth));
}
