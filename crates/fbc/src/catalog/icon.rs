//! Icons of packages: which there are, of which type, and under which digest.
//!
//! What an icon is, its bytes say. The type that the catalog declares is not looked at: real catalogs declare PNG for
//! JPEG, SVG and ICO and the other way round, and browsers, which look at the bytes, show them all the same.

mod media;

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{Catalog, Package};
use crate::Digest;
use crate::json::{Cursor, Fault, Kind, is_field};
use crate::manifest::Data;

/// The icon of a package: an image of a known type, whatever is in it. An SVG with a script is one, too; who serves it
/// must see to it that the script does not run.
#[derive(Clone, Copy)]
pub struct Icon<'a> {
    icons: &'a Icons,
    record: &'a IconRecord,
}

/// The icons of a catalog, each once. They keep the content alive, and nothing of the index.
pub struct Icons {
    content: Bytes,
    /// By digest.
    records: Vec<IconRecord>,
    /// The record of each package.
    of_package: Vec<Option<u32>>,
}

/// An icon that was found by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundIcon {
    /// Media type, such as `image/svg+xml`.
    pub media_type: &'static str,
    /// The image.
    pub bytes: Bytes,
}

/// An icon, where it stands in the content.
struct IconRecord {
    digest: Digest,
    media_type: &'static str,
    /// First byte of the value `base64data`.
    start: u32,
    /// Bytes of that value.
    len: u32,
    /// Whether it is a string of nothing but standard base64.
    is_standard: bool,
}

impl<'a> Package<'a> {
    /// Its icon, an image of type SVG, PNG, JPEG, GIF, WebP, AVIF or ICO by its bytes; `None` when it has none, or one
    /// that is something else, empty, or no base64.
    pub fn icon(self) -> Option<Icon<'a>> {
        let icons = self.catalog().icons();
        let record = icons.of_package[self.place()]?;
        Some(Icon { icons, record: &icons.records[record as usize] })
    }
}

impl<'a> Icon<'a> {
    /// Media type, such as `image/svg+xml`.
    pub fn media_type(self) -> &'static str {
        self.record.media_type
    }

    /// Digest of the image, which is its name in URLs.
    pub fn digest(self) -> Digest {
        self.record.digest
    }

    /// The image in standard base64, with padding and without line breaks: no character needs an escape in JSON.
    pub fn data(self) -> Cow<'a, str> {
        let value = self.icons.value(self.record);
        if self.record.is_standard
            && let Ok(base64) = std::str::from_utf8(&value[1..value.len() - 1])
        {
            return Cow::Borrowed(base64);
        }
        Cow::Owned(BASE64_STANDARD.encode(self.bytes()))
    }

    /// The image, decoded anew each time.
    pub fn bytes(self) -> Vec<u8> {
        self.icons.bytes(self.record)
    }
}

impl Icons {
    /// The icon whose image has this digest.
    pub fn find(&self, digest: &Digest) -> Option<FoundIcon> {
        let at = self.records.binary_search_by(|record| record.digest.cmp(digest)).ok()?;
        let record = &self.records[at];
        Some(FoundIcon { media_type: record.media_type, bytes: self.bytes(record).into() })
    }

    /// Finds the icons of all packages.
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut image = Vec::new();
        let mut found: Vec<(IconRecord, usize)> = Vec::new();
        for package in catalog.packages() {
            // A damaged line has no icon.
            if let Ok(Some(value)) = icon_value(package.meta().blob().raw())
                && let Some(record) = IconRecord::new(&catalog.content, value, &mut image)
            {
                found.push((record, package.place()));
            }
        }
        found.sort_by_key(|(record, _)| record.digest);
        let mut icons = Self {
            content: catalog.content.clone(),
            records: Vec::with_capacity(found.len()),
            of_package: vec![None; catalog.packages.len()],
        };
        for (record, package) in found {
            if icons.records.last().is_none_or(|last: &IconRecord| last.digest != record.digest) {
                icons.records.push(record);
            }
            icons.of_package[package] = Some(super::id(icons.records.len() - 1));
        }
        icons.records.shrink_to_fit();
        icons
    }

    fn value(&self, record: &IconRecord) -> &[u8] {
        &self.content[record.start as usize..][..record.len as usize]
    }

    fn bytes(&self, record: &IconRecord) -> Vec<u8> {
        let mut image = Vec::new();
        // It was read before, so this has no fault.
        let _ = decode(self.value(record), &mut image);
        image
    }
}

impl IconRecord {
    /// The icon that a piece of the content is, if it is one; `image` is memory to decode it in.
    fn new(content: &[u8], value: &[u8], image: &mut Vec<u8>) -> Option<Self> {
        image.clear();
        let is_standard = decode(value, image)?;
        let media_type = media::type_of(image)?;
        Some(Self {
            digest: Digest::new(Sha256::digest(image).into()),
            media_type,
            start: super::id(value.as_ptr().addr() - content.as_ptr().addr()),
            len: super::id(value.len()),
            is_standard,
        })
    }
}

/// Decodes a value of bytes as upstream does, and says whether it is a string of nothing but standard base64.
fn decode(value: &[u8], image: &mut Vec<u8>) -> Option<bool> {
    let body = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    if body.is_some_and(|body| BASE64_STANDARD.decode_vec(body, image).is_ok()) {
        return Some(true);
    }
    image.clear();
    Data::of(&mut Cursor::new(value)).ok()??.read(image)?;
    Some(false)
}

/// The value `base64data` of the icon of a package's line.
fn icon_value(line: &[u8]) -> Result<Option<&[u8]>, Fault> {
    let mut found = None;
    Cursor::new(line).object(|cursor, key| {
        if !is_field(key, "icon") || cursor.kind()? != Kind::Object {
            return cursor.value().map(drop);
        }
        cursor.object(|cursor, key| {
            let value = cursor.value()?;
            if is_field(key, "base64data") && !value.is_null() {
                found = Some(value.0);
            }
            Ok::<_, Fault>(())
        })
    })?;
    Ok(found)
}
