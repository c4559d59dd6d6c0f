//! The types of typed blobs and properties, as upstream's decoder demands them.
//!
//! Go's `encoding/json` ignores unknown fields, takes `null` for any type and stops at the first value of another
//! type. [`misfit`] finds that value and says so in Go's words, which name upstream's types. It builds nothing.

use std::fmt;

use super::metadata::InstallMode;
use crate::json::{Cursor, Fault, Kind, Text, Value, is_field};

/// The type that a value must have.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// Anything.
    Any,
    /// A string; the name of its Go type.
    Text(&'static str),
    Bool,
    /// A whole number; the name of its Go type.
    Whole(&'static str),
    /// A string that should be a known install mode.
    InstallMode,
    /// Base64 in the standard alphabet, or an array of bytes.
    Bytes,
    List(&'static Shape, &'static str),
    Map(&'static Shape, &'static str),
    Struct(&'static Struct),
}

/// A Go struct: its name, its name with the package, its fields by JSON name.
pub(crate) struct Struct {
    name: &'static str,
    qualified: &'static str,
    fields: &'static [(&'static str, Shape)],
}

const STRING: Shape = Shape::Text("string");
const STRINGS: Shape = Shape::List(&STRING, "[]string");

macro_rules! structs {
    ($($id:ident = $name:literal, $qualified:literal { $($field:literal: $shape:expr),* $(,)? })+) => {
        $(pub(crate) const $id: Shape = Shape::Struct(&Struct {
            name: $name, qualified: $qualified, fields: &[$(($field, $shape)),*],
        });)+
    };
}

