//! Scans of a request: what a field found in a catalog, so that the same field of the same object is worked out once,
//! however often the object is selected.

use std::collections::HashMap;
use std::rc::Rc;

use fbc::catalog::{FacetValue, FoundPackages};
use serving::Served;

use super::{PlannedField, WriteError};
use crate::connection::Places;

/// Results of scans, by field and object. Their size is bounded by the work that making them took.
#[derive(Default)]
pub(super) struct Scans<'a> {
    places: HashMap<ScanKey, Places>,
    packages: HashMap<ScanKey, PackageScan<'a>>,
    facets: HashMap<ScanKey, FacetScan<'a>>,
}

/// Packages that a filter found in a catalog: what each facet counts, and the matching ones in an order.
#[derive(Clone)]
pub(super) struct PackageScan<'a> {
    pub(super) found: Rc<FoundPackages<'a>>,
    pub(super) places: Places,
}

/// Values of a facet with their counts.
pub(super) type FacetScan<'a> = Rc<[(FacetValue<'a>, u32)]>;

/// Identifies a scan by the addresses of what it depends on, all of which outlive the request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ScanKey {
    field: usize,
    served: usize,
    /// The package of `Package.bundles`.
    package: usize,
}

impl ScanKey {
    /// The scan of a catalog by a field, or of one of its packages.
    pub(super) fn new(field: &PlannedField<'_>, served: &Served, package: Option<&str>) -> Self {
        Self {
            field: std::ptr::from_ref(field).addr(),
            served: std::ptr::from_ref(served).addr(),
            package: package.map_or(0, |name| name.as_ptr().addr()),
        }
    }
}

impl<'a> Scans<'a> {
    /// Returns the places of a scan, which `scan` finds the first time.
    pub(super) fn places(
        &mut self,
        key: ScanKey,
        scan: impl FnOnce() -> Result<Places, WriteError>,
    ) -> Result<Places, WriteError> {
        get_or_insert(&mut self.places, key, scan)
    }

    /// Returns the packages of a scan, which `scan` finds the first time.
    pub(super) fn packages(
        &mut self,
        key: ScanKey,
        scan: impl FnOnce() -> Result<PackageScan<'a>, WriteError>,
    ) -> Result<PackageScan<'a>, WriteError> {
        get_or_insert(&mut self.packages, key, scan)
    }

    /// Returns the counts of a facet, which `count` makes the first time.
    pub(super) fn facets(
        &mut self,
        key: ScanKey,
        count: impl FnOnce() -> Result<FacetScan<'a>, WriteError>,
    ) -> Result<FacetScan<'a>, WriteError> {
        get_or_insert(&mut self.facets, key, count)
    }
}

fn get_or_insert<T: Clone>(
    scans: &mut HashMap<ScanKey, T>,
    key: ScanKey,
    scan: impl FnOnce() -> Result<T, WriteError>,
) -> Result<T, WriteError> {
    if let Some(known) = scans.get(&key) {
        return Ok(known.clone());
    }
    let found = scan()?;
    scans.insert(key, found.clone());
    Ok(found)
}
