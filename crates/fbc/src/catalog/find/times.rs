//! When bundles were created, by bundle: ordering by it decodes no metadata.

use jiff::Timestamp;

use super::super::{Catalog, Manifests};

/// Times of creation in microseconds since 1970, by bundle id; [`UNKNOWN`] where the metadata has none.
#[derive(Debug)]
pub(in crate::catalog) struct CreationTimes(Box<[i64]>);

/// No time: the first year that is written is 0.
const UNKNOWN: i64 = i64::MIN;

impl Catalog {
    /// Returns when the bundle at an index in the order of [`Catalog::bundles`] was created, in microseconds since 1970;
    /// `None` when its metadata does not say. The first call on a catalog decodes the metadata of all bundles.
    pub fn bundle_created_at(&self, at: usize) -> Option<i64> {
        self.creation_times().0.get(at).copied().filter(|&time| time != UNKNOWN)
    }
}

impl CreationTimes {
    pub(in crate::catalog) fn new(catalog: &Catalog) -> Self {
        let mut manifests = Manifests::default();
        let times = catalog.bundles().map(|bundle| {
            let metadata = bundle.metadata_by(&mut manifests);
            metadata.and_then(|metadata| metadata.created_at()).map_or(UNKNOWN, Timestamp::as_microsecond)
        });
        Self(times.collect())
    }
}