structs! {
    PROPERTY = "Property", "property.Property" { "type": STRING, "value": Shape::Any }
    ICON = "Icon", "declcfg.Icon" { "base64data": Shape::Bytes, "mediatype": STRING }
    PACKAGE_BLOB = "Package", "declcfg.Package" {
        "schema": STRING, "name": STRING, "defaultChannel": STRING, "icon": ICON, "description": STRING,
        "properties": Shape::List(&PROPERTY, "[]property.Property"),
    }
    ENTRY = "ChannelEntry", "declcfg.ChannelEntry" {
        "name": STRING, "replaces": STRING, "skips": STRINGS, "skipRange": STRING,
    }
    CHANNEL_BLOB = "Channel", "declcfg.Channel" {
        "schema": STRING, "name": STRING, "package": STRING,
        "entries": Shape::List(&ENTRY, "[]declcfg.ChannelEntry"),
        "properties": Shape::List(&PROPERTY, "[]property.Property"),
    }
    RELATED_IMAGE = "RelatedImage", "declcfg.RelatedImage" { "name": STRING, "image": STRING }
    BUNDLE_BLOB = "Bundle", "declcfg.Bundle" {
        "schema": STRING, "name": STRING, "package": STRING, "image": STRING,
        "properties": Shape::List(&PROPERTY, "[]property.Property"),
        "relatedImages": Shape::List(&RELATED_IMAGE, "[]declcfg.RelatedImage"),
    }
    REFERENCE = "PackageScopedReference", "declcfg.PackageScopedReference" { "schema": STRING, "name": STRING }
    DEPRECATION_ENTRY = "DeprecationEntry", "declcfg.DeprecationEntry" { "reference": REFERENCE, "message": STRING }
    DEPRECATIONS_BLOB = "Deprecation", "declcfg.Deprecation" {
        "schema": STRING, "package": STRING, "name": STRING,
        "entries": Shape::List(&DEPRECATION_ENTRY, "[]declcfg.DeprecationEntry"),
    }

    PACKAGE = "Package", "property.Package" { "packageName": STRING, "version": STRING, "release": STRING }
    PACKAGE_REQUIRED = "PackageRequired", "property.PackageRequired" {
        "packageName": STRING, "versionRange": STRING,
    }
    GVK = "GVK", "property.GVK" { "group": STRING, "kind": STRING, "version": STRING }
    GVK_REQUIRED = "GVKRequired", "property.GVKRequired" { "group": STRING, "kind": STRING, "version": STRING }
    CHANNEL = "Channel", "property.Channel" { "channelName": STRING, "priority": Shape::Whole("int") }
    BUNDLE_OBJECT = "BundleObject", "property.BundleObject" { "data": Shape::Bytes }

    LINK = "AppLink", "v1alpha1.AppLink" { "name": STRING, "url": STRING }
    MAINTAINER = "Maintainer", "v1alpha1.Maintainer" { "name": STRING, "email": STRING }
    INSTALL_MODE = "InstallMode", "v1alpha1.InstallMode" {
        "type": Shape::InstallMode, "supported": Shape::Bool,
    }
    NATIVE_API = "GroupVersionKind", "v1.GroupVersionKind" { "group": STRING, "version": STRING, "kind": STRING }
    RESOURCE = "APIResourceReference", "v1alpha1.APIResourceReference" {
        "name": STRING, "kind": STRING, "version": STRING,
    }
    STATUS_DESCRIPTOR = "StatusDescriptor", "v1alpha1.StatusDescriptor" {
        "path": STRING, "displayName": STRING, "description": STRING, "x-descriptors": STRINGS, "value": Shape::Any,
    }
    SPEC_DESCRIPTOR = "SpecDescriptor", "v1alpha1.SpecDescriptor" {
        "path": STRING, "displayName": STRING, "description": STRING, "x-descriptors": STRINGS, "value": Shape::Any,
    }
    ACTION_DESCRIPTOR = "ActionDescriptor", "v1alpha1.ActionDescriptor" {
        "path": STRING, "displayName": STRING, "description": STRING, "x-descriptors": STRINGS, "value": Shape::Any,
    }
    CRD = "CRDDescription", "v1alpha1.CRDDescription" {
        "name": STRING, "version": STRING, "kind": STRING, "displayName": STRING, "description": STRING,
        "resources": Shape::List(&RESOURCE, "[]v1alpha1.APIResourceReference"),
        "statusDescriptors": Shape::List(&STATUS_DESCRIPTOR, "[]v1alpha1.StatusDescriptor"),
        "specDescriptors": Shape::List(&SPEC_DESCRIPTOR, "[]v1alpha1.SpecDescriptor"),
        "actionDescriptors": Shape::List(&ACTION_DESCRIPTOR, "[]v1alpha1.ActionDescriptor"),
    }
    CRDS = "CustomResourceDefinitions", "v1alpha1.CustomResourceDefinitions" {
        "owned": Shape::List(&CRD, "[]v1alpha1.CRDDescription"),
        "required": Shape::List(&CRD, "[]v1alpha1.CRDDescription"),
    }
    API_SERVICE = "APIServiceDescription", "v1alpha1.APIServiceDescription" {
        "name": STRING, "group": STRING, "version": STRING, "kind": STRING, "deploymentName": STRING,
        "containerPort": Shape::Whole("int32"), "displayName": STRING, "description": STRING,
        "resources": Shape::List(&RESOURCE, "[]v1alpha1.APIResourceReference"),
        "statusDescriptors": Shape::List(&STATUS_DESCRIPTOR, "[]v1alpha1.StatusDescriptor"),
        "specDescriptors": Shape::List(&SPEC_DESCRIPTOR, "[]v1alpha1.SpecDescriptor"),
        "actionDescriptors": Shape::List(&ACTION_DESCRIPTOR, "[]v1alpha1.ActionDescriptor"),
    }
    API_SERVICES = "APIServiceDefinitions", "v1alpha1.APIServiceDefinitions" {
        "owned": Shape::List(&API_SERVICE, "[]v1alpha1.APIServiceDescription"),
        "required": Shape::List(&API_SERVICE, "[]v1alpha1.APIServiceDescription"),
    }
    CSV_METADATA = "CSVMetadata", "property.CSVMetadata" {
        "annotations": Shape::Map(&STRING, "map[string]string"),
        "apiServiceDefinitions": API_SERVICES,
        "crdDescriptions": CRDS,
        "description": STRING, "displayName": STRING,
        "installModes": Shape::List(&INSTALL_MODE, "[]v1alpha1.InstallMode"),
        "keywords": STRINGS,
        "labels": Shape::Map(&STRING, "map[string]string"),
        "links": Shape::List(&LINK, "[]v1alpha1.AppLink"),
        "maintainers": Shape::List(&MAINTAINER, "[]v1alpha1.Maintainer"),
        "maturity": STRING, "minKubeVersion": STRING,
        "nativeAPIs": Shape::List(&NATIVE_API, "[]v1.GroupVersionKind"),
        "provider": LINK,
    }
}

