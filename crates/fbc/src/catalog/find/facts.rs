//! What orders and filters of bundles need of the metadata, decoded once for a catalog.

use jiff::Timestamp;

use super::super::platform::{Platforms, PlatformsBuilder};
use super::super::{Catalog, Manifests};

/// Facts about all bundles, by bundle id.
pub(in crate::catalog) struct BundleFacts {
    /// Times of creation in microseconds since 1970; [`UNKNOWN`] where the metadata has none.
    times: Box<[i64]>,
    platforms: Platforms,
}

/// No time: the first year that is written is 0.
const UNKNOWN: i64 = i64::MIN;

impl Catalog {
    /// Returns when the bundle at an index in the order of [`Catalog::bundles`] was created, in microseconds since 1970;
    /// `None` when its metadata does not say. The first call on a catalog decodes the metadata of all bundles.
    pub fn bundle_created_at(&self, at: usize) -> Option<i64> {
        self.bundle_facts().times.get(at).copied().filter(|&time| time != UNKNOWN)
    }

    /// Returns the platforms of all bundles.
    pub(in crate::catalog) fn platforms(&self) -> &Platforms {
        &self.bundle_facts().platforms
    }
}

impl BundleFacts {
    pub(in crate::catalog) fn new(catalog: &Catalog) -> Self {
        let (mut manifests, mut platforms) = (Manifests::default(), PlatformsBuilder::default());
        let times = catalog.bundles().map(|bundle| {
            let metadata = bundle.metadata_by(&mut manifests);
            platforms.add(bundle, metadata.as_ref());
            metadata.and_then(|metadata| metadata.created_at()).map_or(UNKNOWN, Timestamp::as_microsecond)
        });
        let times = times.collect();
        Self { times, platforms: platforms.finish() }
    }
}
