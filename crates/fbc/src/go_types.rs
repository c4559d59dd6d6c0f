//! Go types of typed blobs, of properties and of the parts of a `ClusterServiceVersion`, and a check
//! of JSON values against them. Other crates write and copy these parts by the same types.
//!
//! Go's `encoding/json` ignores unknown fields, accepts `null` for any type and fails at the first
//! value of another type. [`find_mismatch`] finds that value and formats Go's error, which names
//! upstream's types.

use std::fmt;

use fbc_read::json::{JsonCursor, JsonError, JsonKind, JsonText, JsonValue, is_field};

use crate::csv_enums::InstallMode;

/// A Go type that a JSON value can be decoded to.
#[derive(Clone, Copy, Debug)]
pub enum GoType {
    /// Any value.
    Any,
    /// A string, with the name of its Go type.
    String(&'static str),
    /// A boolean.
    Bool,
    /// An integer, with the name of its Go type.
    Integer(&'static str),
    /// A string that names an install mode; unknown modes are accepted and noted.
    InstallMode,
    /// Base64 in the standard alphabet, or an array of bytes.
    Bytes,
    /// A slice, with the type of its elements and the name of its Go type.
    List(&'static GoType, &'static str),
    /// A map by strings, with the type of its values and the name of its Go type.
    Map(&'static GoType, &'static str),
    /// A struct.
    Struct(&'static GoStruct),
}

/// A Go struct.
#[derive(Debug)]
pub struct GoStruct {
    name: &'static str,
    qualified: &'static str,
    /// Fields in Go's order, in which its encoder writes them.
    pub fields: &'static [GoField],
}

/// A field of a Go struct.
#[derive(Debug)]
pub struct GoField {
    /// Name in JSON.
    pub name: &'static str,
    /// Type of its value.
    pub go_type: GoType,
    /// `true` if Go's encoder omits an empty value. Known of the parts of a `ClusterServiceVersion`.
    pub omits_empty: bool,
}

/// A string.
pub const STRING: GoType = GoType::String("string");

/// A list of strings.
pub const STRINGS: GoType = GoType::List(&STRING, "[]string");

/// Strings by strings, such as annotations.
pub const STRING_MAP: GoType = GoType::Map(&STRING, "map[string]string");

/// Native APIs of a `ClusterServiceVersion`.
pub const NATIVE_APIS: GoType = GoType::List(&NATIVE_API, "[]v1.GroupVersionKind");

/// Maintainers of a `ClusterServiceVersion`.
pub const MAINTAINERS: GoType = GoType::List(&MAINTAINER, "[]v1alpha1.Maintainer");

/// Links of a `ClusterServiceVersion`.
pub const LINKS: GoType = GoType::List(&LINK, "[]v1alpha1.AppLink");

/// Install modes of a `ClusterServiceVersion`.
pub const INSTALL_MODES: GoType = GoType::List(&INSTALL_MODE, "[]v1alpha1.InstallMode");

macro_rules! structs {
    ($($visibility:vis $id:ident = $name:literal, $qualified:literal {
        $($field:literal $($omitempty:ident)?: $type:expr),* $(,)?
    })+) => {
        $(
            #[doc = concat!("`", $qualified, "`.")]
            $visibility const $id: GoType = GoType::Struct(&GoStruct {
                name: $name,
                qualified: $qualified,
                fields: &[$(GoField {
                    name: $field,
                    go_type: $type,
                    omits_empty: omits_empty!($($omitempty)?),
                }),*],
            });
        )+
    };
}

macro_rules! omits_empty {
    (omitempty) => {
        true
    };
    () => {
        false
    };
}

structs! {
    pub(crate) PROPERTY = "Property", "property.Property" { "type": STRING, "value": GoType::Any }
    pub(crate) ICON = "Icon", "declcfg.Icon" { "base64data": GoType::Bytes, "mediatype": STRING }
    pub(crate) PACKAGE_BLOB = "Package", "declcfg.Package" {
        "schema": STRING, "name": STRING, "defaultChannel": STRING, "icon": ICON, "description": STRING,
        "properties": GoType::List(&PROPERTY, "[]property.Property"),
    }
    pub(crate) ENTRY = "ChannelEntry", "declcfg.ChannelEntry" {
        "name": STRING, "replaces": STRING, "skips": STRINGS, "skipRange": STRING,
    }
    pub(crate) CHANNEL_BLOB = "Channel", "declcfg.Channel" {
        "schema": STRING, "name": STRING, "package": STRING,
        "entries": GoType::List(&ENTRY, "[]declcfg.ChannelEntry"),
        "properties": GoType::List(&PROPERTY, "[]property.Property"),
    }
    pub(crate) RELATED_IMAGE = "RelatedImage", "declcfg.RelatedImage" { "name": STRING, "image": STRING }
    pub(crate) BUNDLE_BLOB = "Bundle", "declcfg.Bundle" {
        "schema": STRING, "name": STRING, "package": STRING, "image": STRING,
        "properties": GoType::List(&PROPERTY, "[]property.Property"),
        "relatedImages": GoType::List(&RELATED_IMAGE, "[]declcfg.RelatedImage"),
    }
    pub(crate) REFERENCE = "PackageScopedReference", "declcfg.PackageScopedReference" { "schema": STRING, "name": STRING }
    pub(crate) DEPRECATION_ENTRY = "DeprecationEntry", "declcfg.DeprecationEntry" { "reference": REFERENCE, "message": STRING }
    pub(crate) DEPRECATIONS_BLOB = "Deprecation", "declcfg.Deprecation" {
        "schema": STRING, "package": STRING, "name": STRING,
        "entries": GoType::List(&DEPRECATION_ENTRY, "[]declcfg.DeprecationEntry"),
    }

    pub(crate) PACKAGE = "Package", "property.Package" { "packageName": STRING, "version": STRING, "release": STRING }
    pub(crate) PACKAGE_REQUIRED = "PackageRequired", "property.PackageRequired" {
        "packageName": STRING, "versionRange": STRING,
    }
    pub(crate) GVK = "GVK", "property.GVK" { "group": STRING, "kind": STRING, "version": STRING }
    pub(crate) GVK_REQUIRED = "GVKRequired", "property.GVKRequired" { "group": STRING, "kind": STRING, "version": STRING }
    pub(crate) CHANNEL = "Channel", "property.Channel" { "channelName": STRING, "priority": GoType::Integer("int") }
    pub(crate) BUNDLE_OBJECT = "BundleObject", "property.BundleObject" { "data": GoType::Bytes }

    pub LINK = "AppLink", "v1alpha1.AppLink" { "name" omitempty: STRING, "url" omitempty: STRING }
    pub(crate) MAINTAINER = "Maintainer", "v1alpha1.Maintainer" { "name" omitempty: STRING, "email" omitempty: STRING }
    pub(crate) INSTALL_MODE = "InstallMode", "v1alpha1.InstallMode" {
        "type": GoType::InstallMode, "supported": GoType::Bool,
    }
    pub(crate) NATIVE_API = "GroupVersionKind", "v1.GroupVersionKind" { "group": STRING, "version": STRING, "kind": STRING }
    pub(crate) RESOURCE = "APIResourceReference", "v1alpha1.APIResourceReference" {
        "name": STRING, "kind": STRING, "version": STRING,
    }
    pub(crate) STATUS_DESCRIPTOR = "StatusDescriptor", "v1alpha1.StatusDescriptor" {
        "path": STRING, "displayName" omitempty: STRING, "description" omitempty: STRING, "x-descriptors" omitempty: STRINGS, "value" omitempty: GoType::Any,
    }
    pub(crate) SPEC_DESCRIPTOR = "SpecDescriptor", "v1alpha1.SpecDescriptor" {
        "path": STRING, "displayName" omitempty: STRING, "description" omitempty: STRING, "x-descriptors" omitempty: STRINGS, "value" omitempty: GoType::Any,
    }
    pub(crate) ACTION_DESCRIPTOR = "ActionDescriptor", "v1alpha1.ActionDescriptor" {
        "path": STRING, "displayName" omitempty: STRING, "description" omitempty: STRING, "x-descriptors" omitempty: STRINGS, "value" omitempty: GoType::Any,
    }
    pub(crate) CRD = "CRDDescription", "v1alpha1.CRDDescription" {
        "name": STRING, "version": STRING, "kind": STRING, "displayName" omitempty: STRING, "description" omitempty: STRING,
        "resources" omitempty: GoType::List(&RESOURCE, "[]v1alpha1.APIResourceReference"),
        "statusDescriptors" omitempty: GoType::List(&STATUS_DESCRIPTOR, "[]v1alpha1.StatusDescriptor"),
        "specDescriptors" omitempty: GoType::List(&SPEC_DESCRIPTOR, "[]v1alpha1.SpecDescriptor"),
        "actionDescriptors" omitempty: GoType::List(&ACTION_DESCRIPTOR, "[]v1alpha1.ActionDescriptor"),
    }
    pub CRDS = "CustomResourceDefinitions", "v1alpha1.CustomResourceDefinitions" {
        "owned" omitempty: GoType::List(&CRD, "[]v1alpha1.CRDDescription"),
        "required" omitempty: GoType::List(&CRD, "[]v1alpha1.CRDDescription"),
    }
    pub(crate) API_SERVICE = "APIServiceDescription", "v1alpha1.APIServiceDescription" {
        "name": STRING, "group": STRING, "version": STRING, "kind": STRING, "deploymentName" omitempty: STRING,
        "containerPort" omitempty: GoType::Integer("int32"), "displayName" omitempty: STRING, "description" omitempty: STRING,
        "resources" omitempty: GoType::List(&RESOURCE, "[]v1alpha1.APIResourceReference"),
        "statusDescriptors" omitempty: GoType::List(&STATUS_DESCRIPTOR, "[]v1alpha1.StatusDescriptor"),
        "specDescriptors" omitempty: GoType::List(&SPEC_DESCRIPTOR, "[]v1alpha1.SpecDescriptor"),
        "actionDescriptors" omitempty: GoType::List(&ACTION_DESCRIPTOR, "[]v1alpha1.ActionDescriptor"),
    }
    pub API_SERVICES = "APIServiceDefinitions", "v1alpha1.APIServiceDefinitions" {
        "owned" omitempty: GoType::List(&API_SERVICE, "[]v1alpha1.APIServiceDescription"),
        "required" omitempty: GoType::List(&API_SERVICE, "[]v1alpha1.APIServiceDescription"),
    }
    pub(crate) CSV_METADATA = "CSVMetadata", "property.CSVMetadata" {
        "annotations": STRING_MAP,
        "apiServiceDefinitions": API_SERVICES,
        "crdDescriptions": CRDS,
        "description": STRING, "displayName": STRING,
        "installModes": INSTALL_MODES,
        "keywords": STRINGS,
        "labels": STRING_MAP,
        "links": LINKS,
        "maintainers": MAINTAINERS,
        "maturity": STRING, "minKubeVersion": STRING,
        "nativeAPIs": NATIVE_APIS,
        "provider": LINK,
    }
}

/// Go's message for a value that is not there.
pub(crate) const VALUE_MISSING: &str = "unexpected end of JSON input";

/// An error of Go's decoder, whose field path is collected from the innermost value outwards.
enum TypeMismatch {
    Damaged,
    /// An error with another message.
    Other(String),
    Type {
        found: String,
        wanted: &'static str,
        /// The innermost struct, once it is known.
        within: Option<&'static str>,
        path: Vec<&'static str>,
    },
}

impl From<JsonError> for TypeMismatch {
    fn from(_: JsonError) -> Self {
        TypeMismatch::Damaged
    }
}

/// Go types of the values of properties, by the type of the property. Upstream decodes no others.
const PROPERTY_TYPES: [(&str, GoType); 7] = [
    ("olm.package", PACKAGE),
    ("olm.package.required", PACKAGE_REQUIRED),
    ("olm.gvk", GVK),
    ("olm.gvk.required", GVK_REQUIRED),
    ("olm.channel", CHANNEL),
    ("olm.bundle.object", BUNDLE_OBJECT),
    ("olm.csv.metadata", CSV_METADATA),
];

/// Returns the Go type of the values of a property type; `None` for a type that upstream does not
/// decode.
pub(crate) fn property_type(type_name: JsonText<'_>) -> Option<GoType> {
    PROPERTY_TYPES
        .iter()
        .find(|(name, _)| type_name.is(name))
        .map(|&(_, go_type)| go_type)
}

/// Checks the value of a property as [`read`] does. Returns Go's message for a mismatch, and the
/// first unknown install mode before it.
pub(crate) fn check_property(
    type_name: &str,
    value: JsonValue<'_>,
) -> (Option<String>, Option<String>) {
    let mut unknown_mode = None;
    let wanted = PROPERTY_TYPES.iter().find(|(name, _)| *name == type_name);
    let mismatch =
        wanted.and_then(|&(_, wanted)| read(&mut value.cursor(), wanted, &mut unknown_mode).err());
    (mismatch, unknown_mode)
}

/// Returns Go's message for the first value of the wrong type; `None` when the value can be
/// decoded.
pub(crate) fn find_mismatch(value: JsonValue<'_>, wanted: GoType) -> Option<String> {
    read(&mut value.cursor(), wanted, &mut None).err()
}

/// Reads a value, or returns Go's message and leaves the cursor at the mismatch. The first unknown
/// install mode, which is no mismatch, is stored in `unknown_mode`.
pub(crate) fn read<'a>(
    cursor: &mut JsonCursor<'a>,
    wanted: GoType,
    unknown_mode: &mut Option<String>,
) -> Result<JsonValue<'a>, String> {
    let start = cursor.clone();
    match check(cursor, wanted, unknown_mode) {
        Ok(()) => Ok(start.until(cursor)),
        Err(mismatch) => Err(mismatch.to_string()),
    }
}

impl fmt::Display for TypeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeMismatch::Damaged => f.write_str("the stored line is damaged"),
            TypeMismatch::Other(message) => f.write_str(message),
            TypeMismatch::Type {
                found,
                wanted,
                within: None,
                ..
            } => {
                write!(
                    f,
                    "json: cannot unmarshal {found} into Go value of type {wanted}"
                )
            }
            TypeMismatch::Type {
                found,
                wanted,
                within: Some(within),
                path,
            } => {
                write!(
                    f,
                    "json: cannot unmarshal {found} into Go struct field {within}"
                )?;
                path.iter()
                    .rev()
                    .try_for_each(|field| write!(f, ".{field}"))?;
                write!(f, " of type {wanted}")
            }
        }
    }
}