/// Go's message for a value that is not there.
pub(crate) const VALUE_MISSING: &str = "unexpected end of JSON input";

/// Why a value does not fit, while the way to it is being gathered from the inside out.
enum TypeMismatch {
    Broken,
    /// A sentence of its own.
    Other(String),
    Type {
        found: String,
        wanted: &'static str,
        /// The innermost struct, once it is known.
        within: Option<&'static str>,
        path: Vec<&'static str>,
    },
}

impl From<Fault> for TypeMismatch {
    fn from(_: Fault) -> Self {
        TypeMismatch::Broken
    }
}

/// What the value of a property must look like for upstream's decoder; `None` for a type that it does not know.
pub(crate) fn of_property(type_name: Text<'_>) -> Option<Shape> {
    Some(match () {
        () if type_name.is("olm.package") => PACKAGE,
        () if type_name.is("olm.package.required") => PACKAGE_REQUIRED,
        () if type_name.is("olm.gvk") => GVK,
        () if type_name.is("olm.gvk.required") => GVK_REQUIRED,
        () if type_name.is("olm.channel") => CHANNEL,
        () if type_name.is("olm.bundle.object") => BUNDLE_OBJECT,
        () if type_name.is("olm.csv.metadata") => CSV_METADATA,
        () => return None,
    })
}

/// What does not fit, in Go's words; `None` when everything does.
pub(crate) fn misfit(value: Value<'_>, shape: Shape) -> Option<String> {
    read(&mut value.cursor(), shape, &mut None).err()
}

/// Reads a value, or says what does not fit and leaves the cursor there. The first install mode on the way that nobody
/// knows, which fits all the same, goes to `unknown_mode`.
pub(crate) fn read<'a>(
    cursor: &mut Cursor<'a>,
    shape: Shape,
    unknown_mode: &mut Option<String>,
) -> Result<Value<'a>, String> {
    let start = cursor.clone();
    match check(cursor, shape, unknown_mode) {
        Ok(()) => Ok(start.until(cursor)),
        Err(misfit) => Err(misfit.to_string()),
    }
}

impl fmt::Display for TypeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeMismatch::Broken => f.write_str("the stored line is damaged"),
            TypeMismatch::Other(message) => f.write_str(message),
            TypeMismatch::Type { found, wanted, within: None, .. } => {
                write!(f, "json: cannot unmarshal {found} into Go value of type {wanted}")
            }
            TypeMismatch::Type { found, wanted, within: Some(within), path } => {
                write!(f, "json: cannot unmarshal {found} into Go struct field {within}")?;
                path.iter().rev().try_for_each(|field| write!(f, ".{field}"))?;
                write!(f, " of type {wanted}")
            }
        }
    }
}

