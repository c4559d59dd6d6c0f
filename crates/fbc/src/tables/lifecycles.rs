//! The blob with the life cycles of each package.

use std::io;

use crate::array::Array;
use crate::ids::{NONE, id};
use crate::index::ContentIndex;
use crate::schema::LIFECYCLE_SCHEMA;
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};

/// Index of the blob with the life cycles of each package, or [`NONE`].
pub(crate) struct LifecycleBlobs(Array<u32>);

impl LifecycleBlobs {
    pub(crate) fn new(index: &ContentIndex) -> Self {
        let mut blobs = vec![NONE; index.packages.len()];
        if index
            .schemas
            .iter()
            .any(|count| *count.schema == *LIFECYCLE_SCHEMA)
        {
            // In reverse, so that the first blob of a package counts.
            for (at, meta) in index.metas.iter().enumerate().rev() {
                let package = index
                    .names
                    .get_optional(meta.package)
                    .filter(|_| index.names.get(meta.schema) == LIFECYCLE_SCHEMA);
                if let Some(Ok(package)) = package.map(|name| index.package_position(name)) {
                    blobs[package] = id(at);
                }
            }
        }
        Self(Array::new(blobs))
    }

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        sections.array(&self.0)
    }

    pub(crate) fn read(
        sections: &mut SectionReader,
        index: &ContentIndex,
    ) -> Result<Self, StoredIndexError> {
        let blobs = sections.optional_ids(index.metas.len())?;
        sections.check(blobs.len() == index.packages.len())?;
        Ok(Self(blobs))
    }

    /// Returns the id of the blob of a package, or [`NONE`].
    pub(crate) fn of_package(&self, package: usize) -> u32 {
        self.0[package]
    }
}
