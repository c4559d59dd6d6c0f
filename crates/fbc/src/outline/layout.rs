//! The binary format of outlines: records of fixed size, read in place, and then the names.
//!
//! ```text
//! "fbcout" and format   8 bytes
//! checksum             16, over all that follows
//! counts               4 × 4, of packages, channels, entries, bundles
//! packages             name 8, hash 16, end of its channels and of its bundles 2 × 4, default channel 8, parts 6 × 8
//! channels             name 8, hash 16, head 8, end of its entries 4
//! entries              name 8, hash 8
//! bundles              name 8, hash 16, parts 7 × 8
//! names                text, each name once
//! ```
//!
//! Numbers have 32 bits, little-endian; a name is its offset in the text and its length in bytes;
//! parts are hashes.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::parts::{
    BundleHashes, BundlePart, PART_HASH_BYTES, PackageHashes, PackagePart, PartHash,
};

/// The first 128 bits of a SHA-256 hash.
pub(super) type TruncatedHash = [u8; HASH_BYTES];

pub(super) const HASH_BYTES: usize = 16;

/// Magic bytes. The last byte is the version of the format, which changes with the meaning of any
/// field or hash.
const MAGIC: [u8; 8] = *b"fbcout\0\x02";

/// Offset of the counts.
const COUNTS: usize = MAGIC.len() + HASH_BYTES;

/// Offset of the records.
const RECORDS: usize = COUNTS + 4 * 4;

const NAME_BYTES: usize = 8;
/// Offset in a record of what follows its name and its hash.
const REST: usize = NAME_BYTES + HASH_BYTES;
const PACKAGE_PARTS: usize = REST + 2 * 4 + NAME_BYTES;
const PACKAGE_BYTES: usize = PACKAGE_PARTS + PackagePart::ALL.len() * PART_HASH_BYTES;
const CHANNEL_ENTRIES: usize = REST + NAME_BYTES;
const CHANNEL_BYTES: usize = CHANNEL_ENTRIES + 4;
const ENTRY_BYTES: usize = NAME_BYTES + PART_HASH_BYTES;
const BUNDLE_BYTES: usize = REST + BundlePart::ALL.len() * PART_HASH_BYTES;

/// Length of an absent name.
const ABSENT: u32 = u32::MAX;

/// Names and hashes of the objects of a catalog.
#[derive(Clone, PartialEq, Eq)]
pub struct Outline(Bytes);

/// Writes an outline. Each package is added after its channels and bundles, and each channel after
/// its entries.
#[derive(Default)]
pub(super) struct OutlineBuilder<'a> {
    packages: Vec<u8>,
    channels: Vec<u8>,
    entries: Vec<u8>,
    bundles: Vec<u8>,
    names: String,
    /// Offsets of the names.
    offsets: HashMap<&'a str, usize>,
}

impl<'a> OutlineBuilder<'a> {
    pub(super) fn entry(&mut self, name: &'a str, hash: PartHash) {
        let name = self.name(Some(name));
        self.entries.extend(name.into_iter().chain(hash));
    }

    pub(super) fn channel(&mut self, name: &'a str, head: Option<&'a str>, hash: TruncatedHash) {
        let name = self.name(Some(name));
        let head = self.name(head);
        let end = number(self.entries.len() / ENTRY_BYTES);
        self.channels
            .extend(name.into_iter().chain(hash).chain(head).chain(end));
    }

    pub(super) fn bundle(&mut self, name: &'a str, hash: TruncatedHash, parts: &BundleHashes) {
        let name = self.name(Some(name));
        self.bundles.extend(
            name.into_iter()
                .chain(hash)
                .chain(parts.iter().copied().flatten()),
        );
    }

    pub(super) fn package(
        &mut self,
        name: &'a str,
        hash: TruncatedHash,
        default_channel: Option<&'a str>,
        parts: &PackageHashes,
    ) {
        let name = self.name(Some(name));
        let default_channel = self.name(default_channel);
        let ends = [
            self.channels.len() / CHANNEL_BYTES,
            self.bundles.len() / BUNDLE_BYTES,
        ];
        self.packages.extend(
            name.into_iter()
                .chain(hash)
                .chain(ends.into_iter().flat_map(number)),
        );
        self.packages.extend(
            default_channel
                .into_iter()
                .chain(parts.iter().copied().flatten()),
        );
    }

