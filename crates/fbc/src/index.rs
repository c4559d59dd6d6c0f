//! The index of one content: records, sorted so that each can be found by halving.
//!
//! It says what the lines alone decide. Files, problems and names of catalogs are not part of it.

use bytes::Bytes;
use hashbrown::HashMap;

use crate::array::Array;
use crate::names::{Name, NameTable};
use crate::record::{
    BundleRecord, ChannelRecord, DeprecationRecord, EntryRecord, GvkRecord, MetaRecord,
    PackageRecord, PropertyRecord, RequirementRecord, Span,
};
use crate::schema::{LIFECYCLE_SCHEMA, SchemaCount, TYPED_SCHEMAS};

/// Records of the objects of a content. They depend on the lines alone, so that catalogs of equal
/// content share them.
pub(crate) struct ContentIndex {
    pub(crate) content: Bytes,
    /// The records are those of a stored index.
    pub(crate) is_stored: bool,
    pub(crate) names: NameTable,
    pub(crate) metas: Array<MetaRecord>,
    /// Sorted by name.
    pub(crate) packages: Array<PackageRecord>,
    /// Sorted by package, then by name.
    pub(crate) channels: Array<ChannelRecord>,
    /// Sorted by channel, then in catalog order.
    pub(crate) entries: Array<EntryRecord>,
    pub(crate) skips: Array<Name>,
    /// Sorted by package, then highest version first, then by name; bundles without a version come
    /// last.
    pub(crate) bundles: Array<BundleRecord>,
    /// Positions in `bundles`, sorted by package, then by name.
    pub(crate) bundles_by_name: Array<u32>,
    /// Positions in `bundles`, sorted by image, then by position.
    pub(crate) bundles_by_image: Array<u32>,
    /// Positions in `entries` of the entries of each bundle, sorted by bundle, then by position.
    pub(crate) placements: Array<u32>,
    pub(crate) properties: Array<PropertyRecord>,
    pub(crate) gvks: Array<GvkRecord>,
    pub(crate) requirements: Array<RequirementRecord>,
    pub(crate) deprecations: Array<DeprecationRecord>,
    pub(crate) schemas: Vec<SchemaCount>,
}

impl ContentIndex {
    /// Returns the text at a span of a blob's line.
    pub(crate) fn slice(&self, meta: u32, span: Span) -> &[u8] {
        let start = self.metas[meta as usize].start as usize + span.start as usize;
        &self.content[start..start + span.len as usize]
    }

    /// Returns the line of a blob, without its line feed.
    pub(crate) fn line(&self, meta: u32) -> &[u8] {
        let len = self.metas[meta as usize].len;
        self.slice(meta, Span { start: 0, len })
    }

    /// Returns the name of a package.
    pub(crate) fn package_name(&self, package: usize) -> &str {
        self.names.get(self.packages[package].name)
    }

    /// Returns the index of the package of a name, or as error the index where it would be
    /// inserted.
    pub(crate) fn package_position(&self, name: &str) -> Result<usize, usize> {
        self.packages
            .binary_search_by(|package| self.names.get(package.name).cmp(name))
    }
}

/// Counts the blobs of each schema, sorted by schema.
pub(crate) fn count_schemas(metas: &[MetaRecord], names: &NameTable) -> Vec<SchemaCount> {
    let mut counts: HashMap<Name, u32> = HashMap::new();
    for meta in metas {
        *counts.entry(meta.schema).or_default() += 1;
    }
    let mut schemas: Vec<_> = counts
        .into_iter()
        .map(|(schema, count)| {
            let schema = names.get(schema);
            SchemaCount {
                schema: schema.into(),
                count,
                known: TYPED_SCHEMAS.contains(&schema) || schema == LIFECYCLE_SCHEMA,
            }
        })
        .collect();
    schemas.sort_unstable_by(|a, b| (&a.schema, a.count).cmp(&(&b.schema, b.count)));
    schemas
}
