//! Writes blobs to files as `opm` does: JSON with four spaces and fields in the order of their
//! schema, YAML with sorted keys.

mod yaml;

use crate::value::{BlobValue, Members, write_text};

/// Format of a file of blobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON objects one after the other.
    #[default]
    Json,
    /// YAML documents.
    Yaml,
}

impl FileFormat {
    /// Appends a blob as `opm render` writes it: JSON ends with a line feed, and a YAML document
    /// begins with `---`.
    pub fn write(self, blob: &BlobValue, out: &mut String) {
        match self {
            Self::Json => {
                write_json(blob, field_order(blob.str("schema")), 0, out);
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

/// Order in which the fields of an object are written, each with that of its value. Fields that are
/// not listed follow, sorted.
struct FieldOrder(&'static [(&'static str, &'static FieldOrder)]);

static SORTED: FieldOrder = FieldOrder(&[]);
// The order of the fields in operator-registry's structs, which Go's encoder keeps.
static PACKAGE: FieldOrder = FieldOrder(&[
    ("schema", &SORTED),
    ("name", &SORTED),
    ("defaultChannel", &SORTED),
    ("icon", &SORTED),
    ("description", &SORTED),
    ("properties", &PROPERTY),
]);
static CHANNEL: FieldOrder = FieldOrder(&[
    ("schema", &SORTED),
    ("name", &SORTED),
    ("package", &SORTED),
    ("entries", &ENTRY),
    ("properties", &PROPERTY),
]);
static ENTRY: FieldOrder = FieldOrder(&[
    ("name", &SORTED),
    ("replaces", &SORTED),
    ("skips", &SORTED),
    ("skipRange", &SORTED),
]);
static BUNDLE: FieldOrder = FieldOrder(&[
    ("schema", &SORTED),
    ("name", &SORTED),
    ("package", &SORTED),
    ("image", &SORTED),
    ("properties", &PROPERTY),
    ("relatedImages", &RELATED_IMAGE),
]);
static PROPERTY: FieldOrder = FieldOrder(&[("type", &SORTED), ("value", &SORTED)]);
static RELATED_IMAGE: FieldOrder = FieldOrder(&[("name", &SORTED), ("image", &SORTED)]);
static DEPRECATIONS: FieldOrder = FieldOrder(&[
    ("schema", &SORTED),
    ("package", &SORTED),
    ("name", &SORTED),
    ("entries", &DEPRECATION),
]);
static DEPRECATION: FieldOrder = FieldOrder(&[("reference", &REFERENCE), ("message", &SORTED)]);
static REFERENCE: FieldOrder = FieldOrder(&[("schema", &SORTED), ("name", &SORTED)]);

fn field_order(schema: &str) -> &'static FieldOrder {
    match schema {
        "olm.package" => &PACKAGE,
        "olm.channel" => &CHANNEL,
        "olm.bundle" => &BUNDLE,
        "olm.deprecations" => &DEPRECATIONS,
        _ => &SORTED,
    }
}

/// Gives the keys of known fields their usual case: Go reads keys in any case, and the operations
/// look for one.
pub(crate) fn with_usual_keys(blob: BlobValue) -> BlobValue {
    let order = field_order(schema_in_any_case(&blob));
    with_keys_of(blob, order)
}

fn schema_in_any_case(blob: &BlobValue) -> &str {
    let members = blob.as_object().into_iter().flatten();
    let mut schemas = members.filter(|(key, _)| key.eq_ignore_ascii_case("schema"));
    schemas
        .next()
        .and_then(|(_, schema)| schema.as_str())
        .unwrap_or_default()
}

fn with_keys_of(value: BlobValue, order: &FieldOrder) -> BlobValue {
    // Nothing below is known, so that nothing below is renamed.
    if order.0.is_empty() {
        return value;
    }
    match value {
        BlobValue::Array(items) => {
            let renamed = items.into_iter().map(|item| with_keys_of(item, order));
            BlobValue::Array(renamed.collect())
        }
        BlobValue::Object(members) => {
            let renamed = members.into_iter().map(|(key, value)| {
                let mut known = order.0.iter();
                match known.find(|(known, _)| known.eq_ignore_ascii_case(&key)) {
                    Some((known, order)) => ((*known).to_owned(), with_keys_of(value, order)),
                    None => (key, value),
                }
            });
            BlobValue::Object(renamed.collect())
        }
        plain => plain,
    }
}

fn write_json(value: &BlobValue, order: &FieldOrder, depth: usize, out: &mut String) {
    match value {
        BlobValue::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                begin_line(at, depth + 1, out);
                write_json(item, order, depth + 1, out);
            }
            end_line(depth, out);
            out.push(']');
        }
        BlobValue::Object(members) if !members.is_empty() => {
            out.push('{');
            for (at, (key, value, order)) in in_order(members, order).enumerate() {
                begin_line(at, depth + 1, out);
                write_text(out, key);
                out.push_str(": ");
                write_json(value, order, depth + 1, out);
            }
            end_line(depth, out);
            out.push('}');
        }
        plain => plain.write(out),
    }
}

/// Appends a blob as JSON without white space, its fields in the order in which `opm` writes them.
pub(crate) fn write_compact(blob: &BlobValue, out: &mut String) {
    write_compact_json(blob, field_order(blob.str("schema")), out);
}

fn write_compact_json(value: &BlobValue, order: &FieldOrder, out: &mut String) {
    match value {
        BlobValue::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_compact_json(item, order, out);
            }
            out.push(']');
        }
        BlobValue::Object(members) => {
            out.push('{');
            for (at, (key, value, order)) in in_order(members, order).enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_text(out, key);
                out.push(':');
                write_compact_json(value, order, out);
            }
            out.push('}');
        }
        plain => plain.write(out),
    }
}

fn in_order<'v>(
    members: &'v Members,
    order: &FieldOrder,
) -> impl Iterator<Item = (&'v String, &'v BlobValue, &'static FieldOrder)> {
    let listed = order.0.iter().filter_map(|(key, order)| {
        let (key, value) = members.get_key_value(*key)?;
        Some((key, value, *order))
    });
    let is_listed = |key: &str| order.0.iter().any(|(listed, _)| *listed == key);
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