fn check(
    cursor: &mut JsonCursor<'_>,
    wanted: GoType,
    unknown_mode: &mut Option<String>,
) -> Result<(), TypeMismatch> {
    match (wanted, cursor.kind()?) {
        (GoType::Any, _)
        | (_, JsonKind::Null)
        | (GoType::String(_), JsonKind::String)
        | (GoType::Bool, JsonKind::Bool) => {
            cursor.value()?;
            Ok(())
        }
        (GoType::Integer(wanted), JsonKind::Number) => check_integer(cursor, wanted),
        (GoType::InstallMode, JsonKind::String) => {
            let mode = cursor.text()?.try_decode()?;
            if unknown_mode.is_none() && InstallMode::parse(&mode).is_none() {
                *unknown_mode = Some(mode.into_owned());
            }
            Ok(())
        }
        (GoType::Bytes, JsonKind::String) => check_base64(cursor.text()?),
        (GoType::Bytes, JsonKind::Array) => cursor.array(check_byte),
        (GoType::List(element, _), JsonKind::Array) => {
            cursor.array(|cursor| check(cursor, *element, unknown_mode))
        }
        (GoType::Map(element, _), JsonKind::Object) => {
            cursor.object(|cursor, _| check(cursor, *element, unknown_mode))
        }
        (GoType::Struct(go_struct), JsonKind::Object) => {
            cursor.object(|cursor, key| check_field(cursor, key, go_struct, unknown_mode))
        }
        (wanted, kind) => Err(TypeMismatch::Type {
            found: go_kind(kind).to_owned(),
            wanted: wanted.go_name(),
            within: None,
            path: Vec::new(),
        }),
    }
}