fn check(cursor: &mut Cursor<'_>, shape: Shape, unknown_mode: &mut Option<String>) -> Result<(), TypeMismatch> {
    match (shape, cursor.kind()?) {
        (Shape::Any, _) | (_, Kind::Null) | (Shape::Text(_), Kind::String) | (Shape::Bool, Kind::Bool) => {
            cursor.value()?;
            Ok(())
        }
        (Shape::Whole(wanted), Kind::Number) => check_whole(cursor, wanted),
        (Shape::InstallMode, Kind::String) => {
            let mode = cursor.text()?.decode()?;
            if unknown_mode.is_none() && InstallMode::read(&mode).is_none() {
                *unknown_mode = Some(mode.into_owned());
            }
            Ok(())
        }
        (Shape::Bytes, Kind::String) => check_base64(cursor.text()?),
        (Shape::Bytes, Kind::Array) => cursor.array(check_byte),
        (Shape::List(element, _), Kind::Array) => cursor.array(|cursor| check(cursor, *element, unknown_mode)),
        (Shape::Map(element, _), Kind::Object) => cursor.object(|cursor, _| check(cursor, *element, unknown_mode)),
        (Shape::Struct(this), Kind::Object) => {
            cursor.object(|cursor, key| check_field(cursor, key, this, unknown_mode))
        }
        (shape, kind) => Err(TypeMismatch::Type {
            found: go_kind(kind).to_owned(),
            wanted: shape.go_name(),
            within: None,
            path: Vec::new(),
        }),
    }
}

fn check_field(
    cursor: &mut Cursor<'_>,
    key: Text<'_>,
    this: &'static Struct,
    unknown_mode: &mut Option<String>,
) -> Result<(), TypeMismatch> {
    let exact = this.fields.iter().find(|(field, _)| key.is(field));
    let Some(&(field, shape)) = exact.or_else(|| this.fields.iter().find(|(field, _)| is_field(key, field))) else {
        cursor.value()?;
        return Ok(());
    };
    check(cursor, shape, unknown_mode).map_err(|mut misfit| {
        if let TypeMismatch::Type { within, path, .. } = &mut misfit {
            within.get_or_insert(this.name);
            path.push(field);
        }
        misfit
    })
}

fn check_whole(cursor: &mut Cursor<'_>, wanted: &'static str) -> Result<(), TypeMismatch> {
    let number = String::from_utf8_lossy(cursor.value()?.0).into_owned();
    let fits = match wanted {
        "int32" => number.parse::<i32>().is_ok(),
        "uint8" => number.parse::<u8>().is_ok(),
        _ => number.parse::<i64>().is_ok(),
    };
    if fits {
        return Ok(());
    }
    Err(TypeMismatch::Type { found: format!("number {number}"), wanted, within: None, path: Vec::new() })
}

fn check_byte(cursor: &mut Cursor<'_>) -> Result<(), TypeMismatch> {
    check(cursor, Shape::Whole("uint8"), &mut None)
}

/// Base64 as Go reads it: line breaks are skipped, padding must be there, leftover bits may be anything.
fn check_base64(text: Text<'_>) -> Result<(), TypeMismatch> {
    let decoded;
    let mut body = &text.0[1..text.0.len() - 1];
    if body.contains(&b'\\') {
        decoded = text.decode()?;
        body = decoded.as_bytes();
    }
    match base64_fault(body) {
        None => Ok(()),
        Some(at) => Err(TypeMismatch::Other(format!("illegal base64 data at input byte {at}"))),
    }
}

/// The offset at which Go's decoder gives up.
fn base64_fault(body: &[u8]) -> Option<usize> {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    // Whole blocks of nothing but digits, which are nearly all there is, are counted without a look at each byte.
    let blocks = body.chunks_exact(64).take_while(|block| block.iter().fold(true, |all, &byte| all & is_digit(byte)));
    let (mut digits, mut padding) = (blocks.count() * 64, 0_usize);
    for (at, &byte) in body.iter().enumerate().skip(digits) {
        match byte {
            b'\r' | b'\n' => {}
            b'=' if padding > 0 && (digits + padding) % 4 != 0 => padding += 1,
            b'=' if padding == 0 && digits % 4 >= 2 => padding = 1,
            _ if is_digit(byte) && padding == 0 => digits += 1,
            _ => return Some(at),
        }
    }
    match (digits + padding) % 4 {
        0 => None,
        _ if padding > 0 => Some(body.len()),
        missing => Some(body.len() - missing),
    }
}

