//! Decodes the fields of a line.

use std::ops::Range;

use fbc_read::json::{JsonCursor, JsonError, JsonKind, JsonText, JsonValue, is_field};

use super::decoder::BlobField;
use super::decoder::{BlobBody, DecodedBlob, DecodedDeprecation, DecodedEntry, Decoder};
use crate::go_types;
use crate::go_types::GoType;
use crate::ids::id;
use crate::names::Name;
use crate::record::Span;

/// Typed fields of a line, collected in one pass, because the schema is known only at its end.
#[derive(Default)]
struct BlobFields<'a> {
    schema: Option<JsonText<'a>>,
    package: Option<JsonText<'a>>,
    name: Option<JsonText<'a>>,
    image: BlobField<JsonText<'a>>,
    default_channel: BlobField<JsonText<'a>>,
    description: BlobField<JsonText<'a>>,
    entries: Option<JsonValue<'a>>,
    related_images: Option<JsonValue<'a>>,
    properties: BlobField<Range<u32>>,
}

impl<'a> Decoder<'a> {
    /// Decodes one line; fails only if it is not a canonical JSON object.
    pub(crate) fn decode(&mut self, line: &'a [u8]) -> Result<DecodedBlob, JsonError> {
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
        // The schema is known only now: properties and entries of a blob without a typed object are
        // given back, so that they take no memory.
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
                    span(line, images.raw())
                }
            };
            let image = fields
                .image
                .text()?
                .map_or(Span::default(), |text| span(line, text.raw()));
            return Ok(BlobBody::Bundle {
                image,
                related_images,
                properties: fields.properties.range()?,
            });
        }
        if schema == self.known_schemas.channel {
            let from = id(self.entries.len());
            if let Some(entries) = fields.entries.filter(|value| !value.is_null()) {
                entries.cursor().array(|cursor| self.entry(cursor))?;
            }
            let entries = from..id(self.entries.len());
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
                    .map_or(Span::default(), |text| span(line, text.raw())),
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
        let mismatch = go_types::find_mismatch(JsonValue::new(line), go_types)
            .unwrap_or_else(|| "a field has the wrong type".to_owned());
        format!("parse {what}: {mismatch}")
    }

    fn entry(&mut self, cursor: &mut JsonCursor<'a>) -> Result<(), JsonError> {
        let mut name = None;
        let mut replaces = None;
        let mut skip_range = None;
        let from = id(self.skips.len());
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
            skips: from..id(self.skips.len()),
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
            message: message.map_or(Span::default(), |text| span(line, text.raw())),
        })
    }
}

impl<'a> BlobField<JsonText<'a>> {
    fn text(self) -> Result<Option<JsonText<'a>>, JsonError> {
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
fn text<'a>(cursor: &mut JsonCursor<'a>) -> Result<BlobField<JsonText<'a>>, JsonError> {
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

fn check_related_images(images: JsonValue<'_>) -> Result<(), JsonError> {
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
        start: id(start),
        len: id(slice.len()),
    }
}
