//! Ranks of bundles over all packages, and orders of bundles and packages.

use jiff::Timestamp;

use crate::catalog::Catalog;
use crate::ids::id;
use crate::tables::order::{BothWays, BundleOrders, BundleSort, SortDirection};
use crate::tables::package_order::{PackageOrders, PackageSort};

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
    pub fn sorted_bundles(&self, sort: BundleSort, direction: SortDirection) -> &[u32] {
        self.bundle_orders().sorted(sort, direction)
    }

    /// Returns the indexes of all packages, in the order of [`Catalog::packages`], sorted. Packages
    /// of one value are in the order of their names; those without one come last in both directions.
    pub fn sorted_packages(&self, sort: PackageSort, direction: SortDirection) -> &[u32] {
        self.package_orders().sorted(sort, direction)
    }

    pub(crate) fn package_orders(&self) -> &PackageOrders {
        self.tables.package_orders.get_or_init(|| {
            let all = || 0..id(self.packages().len());
            let summary = |at| self.package_at(at).summary();
            PackageOrders {
                display_name: BothWays::new(all(), |at| Some(summary(at).sort_name())),
                created_at: BothWays::new(all(), |at| {
                    summary(at).created_at().map(Timestamp::as_microsecond)
                }),
                capability_level: BothWays::new(all(), |at| summary(at).capability_level()),
            }
        })
    }

    pub(crate) fn bundle_orders(&self) -> &BundleOrders {
        self.tables.orders.get_or_init(|| {
            BundleOrders::new(&self.index, self.bundle_ranks(), |at| {
                self.bundle_created_at(at)
            })
        })
    }
}
