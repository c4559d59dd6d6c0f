//! Records of the index: plain numbers, ranges and spans, kept small because there are many.

use std::sync::Arc;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::ids::{IdRange, NONE};
use crate::names::Name;

/// A slice of a blob's line. An empty one stands for an absent value, because no JSON value is
/// empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
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

#[derive(Clone, Debug)]
pub(crate) struct FileRecord {
    pub(crate) path: Arc<str>,
    /// Id of its first blob.
    pub(crate) first: u32,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct MetaRecord {
    /// Offset of its line in the content.
    pub(crate) start: u32,
    /// Length of its line in bytes, without the line feed.
    pub(crate) len: u32,
    pub(crate) schema: Name,
    pub(crate) package: Name,
    pub(crate) name: Name,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct PackageRecord {
    pub(crate) meta: u32,
    pub(crate) name: Name,
    /// Name as in the blob, even when the package has no such channel.
    pub(crate) default_channel_name: Name,
    pub(crate) default_channel: u32,
    pub(crate) description: Span,
    pub(crate) deprecation: u32,
    pub(crate) channels: IdRange,
    pub(crate) bundles: IdRange,
    pub(crate) properties: IdRange,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct ChannelRecord {
    pub(crate) meta: u32,
    pub(crate) package: u32,
    pub(crate) name: Name,
    pub(crate) deprecation: u32,
    pub(crate) head: PackedHead,
    pub(crate) entries: IdRange,
    pub(crate) properties: IdRange,
}

/// The entries of a channel that no entry replaces or skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadRecord {
    None,
    One(u32),
    Several,
}

/// A [`HeadRecord`] as it is kept: the id of the entry, [`NONE`], or [`PackedHead::SEVERAL`].
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub(crate) struct PackedHead(u32);

impl PackedHead {
    /// The id of no entry, because there are fewer of them.
    const SEVERAL: u32 = NONE - 1;

    pub(crate) fn get(self) -> HeadRecord {
        match self.0 {
            NONE => HeadRecord::None,
            Self::SEVERAL => HeadRecord::Several,
            entry => HeadRecord::One(entry),
        }
    }
}

impl From<HeadRecord> for PackedHead {
    fn from(head: HeadRecord) -> Self {
        Self(match head {
            HeadRecord::None => NONE,
            HeadRecord::Several => Self::SEVERAL,
            HeadRecord::One(entry) => entry,
        })
    }
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct EntryRecord {
    pub(crate) channel: u32,
    pub(crate) name: Name,
    pub(crate) bundle: u32,
    pub(crate) replaces: Name,
    pub(crate) skip_range: Name,
    pub(crate) skips: IdRange,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
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
    pub(crate) placements: IdRange,
    pub(crate) properties: IdRange,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct PropertyRecord {
    pub(crate) type_name: Name,
    pub(crate) value: Span,
    pub(crate) payload: PackedPayload,
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

/// A [`Payload`] as it is kept.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct PackedPayload {
    kind: u32,
    /// The id of the payload; 0 without one.
    id: u32,
}

impl PackedPayload {
    pub(crate) fn get(self) -> Payload {
        match self.kind {
            1 => Payload::Package(self.id),
            2 => Payload::PackageRequired(self.id),
            3 => Payload::Gvk(self.id),
            4 => Payload::GvkRequired(self.id),
            5 => Payload::Constraint,
            6 => Payload::BundleObject,
            7 => Payload::CsvMetadata,
            8 => Payload::MaxOpenShiftVersion(Name::from_id(self.id)),
            _ => Payload::Opaque,
        }
    }
}

impl From<Payload> for PackedPayload {
    fn from(payload: Payload) -> Self {
        let (kind, id) = match payload {
            Payload::Opaque => (0, 0),
            Payload::Package(id) => (1, id),
            Payload::PackageRequired(id) => (2, id),
            Payload::Gvk(id) => (3, id),
            Payload::GvkRequired(id) => (4, id),
            Payload::Constraint => (5, 0),
            Payload::BundleObject => (6, 0),
            Payload::CsvMetadata => (7, 0),
            Payload::MaxOpenShiftVersion(version) => (8, version.id()),
        };
        Self { kind, id }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct GvkRecord {
    pub(crate) group: Name,
    pub(crate) version: Name,
    pub(crate) kind: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct RequirementRecord {
    pub(crate) package: Name,
    /// A range, or a version for an `olm.package`.
    pub(crate) range: Name,
    /// The release of an `olm.package`.
    pub(crate) release: Name,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct DeprecationRecord {
    pub(crate) meta: u32,
    pub(crate) schema: Name,
    pub(crate) name: Name,
    /// Span of the message in the line of `meta`, if any.
    pub(crate) message: Span,
}
