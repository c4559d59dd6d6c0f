//! One canonical line → what its blob says, still in catalog order and under its own names.
//!
//! It visits each byte of the line once, however deep the values nest. Whether packages and channels exist, and what
//! wins, is for [`super::build`] to say.

mod property;

use std::borrow::Cow;
use std::ops::Range;

use hashbrown::HashMap;

use super::names::{Interner, Name};
use super::record::{GvkRecord, PropertyRecord, RequirementRecord, Span};
use super::shape::{self, Shape};
use crate::json::{Cursor, Fault, Kind, Text, Value, is_field};

/// What a line says.
pub(super) struct Blob {
    pub(super) schema: Name,
    pub(super) package: Name,
    pub(super) name: Name,
    pub(super) body: Body,
}

/// What a blob of a known schema says besides its key.
pub(super) enum Body {
    Package {
        default_channel: Name,
        description: Span,
        properties: Range<u32>,
    },
    Channel {
        entries: Range<u32>,
        properties: Range<u32>,
    },
    Bundle {
        image: Span,
        related_images: Span,
        properties: Range<u32>,
    },
    Deprecations(Vec<DeprecationEntry>),
    /// Of another schema.
    Opaque,
    /// Of a known schema, with a value of the wrong type; what Go's decoder says of it.
    Malformed(String),
}

/// An entry of a channel, as its blob gives it.
pub(super) struct Entry {
    pub(super) name: Name,
    pub(super) replaces: Name,
    pub(super) skip_range: Name,
    pub(super) skips: Range<u32>,
}

/// An entry of an `olm.deprecations`, as its blob gives it; what is absent is empty.
pub(super) struct DeprecationEntry {
    pub(super) schema: Name,
    pub(super) name: Name,
    pub(super) message: Span,
}

/// Decodes lines one after the other into shared tables.
pub(super) struct Decoder<'a> {
    pub(super) names: Interner<'a>,
    pub(super) entries: Vec<Entry>,
    pub(super) skips: Vec<Name>,
    pub(super) properties: Vec<PropertyRecord>,
    pub(super) gvks: Vec<GvkRecord>,
    pub(super) requirements: Vec<RequirementRecord>,
    /// Properties that upstream's decoder refuses, by place, with its words; none where nothing is checked.
    pub(super) misfits: Vec<(u32, String)>,
    /// Properties with an install mode that nobody knows, by place, with its first; none where nothing is checked.
    pub(super) unknown_modes: Vec<(u32, String)>,
    checks: Checks,
    known: Known,
    known_gvks: HashMap<GvkRecord, u32>,
}

/// Whether values that are only passed over are looked at, which takes as long again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Checks {
    /// They are.
    All,
    /// They were before.
    Done,
}

/// The names that decide how a blob is read.
struct Known {
    package: Name,
    channel: Name,
    bundle: Name,
    deprecations: Name,
}

/// The typed members of a line, found in one pass before its schema is known.
#[derive(Default)]
struct Members<'a> {
    schema: Option<Text<'a>>,
    package: Option<Text<'a>>,
    name: Option<Text<'a>>,
    image: Member<Text<'a>>,
    default_channel: Member<Text<'a>>,
    description: Member<Text<'a>>,
    entries: Option<Value<'a>>,
    related_images: Option<Value<'a>>,
    properties: Member<Range<u32>>,
}

/// A member that may be absent or of the wrong type.
#[derive(Default)]
enum Member<T> {
    #[default]
    Absent,
    Is(T),
    Wrong,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(checks: Checks) -> Self {
        let mut names = Interner::new();
        let mut name = |text| names.intern(Cow::Borrowed(text));
        let known = Known {
            package: name("olm.package"),
            channel: name("olm.channel"),
            bundle: name("olm.bundle"),
            deprecations: name("olm.deprecations"),
        };
        Self {
            names,
            entries: Vec::new(),
            skips: Vec::new(),
            properties: Vec::new(),
            gvks: Vec::new(),
            requirements: Vec::new(),
            misfits: Vec::new(),
            unknown_modes: Vec::new(),
            checks,
            known,
            known_gvks: HashMap::new(),
        }
    }

    /// Whether blobs of this schema have typed objects.
    pub(super) fn is_known(&self, schema: Name) -> bool {
        [self.known.package, self.known.channel, self.known.bundle, self.known.deprecations].contains(&schema)
    }

