//! Decodes canonical lines to records, in catalog order, before names are resolved.
//!
//! Each byte of a line is visited once, however deep its values nest. [`super::link`] decides
//! whether packages and channels exist, and which of several equal keys wins.

mod property;

use std::borrow::Cow;
use std::ops::Range;

use hashbrown::HashMap;

use super::go_types::{self, GoType};
use super::names::{Name, NameInterner};
use super::record::{GvkRecord, PropertyRecord, RequirementRecord, Span};
use crate::json::{JsonCursor, JsonError, JsonKind, RawText, RawValue, is_field};

/// A decoded line.
pub(super) struct DecodedBlob {
    pub(super) schema: Name,
    pub(super) package: Name,
    pub(super) name: Name,
    pub(super) body: BlobBody,
}

/// Fields of a blob of a known schema, besides its key.
pub(super) enum BlobBody {
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
    Deprecations(Vec<DecodedDeprecation>),
    /// A blob of another schema.
    Opaque,
    /// A blob of a known schema with a value of the wrong type; Go's message.
    Malformed(String),
}

/// A channel entry as written in its blob.
pub(super) struct DecodedEntry {
    pub(super) name: Name,
    pub(super) replaces: Name,
    pub(super) skip_range: Name,
    pub(super) skips: Range<u32>,
}

/// An entry of an `olm.deprecations` as written in its blob; absent fields are empty.
pub(super) struct DecodedDeprecation {
    pub(super) schema: Name,
    pub(super) name: Name,
    pub(super) message: Span,
}

/// Decodes lines one after the other into shared tables.
pub(super) struct Decoder<'a> {
    pub(super) names: NameInterner<'a>,
    pub(super) entries: Vec<DecodedEntry>,
    pub(super) skips: Vec<Name>,
    pub(super) properties: Vec<PropertyRecord>,
    pub(super) gvks: Vec<GvkRecord>,
    pub(super) requirements: Vec<RequirementRecord>,
    /// Ids of properties that upstream's decoder rejects; empty with [`Checks::Done`].
    pub(super) type_mismatches: Vec<u32>,
    /// Ids of properties with an unknown install mode; empty with [`Checks::Done`].
    pub(super) unknown_modes: Vec<u32>,
    /// Number of entries of all deprecations.
    pub(super) deprecations: usize,
    checks: Checks,
    known_schemas: KnownSchemas,
    gvk_ids: HashMap<GvkRecord, u32>,
}

/// Tells whether the types of skipped values are checked, which doubles the time of decoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Checks {
    /// Checks them.
    All,
    /// Skips them: the content has been validated before.
    Done,
}

/// Interned names of the schemas with typed objects.
struct KnownSchemas {
    package: Name,
    channel: Name,
    bundle: Name,
    deprecations: Name,
}

/// Typed fields of a line, collected in one pass, because the schema is known only at its end.
#[derive(Default)]
struct BlobFields<'a> {
    schema: Option<RawText<'a>>,
    package: Option<RawText<'a>>,
    name: Option<RawText<'a>>,
    image: BlobField<RawText<'a>>,
    default_channel: BlobField<RawText<'a>>,
    description: BlobField<RawText<'a>>,
    entries: Option<RawValue<'a>>,
    related_images: Option<RawValue<'a>>,
    properties: BlobField<Range<u32>>,
}

/// A field that may be absent or have the wrong type.
#[derive(Default)]
enum BlobField<T> {
    #[default]
    Absent,
    Present(T),
    WrongType,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(checks: Checks) -> Self {
        let mut names = NameInterner::new();
        let mut name = |text| names.intern(Cow::Borrowed(text));
        let known_schemas = KnownSchemas {
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
            type_mismatches: Vec::new(),
            unknown_modes: Vec::new(),
            deprecations: 0,
            checks,
            known_schemas,
            gvk_ids: HashMap::new(),
        }
    }

    /// Tells whether blobs of a schema have typed objects.
    pub(super) fn is_known_schema(&self, schema: Name) -> bool {
        [
            self.known_schemas.package,
            self.known_schemas.channel,
            self.known_schemas.bundle,
            self.known_schemas.deprecations,
        ]
        .contains(&schema)
    }