    pub(super) fn finish(self) -> Outline {
        let Self {
            packages,
            channels,
            entries,
            bundles,
            names,
            ..
        } = self;
        let parts = [
            (&packages, PACKAGE_BYTES),
            (&channels, CHANNEL_BYTES),
            (&entries, ENTRY_BYTES),
            (&bundles, BUNDLE_BYTES),
        ];
        let length =
            RECORDS + parts.iter().map(|(part, _)| part.len()).sum::<usize>() + names.len();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[0; HASH_BYTES]);
        bytes.extend(
            parts
                .iter()
                .flat_map(|(part, size)| number(part.len() / size)),
        );
        for (part, _) in parts {
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(names.as_bytes());
        let sum = checksum(&bytes);
        bytes[MAGIC.len()..COUNTS].copy_from_slice(&sum);
        Outline(bytes.into())
    }

    fn name(&mut self, name: Option<&'a str>) -> [u8; NAME_BYTES] {
        let start = name.map_or(0, |name| {
            *self.offsets.entry(name).or_insert_with(|| {
                self.names.push_str(name);
                self.names.len() - name.len()
            })
        });
        let length = name.map_or(ABSENT.to_le_bytes(), |name| number(name.len()));
        let mut bytes = [0; NAME_BYTES];
        bytes[..4].copy_from_slice(&number(start));
        bytes[4..].copy_from_slice(&length);
        bytes
    }
}

/// Encodes a number. Offsets fit in 32 bits, because names and records are smaller than the
/// content.
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
    packages: usize,
    channels: usize,
    entries: usize,
    bundles: usize,
    names: usize,
}

fn parts(bytes: &[u8]) -> Option<OutlineParts> {
    let counts = [0, 1, 2, 3].map(|at| read(bytes, COUNTS + 4 * at));
    let channels = RECORDS.checked_add(counts[0].checked_mul(PACKAGE_BYTES)?)?;
    let entries = channels.checked_add(counts[1].checked_mul(CHANNEL_BYTES)?)?;
    let bundles = entries.checked_add(counts[2].checked_mul(ENTRY_BYTES)?)?;
    let names = bundles.checked_add(counts[3].checked_mul(BUNDLE_BYTES)?)?;
    (names <= bytes.len()).then_some(OutlineParts {
        packages: counts[0],
        channels,
        entries,
        bundles,
        names,
    })
}

/// Reads the number at an offset.
fn read(bytes: &[u8], at: usize) -> usize {
    let number = bytes
        .get(at..at + 4)
        .and_then(|bytes| bytes.try_into().ok())
        .unwrap_or_default();
    u32::from_le_bytes(number) as usize
}

/// A package of an outline.
#[derive(Clone)]
pub(super) struct OutlinePackage<'a> {
    pub(super) name: &'a str,
    pub(super) hash: &'a [u8],
    pub(super) default_channel: Option<&'a str>,
    /// Hashes of its parts, one after the other.
    pub(super) parts: &'a [u8],
    channels: Range<usize>,
    bundles: Range<usize>,
    /// Number of entries of all its channels.
    entries: usize,
}

impl OutlinePackage<'_> {
    /// Number of its channels, their entries and its bundles.
    pub(super) fn objects(&self) -> usize {
        self.channels.len() + self.entries + self.bundles.len()
    }
}

/// A channel of an outline.
#[derive(Clone)]
pub(super) struct OutlineChannel<'a> {
    pub(super) name: &'a str,
    pub(super) head: Option<&'a str>,
    pub(super) hash: &'a [u8],
    entries: Range<usize>,
}

/// An entry of a channel of an outline: every entry of this name.
#[derive(Clone, Copy)]
pub(super) struct OutlineEntry<'a> {
    pub(super) name: &'a str,
    pub(super) hash: &'a [u8],
}

/// A bundle of an outline.
#[derive(Clone, Copy)]
pub(super) struct OutlineBundle<'a> {
    pub(super) name: &'a str,
    pub(super) hash: &'a [u8],
    /// Hashes of its parts, one after the other.
    pub(super) parts: &'a [u8],
}

/// Reads the records of an outline.
#[derive(Clone, Copy)]
pub(super) struct OutlineReader<'a> {
    bytes: &'a [u8],
    packages: usize,
    channels: usize,
    entries: usize,
    bundles: usize,
    names: &'a str,
}

impl Outline {
    /// Reads an outline; `None` when the bytes are damaged or of another version of the format.
    pub fn from_bytes(bytes: Bytes) -> Option<Self> {
        is_whole(&bytes).then_some(Self(bytes))
    }

