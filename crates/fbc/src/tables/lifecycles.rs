//! The blob with the life cycles of each package.

use crate::ids::id;
use crate::index::ContentIndex;
use crate::record::NONE;
use crate::schema::LIFECYCLE_SCHEMA;

/// Index of the blob with the life cycles of each package, or [`NONE`].
pub(crate) struct LifecycleBlobs(Box<[u32]>);

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
        Self(blobs.into_boxed_slice())
    }

    /// Returns the id of the blob of a package, or [`NONE`].
    pub(crate) fn of_package(&self, package: usize) -> u32 {
        self.0[package]
    }
}
