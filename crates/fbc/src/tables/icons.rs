//! Icons of packages, with their media types and digests.
//!
//! The media type is detected from the first bytes of the image; the declared type is ignored. Real
//! catalogs declare PNG for JPEG, SVG and ICO and vice versa, and browsers, which sniff the bytes,
//! show them all the same.

mod media;

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

pub use media::detect_media_type;

use fbc_grammar::Digest;
use fbc_read::json::{JsonCursor, JsonError, JsonKind, is_field};
use fbc_read::manifest::EncodedBytes;

use crate::ids::id;
use crate::index::ContentIndex;

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
    records: Vec<IconRecord>,
    /// Index of the record of each package.
    of_package: Vec<Option<u32>>,
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
struct IconRecord {
    digest: Digest,
    media_type: &'static str,
    /// Offset of the value of `base64data` in the content.
    start: u32,
    /// Length of that value in bytes.
    len: u32,
    /// `true` when the value is a string of plain standard base64, without line breaks.
    is_standard: bool,
}

impl<'a> Icon<'a> {
    /// Returns the media type, such as `image/svg+xml`.
    pub fn media_type(self) -> &'static str {
        self.record.media_type
    }

    /// Returns the digest of the image, which identifies it in URLs.
    pub fn digest(self) -> Digest {
        self.record.digest
    }

    /// Returns the image in standard base64, with padding and without line breaks; JSON needs no
    /// escapes for it.
    pub fn data(self) -> Cow<'a, str> {
        let value = self.icons.value(self.record);
        if self.record.is_standard
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
        let record = self.of_package[package]?;
        Some(Icon {
            icons: self,
            record: &self.records[record as usize],
        })
    }

    /// Finds the icon whose image has the digest.
    pub fn find(&self, digest: &Digest) -> Option<FoundIcon> {
        let at = self
            .records
            .binary_search_by(|record| record.digest.cmp(digest))
            .ok()?;
        let record = &self.records[at];
        Some(FoundIcon {
            media_type: record.media_type,
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
        let mut icons = Self {
            content: index.content.clone(),
            records: Vec::with_capacity(found.len()),
            of_package: vec![None; index.packages.len()],
        };
        for (record, package) in found {
            if icons
                .records
                .last()
                .is_none_or(|last: &IconRecord| last.digest != record.digest)
            {
                icons.records.push(record);
            }
            icons.of_package[package] = Some(id(icons.records.len() - 1));
        }
        icons.records.shrink_to_fit();
        icons
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
        Some(Self {
            digest: Digest::new(Sha256::digest(image).into()),
            media_type,
            start: id(value.as_ptr().addr() - content.as_ptr().addr()),
            len: id(value.len()),
            is_standard,
        })
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
