//! Decodes the properties of a blob and checks their values against upstream's Go types.

use std::borrow::Cow;
use std::ops::Range;

use fbc_read::json::{JsonCursor, JsonError, JsonKind, JsonText, JsonValue, is_field};

use super::decoder::BlobField;
use super::decoder::{Checks, Decoder};
use crate::go_types::GoType;
use crate::ids::id;
use crate::names::Name;
use crate::record::{GvkRecord, Payload, PropertyRecord, RequirementRecord, Span};
use crate::{constraint, go_types};

impl<'a> Decoder<'a> {
    /// Reads a list of properties, before the schema of the blob is known.
    pub(super) fn properties(
        &mut self,
        cursor: &mut JsonCursor<'a>,
    ) -> Result<BlobField<Range<u32>>, JsonError> {
        let start = cursor.clone();
        let from = self.properties.len();
        if cursor.null()? {
            return Ok(BlobField::Absent);
        }
        match cursor.array(|cursor| self.property(cursor)) {
            Ok(()) => Ok(BlobField::Present(id(from)..id(self.properties.len()))),
            Err(JsonError::Damaged) => Err(JsonError::Damaged),
            Err(JsonError::WrongType) => {
                self.truncate_properties(from);
                *cursor = start;
                cursor.value()?;
                Ok(BlobField::WrongType)
            }
        }
    }

    pub(super) fn truncate_properties(&mut self, len: usize) {
        self.properties.truncate(len);
        for findings in [&mut self.type_mismatches, &mut self.unknown_modes] {
            // They are in the order of the properties.
            findings.truncate(findings.partition_point(|&at| (at as usize) < len));
        }
    }

    fn property(&mut self, cursor: &mut JsonCursor<'a>) -> Result<(), JsonError> {
        let mut type_name = None;
        let mut value = None;
        let mut is_checked = false;
        if !cursor.null()? {
            cursor.object(|cursor, key| {
                if is_field(key, "type") {
                    type_name = cursor.optional_text()?.or(type_name);
                } else if is_field(key, "value") {
                    value = Some((cursor.position(), self.value(cursor, type_name)?));
                    is_checked = type_name.is_some();
                } else {
                    cursor.value()?;
                }
                Ok::<_, JsonError>(())
            })?;
        }
        let payload = match (type_name, value) {
            (Some(type_name), Some((_, value))) => {
                self.payload(type_name, value).unwrap_or(Payload::Opaque)
            }
            _ => Payload::Opaque,
        };
        if !is_checked && self.checks == Checks::All {
            self.check_late(type_name, value.map(|(_, value)| value));
        }
        let value = value.map_or(Span::default(), |(at, value)| Span {
            start: id(at),
            len: id(value.raw().len()),
        });
        let type_name = self.text_or_empty(type_name)?;
        self.properties.push(PropertyRecord {
            type_name,
            value,
            payload: payload.into(),
        });
        Ok(())
    }

