//! Stored indexes: the records and tables of a catalog as bytes, from which it is opened without
//! decoding its lines.
//!
//! In this order: the names, the records of the index, the outline, and each table (`sections.rs` has
//! the format). What is small or changes is not stored but made again: counts of schemas, orders of
//! packages, counts of facets, positions of metadata.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use fbc_read::origin::Origins;
use fbc_read::problem::Problems;

use crate::blobs::BlobLocations;
use crate::catalog::Catalog;
use crate::ids::{IdRange, NONE};
use crate::index::{ContentIndex, count_schemas};
use crate::names::{Name, NameTable};
use crate::outline::Outline;
use crate::record::{HeadRecord, Payload, Span};
use crate::sections::{SectionReader, SectionWriter, StoredIndexError, are_below};
use crate::tables::Tables;
use crate::tables::bundles::BundleIndex;
use crate::tables::completions::Completions;
use crate::tables::icons::Icons;
use crate::tables::lifecycles::LifecycleBlobs;
use crate::tables::metas::MetaIndex;
use crate::tables::order::{BundleOrders, BundleRanks};
use crate::tables::properties::BundleProperties;
use crate::tables::search::SearchIndex;
use crate::tables::summaries::Summaries;

impl Catalog {
    /// Writes the index and all tables, for [`Catalog::open_stored`]. Tables that are missing are
    /// made first.
    ///
    /// # Errors
    /// Fails when `to` does.
    pub fn write_index(&self, to: &mut dyn Write) -> io::Result<()> {
        self.prepare();
        let sections = &mut SectionWriter::new(to)?;
        self.index.write(sections)?;
        sections.bytes(self.outline().as_bytes())?;
        self.summaries().write(sections)?;
        self.icons().write(sections)?;
        self.bundle_index().write(sections)?;
        self.bundle_ranks().write(sections)?;
        self.bundle_orders().write(sections)?;
        self.bundle_properties().write(sections)?;
        sections.array(self.channel_order())?;
        self.lifecycle_blobs().write(sections)?;
        self.meta_index().write(sections)?;
        self.search_index().write(sections)?;
        self.completions().write(sections)
    }

    /// Opens a catalog from lines and the bytes that [`Catalog::write_index`] of the same build
    /// wrote for them. Records and tables are read from these bytes in place.
    ///
    /// The caller must ensure that the bytes are the ones that were written. Others fail here, or
    /// give other records, but no panic.
    ///
    /// # Errors
    /// Fails when the bytes cannot be an index of these lines, or the origins belong to another
    /// content. [`Catalog::reopen`] then does without them.
    pub fn open_stored(
        content: Bytes,
        index: Bytes,
        origins: &Origins,
        problems: Problems,
    ) -> Result<Self, StoredIndexError> {
        let BlobLocations { files, lines } = BlobLocations::new(origins);
        let StoredRecords { index, tables } = StoredRecords::read(content, index, lines.len())?;
        let mut catalog = Self::new(index, files, lines);
        catalog.tables = Arc::new(tables);
        catalog.set_problems(problems);
        Ok(catalog)
    }

    /// Returns the same catalog with its records and tables in the bytes that [`Catalog::write_index`]
    /// wrote for it.
    ///
    /// # Errors
    /// Fails as [`Catalog::open_stored`] does.
    pub fn with_stored_index(&self, index: Bytes) -> Result<Self, StoredIndexError> {
        let StoredRecords { index, tables } =
            StoredRecords::read(self.content().clone(), index, self.meta_count())?;
        Ok(self.with_index(Arc::new(index), Arc::new(tables)))
    }

    /// Returns whether its records and tables are those of a stored index.
    pub fn has_stored_index(&self) -> bool {
        self.index.is_stored
    }
}

/// All that a stored index has.
struct StoredRecords {
    index: ContentIndex,
    tables: Tables,
}

impl StoredRecords {
    /// Reads the index of a content with so many blobs.
    fn read(content: Bytes, index: Bytes, blobs: usize) -> Result<Self, StoredIndexError> {
        let mut sections = SectionReader::new(index)?;
        let index = ContentIndex::read(&mut sections, content)?;
        sections.check(index.metas.len() == blobs)?;
        let tables = Tables::read(&mut sections, &index)?;
        sections.finish()?;
        Ok(Self { index, tables })
    }
}

