//! Properties of a blob: their types, their values, and what upstream's decoder would say of those.

use std::borrow::Cow;
use std::ops::Range;

use super::{Checks, Decoder, Member};
use crate::catalog::names::Name;
use crate::catalog::record::{GvkRecord, Payload, PropertyRecord, RequirementRecord, Span};
use crate::catalog::shape::{self, Shape};
use crate::catalog::{constraint, id};
use crate::json::{Cursor, Fault, Kind, Text, Value, is_field};

impl<'a> Decoder<'a> {
    /// Reads a list of properties whose blob may yet turn out to be of another schema.
    pub(super) fn properties(&mut self, cursor: &mut Cursor<'a>) -> Result<Member<Range<u32>>, Fault> {
        let (start, from) = (cursor.clone(), self.properties.len());
        if cursor.null()? {
            return Ok(Member::Absent);
        }
        match cursor.array(|cursor| self.property(cursor)) {
            Ok(()) => Ok(Member::Is(id(from)..id(self.properties.len()))),
            Err(Fault::Broken) => Err(Fault::Broken),
            Err(Fault::Mismatch) => {
                self.truncate_properties(from);
                *cursor = start;
                cursor.value()?;
                Ok(Member::Wrong)
            }
        }
    }

    pub(super) fn truncate_properties(&mut self, len: usize) {
        self.properties.truncate(len);
        for findings in [&mut self.misfits, &mut self.unknown_modes] {
            findings.retain(|&(at, _)| (at as usize) < len);
        }
    }

    fn property(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Fault> {
        let (mut type_name, mut value, mut is_checked) = (None, None, false);
        if !cursor.null()? {
            cursor.object(|cursor, key| {
                match () {
                    () if is_field(key, "type") => type_name = cursor.optional_text()?.or(type_name),
                    () if is_field(key, "value") => {
                        value = Some((cursor.position(), self.value(cursor, type_name)?));
                        is_checked = type_name.is_some();
                    }
                    () => drop(cursor.value()?),
                }
                Ok::<_, Fault>(())
            })?;
        }
        let payload = match (type_name, value) {
            (Some(type_name), Some((_, value))) => self.payload(type_name, value).unwrap_or(Payload::Opaque),
            _ => Payload::Opaque,
        };
        if !is_checked && self.checks == Checks::All {
            self.check_late(type_name, value.map(|(_, value)| value));
        }
        let value = value.map_or(Span::default(), |(at, value)| Span { start: id(at), len: id(value.0.len()) });
        let type_name = self.text_or_empty(type_name)?;
        self.properties.push(PropertyRecord { type_name, value, payload });
        Ok(())
    }

    /// Reads the value of the next property and checks it on the way, if its type is known already.
    fn value(&mut self, cursor: &mut Cursor<'a>, type_name: Option<Text<'a>>) -> Result<Value<'a>, Fault> {
        let start = cursor.clone();
        let shape = type_name.filter(|_| self.checks == Checks::All).and_then(shape::of_property);
        if let Some(shape) = shape {
            if let Some(value) = self.check(cursor, shape) {
                return Ok(value);
            }
            *cursor = start;
        }
        cursor.value()
    }

    /// Checks a value whose type came after it, as the order of keys has it only where their letter case is odd.
    fn check_late(&mut self, type_name: Option<Text<'a>>, value: Option<Value<'a>>) {
        let Some(value) = value else {
            return self.misfit(shape::VALUE_MISSING.to_owned());
        };
        let shape = type_name.and_then(shape::of_property);
        if let Some(shape) = shape {
            self.check(&mut value.cursor(), shape);
        }
    }

