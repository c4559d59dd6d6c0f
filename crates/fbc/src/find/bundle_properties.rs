//! What orders and filters of bundles need of the metadata, decoded once for a catalog.

use jiff::Timestamp;

use super::super::platform::{OpenshiftVersions, Platforms, PlatformsBuilder};
use super::super::{Catalog, Manifests};
use crate::work::Work;

/// Facts about all bundles, by bundle id.
pub(in crate::catalog) struct BundleFacts {
    /// Times of creation in microseconds since 1970; [`UNKNOWN`] where the metadata has none.
    times: Box<[i64]>,
    platforms: Platforms,
}

/// No time: the first year that is written is 0.
const UNKNOWN: i64 = i64::MIN;

impl Catalog {
    /// Returns when the bundle at an index in the order of [`Catalog::bundles`] was created, in
    /// microseconds since 1970; `None` when its metadata does not say. The first call on a catalog
    /// decodes the metadata of all bundles.
    pub fn bundle_created_at(&self, at: usize) -> Option<i64> {
        self.bundle_facts()
            .times
            .get(at)
            .copied()
            .filter(|&time| time != UNKNOWN)
    }

    /// Returns the platforms of all bundles.
    pub(in crate::catalog) fn platforms(&self) -> &Platforms {
        &self.bundle_facts().platforms
    }
}

impl BundleFacts {
    pub(in crate::catalog) fn new(catalog: &Catalog) -> Self {
        let mut manifests = Manifests::default();
        let mut platforms = PlatformsBuilder::default();
        let mut times = Vec::with_capacity(catalog.bundles().len());
        for package in catalog.packages() {
            let openshift =
                OpenshiftVersions::new(&package.lifecycle(&Work::unlimited()).unwrap_or_default());
            for bundle in package.bundles() {
                let metadata = bundle.metadata_by(&mut manifests);
                platforms.add(bundle, metadata.as_ref(), &openshift);
                let created_at = metadata.and_then(|metadata| metadata.created_at());
                times.push(created_at.map_or(UNKNOWN, Timestamp::as_microsecond));
            }
        }
        Self {
            times: times.into_boxed_slice(),
            platforms: platforms.finish(),
        }
    }
}
