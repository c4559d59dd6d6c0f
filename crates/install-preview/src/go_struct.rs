//! Go structs, as JSON passes through them: decoded and encoded again.
//!
//! Upstream reads a CSV and its custom resource definitions into Go structs. What these do not know
//! is lost, what is missing gets its zero value, and quantities get their canonical form. The table
//! `types.txt` has the fields; [`GoStructs::convert`] reads and writes in one pass, because
//! canonical JSON and the table are sorted in the same way.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use fbc_grammar::version::Version;
use fbc_read::json::{JsonCursor, JsonError, JsonKind};

use crate::bundle::MAX_BUNDLE_FILE_BYTES;
use crate::quantity;

/// Maximum size of an object with the fields that Go writes without a value, in bytes.
pub(crate) const MAX_CONVERTED_BYTES: usize = 2 * MAX_BUNDLE_FILE_BYTES;

/// Structs of the table that callers name.
pub(crate) const CSV: &str = "ClusterServiceVersion";
pub(crate) const CRD: &str = "CustomResourceDefinition";
pub(crate) const DEPLOYMENT_CONFIG: &str = "SubscriptionConfig";

/// Schema of a custom resource, which three types of fields may hold.
const SCHEMA: &str = "JSONSchemaProps";

/// A value that does not fit its Go type.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GoTypeError {
    /// The text is not canonical JSON.
    #[error("the JSON is damaged")]
    Damaged,
    /// The value has another type, or a form that the type does not accept.
    #[error("`{path}` is {found}, but must be {expected}")]
    Mismatch {
        /// Names of fields and indexes, joined by dots.
        path: String,
        /// Kind of the value that was found.
        found: String,
        /// Type of the field.
        expected: &'static str,
    },
    /// The fields that Go writes without a value make the object too large.
    #[error(
        "it has more than {MAX_CONVERTED_BYTES} bytes with all fields that the controller writes"
    )]
    TooLarge,
}

/// All structs, by name.
pub(crate) struct GoStructs {
    structs: Vec<Vec<GoField>>,
    by_name: HashMap<&'static str, usize>,
}

struct GoField {
    name: &'static str,
    kind: GoKind,
    /// Left out when empty; a struct never is.
    omits_empty: bool,
    /// Left out when it has its zero value; a struct too.
    omits_zero: bool,
}

enum GoKind {
    String,
    Bool,
    Int32,
    Int64,
    Float,
    Any,
    Bytes,
    Time,
    Quantity,
    IntOrString,
    Version,
    Release,
    SchemaOrBool,
    SchemaOrArray,
    SchemaOrStrings,
    Pointer(Box<GoKind>),
    List(Box<GoKind>),
    Map(Box<GoKind>),
    Struct(usize),
}

/// Emptiness of a written value for `omitempty` and `omitzero`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Emptiness {
    Empty,
    /// Zero, but not empty: times and versions, which are structs.
    Zero,
    Full,
}

/// One conversion.
struct GoConversion {
    structs: &'static GoStructs,
    out: Vec<u8>,
    path: Vec<Cow<'static, str>>,
}

impl GoStructs {
    /// Returns the table, which is read once.
    pub(crate) fn get() -> &'static Self {
        static TABLE: LazyLock<GoStructs> =
            LazyLock::new(|| GoStructs::parse(include_str!("go_struct/types.txt")));
        &TABLE
    }

    /// Returns the names of the fields of a struct; none if the table lacks it.
    pub(crate) fn field_names(&self, name: &str) -> Vec<&'static str> {
        let fields = self.by_name.get(name).map(|at| &self.structs[*at]);
        let fields = fields.into_iter().flatten();
        fields.map(|field| field.name).collect()
    }

    fn parse(text: &'static str) -> Self {
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        let names = lines().filter(|line| !line.starts_with(' '));
        let by_name: HashMap<_, _> = names.enumerate().map(|(at, name)| (name, at)).collect();
        let mut structs: Vec<Vec<GoField>> = Vec::new();
        for line in lines() {
            let Some(field) = line.strip_prefix("  ") else {
                structs.push(Vec::new());
                continue;
            };
            let mut words = field.split(' ');
            let name = words.next().unwrap_or_default();
            let kind = GoKind::parse(words.next().unwrap_or_default(), &by_name);
            let options: Vec<_> = words.collect();
            let fields = structs.last_mut().expect("fields follow their struct");
            fields.push(GoField {
                name,
                kind,
                omits_empty: options.contains(&"omitempty"),
                omits_zero: options.contains(&"omitzero"),
            });
        }
        Self { structs, by_name }
    }

    /// Converts canonical JSON to what Go writes after it has read it into a struct.
    pub(crate) fn convert(&'static self, name: &str, json: &[u8]) -> Result<String, GoTypeError> {
        let mut conversion = GoConversion {
            structs: self,
            out: Vec::with_capacity(json.len()),
            path: Vec::new(),
        };
        let kind = GoKind::Struct(self.by_name[name]);
        conversion.value(&kind, &mut JsonCursor::new(json))?;
        String::from_utf8(conversion.out).map_err(|_| GoTypeError::Damaged)
    }
}

