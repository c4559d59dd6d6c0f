//! The state of decoding: shared tables that each decoded line adds to.

use std::borrow::Cow;
use std::ops::Range;

use hashbrown::HashMap;

use fbc_read::json::{JsonError, JsonText};

use crate::names::{Name, NameInterner};
use crate::record::{GvkRecord, PropertyRecord, RequirementRecord, Span};

/// A decoded line.
pub(crate) struct DecodedBlob {
    pub(crate) schema: Name,
    pub(crate) package: Name,
    pub(crate) name: Name,
    pub(crate) body: BlobBody,
}

/// Fields of a blob of a known schema, besides its key.
pub(crate) enum BlobBody {
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
pub(crate) struct DecodedEntry {
    pub(crate) name: Name,
    pub(crate) replaces: Name,
    pub(crate) skip_range: Name,
    pub(crate) skips: Range<u32>,
}

/// An entry of an `olm.deprecations` as written in its blob; absent fields are empty.
pub(crate) struct DecodedDeprecation {
    pub(crate) schema: Name,
    pub(crate) name: Name,
    pub(crate) message: Span,
}

/// Decodes lines one after the other into shared tables.
pub(crate) struct Decoder<'a> {
    pub(crate) names: NameInterner<'a>,
    pub(crate) entries: Vec<DecodedEntry>,
    pub(crate) skips: Vec<Name>,
    pub(crate) properties: Vec<PropertyRecord>,
    pub(crate) gvks: Vec<GvkRecord>,
    pub(crate) requirements: Vec<RequirementRecord>,
    /// Ids of properties that upstream's decoder rejects; empty with [`Checks::Done`].
    pub(crate) type_mismatches: Vec<u32>,
    /// Ids of properties with an unknown install mode; empty with [`Checks::Done`].
    pub(crate) unknown_modes: Vec<u32>,
    /// Number of entries of all deprecations.
    pub(crate) deprecations: usize,
    pub(super) checks: Checks,
    pub(super) known_schemas: KnownSchemas,
    pub(super) gvk_ids: HashMap<GvkRecord, u32>,
}

/// Tells whether the types of skipped values are checked, which doubles the time of decoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checks {
    /// Checks them.
    All,
    /// Skips them: the content has been validated before.
    Done,
}

/// Interned names of the schemas with typed objects.
pub(super) struct KnownSchemas {
    pub(super) package: Name,
    pub(super) channel: Name,
    pub(super) bundle: Name,
    pub(super) deprecations: Name,
}

/// A field that may be absent or have the wrong type.
#[derive(Default)]
pub(super) enum BlobField<T> {
    #[default]
    Absent,
    Present(T),
    WrongType,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(checks: Checks) -> Self {
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

    pub(super) fn text_or_empty(&mut self, text: Option<JsonText<'a>>) -> Result<Name, JsonError> {
        let text = text.map_or(Ok(Cow::Borrowed("")), JsonText::try_decode)?;
        Ok(self.names.intern(text))
    }

    pub(super) fn optional_name(&mut self, text: Option<JsonText<'a>>) -> Result<Name, JsonError> {
        text.map_or(Ok(Name::NONE), |text| {
            Ok(self.names.intern(text.try_decode()?))
        })
    }
}
