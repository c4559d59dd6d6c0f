//! The `ClusterServiceVersion` that `opm serve` makes from an `olm.csv.metadata`, byte for byte:
//! the fields of Go's structs in their order. Clients read its description, and the APIs that it
//! owns and requires; it cannot be installed.

use std::ops::Range;

use fbc::go_types::{
    API_SERVICES, CRDS, GoField, GoType, INSTALL_MODES, LINK, LINKS, MAINTAINERS, NATIVE_APIS,
    STRING, STRING_MAP, STRINGS,
};
use fbc::{Bundle, Package};
use fbc_read::json::encode::{write_html_escaped, write_text};
use fbc_read::json::{JsonValue, WrongType};

/// Type of the properties with inline manifests.
pub(crate) const OBJECT: &str = "olm.bundle.object";

/// Type of the property with the display fields of a `ClusterServiceVersion`.
pub(crate) const METADATA: &str = "olm.csv.metadata";

/// Maximum number of fields of an object that is read.
const MAX_FIELDS: usize = FIELDS.len();

/// Returns a field that is written also where it is empty or missing: no `omitempty` in Go.
const fn always(name: &'static str, go_type: GoType) -> GoField {
    GoField {
        name,
        go_type,
        omits_empty: false,
    }
}

const fn unless_empty(name: &'static str, go_type: GoType) -> GoField {
    GoField {
        name,
        go_type,
        omits_empty: true,
    }
}

/// Fields of an `olm.csv.metadata` in the order in which they are written.
const FIELDS: [GoField; 14] = [
    unless_empty("labels", STRING_MAP),
    unless_empty("annotations", STRING_MAP),
    unless_empty("maturity", STRING),
    always("crdDescriptions", CRDS),
    always("apiServiceDefinitions", API_SERVICES),
    unless_empty("nativeAPIs", NATIVE_APIS),
    unless_empty("minKubeVersion", STRING),
    always("displayName", STRING),
    unless_empty("description", STRING),
    unless_empty("keywords", STRINGS),
    unless_empty("maintainers", MAINTAINERS),
    always("provider", LINK),
    unless_empty("links", LINKS),
    unless_empty("installModes", INSTALL_MODES),
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
    write_html_escaped_text(bundle.name(), out);
    write_part(METADATA_FIELDS, out)?;
    out.extend_from_slice(
        br#"},"spec":{"install":{"strategy":"deployment","spec":{"deployments":null}},"version":"#,
    );
    write_html_escaped_text(bundle.version().unwrap_or_default(), out);
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
        write_html_escaped(out, related.name.raw());
        out.extend_from_slice(br#","image":"#);
        write_html_escaped(out, related.image.raw());
        out.extend_from_slice(if at + 1 == images.len() { b"}]" } else { b"}" });
    }
}

/// Writes the icon of the package, if it has one.
/// Writes a text as Go's encoder writes it by default.
fn write_html_escaped_text(text: &str, out: &mut Vec<u8>) {
    let mut json = Vec::with_capacity(text.len() + 2);
    write_text(&mut json, text);
    write_html_escaped(out, &json);
}

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
    write_html_escaped_text(&data.unwrap_or_default(), out);
    write_field(&always("mediatype", STRING), media_type, out)?;
    out.extend_from_slice(b"}]");
    Ok(())
}

/// Reads the values of fields in one pass, in the order of the fields.
fn read_fields<'t>(
    object: JsonValue<'t>,
    fields: &[GoField],
) -> Result<[Option<JsonValue<'t>>; MAX_FIELDS], WrongType> {
    let mut names = [""; MAX_FIELDS];
    let mut values = [None; MAX_FIELDS];
    names
        .iter_mut()
        .zip(fields)
        .for_each(|(name, field)| *name = field.name);
    object.each_field(&names[..fields.len()], |at, value| {
        let counts = value.raw() != b"null" || matches!(fields[at].go_type, GoType::Any);
        values[at] = if counts { Some(value) } else { values[at] };
    })?;
    Ok(values)
}

/// Writes fields of an object, each behind a comma unless the object has just begun.
fn write_fields(
    fields: &[GoField],
    values: &[Option<JsonValue<'_>>],
    out: &mut Vec<u8>,
) -> Result<(), WrongType> {
    fields
        .iter()
        .zip(values)
        .try_for_each(|(field, value)| write_field(field, *value, out))
}

/// Writes a field, unless it is empty and may be omitted then.
fn write_field(
    field: &GoField,
    value: Option<JsonValue<'_>>,
    out: &mut Vec<u8>,
) -> Result<(), WrongType> {
    // Metadata names these two otherwise than a `ClusterServiceVersion`.
    let key = match field.name {
        "crdDescriptions" => "customresourcedefinitions",
        "apiServiceDefinitions" => "apiservicedefinitions",
        name => name,
    };
    let start = out.len();
    let nothing = JsonValue::new(b"null");
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(&[b"\"", key.as_bytes(), b"\":"].concat());
    let is_empty = write_value(field.go_type, value.unwrap_or(nothing), out)? || value.is_none();
    if is_empty && field.omits_empty {
        out.truncate(start);
    }
    Ok(())
}

/// Writes a value, and returns whether it is empty.
fn write_value(
    go_type: GoType,
    value: JsonValue<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, WrongType> {
    let is_empty = match go_type {
        // Base64 is written as the text that it is.
        GoType::String(_) | GoType::InstallMode | GoType::Bytes => {
            let text = value.text()?;
            write_html_escaped(out, text.raw());
            text.is_empty()
        }
        GoType::Bool => {
            out.extend_from_slice(if value.boolean()? { b"true" } else { b"false" });
            false
        }
        GoType::Integer(_) => {
            write_html_escaped(out, value.raw());
            value.raw() == b"0"
        }
        GoType::Any => {
            write_html_escaped(out, value.raw());
            false
        }
        GoType::Map(element, _) => {
            let members = value.members()?;
            let members = members.iter().map(|(key, value)| (Some(key.raw()), *value));
            write_all(*b"{}", members, out, |value, out| {
                write_value(*element, value, out).map(drop)
            })?
        }
        GoType::Struct(go_struct) => {
            write_object(value, go_struct.fields, out)?;
            false
        }
        GoType::List(element, _) => {
            let elements = value.elements()?.into_iter().map(|value| (None, value));
            write_all(*b"[]", elements, out, |value, out| {
                write_value(*element, value, out).map(drop)
            })?
        }
    };
    Ok(is_empty)
}

fn write_object(
    value: JsonValue<'_>,
    fields: &[GoField],
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
            write_html_escaped(out, key);
            out.push(b':');
        }
        write(value, out)?;
    }
    out.push(close);
    Ok(is_empty)
}