impl ContentIndex {
    fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.names.write(sections)?;
        sections.array(&self.metas)?;
        sections.array(&self.packages)?;
        sections.array(&self.channels)?;
        sections.array(&self.entries)?;
        sections.array(&self.skips)?;
        sections.array(&self.bundles)?;
        sections.array(&self.bundles_by_name)?;
        sections.array(&self.bundles_by_image)?;
        sections.array(&self.placements)?;
        sections.array(&self.properties)?;
        sections.array(&self.gvks)?;
        sections.array(&self.requirements)?;
        sections.array(&self.deprecations)
    }

    fn read(sections: &mut SectionReader, content: Bytes) -> Result<Self, StoredIndexError> {
        let mut index = Self {
            content,
            is_stored: true,
            names: NameTable::read(sections)?,
            metas: sections.array()?,
            packages: sections.array()?,
            channels: sections.array()?,
            entries: sections.array()?,
            skips: sections.array()?,
            bundles: sections.array()?,
            bundles_by_name: sections.array()?,
            bundles_by_image: sections.array()?,
            placements: sections.array()?,
            properties: sections.array()?,
            gvks: sections.array()?,
            requirements: sections.array()?,
            deprecations: sections.array()?,
            schemas: Vec::new(),
        };
        sections.check(index.is_whole())?;
        index.schemas = count_schemas(&index.metas, &index.names);
        Ok(index)
    }

    /// Returns whether every id, range and span of the records is within what it points to.
    fn is_whole(&self) -> bool {
        let has = |name: Name| self.names.has(name);
        let bundles = self.bundles.len();
        let has_text = |meta: u32, span: Span| {
            let line = self.metas.get(meta as usize);
            let end = span.start.checked_add(span.len);
            line.zip(end).is_some_and(|(line, end)| end <= line.len)
        };
        let metas = self.metas.iter().all(|meta| {
            let end = u64::from(meta.start) + u64::from(meta.len);
            // A line feed follows the line.
            end < self.content.len() as u64
                && [meta.schema, meta.package, meta.name].map(has) == [true; 3]
        });
        let packages = self.packages.iter().all(|package| {
            has_text(package.meta, package.description)
                && has(package.name)
                && has(package.default_channel_name)
                && is_optional_id(package.default_channel, self.channels.len())
                && is_optional_id(package.deprecation, self.deprecations.len())
                && package.channels.is_within(self.channels.len())
                && package.bundles.is_within(bundles)
                && self.has_properties(package.meta, package.properties)
        });
        let channels = self.channels.iter().all(|channel| {
            let head = match channel.head.get() {
                HeadRecord::One(entry) => (entry as usize) < self.entries.len(),
                HeadRecord::None | HeadRecord::Several => true,
            };
            head && has(channel.name)
                && (channel.package as usize) < self.packages.len()
                && is_optional_id(channel.deprecation, self.deprecations.len())
                && channel.entries.is_within(self.entries.len())
                && self.has_properties(channel.meta, channel.properties)
        });
        let entries = self.entries.iter().all(|entry| {
            (entry.channel as usize) < self.channels.len()
                && is_optional_id(entry.bundle, bundles)
                && [entry.name, entry.replaces, entry.skip_range].map(has) == [true; 3]
                && entry.skips.is_within(self.skips.len())
        });
        let records = self.bundles.iter().all(|bundle| {
            (bundle.package as usize) < self.packages.len()
                && [bundle.name, bundle.version, bundle.release].map(has) == [true; 3]
                && has_text(bundle.meta, bundle.image)
                && has_text(bundle.meta, bundle.related_images)
                && is_optional_id(bundle.deprecation, self.deprecations.len())
                && bundle.placements.is_within(self.placements.len())
                && self.has_properties(bundle.meta, bundle.properties)
        });
        let properties = self.properties.iter().all(|property| {
            has(property.type_name)
                && match property.payload.get() {
                    Payload::Package(id) | Payload::PackageRequired(id) => {
                        (id as usize) < self.requirements.len()
                    }
                    Payload::Gvk(id) | Payload::GvkRequired(id) => (id as usize) < self.gvks.len(),
                    Payload::MaxOpenShiftVersion(version) => has(version),
                    Payload::Constraint
                    | Payload::BundleObject
                    | Payload::CsvMetadata
                    | Payload::Opaque => true,
                }
        });
        let gvks = self.gvks.iter();
        let gvks = gvks.map(|gvk| [gvk.group, gvk.version, gvk.kind]);
        let requirements = self.requirements.iter();
        let requirements = requirements.map(|it| [it.package, it.range, it.release]);
        let named = gvks.chain(requirements).flatten().all(has);
        let deprecations = self.deprecations.iter().all(|deprecation| {
            has(deprecation.schema)
                && has(deprecation.name)
                && has_text(deprecation.meta, deprecation.message)
        });
        metas
            && packages
            && channels
            && entries
            && records
            && properties
            && named
            && deprecations
            && self.skips.iter().copied().all(has)
            && self.bundles_by_name.len() == bundles
            && self.bundles_by_image.len() == bundles
            && are_below(&self.bundles_by_name, bundles)
            && are_below(&self.bundles_by_image, bundles)
            && are_below(&self.placements, self.entries.len())
    }

    /// Returns whether there are these properties, with values in the line of a blob.
    fn has_properties(&self, meta: u32, range: IdRange) -> bool {
        let Some(line) = self.metas.get(meta as usize) else {
            return false;
        };
        range.is_within(self.properties.len())
            && self.properties[range.places()].iter().all(|property| {
                let end = property.value.start.checked_add(property.value.len);
                end.is_some_and(|end| end <= line.len)
            })
    }
}

impl Tables {
    fn read(sections: &mut SectionReader, index: &ContentIndex) -> Result<Self, StoredIndexError> {
        let bundles = index.bundles.len();
        let channels = index.channels.len();
        Ok(Self {
            outline: made(Outline::from_stored(sections.bytes()?)),
            summaries: made(Summaries::read(sections, index)?),
            icons: made(Arc::new(Icons::read(sections, index)?)),
            bundles: made(BundleIndex::read(sections, index)?),
            ranks: made(BundleRanks::read(sections, bundles)?),
            orders: made(BundleOrders::read(sections, bundles)?),
            package_orders: OnceLock::new(),
            facets: OnceLock::new(),
            properties: made(BundleProperties::read(sections, bundles)?),
            channels: made(sections.ids_of(channels, channels)?),
            lifecycles: made(LifecycleBlobs::read(sections, index)?),
            metas: made(MetaIndex::read(sections, index)?),
            search: made(SearchIndex::read(sections, index)?),
            completions: made(Completions::read(sections, index)?),
            csv_positions: OnceLock::new(),
        })
    }
}

/// Returns a table that need not be made.
fn made<T>(table: T) -> OnceLock<T> {
    let cell = OnceLock::new();
    let _ = cell.set(table);
    cell
}

fn is_optional_id(id: u32, limit: usize) -> bool {
    id == NONE || (id as usize) < limit
}