impl GoKind {
    fn parse(text: &'static str, by_name: &HashMap<&'static str, usize>) -> Self {
        let inner = |text| Box::new(Self::parse(text, by_name));
        match text {
            "string" => Self::String,
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "float64" => Self::Float,
            "any" => Self::Any,
            "bytes" => Self::Bytes,
            "time" => Self::Time,
            "quantity" => Self::Quantity,
            "intOrString" => Self::IntOrString,
            "version" => Self::Version,
            "release" => Self::Release,
            "schemaOrBool" => Self::SchemaOrBool,
            "schemaOrArray" => Self::SchemaOrArray,
            "schemaOrStrings" => Self::SchemaOrStrings,
            _ => {
                if let Some(text) = text.strip_prefix('*') {
                    Self::Pointer(inner(text))
                } else if let Some(text) = text.strip_prefix("[]") {
                    Self::List(inner(text))
                } else if let Some(text) = text.strip_prefix("{}") {
                    Self::Map(inner(text))
                } else {
                    Self::Struct(by_name[text])
                }
            }
        }
    }

    /// Name of the type, for messages.
    fn describe(&self) -> &'static str {
        match self {
            Self::String | Self::Bytes | Self::Time => "a string",
            Self::Bool => "true or false",
            Self::Int32 | Self::Int64 => "an integer",
            Self::Float => "a number",
            Self::Any => "a value",
            Self::Quantity => "a quantity",
            Self::IntOrString => "an integer or a string",
            Self::Version => "a version",
            Self::Release => "a release",
            Self::SchemaOrBool => "true, false or a schema",
            Self::SchemaOrArray => "a schema or a list of schemas",
            Self::SchemaOrStrings => "a schema or a list of strings",
            Self::Pointer(inner) => inner.describe(),
            Self::List(_) => "a list",
            Self::Map(_) | Self::Struct(_) => "an object",
        }
    }
}

