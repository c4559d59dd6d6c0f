//! Orders of all packages, so that a page of many catalogs sorts none of them.

use crate::tables::order::{BothWays, SortDirection};

/// Value that packages are sorted by. Their names are the order of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageSort {
    /// Folded display name.
    DisplayName,
    /// Time of creation of the bundle that the metadata comes from, in microseconds.
    CreatedAt,
    /// Capability level.
    CapabilityLevel,
}

/// Ids of all packages in each order.
#[derive(Debug)]
pub(crate) struct PackageOrders {
    pub(crate) display_name: BothWays,
    pub(crate) created_at: BothWays,
    pub(crate) capability_level: BothWays,
}

impl PackageOrders {
    /// Returns the ids of all packages, sorted.
    pub(crate) fn sorted(&self, sort: PackageSort, direction: SortDirection) -> &[u32] {
        let order = match sort {
            PackageSort::DisplayName => &self.display_name,
            PackageSort::CreatedAt => &self.created_at,
            PackageSort::CapabilityLevel => &self.capability_level,
        };
        order.get(direction)
    }
}