impl Shape {
    fn go_name(self) -> &'static str {
        match self {
            Shape::Any => "interface {}",
            Shape::Bool => "bool",
            Shape::Bytes => "[]uint8",
            Shape::InstallMode => "v1alpha1.InstallModeType",
            Shape::Text(name) | Shape::Whole(name) | Shape::List(_, name) | Shape::Map(_, name) => name,
            Shape::Struct(this) => this.qualified,
        }
    }
}

fn go_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "bool",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn misfits(shape: Shape, text: &str, message: Option<&str>) {
        assert_eq!(misfit(Value(text.as_bytes()), shape).as_deref(), message, "{text}");
    }

    #[test]
    fn unknown_fields_and_nulls_fit() {
        misfits(GVK, r#"{"Group":"g","extra":[1],"kind":null}"#, None);
        misfits(GVK, "null", None);
    }

    #[test]
    fn the_first_value_of_another_type_is_named_with_the_way_to_it() {
        misfits(GVK, "1", Some("json: cannot unmarshal number into Go value of type property.GVK"));
        misfits(
            CSV_METADATA,
            r#"{"crdDescriptions":{"owned":[{"name":"a"},{"name":1}]}}"#,
            Some(
                "json: cannot unmarshal number into Go struct field CRDDescription.crdDescriptions.owned.name of type string",
            ),
        );
        misfits(
            CSV_METADATA,
            r#"{"annotations":{"a":"b","c":true}}"#,
            Some("json: cannot unmarshal bool into Go struct field CSVMetadata.annotations of type string"),
        );
        misfits(
            CHANNEL,
            r#"{"priority":1.5}"#,
            Some("json: cannot unmarshal number 1.5 into Go struct field Channel.priority of type int"),
        );
    }

    #[test]
    fn the_first_unknown_install_mode_is_found_on_the_way() {
        let found = |modes: &str| {
            let mut unknown = None;
            let value = format!(r#"{{"installModes":{modes}}}"#);
            let fits = read(&mut Cursor::new(value.as_bytes()), CSV_METADATA, &mut unknown).is_ok();
            (fits, unknown)
        };
        let all = r#"[{"type":"OwnNamespace"},{"type":"AllNamespaces"},{"supported":true},{"type":null}]"#;
        assert_eq!(found(all), (true, None));
        let two = r#"[{"type":"MultiNamespace"},{"type":"a\"b"},{"type":"c"}]"#;
        assert_eq!(found(two), (true, Some("a\"b".to_owned())));
        assert_eq!(found(r#"[{"type":""},{"type":1}]"#), (false, Some(String::new())));
    }

    #[test]
    fn base64_is_read_as_go_reads_it() {
        for (text, fault) in [
            ("", None),
            ("QQ==", None),
            ("QR==", None),
            ("Q\\nUI=\\r\\n", None),
            ("QUJD", None),
            ("not base64!", Some(3)),
            ("-_-_", Some(0)),
            ("%%%", Some(0)),
            ("QQ=", Some(3)),
            ("QUI", Some(0)),
            ("QQ==QQ==", Some(4)),
        ] {
            let message = fault.map(|at: usize| format!("illegal base64 data at input byte {at}"));
            misfits(BUNDLE_OBJECT, &format!(r#"{{"data":"{text}"}}"#), message.as_deref());
        }
        misfits(BUNDLE_OBJECT, r#"{"data":[1,2]}"#, None);
        misfits(
            ICON,
            r#"{"base64data":[1,256]}"#,
            Some("json: cannot unmarshal number 256 into Go struct field Icon.base64data of type uint8"),
        );
    }
}