    /// Decodes one line; fails only where it is no canonical JSON object.
    pub(super) fn decode(&mut self, line: &'a [u8]) -> Result<Blob, Fault> {
        let marks = (self.properties.len(), self.entries.len(), self.skips.len());
        let mut cursor = Cursor::new(line);
        let members = self.members(&mut cursor)?;
        if cursor.position() != line.len() {
            return Err(Fault::Broken);
        }
        let schema = self.optional_name(members.schema)?;
        let (package, name) = (self.optional_name(members.package)?, self.optional_name(members.name)?);
        let body = match self.body(line, schema, members) {
            Ok(body) => body,
            Err(Fault::Broken) => return Err(Fault::Broken),
            Err(Fault::Mismatch) => Body::Malformed(self.complaint(line, schema)),
        };
        if matches!(body, Body::Malformed(_) | Body::Opaque) {
            self.truncate_properties(marks.0);
            self.entries.truncate(marks.1);
            self.skips.truncate(marks.2);
        }
        Ok(Blob { schema, package, name, body })
    }

    fn members(&mut self, cursor: &mut Cursor<'a>) -> Result<Members<'a>, Fault> {
        let mut members = Members::default();
        cursor.object(|cursor, key| {
            match () {
                () if is_field(key, "schema") => members.schema = Some(cursor.text()?),
                () if is_field(key, "package") => members.package = Some(cursor.text()?),
                () if is_field(key, "name") => members.name = Some(cursor.text()?),
                () if is_field(key, "image") => members.image = text(cursor)?,
                () if is_field(key, "defaultChannel") => members.default_channel = text(cursor)?,
                () if is_field(key, "description") => members.description = text(cursor)?,
                () if is_field(key, "entries") => members.entries = Some(cursor.value()?),
                () if is_field(key, "relatedImages") => members.related_images = Some(cursor.value()?),
                () if is_field(key, "properties") => members.properties = self.properties(cursor)?,
                () => drop(cursor.value()?),
            }
            Ok(())
        })?;
        Ok(members)
    }

    /// What the blob says, by its schema; a [`Fault::Mismatch`] makes it malformed.
    fn body(&mut self, line: &'a [u8], schema: Name, members: Members<'a>) -> Result<Body, Fault> {
        if schema == self.known.bundle {
            let related_images = match members.related_images.filter(|value| !value.is_null()) {
                None => Span::default(),
                Some(images) => {
                    check_related_images(images)?;
                    span(line, images.0)
                }
            };
            let image = members.image.text()?.map_or(Span::default(), |text| span(line, text.0));
            return Ok(Body::Bundle { image, related_images, properties: members.properties.range()? });
        }
        if schema == self.known.channel {
            let from = super::id(self.entries.len());
            if let Some(entries) = members.entries.filter(|value| !value.is_null()) {
                entries.cursor().array(|cursor| self.entry(cursor))?;
            }
            let entries = from..super::id(self.entries.len());
            return Ok(Body::Channel { entries, properties: members.properties.range()? });
        }
        if schema == self.known.package {
            let default_channel = members.default_channel.text()?;
            return Ok(Body::Package {
                default_channel: self.text_or_empty(default_channel)?,
                description: members.description.text()?.map_or(Span::default(), |text| span(line, text.0)),
                properties: members.properties.range()?,
            });
        }
        if schema == self.known.deprecations {
            let mut list = Vec::new();
            if let Some(entries) = members.entries.filter(|value| !value.is_null()) {
                entries.cursor().array(|cursor| {
                    list.push(self.deprecation(line, cursor)?);
                    Ok::<_, Fault>(())
                })?;
            }
            return Ok(Body::Deprecations(list));
        }
        Ok(Body::Opaque)
    }

    /// What Go's decoder says of a malformed blob.
    fn complaint(&self, line: &'a [u8], schema: Name) -> String {
        let (what, shape) = match schema {
            schema if schema == self.known.package => ("package", shape::PACKAGE_BLOB),
            schema if schema == self.known.channel => ("channel", shape::CHANNEL_BLOB),
            schema if schema == self.known.bundle => ("bundle", shape::BUNDLE_BLOB),
            _ => ("deprecation", shape::DEPRECATIONS_BLOB),
        };
        let misfit = shape::misfit(Value(line), shape).unwrap_or_else(|| "a field has the wrong type".to_owned());
        format!("parse {what}: {misfit}")
    }

    fn entry(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Fault> {
        let (mut name, mut replaces, mut skip_range) = (None, None, None);
        let from = super::id(self.skips.len());
        if !cursor.null()? {
            cursor.object(|cursor, key| {
                match () {
                    () if is_field(key, "name") => name = cursor.optional_text()?.or(name),
                    () if is_field(key, "replaces") => replaces = cursor.optional_text()?.or(replaces),
                    () if is_field(key, "skipRange") => skip_range = cursor.optional_text()?.or(skip_range),
                    () if is_field(key, "skips") => self.skips(cursor, from)?,
                    () => drop(cursor.value()?),
                }
                Ok::<_, Fault>(())
            })?;
        }
        let entry = Entry {
            name: self.text_or_empty(name)?,
            replaces: self.optional_name(replaces)?,
            skip_range: self.optional_name(skip_range)?,
            skips: from..super::id(self.skips.len()),
        };
        self.entries.push(entry);
        Ok(())
    }

    /// Reads the skips of an entry; of two lists the last counts.
    fn skips(&mut self, cursor: &mut Cursor<'a>, from: u32) -> Result<(), Fault> {
        self.skips.truncate(from as usize);
        if cursor.null()? {
            return Ok(());
        }
        cursor.array(|cursor| {
            let skipped = cursor.optional_text()?;
            let skipped = self.text_or_empty(skipped)?;
            self.skips.push(skipped);
            Ok(())
        })
    }

    fn deprecation(&mut self, line: &'a [u8], cursor: &mut Cursor<'a>) -> Result<DeprecationEntry, Fault> {
        let (mut schema, mut name, mut message) = (None, None, None);
        if !cursor.null()? {
            cursor.object(|cursor, key| {
                if is_field(key, "message") {
                    message = cursor.optional_text()?.or(message);
                } else if !is_field(key, "reference") {
                    cursor.value()?;
                } else if !cursor.null()? {
                    cursor.object(|cursor, key| {
                        match () {
                            () if is_field(key, "schema") => schema = cursor.optional_text()?.or(schema),
                            () if is_field(key, "name") => name = cursor.optional_text()?.or(name),
                            () => drop(cursor.value()?),
                        }
                        Ok::<_, Fault>(())
                    })?;
                }
                Ok::<_, Fault>(())
            })?;
        }
        Ok(DeprecationEntry {
            schema: self.text_or_empty(schema)?,
            name: self.text_or_empty(name)?,
            message: message.map_or(Span::default(), |text| span(line, text.0)),
        })
    }

    fn text_or_empty(&mut self, text: Option<Text<'a>>) -> Result<Name, Fault> {
        let text = text.map_or(Ok(Cow::Borrowed("")), Text::decode)?;
        Ok(self.names.intern(text))
    }

    fn optional_name(&mut self, text: Option<Text<'a>>) -> Result<Name, Fault> {
        text.map_or(Ok(Name::NONE), |text| Ok(self.names.intern(text.decode()?)))
    }
}

impl<'a> Member<Text<'a>> {
    fn text(self) -> Result<Option<Text<'a>>, Fault> {
        match self {
            Member::Absent => Ok(None),
            Member::Is(text) => Ok(Some(text)),
            Member::Wrong => Err(Fault::Mismatch),
        }
    }
}

impl Member<Range<u32>> {
    fn range(self) -> Result<Range<u32>, Fault> {
        match self {
            Member::Absent => Ok(0..0),
            Member::Is(range) => Ok(range),
            Member::Wrong => Err(Fault::Mismatch),
        }
    }
}

/// Reads a value that should be a string, whatever it is.
fn text<'a>(cursor: &mut Cursor<'a>) -> Result<Member<Text<'a>>, Fault> {
    Ok(match cursor.kind()? {
        Kind::String => Member::Is(cursor.text()?),
        Kind::Null => {
            cursor.value()?;
            Member::Absent
        }
        _ => {
            cursor.value()?;
            Member::Wrong
        }
    })
}

fn check_related_images(images: Value<'_>) -> Result<(), Fault> {
    match shape::misfit(images, Shape::List(&shape::RELATED_IMAGE, "[]declcfg.RelatedImage")) {
        None => Ok(()),
        Some(_) => Err(Fault::Mismatch),
    }
}

/// The span of a piece of a line, which it was cut from.
fn span(line: &[u8], piece: &[u8]) -> Span {
    let start = piece.as_ptr().addr() - line.as_ptr().addr();
    Span { start: super::id(start), len: super::id(piece.len()) }
}
