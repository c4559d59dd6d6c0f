//! Records of the index: plain numbers, ranges and spans, kept small because there are many.

use std::ops::Range;
use std::sync::Arc;

use crate::names::Name;

/// The id of no object, where an id is optional.
pub(crate) const NONE: u32 = u32::MAX;

/// A slice of a blob's line. An empty one stands for an absent value, because no JSON value is
/// empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// Offset of the first byte in the line.
    pub(crate) start: u32,
    /// Length in bytes.
    pub(crate) len: u32,
}

impl Span {
    pub(crate) fn is_none(self) -> bool {
        self.len == 0
    }
}

#[derive(Debug)]
pub(crate) struct FileRecord {
    pub(crate) path: Arc<str>,
    /// Id of its first blob.
    pub(crate) first: u32,
}

#[derive(Debug)]
pub(crate) struct MetaRecord {
    /// Offset of its line in the content.
    pub(crate) start: u32,
    /// Length of its line in bytes, without the line feed.
    pub(crate) len: u32,
    pub(crate) schema: Name,
    pub(crate) package: Name,
    pub(crate) name: Name,
}

#[derive(Debug)]
pub(crate) struct PackageRecord {
    pub(crate) meta: u32,
    pub(crate) name: Name,
    /// Name as in the blob, even when the package has no such channel.
    pub(crate) default_channel_name: Name,
    pub(crate) default_channel: u32,
    pub(crate) description: Span,
    pub(crate) deprecation: u32,
    pub(crate) channels: Range<u32>,
    pub(crate) bundles: Range<u32>,
    pub(crate) properties: Range<u32>,
}

#[derive(Debug)]
pub(crate) struct ChannelRecord {
    pub(crate) meta: u32,
    pub(crate) package: u32,
    pub(crate) name: Name,
    pub(crate) deprecation: u32,
    pub(crate) head: HeadRecord,
    pub(crate) entries: Range<u32>,
    pub(crate) properties: Range<u32>,
}

/// The entries of a channel that no entry replaces or skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadRecord {
    None,
    One(u32),
    Several,
}

#[derive(Debug)]
pub(crate) struct EntryRecord {
    pub(crate) channel: u32,
    pub(crate) name: Name,
    pub(crate) bundle: u32,
    pub(crate) replaces: Name,
    pub(crate) skip_range: Name,
    pub(crate) skips: Range<u32>,
}

#[derive(Debug)]
pub(crate) struct BundleRecord {
    pub(crate) meta: u32,
    pub(crate) package: u32,
    pub(crate) name: Name,
    /// Version of its `olm.package` property, if well-formed.
    pub(crate) version: Name,
    pub(crate) release: Name,
    pub(crate) image: Span,
    pub(crate) related_images: Span,
    pub(crate) deprecation: u32,
    pub(crate) placements: Range<u32>,
    pub(crate) properties: Range<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PropertyRecord {
    pub(crate) type_name: Name,
    pub(crate) value: Span,
    pub(crate) payload: Payload,
}

/// Decoded value of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// Id of a requirement record whose range is the version of the bundle.
    Package(u32),
    PackageRequired(u32),
    Gvk(u32),
    GvkRequired(u32),
    Constraint,
    BundleObject,
    CsvMetadata,
    MaxOpenShiftVersion(Name),
    /// A property of another type, or with a malformed value.
    Opaque,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GvkRecord {
    pub(crate) group: Name,
    pub(crate) version: Name,
    pub(crate) kind: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequirementRecord {
    pub(crate) package: Name,
    /// A range, or a version for an `olm.package`.
    pub(crate) range: Name,
    /// The release of an `olm.package`.
    pub(crate) release: Name,
}

#[derive(Debug)]
pub(crate) struct DeprecationRecord {
    pub(crate) meta: u32,
    pub(crate) schema: Name,
    pub(crate) name: Name,
    /// Span of the message in the line of `meta`, if any.
    pub(crate) message: Span,
}
