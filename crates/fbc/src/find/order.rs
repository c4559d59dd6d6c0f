//! Ranks and orders of bundles, over all packages.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::tables::order::{BundleOrders, BundleSort, SortDirection};

impl Catalog {
    /// Returns for each bundle, in the order of [`Catalog::bundles`], the number of bundles with a
    /// lower version or release; `None` for bundles without a version.
    pub fn version_ranks(&self) -> &[Option<u32>] {
        self.bundle_ranks().by_version()
    }

    /// Returns for each bundle, in the order of [`Catalog::bundles`], the number of bundles with a
    /// smaller name.
    pub fn name_ranks(&self) -> &[u32] {
        self.bundle_ranks().by_name()
    }

    /// Returns the indexes of all bundles, in the order of [`Catalog::bundles`], sorted. Bundles of
    /// one version or name are in the order of [`Catalog::bundles`], those that were created at one
    /// time by package, then by name.
    pub fn sorted_bundles(&self, sort: BundleSort, direction: SortDirection) -> &Arc<[u32]> {
        self.bundle_orders().sorted(sort, direction)
    }

    pub(crate) fn bundle_orders(&self) -> &BundleOrders {
        self.tables.orders.get_or_init(|| {
            BundleOrders::new(&self.index, self.bundle_ranks(), |at| {
                self.bundle_created_at(at)
            })
        })
    }
}