    /// Reads a value and remembers what is odd in it; `None` where it does not fit.
    fn check(&mut self, cursor: &mut Cursor<'a>, shape: Shape) -> Option<Value<'a>> {
        let mut unknown_mode = None;
        let read = shape::read(cursor, shape, &mut unknown_mode);
        self.unknown_modes.extend(unknown_mode.map(|mode| (id(self.properties.len()), mode)));
        read.map_err(|misfit| self.misfit(misfit)).ok()
    }

    /// Remembers what is wrong with the next property.
    fn misfit(&mut self, misfit: String) {
        self.misfits.push((id(self.properties.len()), misfit));
    }

    /// What a property of a known type says; a fault where its value is malformed.
    fn payload(&mut self, type_name: Text<'a>, value: Value<'a>) -> Result<Payload, Fault> {
        let is_object = value.cursor().kind()? == Kind::Object;
        Ok(match () {
            () if type_name.is("olm.gvk") => Payload::Gvk(self.gvk(value)?),
            () if type_name.is("olm.gvk.required") => Payload::GvkRequired(self.gvk(value)?),
            () if type_name.is("olm.package") => {
                let [package, version, release] = texts(value, ["packageName", "version", "release"])?;
                Payload::Package(self.requirement(package, version, release)?)
            }
            () if type_name.is("olm.package.required") => {
                let [package, range] = texts(value, ["packageName", "versionRange"])?;
                Payload::PackageRequired(self.requirement(package, range, None)?)
            }
            () if type_name.is("olm.csv.metadata") && is_object => Payload::CsvMetadata,
            () if type_name.is("olm.bundle.object") && is_object => Payload::BundleObject,
            () if type_name.is("olm.constraint") && constraint::decode(value.0).is_some() => Payload::Constraint,
            () if type_name.is("olm.maxOpenShiftVersion") => {
                Payload::MaxOpenShiftVersion(self.max_openshift_version(value)?)
            }
            () => Payload::Opaque,
        })
    }

    fn gvk(&mut self, value: Value<'a>) -> Result<u32, Fault> {
        let [group, version, kind] = texts(value, ["group", "version", "kind"])?;
        let record = GvkRecord {
            group: self.text_or_empty(group)?,
            version: self.text_or_empty(version)?,
            kind: self.text_or_empty(kind)?,
        };
        let next = id(self.gvks.len());
        let id = *self.known_gvks.entry(record).or_insert(next);
        if id == next {
            self.gvks.push(record);
        }
        Ok(id)
    }

    fn requirement(
        &mut self,
        package: Option<Text<'a>>,
        range: Option<Text<'a>>,
        release: Option<Text<'a>>,
    ) -> Result<u32, Fault> {
        let record = RequirementRecord {
            package: self.text_or_empty(package)?,
            range: self.text_or_empty(range)?,
            release: self.optional_name(release)?,
        };
        self.requirements.push(record);
        Ok(id(self.requirements.len() - 1))
    }

    /// The version, which catalogs give as a string or as a number: exactly `<major>.<minor>`.
    fn max_openshift_version(&mut self, value: Value<'a>) -> Result<Name, Fault> {
        let mut cursor = value.cursor();
        let version = match cursor.kind()? {
            Kind::String => cursor.text()?.decode()?,
            Kind::Number => Cow::Borrowed(std::str::from_utf8(value.0).map_err(|_| Fault::Broken)?),
            _ => return Err(Fault::Mismatch),
        };
        let (major, minor) = version.trim_matches('"').split_once('.').ok_or(Fault::Mismatch)?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(major.trim_start_matches('v')) || !is_number(minor) {
            return Err(Fault::Mismatch);
        }
        let quoted = version.len() != version.trim_matches('"').len();
        let plain = if quoted { Cow::Owned(version.trim_matches('"').to_owned()) } else { version };
        Ok(self.names.intern(plain))
    }
}

/// Reads these string fields of an object; `null`, for it or for a field, is nothing.
fn texts<'a, const N: usize>(value: Value<'a>, fields: [&str; N]) -> Result<[Option<Text<'a>>; N], Fault> {
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
        Ok::<_, Fault>(())
    })?;
    Ok(texts)
}