impl GoConversion {
    /// Reads a value and writes it as Go does.
    fn value(
        &mut self,
        kind: &GoKind,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<Emptiness, GoTypeError> {
        if cursor.kind().map_err(damaged)? == JsonKind::Null {
            cursor.value().map_err(damaged)?;
            return Ok(self.zero(kind));
        }
        match kind {
            GoKind::Pointer(inner) => self.value(inner, cursor).map(|_| Emptiness::Full),
            GoKind::List(inner) => self.list(inner, cursor),
            GoKind::Map(inner) => self.map(inner, cursor),
            GoKind::Struct(at) => self.members(*at, cursor),
            GoKind::SchemaOrBool | GoKind::SchemaOrArray | GoKind::SchemaOrStrings => {
                self.schema(kind, cursor)
            }
            _ => self.plain(kind, cursor),
        }
    }

    /// Reads and writes a value without members.
    fn plain(
        &mut self,
        kind: &GoKind,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<Emptiness, GoTypeError> {
        let found = cursor.kind().map_err(damaged)?;
        let raw = cursor.value().map_err(damaged)?.raw();
        let mismatch = |path: &[Cow<'static, str>]| GoTypeError::Mismatch {
            path: path.join("."),
            found: shortened(raw),
            expected: kind.describe(),
        };
        let text = || std::str::from_utf8(raw).map_err(|_| GoTypeError::Damaged);
        let content = |is_empty| {
            if is_empty {
                Emptiness::Empty
            } else {
                Emptiness::Full
            }
        };
        match (kind, found) {
            (GoKind::String | GoKind::Bytes, JsonKind::String) => {
                self.out.extend_from_slice(raw);
                Ok(content(raw == b"\"\""))
            }
            (GoKind::Any, _)
            | (GoKind::Time | GoKind::Release | GoKind::IntOrString, JsonKind::String) => {
                self.out.extend_from_slice(raw);
                Ok(Emptiness::Full)
            }
            (GoKind::Bool, JsonKind::Bool) => {
                self.out.extend_from_slice(raw);
                Ok(content(raw == b"false"))
            }
            (GoKind::Float, JsonKind::Number) => {
                self.out.extend_from_slice(raw);
                Ok(content(text()?.parse() == Ok(0.0)))
            }
            (GoKind::Int32 | GoKind::Int64, JsonKind::Number) => {
                let number = integer(text()?).ok_or_else(|| mismatch(&self.path))?;
                // Go's conversion wraps.
                #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
                let number = match kind {
                    GoKind::Int32 => i64::from(number as i32),
                    _ => number,
                };
                self.out.extend_from_slice(number.to_string().as_bytes());
                Ok(content(number == 0))
            }
            (GoKind::IntOrString, JsonKind::Number) => {
                let number: i32 = text()?.parse().map_err(|_| mismatch(&self.path))?;
                self.out.extend_from_slice(number.to_string().as_bytes());
                Ok(Emptiness::Full)
            }
            (GoKind::Quantity, JsonKind::String | JsonKind::Number) => {
                let unquoted = text()?.trim_matches('"').trim();
                let quantity = quantity::canonical(unquoted).ok_or_else(|| mismatch(&self.path))?;
                self.out.push(b'"');
                self.out.extend_from_slice(quantity.as_bytes());
                self.out.push(b'"');
                Ok(Emptiness::Full)
            }
            (GoKind::Version, JsonKind::String) if is_tolerable_version(&raw[1..raw.len() - 1]) => {
                self.out.extend_from_slice(raw);
                Ok(Emptiness::Full)
            }
            _ => Err(mismatch(&self.path)),
        }
    }

    /// Reads and writes a schema, or what may stand in its place.
    fn schema(
        &mut self,
        kind: &GoKind,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<Emptiness, GoTypeError> {
        let schema = self.structs.by_name[SCHEMA];
        let element = match kind {
            GoKind::SchemaOrStrings => GoKind::String,
            _ => GoKind::Struct(schema),
        };
        match (kind, cursor.kind().map_err(damaged)?) {
            (_, JsonKind::Object) => self.members(schema, cursor).map(|_| Emptiness::Full),
            (GoKind::SchemaOrBool, JsonKind::Bool) => self.plain(&GoKind::Bool, cursor),
            (GoKind::SchemaOrBool, _) => self.plain(kind, cursor),
            (_, JsonKind::Array) => {
                let from = self.out.len();
                if self.list(&element, cursor)? == Emptiness::Empty {
                    self.out.truncate(from);
                    self.out.extend_from_slice(b"null");
                }
                Ok(Emptiness::Full)
            }
            // Upstream decodes any other value to nothing.
            _ => {
                cursor.value().map_err(damaged)?;
                self.out.extend_from_slice(b"null");
                Ok(Emptiness::Full)
            }
        }
    }

    fn list(
        &mut self,
        inner: &GoKind,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<Emptiness, GoTypeError> {
        if cursor.kind().map_err(damaged)? != JsonKind::Array {
            return self.mismatch("a list", cursor);
        }
        self.out.push(b'[');
        let mut count = 0_usize;
        cursor.array(|cursor| {
            if count > 0 {
                self.out.push(b',');
            }
            self.path.push(count.to_string().into());
            self.value(inner, cursor)?;
            self.path.pop();
            count += 1;
            Ok::<_, GoTypeError>(())
        })?;
        self.out.push(b']');
        Ok(if count == 0 {
            Emptiness::Empty
        } else {
            Emptiness::Full
        })
    }

    fn map(
        &mut self,
        inner: &GoKind,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<Emptiness, GoTypeError> {
        if cursor.kind().map_err(damaged)? != JsonKind::Object {
            return self.mismatch("an object", cursor);
        }
        self.out.push(b'{');
        let mut is_empty = true;
        cursor.object(|cursor, key| {
            if !is_empty {
                self.out.push(b',');
            }
            is_empty = false;
            self.out.extend_from_slice(key.raw());
            self.out.push(b':');
            self.path.push(key.decode().into_owned().into());
            self.value(inner, cursor)?;
            self.path.pop();
            Ok::<_, GoTypeError>(())
        })?;
        self.out.push(b'}');
        Ok(if is_empty {
            Emptiness::Empty
        } else {
            Emptiness::Full
        })
    }

    /// Reads and writes a struct. Members and fields are sorted alike: both are walked once.
    fn members(
        &mut self,
        at: usize,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<Emptiness, GoTypeError> {
        if cursor.kind().map_err(damaged)? != JsonKind::Object {
            return self.mismatch("an object", cursor);
        }
        if self.out.len() > MAX_CONVERTED_BYTES {
            return Err(GoTypeError::TooLarge);
        }
        let structs = self.structs;
        let mut fields = structs.structs[at].iter().peekable();
        self.out.push(b'{');
        cursor.object(|cursor, key| {
            let key = key.try_decode().map_err(damaged)?;
            while let Some(field) = fields.next_if(|field| *field.name < *key) {
                self.missing(field);
            }
            match fields.next_if(|field| *field.name == *key) {
                Some(field) => self.member(field, cursor),
                None => cursor.value().map(drop).map_err(damaged),
            }
        })?;
        fields.for_each(|field| self.missing(field));
        self.close();
        Ok(Emptiness::Full)
    }

    /// Reads and writes one field of a struct.
    fn member(
        &mut self,
        field: &'static GoField,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<(), GoTypeError> {
        let from = self.out.len();
        self.key(field.name);
        self.path.push(field.name.into());
        let content = self.value(&field.kind, cursor)?;
        self.path.pop();
        self.keep_unless_omitted(field, content, from);
        Ok(())
    }

    /// Writes a field of a struct that the input does not have.
    fn missing(&mut self, field: &GoField) {
        let from = self.out.len();
        self.key(field.name);
        let content = self.zero(&field.kind);
        self.keep_unless_omitted(field, content, from);
    }

    fn keep_unless_omitted(&mut self, field: &GoField, content: Emptiness, from: usize) {
        let is_omitted = match content {
            Emptiness::Empty => field.omits_empty || field.omits_zero,
            Emptiness::Zero => field.omits_zero,
            Emptiness::Full => false,
        };
        if is_omitted {
            self.out.truncate(from);
        } else {
            self.out.push(b',');
        }
    }

    /// Writes the zero value of a type.
    fn zero(&mut self, kind: &GoKind) -> Emptiness {
        let (text, content): (&[u8], _) = match kind {
            GoKind::String => (b"\"\"", Emptiness::Empty),
            GoKind::Bool => (b"false", Emptiness::Empty),
            GoKind::Int32 | GoKind::Int64 | GoKind::Float => (b"0", Emptiness::Empty),
            GoKind::Time => (b"null", Emptiness::Zero),
            GoKind::Quantity => (b"\"0\"", Emptiness::Zero),
            GoKind::IntOrString => (b"0", Emptiness::Zero),
            GoKind::Version => (b"\"0.0.0\"", Emptiness::Zero),
            GoKind::Release => (b"\"\"", Emptiness::Zero),
            GoKind::SchemaOrBool => (b"false", Emptiness::Zero),
            GoKind::Any | GoKind::SchemaOrArray | GoKind::SchemaOrStrings => {
                (b"null", Emptiness::Zero)
            }
            GoKind::Bytes | GoKind::Pointer(_) | GoKind::List(_) | GoKind::Map(_) => {
                (b"null", Emptiness::Empty)
            }
            GoKind::Struct(at) => {
                let structs = self.structs;
                self.out.push(b'{');
                structs.structs[*at]
                    .iter()
                    .for_each(|field| self.missing(field));
                self.close();
                return Emptiness::Zero;
            }
        };
        self.out.extend_from_slice(text);
        content
    }

    fn key(&mut self, name: &str) {
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// Closes an object, whose members each end with a comma.
    fn close(&mut self) {
        if self.out.last() == Some(&b',') {
            self.out.pop();
        }
        self.out.push(b'}');
    }

    fn mismatch(
        &self,
        expected: &'static str,
        cursor: &mut JsonCursor<'_>,
    ) -> Result<Emptiness, GoTypeError> {
        let found = shortened(cursor.value().map_err(damaged)?.raw());
        Err(GoTypeError::Mismatch {
            path: self.path.join("."),
            found,
            expected,
        })
    }
}

impl From<JsonError> for GoTypeError {
    fn from(error: JsonError) -> Self {
        damaged(error)
    }
}

fn damaged(_: JsonError) -> GoTypeError {
    GoTypeError::Damaged
}

/// Quotes the beginning of a value.
fn shortened(raw: &[u8]) -> String {
    const LENGTH: usize = 40;
    let text = String::from_utf8_lossy(raw);
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// Reads an integer, which may be written as a double.
fn integer(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    let is_exact = number.fract().abs() < f64::EPSILON && number.abs() < 9e15;
    #[expect(clippy::cast_possible_truncation, reason = "it is a small integer")]
    is_exact.then_some(number as i64)
}

/// Tells whether upstream's tolerant parser takes a version: with white space around it, a `v`
/// before it, leading zeros, or fewer than three numbers.
fn is_tolerable_version(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else {
        return false;
    };
    let text = text.trim().trim_start_matches('v');
    let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
    for part in &mut parts {
        let digits = part.trim_start_matches('0');
        let is_number = digits.starts_with(|first: char| first.is_ascii_digit());
        *part = if part.len() > digits.len() && !is_number {
            format!("0{digits}")
        } else {
            digits.to_owned()
        };
    }
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return false;
    }
    parts.resize(3, "0".to_owned());
    Version::parse(&parts.join(".")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(name: &str, json: &str) -> Result<String, String> {
        GoStructs::get()
            .convert(name, json.as_bytes())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn fields_are_sorted_as_canonical_json_is() {
        for fields in &GoStructs::get().structs {
            assert!(fields.is_sorted_by(|one, other| one.name < other.name));
        }
    }

    #[test]
    fn unknown_fields_are_lost_and_missing_ones_have_their_zero_value() {
        for (name, json, converted) in [
            ("PolicyRule", "{}", r#"{"verbs":null}"#),
            (
                "PolicyRule",
                r#"{"apiGroups":[],"extra":1,"verbs":[]}"#,
                r#"{"verbs":[]}"#,
            ),
            ("EnvVar", r#"{"name":"A","value":""}"#, r#"{"name":"A"}"#),
            (
                "DeploymentSpec",
                r#"{"paused":false,"replicas":0,"zzz":{}}"#,
                r#"{"replicas":0,"selector":null,"strategy":{},"template":{"metadata":{},"spec":{"containers":null}}}"#,
            ),
            (
                "ObjectMeta",
                r#"{"creationTimestamp":null,"labels":{},"name":"a"}"#,
                r#"{"name":"a"}"#,
            ),
        ] {
            assert_eq!(convert(name, json).unwrap(), converted, "{json}");
        }
    }

    #[test]
    fn numbers_and_quantities_are_written_as_go_writes_them() {
        assert_eq!(
            convert(
                "ResourceRequirements",
                r#"{"limits":{"cpu":1,"memory":"1024Mi"},"requests":{"cpu":"0.5"}}"#
            )
            .unwrap(),
            r#"{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}}"#
        );
        assert_eq!(
            convert("ContainerPort", r#"{"containerPort":8080.0}"#).unwrap(),
            r#"{"containerPort":8080}"#
        );
        assert_eq!(
            convert("TCPSocketAction", r#"{"port":"http"}"#).unwrap(),
            r#"{"port":"http"}"#
        );
    }

    #[test]
    fn a_schema_may_be_a_bool_or_a_list_where_upstream_accepts_it() {
        for (json, converted) in [
            (
                r#"{"additionalProperties":false}"#,
                r#"{"additionalProperties":false}"#,
            ),
            (
                r#"{"items":[{"type":"string","unknown":1}]}"#,
                r#"{"items":[{"type":"string"}]}"#,
            ),
            (r#"{"items":[]}"#, r#"{"items":null}"#),
            (
                r#"{"default":null,"enum":[null,1]}"#,
                r#"{"enum":[null,1]}"#,
            ),
        ] {
            assert_eq!(convert(SCHEMA, json).unwrap(), converted, "{json}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_named_with_its_place() {
        assert_eq!(
            convert(
                "PodSpec",
                r#"{"containers":[{"env":[{"name":"A","value":1}]}]}"#
            ),
            Err("`containers.0.env.0.value` is `1`, but must be a string".to_owned())
        );
        assert_eq!(
            convert("PolicyRule", r#"{"verbs":"get"}"#),
            Err("`verbs` is `\"get\"`, but must be a list".to_owned())
        );
    }

    #[test]
    fn versions_are_read_tolerantly() {
        for version in ["1.2.3", "v1.2", " 1 ", "01.2.3", "1.2.3-rc.1+b"] {
            assert!(is_tolerable_version(version.as_bytes()), "{version}");
        }
        for version in ["", "x", "1.2-rc.1", "1..2"] {
            assert!(!is_tolerable_version(version.as_bytes()), "{version}");
        }
    }
}
