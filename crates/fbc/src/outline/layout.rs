//! The binary format of outlines: records of fixed size, read in place, and then the names.
//!
//! ```text
//! "fbcout" and format   8 bytes
//! checksum             16, over all that follows
//! counts               3 × 4, of packages, channels, bundles
//! packages             name 8, hash 16, end of its channels and of its bundles 2 × 4
//! channels             name 8, head 8, hash 16
//! bundles              name 8, hash 16
//! names                text
//! ```
//!
//! Numbers have 32 bits, little-endian; a name is its offset in the text and its length in bytes.

use std::ops::Range;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::Outline;

/// The first 128 bits of a SHA-256 hash.
pub(super) type TruncatedHash = [u8; HASH_BYTES];

pub(super) const HASH_BYTES: usize = 16;

/// Magic bytes. The last byte is the version of the format, which changes with the meaning of any field or hash.
const MAGIC: [u8; 8] = *b"fbcout\0\x01";

/// Offset of the counts.
const COUNTS: usize = MAGIC.len() + HASH_BYTES;

/// Offset of the records.
const RECORDS: usize = COUNTS + 3 * 4;

const NAME_BYTES: usize = 8;
const PACKAGE_BYTES: usize = NAME_BYTES + HASH_BYTES + 2 * 4;
const CHANNEL_BYTES: usize = 2 * NAME_BYTES + HASH_BYTES;
const BUNDLE_BYTES: usize = NAME_BYTES + HASH_BYTES;

/// Length of an absent name.
const ABSENT: u32 = u32::MAX;

/// Writes an outline. Each package is added after its channels and bundles.
#[derive(Default)]
pub(super) struct OutlineBuilder {
    packages: Vec<u8>,
    channels: Vec<u8>,
    bundles: Vec<u8>,
    names: String,
}

impl OutlineBuilder {
    pub(super) fn channel(&mut self, name: &str, head: Option<&str>, hash: TruncatedHash) {
        let (name, head) = (self.name(Some(name)), self.name(head));
        self.channels.extend(name.into_iter().chain(head).chain(hash));
    }

    pub(super) fn bundle(&mut self, name: &str, hash: TruncatedHash) {
        let name = self.name(Some(name));
        self.bundles.extend(name.into_iter().chain(hash));
    }

    pub(super) fn package(&mut self, name: &str, hash: TruncatedHash) {
        let name = self.name(Some(name));
        let ends = [self.channels.len() / CHANNEL_BYTES, self.bundles.len() / BUNDLE_BYTES];
        self.packages.extend(name.into_iter().chain(hash).chain(ends.into_iter().flat_map(number)));
    }

    pub(super) fn finish(self) -> Bytes {
        let Self { packages, channels, bundles, names } = self;
        let counts = [packages.len() / PACKAGE_BYTES, channels.len() / CHANNEL_BYTES, bundles.len() / BUNDLE_BYTES];
        let length = RECORDS + packages.len() + channels.len() + bundles.len() + names.len();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[0; HASH_BYTES]);
        bytes.extend(counts.into_iter().flat_map(number));
        for part in [&packages, &channels, &bundles] {
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(names.as_bytes());
        let sum = checksum(&bytes);
        bytes[MAGIC.len()..COUNTS].copy_from_slice(&sum);
        bytes.into()
    }

    fn name(&mut self, name: Option<&str>) -> [u8; NAME_BYTES] {
        let start = self.names.len();
        self.names.push_str(name.unwrap_or_default());
        let length = name.map_or(ABSENT.to_le_bytes(), |name| number(name.len()));
        let mut bytes = [0; NAME_BYTES];
        bytes[..4].copy_from_slice(&number(start));
        bytes[4..].copy_from_slice(&length);
        bytes
    }
}

/// Encodes a number. Offsets fit in 32 bits, because names and records are smaller than the content.
fn number(value: usize) -> [u8; 4] {
    u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes()
}

fn checksum(bytes: &[u8]) -> TruncatedHash {
    let mut sum = [0; HASH_BYTES];
    sum.copy_from_slice(&Sha256::digest(&bytes[COUNTS..])[..HASH_BYTES]);
    sum
}

/// Tells whether the bytes are an undamaged outline of this format.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    bytes.len() >= RECORDS
        && bytes[..MAGIC.len()] == MAGIC
        && bytes[MAGIC.len()..COUNTS] == checksum(bytes)
        && parts(bytes).is_some_and(|parts| std::str::from_utf8(&bytes[parts.names..]).is_ok())
}