    /// Reads the outline in a stored index, whose owner ensures that it is undamaged.
    pub(crate) fn from_stored(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the outline, for [`Outline::from_bytes`].
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    pub(super) fn reader(&self) -> OutlineReader<'_> {
        let bytes = &self.as_bytes()[..];
        let end = bytes.len();
        // An outline was checked as a whole when it was read; a mapped file that changed since then is
        // empty rather than a panic.
        let none = OutlineParts {
            packages: 0,
            channels: end,
            entries: end,
            bundles: end,
            names: end,
        };
        let OutlineParts {
            packages,
            channels,
            entries,
            bundles,
            names,
        } = parts(bytes).unwrap_or(none);
        let names = std::str::from_utf8(&bytes[names..]).unwrap_or_default();
        OutlineReader {
            bytes,
            packages,
            channels,
            entries,
            bundles,
            names,
        }
    }
}

impl<'a> OutlineReader<'a> {
    /// Iterates over the packages, sorted by name.
    pub(super) fn packages(self) -> impl Iterator<Item = OutlinePackage<'a>> {
        (0..self.packages).map(move |at| {
            let record = RECORDS + at * PACKAGE_BYTES;
            let ends = |record| [0, 4].map(|more| read(self.bytes, record + REST + more));
            let [channel, bundle] = if at == 0 {
                [0, 0]
            } else {
                ends(record - PACKAGE_BYTES)
            };
            let [channels, bundles] = ends(record);
            OutlinePackage {
                name: self.name(record).unwrap_or_default(),
                hash: self.bytes(record + NAME_BYTES, HASH_BYTES),
                default_channel: self.name(record + REST + 2 * 4),
                parts: self.bytes(record + PACKAGE_PARTS, PACKAGE_BYTES - PACKAGE_PARTS),
                channels: channel..channels,
                bundles: bundle..bundles,
                entries: self
                    .entries_before(channels)
                    .saturating_sub(self.entries_before(channel)),
            }
        })
    }

    /// Iterates over the channels of a package, sorted by name.
    pub(super) fn channels(
        self,
        package: &OutlinePackage<'a>,
    ) -> impl Iterator<Item = OutlineChannel<'a>> {
        package.channels.clone().map(move |at| {
            let record = self.channels + at * CHANNEL_BYTES;
            OutlineChannel {
                name: self.name(record).unwrap_or_default(),
                head: self.name(record + REST),
                hash: self.bytes(record + NAME_BYTES, HASH_BYTES),
                entries: self.entries_before(at)..self.entries_before(at + 1),
            }
        })
    }

    /// Iterates over the entries of a channel, sorted by name.
    pub(super) fn entries(
        self,
        channel: &OutlineChannel<'a>,
    ) -> impl Iterator<Item = OutlineEntry<'a>> {
        channel.entries.clone().map(move |at| {
            let record = self.entries + at * ENTRY_BYTES;
            let hash = self.bytes(record + NAME_BYTES, PART_HASH_BYTES);
            OutlineEntry {
                name: self.name(record).unwrap_or_default(),
                hash,
            }
        })
    }

    /// Iterates over the bundles of a package, sorted by name.
    pub(super) fn bundles(
        self,
        package: &OutlinePackage<'a>,
    ) -> impl Iterator<Item = OutlineBundle<'a>> {
        package.bundles.clone().map(move |at| {
            let record = self.bundles + at * BUNDLE_BYTES;
            OutlineBundle {
                name: self.name(record).unwrap_or_default(),
                hash: self.bytes(record + NAME_BYTES, HASH_BYTES),
                parts: self.bytes(record + REST, BUNDLE_BYTES - REST),
            }
        })
    }

    /// Number of entries of all channels before this one.
    fn entries_before(self, channel: usize) -> usize {
        channel.checked_sub(1).map_or(0, |last| {
            read(
                self.bytes,
                self.channels + last * CHANNEL_BYTES + CHANNEL_ENTRIES,
            )
        })
    }

    fn name(self, at: usize) -> Option<&'a str> {
        let start = read(self.bytes, at);
        let length = read(self.bytes, at + 4);
        self.names.get(start..start.checked_add(length)?)
    }

    fn bytes(self, at: usize, length: usize) -> &'a [u8] {
        self.bytes.get(at..at + length).unwrap_or_default()
    }
}

impl fmt::Debug for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outline")
            .field("bytes", &self.0.len())
            .finish_non_exhaustive()
    }
}