fn check_field(
    cursor: &mut JsonCursor<'_>,
    key: JsonText<'_>,
    go_struct: &'static GoStruct,
    unknown_mode: &mut Option<String>,
) -> Result<(), TypeMismatch> {
    let fields = go_struct.fields;
    let exact = fields.iter().find(|field| key.is(field.name));
    let field = exact.or_else(|| fields.iter().find(|field| is_field(key, field.name)));
    let Some(field) = field else {
        cursor.value()?;
        return Ok(());
    };
    check(cursor, field.go_type, unknown_mode).map_err(|mut mismatch| {
        if let TypeMismatch::Type { within, path, .. } = &mut mismatch {
            within.get_or_insert(go_struct.name);
            path.push(field.name);
        }
        mismatch
    })
}

fn check_integer(cursor: &mut JsonCursor<'_>, wanted: &'static str) -> Result<(), TypeMismatch> {
    let number = String::from_utf8_lossy(cursor.value()?.raw()).into_owned();
    let fits = match wanted {
        "int32" => number.parse::<i32>().is_ok(),
        "uint8" => number.parse::<u8>().is_ok(),
        _ => number.parse::<i64>().is_ok(),
    };
    if fits {
        return Ok(());
    }
    Err(TypeMismatch::Type {
        found: format!("number {number}"),
        wanted,
        within: None,
        path: Vec::new(),
    })
}

