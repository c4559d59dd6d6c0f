//! Icons of packages, with their media types and digests.
//!
//! The media type is detected from the first bytes of the image; the declared type is ignored. Real
//! catalogs declare PNG for JPEG, SVG and ICO and vice versa, and browsers, which sniff the bytes,
//! show them all the same.

mod media;

use std::borrow::Cow;
use std::io;

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use media::MEDIA_TYPES;
pub use media::detect_media_type;

use fbc_grammar::Digest;
use fbc_read::json::{JsonCursor, JsonError, JsonKind, is_field};
use fbc_read::manifest::EncodedBytes;

use crate::array::Array;
use crate::ids::{NONE, id};
use crate::index::ContentIndex;
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};

/// The icon of a package: an image of a known type. An SVG may contain scripts; a server must
/// prevent them from running.
#[derive(Clone, Copy)]
pub struct Icon<'a> {
    icons: &'a Icons,
    record: &'a IconRecord,
}

/// The icons of a catalog, without duplicates. They keep the content alive, but not the index.
pub struct Icons {
    content: Bytes,
    /// Sorted by digest.
    records: Array<IconRecord>,
    /// Index of the record of each package, or [`NONE`].
    of_package: Array<u32>,
}

/// An icon found by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundIcon {
    /// Media type, such as `image/svg+xml`.
    pub media_type: &'static str,
    /// The decoded image.
    pub bytes: Bytes,
}

/// An icon and its location in the content.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct IconRecord {
    digest: [u8; 32],
    /// Offset of the value of `base64data` in the content.
    start: u32,
    /// Length of that value in bytes.
    len: u32,
    /// Number of the media type in [`MEDIA_TYPES`].
    media_type: u16,
    /// 1 when the value is a string of plain standard base64, without line breaks, else 0.
    is_standard: u16,
}

impl<'a> Icon<'a> {
    /// Returns the media type, such as `image/svg+xml`.
    pub fn media_type(self) -> &'static str {
        self.record.media_type()
    }

    /// Returns the digest of the image, which identifies it in URLs.
    pub fn digest(self) -> Digest {
        Digest::new(self.record.digest)
    }

    /// Returns the image in standard base64, with padding and without line breaks; JSON needs no
    /// escapes for it.
    pub fn data(self) -> Cow<'a, str> {
        let value = self.icons.value(self.record);
        if self.record.is_standard == 1
            && let Ok(base64) = std::str::from_utf8(&value[1..value.len() - 1])
        {
            return Cow::Borrowed(base64);
        }
        Cow::Owned(BASE64_STANDARD.encode(self.bytes()))
    }

    /// Decodes the image, at each call.
    pub fn bytes(self) -> Vec<u8> {
        self.icons.bytes(self.record)
    }
}

impl Icons {
    /// Returns the icon of the package at an index.
    pub(crate) fn of_package(&self, package: usize) -> Option<Icon<'_>> {
        let record = self.of_package[package];
        (record != NONE).then(|| Icon {
            icons: self,
            record: &self.records[record as usize],
        })
    }

    /// Finds the icon whose image has the digest.
    pub fn find(&self, digest: &Digest) -> Option<FoundIcon> {
        let at = self
            .records
            .binary_search_by(|record| record.digest.cmp(digest.as_bytes()))
            .ok()?;
        let record = &self.records[at];
        Some(FoundIcon {
            media_type: record.media_type(),
            bytes: self.bytes(record).into(),
        })
    }

    /// Collects the icons of all packages.
    pub(crate) fn new(index: &ContentIndex) -> Self {
        let mut image = Vec::new();
        let mut found: Vec<(IconRecord, usize)> = Vec::new();
        for (at, package) in index.packages.iter().enumerate() {
            // A damaged line has no icon.
            if let Ok(Some(value)) = icon_value(index.line(package.meta))
                && let Some(record) = IconRecord::new(&index.content, value, &mut image)
            {
                found.push((record, at));
            }
        }
        // Sorted, so that equal icons are neighbours and one record serves all of their packages.
        found.sort_by_key(|(record, _)| record.digest);
        let mut records = Vec::with_capacity(found.len());
        let mut of_package = vec![NONE; index.packages.len()];
        for (record, package) in found {
            if records
                .last()
                .is_none_or(|last: &IconRecord| last.digest != record.digest)
            {
                records.push(record);
            }
            of_package[package] = id(records.len() - 1);
        }
        Self {
            content: index.content.clone(),
            records: Array::new(records),
            of_package: Array::new(of_package),
        }
    }

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        sections.array(&self.records)?;
        sections.array(&self.of_package)
    }

    pub(crate) fn read(
        sections: &mut SectionReader,
        index: &ContentIndex,
    ) -> Result<Self, StoredIndexError> {
        let records: Array<IconRecord> = sections.array()?;
        let is_whole = |record: &IconRecord| {
            let start = record.start as usize;
            let value = start..start.saturating_add(record.len as usize);
            record.len >= 2
                && usize::from(record.media_type) < MEDIA_TYPES.len()
                && index.content.get(value).is_some()
        };
        sections.check(records.iter().all(is_whole))?;
        let of_package = sections.optional_ids(records.len())?;
        sections.check(of_package.len() == index.packages.len())?;
        Ok(Self {
            content: index.content.clone(),
            records,
            of_package,
        })
    }

    fn value(&self, record: &IconRecord) -> &[u8] {
        &self.content[record.start as usize..][..record.len as usize]
    }

    fn bytes(&self, record: &IconRecord) -> Vec<u8> {
        let mut image = Vec::new();
        // It was decoded before, so this cannot fail.
        let _ = decode(self.value(record), &mut image);
        image
    }
}

impl IconRecord {
    /// Creates the record of an icon from its value in the content; `None` if it is not an image of
    /// a known type. `image` is a buffer for the decoded image.
    fn new(content: &[u8], value: &[u8], image: &mut Vec<u8>) -> Option<Self> {
        image.clear();
        let is_standard = decode(value, image)?;
        let media_type = detect_media_type(image)?;
        let media_type = MEDIA_TYPES.iter().position(|name| *name == media_type)?;
        Some(Self {
            digest: Sha256::digest(image).into(),
            media_type: u16::try_from(media_type).ok()?,
            start: id(value.as_ptr().addr() - content.as_ptr().addr()),
            len: id(value.len()),
            is_standard: u16::from(is_standard),
        })
    }

    fn media_type(&self) -> &'static str {
        MEDIA_TYPES[usize::from(self.media_type)]
    }
}

/// Decodes a value of bytes as upstream does, and returns whether it is a string of plain standard
/// base64.
fn decode(value: &[u8], image: &mut Vec<u8>) -> Option<bool> {
    let body = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    if body.is_some_and(|body| BASE64_STANDARD.decode_vec(body, image).is_ok()) {
        return Some(true);
    }
    image.clear();
    EncodedBytes::read_value(&mut JsonCursor::new(value))
        .ok()??
        .decode_into(image)?;
    Some(false)
}

/// Finds the value of `base64data` of the icon in the line of a package.
fn icon_value(line: &[u8]) -> Result<Option<&[u8]>, JsonError> {
    let mut found = None;
    JsonCursor::new(line).object(|cursor, key| {
        if !is_field(key, "icon") || cursor.kind()? != JsonKind::Object {
            return cursor.value().map(drop);
        }
        cursor.object(|cursor, key| {
            let value = cursor.value()?;
            if is_field(key, "base64data") && !value.is_null() {
                found = Some(value.raw());
            }
            Ok::<_, JsonError>(())
        })
    })?;
    Ok(found)
}