/// Offsets of the parts of an outline.
struct OutlineParts {
    counts: [usize; 3],
    channels: usize,
    bundles: usize,
    names: usize,
}

fn parts(bytes: &[u8]) -> Option<OutlineParts> {
    let counts = [0, 1, 2].map(|at| read(bytes, COUNTS + 4 * at));
    let channels = RECORDS.checked_add(counts[0].checked_mul(PACKAGE_BYTES)?)?;
    let bundles = channels.checked_add(counts[1].checked_mul(CHANNEL_BYTES)?)?;
    let names = bundles.checked_add(counts[2].checked_mul(BUNDLE_BYTES)?)?;
    (names <= bytes.len()).then_some(OutlineParts { counts, channels, bundles, names })
}

/// Reads the number at an offset.
fn read(bytes: &[u8], at: usize) -> usize {
    let number = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
    u32::from_le_bytes(number) as usize
}

/// A package of an outline.
#[derive(Clone)]
pub(super) struct OutlinePackage<'a> {
    pub(super) name: &'a str,
    pub(super) hash: &'a [u8],
    channels: Range<usize>,
    bundles: Range<usize>,
}

impl OutlinePackage<'_> {
    /// Number of its channels and bundles.
    pub(super) fn objects(&self) -> usize {
        self.channels.len() + self.bundles.len()
    }
}

/// A channel of an outline.
#[derive(Clone, Copy)]
pub(super) struct OutlineChannel<'a> {
    pub(super) name: &'a str,
    pub(super) head: Option<&'a str>,
    pub(super) hash: &'a [u8],
}

/// A bundle of an outline.
#[derive(Clone, Copy)]
pub(super) struct OutlineBundle<'a> {
    pub(super) name: &'a str,
    pub(super) hash: &'a [u8],
}

/// Reads the records of an outline.
#[derive(Clone, Copy)]
pub(super) struct OutlineReader<'a> {
    bytes: &'a [u8],
    packages: usize,
    channels: usize,
    bundles: usize,
    names: &'a str,
}

impl Outline {
    pub(super) fn reader(&self) -> OutlineReader<'_> {
        let bytes = &self.as_bytes()[..];
        let none = OutlineParts { counts: [0; 3], channels: 0, bundles: 0, names: bytes.len() };
        let parts = parts(bytes).unwrap_or(none);
        let names = std::str::from_utf8(&bytes[parts.names..]).unwrap_or_default();
        OutlineReader { bytes, packages: parts.counts[0], channels: parts.channels, bundles: parts.bundles, names }
    }
}

impl<'a> OutlineReader<'a> {
    /// Iterates over the packages, sorted by name.
    pub(super) fn packages(self) -> impl Iterator<Item = OutlinePackage<'a>> {
        (0..self.packages).map(move |at| {
            let record = RECORDS + at * PACKAGE_BYTES;
            let ends = |record| [0, 4].map(|more| read(self.bytes, record + NAME_BYTES + HASH_BYTES + more));
            let [channel, bundle] = if at == 0 { [0, 0] } else { ends(record - PACKAGE_BYTES) };
            let [channels, bundles] = ends(record);
            OutlinePackage {
                name: self.name(record).unwrap_or_default(),
                hash: self.hash(record + NAME_BYTES),
                channels: channel..channels,
                bundles: bundle..bundles,
            }
        })
    }

    /// Iterates over the channels of a package, sorted by name.
    pub(super) fn channels(self, package: &OutlinePackage<'a>) -> impl Iterator<Item = OutlineChannel<'a>> {
        package.channels.clone().map(move |at| {
            let record = self.channels + at * CHANNEL_BYTES;
            OutlineChannel {
                name: self.name(record).unwrap_or_default(),
                head: self.name(record + NAME_BYTES),
                hash: self.hash(record + 2 * NAME_BYTES),
            }
        })
    }

    /// Iterates over the bundles of a package, sorted by name.
    pub(super) fn bundles(self, package: &OutlinePackage<'a>) -> impl Iterator<Item = OutlineBundle<'a>> {
        package.bundles.clone().map(move |at| {
            let record = self.bundles + at * BUNDLE_BYTES;
            OutlineBundle { name: self.name(record).unwrap_or_default(), hash: self.hash(record + NAME_BYTES) }
        })
    }

    fn name(self, at: usize) -> Option<&'a str> {
        let (start, length) = (read(self.bytes, at), read(self.bytes, at + 4));
        self.names.get(start..start.checked_add(length)?)
    }

    fn hash(self, at: usize) -> &'a [u8] {
        self.bytes.get(at..at + HASH_BYTES).unwrap_or_default()
    }
}