    /// Decodes one line; fails only if it is not a canonical JSON object.
    pub(super) fn decode(&mut self, line: &'a [u8]) -> Result<DecodedBlob, JsonError> {
        let lengths = (self.properties.len(), self.entries.len(), self.skips.len());
        let mut cursor = JsonCursor::new(line);
        let fields = self.fields(&mut cursor)?;
        if cursor.position() != line.len() {
            return Err(JsonError::Damaged);
        }
        let schema = self.optional_name(fields.schema)?;
        let package = self.optional_name(fields.package)?;
        let name = self.optional_name(fields.name)?;
        let body = match self.body(line, schema, fields) {
            Ok(body) => body,
            Err(JsonError::Damaged) => return Err(JsonError::Damaged),
            Err(JsonError::WrongType) => BlobBody::Malformed(self.type_error(line, schema)),
        };
        if matches!(body, BlobBody::Malformed(_) | BlobBody::Opaque) {
            self.truncate_properties(lengths.0);
            self.entries.truncate(lengths.1);
            self.skips.truncate(lengths.2);
        }
        Ok(DecodedBlob {
            schema,
            package,
            name,
            body,
        })
    }

    fn fields(&mut self, cursor: &mut JsonCursor<'a>) -> Result<BlobFields<'a>, JsonError> {
        let mut fields = BlobFields::default();
        cursor.object(|cursor, key| {
            if is_field(key, "schema") {
                fields.schema = Some(cursor.text()?);
            } else if is_field(key, "package") {
                fields.package = Some(cursor.text()?);
            } else if is_field(key, "name") {
                fields.name = Some(cursor.text()?);
            } else if is_field(key, "image") {
                fields.image = text(cursor)?;
            } else if is_field(key, "defaultChannel") {
                fields.default_channel = text(cursor)?;
            } else if is_field(key, "description") {
                fields.description = text(cursor)?;
            } else if is_field(key, "entries") {
                fields.entries = Some(cursor.value()?);
            } else if is_field(key, "relatedImages") {
                fields.related_images = Some(cursor.value()?);
            } else if is_field(key, "properties") {
                fields.properties = self.properties(cursor)?;
            } else {
                cursor.value()?;
            }
            Ok(())
        })?;
        Ok(fields)
    }

    /// Decodes the body of a blob by its schema; [`JsonError::WrongType`] makes it malformed.
    fn body(
        &mut self,
        line: &'a [u8],
        schema: Name,
        fields: BlobFields<'a>,
    ) -> Result<BlobBody, JsonError> {
        if schema == self.known_schemas.bundle {
            let related_images = match fields.related_images.filter(|value| !value.is_null()) {
                None => Span::default(),
                Some(images) => {
                    check_related_images(images)?;
                    span(line, images.0)
                }
            };
            let image = fields
                .image
                .text()?
                .map_or(Span::default(), |text| span(line, text.0));
            return Ok(BlobBody::Bundle {
                image,
                related_images,
                properties: fields.properties.range()?,
            });
        }
        if schema == self.known_schemas.channel {
            let from = super::id(self.entries.len());
            if let Some(entries) = fields.entries.filter(|value| !value.is_null()) {
                entries.cursor().array(|cursor| self.entry(cursor))?;
            }
            let entries = from..super::id(self.entries.len());
            return Ok(BlobBody::Channel {
                entries,
                properties: fields.properties.range()?,
            });
        }
        if schema == self.known_schemas.package {
            let default_channel = fields.default_channel.text()?;
            return Ok(BlobBody::Package {
                default_channel: self.text_or_empty(default_channel)?,
                description: fields
                    .description
                    .text()?
                    .map_or(Span::default(), |text| span(line, text.0)),
                properties: fields.properties.range()?,
            });
        }
        if schema == self.known_schemas.deprecations {
            let mut list = Vec::new();
            if let Some(entries) = fields.entries.filter(|value| !value.is_null()) {
                entries.cursor().array(|cursor| {
                    list.push(self.deprecation(line, cursor)?);
                    Ok::<_, JsonError>(())
                })?;
            }
            self.deprecations += list.len();
            return Ok(BlobBody::Deprecations(list));
        }
        Ok(BlobBody::Opaque)
    }

    /// Returns Go's message for a malformed blob.
    fn type_error(&self, line: &'a [u8], schema: Name) -> String {
        let (what, go_types) = match schema {
            schema if schema == self.known_schemas.package => ("package", go_types::PACKAGE_BLOB),
            schema if schema == self.known_schemas.channel => ("channel", go_types::CHANNEL_BLOB),
            schema if schema == self.known_schemas.bundle => ("bundle", go_types::BUNDLE_BLOB),
            _ => ("deprecation", go_types::DEPRECATIONS_BLOB),
        };
        let mismatch = go_types::find_mismatch(RawValue(line), go_types)
            .unwrap_or_else(|| "a field has the wrong type".to_owned());
        format!("parse {what}: {mismatch}")
    }

    fn entry(&mut self, cursor: &mut JsonCursor<'a>) -> Result<(), JsonError> {
        let mut name = None;
        let mut replaces = None;
        let mut skip_range = None;
        let from = super::id(self.skips.len());
        if !cursor.null()? {
            cursor.object(|cursor, key| {
                if is_field(key, "name") {
                    name = cursor.optional_text()?.or(name);
                } else if is_field(key, "replaces") {
                    replaces = cursor.optional_text()?.or(replaces);
                } else if is_field(key, "skipRange") {
                    skip_range = cursor.optional_text()?.or(skip_range);
                } else if is_field(key, "skips") {
                    self.skips(cursor, from)?;
                } else {
                    cursor.value()?;
                }
                Ok::<_, JsonError>(())
            })?;
        }
        let entry = DecodedEntry {
            name: self.text_or_empty(name)?,
            replaces: self.optional_name(replaces)?,
            skip_range: self.optional_name(skip_range)?,
            skips: from..super::id(self.skips.len()),
        };
        self.entries.push(entry);
        Ok(())
    }

    /// Reads the skips of an entry; the last of several lists wins.
    fn skips(&mut self, cursor: &mut JsonCursor<'a>, from: u32) -> Result<(), JsonError> {
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

    fn deprecation(
        &mut self,
        line: &'a [u8],
        cursor: &mut JsonCursor<'a>,
    ) -> Result<DecodedDeprecation, JsonError> {
        let mut schema = None;
        let mut name = None;
        let mut message = None;
        if !cursor.null()? {
            cursor.object(|cursor, key| {
                if is_field(key, "message") {
                    message = cursor.optional_text()?.or(message);
                } else if !is_field(key, "reference") {
                    cursor.value()?;
                } else if !cursor.null()? {
                    cursor.object(|cursor, key| {
                        if is_field(key, "schema") {
                            schema = cursor.optional_text()?.or(schema);
                        } else if is_field(key, "name") {
                            name = cursor.optional_text()?.or(name);
                        } else {
                            cursor.value()?;
                        }
                        Ok::<_, JsonError>(())
                    })?;
                }
                Ok::<_, JsonError>(())
            })?;
        }
        Ok(DecodedDeprecation {
            schema: self.text_or_empty(schema)?,
            name: self.text_or_empty(name)?,
            message: message.map_or(Span::default(), |text| span(line, text.0)),
        })
    }

    fn text_or_empty(&mut self, text: Option<RawText<'a>>) -> Result<Name, JsonError> {
        let text = text.map_or(Ok(Cow::Borrowed("")), RawText::decode)?;
        Ok(self.names.intern(text))
    }

    fn optional_name(&mut self, text: Option<RawText<'a>>) -> Result<Name, JsonError> {
        text.map_or(Ok(Name::NONE), |text| Ok(self.names.intern(text.decode()?)))
    }
}

impl<'a> BlobField<RawText<'a>> {
    fn text(self) -> Result<Option<RawText<'a>>, JsonError> {
        match self {
            BlobField::Absent => Ok(None),
            BlobField::Present(text) => Ok(Some(text)),
            BlobField::WrongType => Err(JsonError::WrongType),
        }
    }
}

impl BlobField<Range<u32>> {
    fn range(self) -> Result<Range<u32>, JsonError> {
        match self {
            BlobField::Absent => Ok(0..0),
            BlobField::Present(range) => Ok(range),
            BlobField::WrongType => Err(JsonError::WrongType),
        }
    }
}

/// Reads a value of any type that should be a string.
fn text<'a>(cursor: &mut JsonCursor<'a>) -> Result<BlobField<RawText<'a>>, JsonError> {
    Ok(match cursor.kind()? {
        JsonKind::String => BlobField::Present(cursor.text()?),
        JsonKind::Null => {
            cursor.value()?;
            BlobField::Absent
        }
        _ => {
            cursor.value()?;
            BlobField::WrongType
        }
    })
}

fn check_related_images(images: RawValue<'_>) -> Result<(), JsonError> {
    match go_types::find_mismatch(
        images,
        GoType::List(&go_types::RELATED_IMAGE, "[]declcfg.RelatedImage"),
    ) {
        None => Ok(()),
        Some(_) => Err(JsonError::WrongType),
    }
}

/// Returns the span of a slice of a line.
fn span(line: &[u8], slice: &[u8]) -> Span {
    let start = slice.as_ptr().addr() - line.as_ptr().addr();
    Span {
        start: super::id(start),
        len: super::id(slice.len()),
    }
}
