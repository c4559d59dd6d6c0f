//! The `ClusterServiceVersion` that `opm serve` makes from an `olm.csv.metadata`, byte for byte:
//! the fields of Go's structs in their order. Clients read its description, and the APIs that it
//! owns and requires; it cannot be installed.

use std::ops::Range;

use fbc::{Bundle, Package};
use fbc_read::json::{JsonValue, WrongType};

use crate::json::{push_escaped, quoted};

/// Type of the properties with inline manifests.
pub(crate) const OBJECT: &str = "olm.bundle.object";

/// Type of the property with the display fields of a `ClusterServiceVersion`.
pub(crate) const METADATA: &str = "olm.csv.metadata";

/// Maximum number of fields of an object that is read.
const MAX_FIELDS: usize = FIELDS.len();

/// Type of a field.
enum FieldType {
    Text,
    Flag,
    Number,
    /// Any JSON, `null` too.
    Any,
    /// Texts by key.
    Map,
    Texts,
    Object(&'static [CsvField]),
    List(&'static [CsvField]),
}

/// A field of a Go struct.
struct CsvField {
    key: &'static str,
    field_type: FieldType,
    /// True if the field is written also where it is empty or missing: no `omitempty` in Go.
    is_always: bool,
}

const fn always(key: &'static str, field_type: FieldType) -> CsvField {
    CsvField {
        key,
        field_type,
        is_always: true,
    }
}

const fn unless_empty(key: &'static str, field_type: FieldType) -> CsvField {
    CsvField {
        key,
        field_type,
        is_always: false,
    }
}

use FieldType::{Any, Flag, List, Map, Number, Object, Text, Texts};

const DESCRIPTOR: &[CsvField] = &[
    always("path", Text),
    unless_empty("displayName", Text),
    unless_empty("description", Text),
    unless_empty("x-descriptors", Texts),
    unless_empty("value", Any),
];
const RESOURCE: &[CsvField] = &[
    always("name", Text),
    always("kind", Text),
    always("version", Text),
];
const CRD: &[CsvField] = &[
    always("name", Text),
    always("version", Text),
    always("kind", Text),
    unless_empty("displayName", Text),
    unless_empty("description", Text),
    unless_empty("resources", List(RESOURCE)),
    unless_empty("statusDescriptors", List(DESCRIPTOR)),
    unless_empty("specDescriptors", List(DESCRIPTOR)),
    unless_empty("actionDescriptors", List(DESCRIPTOR)),
];
const API_SERVICE: &[CsvField] = &[
    always("name", Text),
    always("group", Text),
    always("version", Text),
    always("kind", Text),
    unless_empty("deploymentName", Text),
    unless_empty("containerPort", Number),
    unless_empty("displayName", Text),
    unless_empty("description", Text),
    unless_empty("resources", List(RESOURCE)),
    unless_empty("statusDescriptors", List(DESCRIPTOR)),
    unless_empty("specDescriptors", List(DESCRIPTOR)),
    unless_empty("actionDescriptors", List(DESCRIPTOR)),
];
const CRDS: &[CsvField] = &[
    unless_empty("owned", List(CRD)),
    unless_empty("required", List(CRD)),
];
const API_SERVICES: &[CsvField] = &[
    unless_empty("owned", List(API_SERVICE)),
    unless_empty("required", List(API_SERVICE)),
];
const API: &[CsvField] = &[
    always("group", Text),
    always("version", Text),
    always("kind", Text),
];
const LINK: &[CsvField] = &[unless_empty("name", Text), unless_empty("url", Text)];
const MAINTAINER: &[CsvField] = &[unless_empty("name", Text), unless_empty("email", Text)];
const INSTALL_MODE: &[CsvField] = &[always("type", Text), always("supported", Flag)];

/// Fields of an `olm.csv.metadata` in the order in which they are written.
const FIELDS: [CsvField; 14] = [
    unless_empty("labels", Map),
    unless_empty("annotations", Map),
    unless_empty("maturity", Text),
    always("crdDescriptions", Object(CRDS)),
    always("apiServiceDefinitions", Object(API_SERVICES)),
    unless_empty("nativeAPIs", List(API)),
    unless_empty("minKubeVersion", Text),
    always("displayName", Text),
    unless_empty("description", Text),
    unless_empty("keywords", Texts),
    unless_empty("maintainers", List(MAINTAINER)),
    always("provider", Object(LINK)),
    unless_empty("links", List(LINK)),
    unless_empty("installModes", List(INSTALL_MODE)),
];

/// Indices of the fields of `metadata`.
const METADATA_FIELDS: Range<usize> = 0..2;

/// Index of the description.
const DESCRIPTION: usize = 8;

/// Indices of the fields of `spec` before the icon, and after it.
const SPEC_FIELDS: [Range<usize>; 2] = [2..13, 13..14];

/// Makes the `ClusterServiceVersion` of a bundle from its `olm.csv.metadata`, if it has one.
pub(crate) fn from_metadata(bundle: Bundle<'_>) -> Option<Vec<u8>> {
    let metadata = bundle
        .properties()
        .find(|property| property.type_name() == METADATA)?
        .value()?;
    let mut out = Vec::new();
    write(bundle, metadata, &mut out).ok().map(|()| out)
}

fn write(bundle: Bundle<'_>, metadata: JsonValue<'_>, out: &mut Vec<u8>) -> Result<(), WrongType> {
    let mut values = read_fields(metadata, &FIELDS)?;
    let description = values[DESCRIPTION]
        .map(JsonValue::text)
        .transpose()?
        .filter(|text| !text.is_empty());
    let description = description.or_else(|| bundle.package().description());
    values[DESCRIPTION] = description.map(|text| JsonValue::new(text.raw()));
    let write_part = |part: Range<usize>, out: &mut Vec<u8>| {
        write_fields(&FIELDS[part.clone()], &values[part], out)
    };
    let [before_icon, after_icon] = SPEC_FIELDS;

    let head = r#"{"kind":"ClusterServiceVersion","apiVersion":"operators.coreos.com/v1alpha1","metadata":{"name":"#;
    out.extend_from_slice(head.as_bytes());
    push_escaped(&quoted(bundle.name()), out);
    write_part(METADATA_FIELDS, out)?;
    out.extend_from_slice(
        br#"},"spec":{"install":{"strategy":"deployment","spec":{"deployments":null}},"version":"#,
    );
    push_escaped(&quoted(bundle.version().unwrap_or_default()), out);
    write_part(before_icon, out)?;
    write_icon(bundle.package(), out)?;
    write_part(after_icon, out)?;
    out.extend_from_slice(br#","cleanup":{"enabled":false}"#);
    write_related_images(bundle, out);
    out.extend_from_slice(br#"},"status":{"cleanup":{}}}"#);
    Ok(())
}

fn write_related_images(bundle: Bundle<'_>, out: &mut Vec<u8>) {
    let images = bundle.related_images();
    for (at, related) in images.iter().enumerate() {
        out.extend_from_slice(if at == 0 {
            br#","relatedImages":[{"name":"#
        } else {
            br#",{"name":"#
        });
        push_escaped(related.name.raw(), out);
        out.extend_from_slice(br#","image":"#);
        push_escaped(related.image.raw(), out);
        out.extend_from_slice(if at + 1 == images.len() { b"}]" } else { b"}" });
    }
}

/// Writes the icon of the package, if it has one.
fn write_icon(package: Package<'_>, out: &mut Vec<u8>) -> Result<(), WrongType> {
    let [icon] = package.meta().blob().fields(["icon"])?;
    let Some(icon) = icon else { return Ok(()) };
    let [data, media_type] = icon.fields(["base64data", "mediatype"])?;
    // Go's decoder of base64 skips line breaks, and its encoder writes none.
    let data = data
        .map(JsonValue::text)
        .transpose()?
        .map(|text| text.decode().replace(['\r', '\n'], ""));
    out.extend_from_slice(br#","icon":[{"base64data":"#);
    push_escaped(&quoted(&data.unwrap_or_default()), out);
    write_field("mediatype", &Text, true, media_type, out)?;
    out.extend_from_slice(b"}]");
    Ok(())
}

/// Reads the values of fields in one pass, in the order of the fields.
fn read_fields<'t>(
    object: JsonValue<'t>,
    fields: &[CsvField],
) -> Result<[Option<JsonValue<'t>>; MAX_FIELDS], WrongType> {
    let mut names = [""; MAX_FIELDS];
    let mut values = [None; MAX_FIELDS];
    names
        .iter_mut()
        .zip(fields)
        .for_each(|(name, field)| *name = field.key);
    object.each_field(&names[..fields.len()], |at, value| {
        let counts = value.raw() != b"null" || matches!(fields[at].field_type, Any);
        values[at] = if counts { Some(value) } else { values[at] };
    })?;
    Ok(values)
}

/// Writes fields of an object, each behind a comma unless the object has just begun.
fn write_fields(
    fields: &[CsvField],
    values: &[Option<JsonValue<'_>>],
    out: &mut Vec<u8>,
) -> Result<(), WrongType> {
    fields.iter().zip(values).try_for_each(|(field, value)| {
        let key = match field.key {
            "crdDescriptions" => "customresourcedefinitions",
            "apiServiceDefinitions" => "apiservicedefinitions",
            key => key,
        };
        write_field(key, &field.field_type, field.is_always, *value, out)
    })
}

/// Writes a field, unless it is empty and may be omitted then.
fn write_field(
    key: &str,
    field_type: &FieldType,
    is_always: bool,
    value: Option<JsonValue<'_>>,
    out: &mut Vec<u8>,
) -> Result<(), WrongType> {
    let start = out.len();
    let nothing = JsonValue::new(b"null");
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(&[b"\"", key.as_bytes(), b"\":"].concat());
    let is_empty = write_value(field_type, value.unwrap_or(nothing), out)? || value.is_none();
    if is_empty && !is_always {
        out.truncate(start);
    }
    Ok(())
}

/// Writes a value, and returns whether it is empty.
fn write_value(
    field_type: &FieldType,
    value: JsonValue<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, WrongType> {
    let is_empty = match field_type {
        Text => {
            let text = value.text()?;
            push_escaped(text.raw(), out);
            text.is_empty()
        }
        Flag => {
            out.extend_from_slice(if value.boolean()? { b"true" } else { b"false" });
            false
        }
        Number | Any => {
            push_escaped(value.raw(), out);
            matches!(field_type, Number) && value.raw() == b"0"
        }
        Map => {
            let members = value.members()?;
            let texts = members.iter().map(|(key, value)| (Some(key.raw()), *value));
            write_all(*b"{}", texts, out, |value, out| {
                write_value(&Text, value, out).map(drop)
            })?
        }
        Texts => {
            let texts = value.elements()?.into_iter().map(|value| (None, value));
            write_all(*b"[]", texts, out, |value, out| {
                write_value(&Text, value, out).map(drop)
            })?
        }
        Object(fields) => {
            write_object(value, fields, out)?;
            false
        }
        List(fields) => {
            let objects = value.elements()?.into_iter().map(|value| (None, value));
            write_all(*b"[]", objects, out, |value, out| {
                write_object(value, fields, out)
            })?
        }
    };
    Ok(is_empty)
}

fn write_object(
    value: JsonValue<'_>,
    fields: &[CsvField],
    out: &mut Vec<u8>,
) -> Result<(), WrongType> {
    out.push(b'{');
    write_fields(fields, &read_fields(value, fields)?, out)?;
    out.push(b'}');
    Ok(())
}

/// Writes members or elements between brackets, and returns whether there are none.
fn write_all<'t>(
    [open, close]: [u8; 2],
    values: impl Iterator<Item = (Option<&'t [u8]>, JsonValue<'t>)>,
    out: &mut Vec<u8>,
    write: impl Fn(JsonValue<'t>, &mut Vec<u8>) -> Result<(), WrongType>,
) -> Result<bool, WrongType> {
    out.push(open);
    let mut is_empty = true;
    for (key, value) in values {
        if !is_empty {
            out.push(b',');
        }
        is_empty = false;
        if let Some(key) = key {
            push_escaped(key, out);
            out.push(b':');
        }
        write(value, out)?;
    }
    out.push(close);
    Ok(is_empty)
}
