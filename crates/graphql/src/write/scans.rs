//! Scans of a request: the items that a field found in a catalog, cached so that the same field of
//! the same object is evaluated once, however often the object is selected, and once for all
//! catalogs of one content.

use std::collections::HashMap;
use std::rc::Rc;

use fbc::{FacetValue, FoundPackages};
use serving::Served;

use super::PlannedField;
use crate::connection::Places;

/// Results of scans, by field and object. Their size is bounded by the work that making them took.
#[derive(Default)]
pub(super) struct Scans<'a> {
    pub(super) places: ScanCache<Places<'a>>,
    pub(super) packages: ScanCache<PackageScan<'a>>,
    pub(super) facets: ScanCache<FacetScan<'a>>,
}

/// Results of scans of one kind.
pub(super) struct ScanCache<T>(HashMap<ScanKey, T>);

/// Packages that a filter found in a catalog: those that each facet counts, and the matching ones
/// in an order.
#[derive(Clone)]
pub(super) struct PackageScan<'a> {
    pub(super) found: Rc<FoundPackages<'a>>,
    pub(super) places: Places<'a>,
}

/// Values of a facet with their counts.
pub(super) type FacetScan<'a> = Rc<[(FacetValue<'a>, u32)]>;

/// Identifies a scan by the addresses of the values that it depends on, which outlive the request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ScanKey {
    field: usize,
    /// The catalog, or the index that catalogs of one content share.
    scanned: usize,
    /// The package of `Package.bundles`.
    package: usize,
}

impl ScanKey {
    /// The scan of a catalog by a field, whose result may depend on more than the content.
    pub(super) fn of_catalog(field: &PlannedField<'_>, served: &Served) -> Self {
        Self {
            field: std::ptr::from_ref(field).addr(),
            scanned: std::ptr::from_ref(served).addr(),
            package: 0,
        }
    }

    /// The scan of a content by a field, or of one of its packages. Catalogs that share the content
    /// share the result.
    pub(super) fn of_content(
        field: &PlannedField<'_>,
        served: &Served,
        package: Option<&str>,
    ) -> Self {
        Self {
            field: std::ptr::from_ref(field).addr(),
            scanned: served.content.catalog.index_address(),
            package: package.map_or(0, |name| name.as_ptr().addr()),
        }
    }
}

impl<T: Clone> ScanCache<T> {
    /// Returns the result of a scan, which `scan` makes the first time.
    pub(super) fn get_or_scan<E>(
        &mut self,
        key: ScanKey,
        scan: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        // A scan that the budget stops is not cached: the request ends with an error.
        let found = scan()?;
        self.0.insert(key, found.clone());
        Ok(found)
    }
}

impl<T> Default for ScanCache<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}