    /// Reads the value of the next property, and checks it in the same pass if its type is already
    /// known.
    fn value(
        &mut self,
        cursor: &mut JsonCursor<'a>,
        type_name: Option<JsonText<'a>>,
    ) -> Result<JsonValue<'a>, JsonError> {
        let start = cursor.clone();
        let wanted = type_name
            .filter(|_| self.checks == Checks::All)
            .and_then(go_types::property_type);
        if let Some(wanted) = wanted {
            if let Some(value) = self.check(cursor, wanted) {
                return Ok(value);
            }
            *cursor = start;
        }
        cursor.value()
    }

    /// Checks a value whose type follows it. Keys are sorted, so this needs a key such as `Value`.
    fn check_late(&mut self, type_name: Option<JsonText<'a>>, value: Option<JsonValue<'a>>) {
        let Some(value) = value else {
            return self.note_mismatch();
        };
        let wanted = type_name.and_then(go_types::property_type);
        if let Some(wanted) = wanted {
            self.check(&mut value.cursor(), wanted);
        }
    }

    /// Reads a value and notes its mismatch or unknown install mode; `None` for a mismatch.
    fn check(&mut self, cursor: &mut JsonCursor<'a>, wanted: GoType) -> Option<JsonValue<'a>> {
        let mut unknown_mode = None;
        let read = go_types::read(cursor, wanted, &mut unknown_mode);
        self.unknown_modes
            .extend(unknown_mode.map(|_| id(self.properties.len())));
        read.map_err(|_| self.note_mismatch()).ok()
    }

    /// Notes a mismatch of the next property.
    fn note_mismatch(&mut self) {
        self.type_mismatches.push(id(self.properties.len()));
    }

    /// Decodes the value of a property of a known type; fails if it is malformed.
    fn payload(
        &mut self,
        type_name: JsonText<'a>,
        value: JsonValue<'a>,
    ) -> Result<Payload, JsonError> {
        let is_object = value.cursor().kind()? == JsonKind::Object;
        Ok(if type_name.is("olm.gvk") {
            Payload::Gvk(self.gvk(value)?)
        } else if type_name.is("olm.gvk.required") {
            Payload::GvkRequired(self.gvk(value)?)
        } else if type_name.is("olm.package") {
            let [package, version, release] = texts(value, ["packageName", "version", "release"])?;
            Payload::Package(self.requirement(package, version, release)?)
        } else if type_name.is("olm.package.required") {
            let [package, range] = texts(value, ["packageName", "versionRange"])?;
            Payload::PackageRequired(self.requirement(package, range, None)?)
        } else if type_name.is("olm.csv.metadata") && is_object {
            Payload::CsvMetadata
        } else if type_name.is("olm.bundle.object") && is_object {
            Payload::BundleObject
        } else if type_name.is("olm.constraint") && constraint::decode(value.raw()).is_some() {
            Payload::Constraint
        } else if type_name.is("olm.maxOpenShiftVersion") {
            Payload::MaxOpenShiftVersion(self.max_openshift_version(value)?)
        } else {
            Payload::Opaque
        })
    }

    fn gvk(&mut self, value: JsonValue<'a>) -> Result<u32, JsonError> {
        let [group, version, kind] = texts(value, ["group", "version", "kind"])?;
        let record = GvkRecord {
            group: self.text_or_empty(group)?,
            version: self.text_or_empty(version)?,
            kind: self.text_or_empty(kind)?,
        };
        let next = id(self.gvks.len());
        let id = *self.gvk_ids.entry(record).or_insert(next);
        if id == next {
            self.gvks.push(record);
        }
        Ok(id)
    }

    fn requirement(
        &mut self,
        package: Option<JsonText<'a>>,
        range: Option<JsonText<'a>>,
        release: Option<JsonText<'a>>,
    ) -> Result<u32, JsonError> {
        let record = RequirementRecord {
            package: self.text_or_empty(package)?,
            range: self.text_or_empty(range)?,
            release: self.optional_name(release)?,
        };
        self.requirements.push(record);
        Ok(id(self.requirements.len() - 1))
    }

    /// Reads the version, a string or a number in real catalogs, which must be exactly
    /// `<major>.<minor>`.
    fn max_openshift_version(&mut self, value: JsonValue<'a>) -> Result<Name, JsonError> {
        let mut cursor = value.cursor();
        let version = match cursor.kind()? {
            JsonKind::String => cursor.text()?.try_decode()?,
            JsonKind::Number => {
                Cow::Borrowed(std::str::from_utf8(value.raw()).map_err(|_| JsonError::Damaged)?)
            }
            _ => return Err(JsonError::WrongType),
        };
        let (major, minor) = version
            .trim_matches('"')
            .split_once('.')
            .ok_or(JsonError::WrongType)?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(major.trim_start_matches('v')) || !is_number(minor) {
            return Err(JsonError::WrongType);
        }
        let quoted = version.len() != version.trim_matches('"').len();
        let plain = if quoted {
            Cow::Owned(version.trim_matches('"').to_owned())
        } else {
            version
        };
        Ok(self.names.intern(plain))
    }
}

/// Reads string fields of an object; `null`, as object or as field, counts as absent.
fn texts<'a, const N: usize>(
    value: JsonValue<'a>,
    fields: [&str; N],
) -> Result<[Option<JsonText<'a>>; N], JsonError> {
    let mut texts = [None; N];
    let mut cursor = value.cursor();
    if cursor.null()? {
        return Ok(texts);
    }
    cursor.object(|cursor, key| {
        match fields.iter().position(|field| is_field(key, field)) {
            Some(at) => texts[at] = cursor.optional_text()?.or(texts[at]),
            None => drop(cursor.value()?),
        }
        Ok::<_, JsonError>(())
    })?;
    Ok(texts)
}