fn check_byte(cursor: &mut JsonCursor<'_>) -> Result<(), TypeMismatch> {
    check(cursor, GoType::Integer("uint8"), &mut None)
}

/// Checks base64 as Go decodes it: line breaks are skipped, padding is required, trailing bits are
/// ignored.
fn check_base64(text: JsonText<'_>) -> Result<(), TypeMismatch> {
    let decoded;
    let mut body = &text.raw()[1..text.raw().len() - 1];
    if body.contains(&b'\\') {
        decoded = text.try_decode()?;
        body = decoded.as_bytes();
    }
    match base64_error_offset(body) {
        None => Ok(()),
        Some(at) => Err(TypeMismatch::Other(format!(
            "illegal base64 data at input byte {at}"
        ))),
    }
}

/// Returns the offset at which Go's base64 decoder fails, if it does.
fn base64_error_offset(body: &[u8]) -> Option<usize> {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    // Whole blocks of nothing but digits, which are nearly all there is, are counted without a look
    // at each byte.
    let blocks = body
        .chunks_exact(64)
        .take_while(|block| block.iter().fold(true, |all, &byte| all & is_digit(byte)));
    let mut digits = blocks.count() * 64;
    let mut padding = 0_usize;
    for (at, &byte) in body.iter().enumerate().skip(digits) {
        match byte {
            b'\r' | b'\n' => {}
            b'=' if padding > 0 && !(digits + padding).is_multiple_of(4) => padding += 1,
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

impl GoType {
    fn go_name(self) -> &'static str {
        match self {
            GoType::Any => "interface {}",
            GoType::Bool => "bool",
            GoType::Bytes => "[]uint8",
            GoType::InstallMode => "v1alpha1.InstallModeType",
            GoType::String(name)
            | GoType::Integer(name)
            | GoType::List(_, name)
            | GoType::Map(_, name) => name,
            GoType::Struct(go_struct) => go_struct.qualified,
        }
    }
}

fn go_kind(kind: JsonKind) -> &'static str {
    match kind {
        JsonKind::Null => "null",
        JsonKind::Bool => "bool",
        JsonKind::Number => "number",
        JsonKind::String => "string",
        JsonKind::Array => "array",
        JsonKind::Object => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_mismatch(wanted: GoType, text: &str, message: Option<&str>) {
        assert_eq!(
            find_mismatch(JsonValue::new(text.as_bytes()), wanted).as_deref(),
            message,
            "{text}"
        );
    }

    #[test]
    fn unknown_fields_and_nulls_fit() {
        assert_mismatch(GVK, r#"{"Group":"g","extra":[1],"kind":null}"#, None);
        assert_mismatch(GVK, "null", None);
    }

    #[test]
    fn the_first_value_of_another_type_is_named_with_the_way_to_it() {
        assert_mismatch(
            GVK,
            "1",
            Some("json: cannot unmarshal number into Go value of type property.GVK"),
        );
        assert_mismatch(
            CSV_METADATA,
            r#"{"crdDescriptions":{"owned":[{"name":"a"},{"name":1}]}}"#,
            Some(
                "json: cannot unmarshal number into Go struct field CRDDescription.crdDescriptions.owned.name of type string",
            ),
        );
        assert_mismatch(
            CSV_METADATA,
            r#"{"annotations":{"a":"b","c":true}}"#,
            Some(
                "json: cannot unmarshal bool into Go struct field CSVMetadata.annotations of type string",
            ),
        );
        assert_mismatch(
            CHANNEL,
            r#"{"priority":1.5}"#,
            Some(
                "json: cannot unmarshal number 1.5 into Go struct field Channel.priority of type int",
            ),
        );
    }

    #[test]
    fn the_first_unknown_install_mode_is_found_on_the_way() {
        let found = |modes: &str| {
            let mut unknown = None;
            let value = format!(r#"{{"installModes":{modes}}}"#);
            let fits = read(
                &mut JsonCursor::new(value.as_bytes()),
                CSV_METADATA,
                &mut unknown,
            )
            .is_ok();
            (fits, unknown)
        };
        let all = r#"[{"type":"OwnNamespace"},{"type":"AllNamespaces"},{"supported":true},{"type":null}]"#;
        assert_eq!(found(all), (true, None));
        let two = r#"[{"type":"MultiNamespace"},{"type":"a\"b"},{"type":"c"}]"#;
        assert_eq!(found(two), (true, Some("a\"b".to_owned())));
        assert_eq!(
            found(r#"[{"type":""},{"type":1}]"#),
            (false, Some(String::new()))
        );
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
            assert_mismatch(
                BUNDLE_OBJECT,
                &format!(r#"{{"data":"{text}"}}"#),
                message.as_deref(),
            );
        }
        assert_mismatch(BUNDLE_OBJECT, r#"{"data":[1,2]}"#, None);
        assert_mismatch(
            ICON,
            r#"{"base64data":[1,256]}"#,
            Some(
                "json: cannot unmarshal number 256 into Go struct field Icon.base64data of type uint8",
            ),
        );
    }
}
