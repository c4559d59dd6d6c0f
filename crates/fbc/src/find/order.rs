//! Ranks of bundles by version and by name, over all packages: comparing ranks is a hundred times
//! as fast as comparing versions. And the orders of all bundles, so that a page of many catalogs
//! sorts none of them.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use super::super::names::Name;
use super::super::{BundleVersion, Catalog, id};

/// What bundles are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleSort {
    /// Version, then release.
    Version,
    /// Name.
    Name,
    /// When it was created.
    CreatedAt,
}

/// The direction in which bundles are sorted. Bundles without the value come last in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortDirection {
    /// Least first.
    Ascending,
    /// Greatest first.
    Descending,
}

/// Ids of all bundles in each order.
#[derive(Debug)]
pub(in crate::catalog) struct BundleOrders {
    version: BothWays,
    name: BothWays,
    created_at: BothWays,
}

/// An order and its reverse, in which bundles of equal value are in the same order.
#[derive(Debug)]
struct BothWays {
    ascending: Arc<[u32]>,
    descending: Arc<[u32]>,
}

/// Ranks of all bundles, by bundle id. Equal bundles have equal ranks.
#[derive(Debug)]
pub(in crate::catalog) struct BundleRanks {
    by_version: Box<[Option<u32>]>,
    by_name: Box<[u32]>,
}

impl Catalog {
    /// Returns for each bundle, in the order of [`Catalog::bundles`], the number of bundles with a
    /// lower version or release; `None` for bundles without a version.
    pub fn version_ranks(&self) -> &[Option<u32>] {
        &self.bundle_ranks().by_version
    }

    /// Returns for each bundle, in the order of [`Catalog::bundles`], the number of bundles with a
    /// smaller name.
    pub fn name_ranks(&self) -> &[u32] {
        &self.bundle_ranks().by_name
    }

    /// Returns the indexes of all bundles, in the order of [`Catalog::bundles`], sorted. Bundles of
    /// one version or name are in the order of [`Catalog::bundles`], those that were created at one
    /// time by package, then by name.
    pub fn sorted_bundles(&self, sort: BundleSort, direction: SortDirection) -> &Arc<[u32]> {
        let orders = self.bundle_orders();
        let order = match sort {
            BundleSort::Version => &orders.version,
            BundleSort::Name => &orders.name,
            BundleSort::CreatedAt => &orders.created_at,
        };
        match direction {
            SortDirection::Ascending => &order.ascending,
            SortDirection::Descending => &order.descending,
        }
    }
}

impl BundleOrders {
    pub(in crate::catalog) fn new(catalog: &Catalog) -> Self {
        let versions = catalog.version_ranks();
        let names = catalog.name_ranks();
        let all = || 0..id(catalog.index.bundles.len());
        let mut by_package: Vec<u32> = all().collect();
        // The catalog has the bundles of a package by version.
        by_package.sort_by_key(|&at| {
            (
                catalog.index.bundles[at as usize].package,
                names[at as usize],
            )
        });
        Self {
            version: BothWays::new(all(), |at| versions[at]),
            name: BothWays::new(all(), |at| Some(names[at])),
            created_at: BothWays::new(by_package, |at| catalog.bundle_created_at(at)),
        }
    }
}

impl BothWays {
    /// Sorts bundles by a value; those of equal value stay as they come.
    fn new<T: Ord>(
        bundles: impl IntoIterator<Item = u32>,
        value: impl Fn(usize) -> Option<T>,
    ) -> Self {
        let (mut sorted, without): (Vec<u32>, Vec<u32>) = bundles
            .into_iter()
            .partition(|&at| value(at as usize).is_some());
        sorted.sort_by_key(|&at| value(at as usize));
        let ascending = sorted.iter().chain(&without).copied().collect();
        sorted.sort_by_key(|&at| Reverse(value(at as usize)));
        let descending = sorted.iter().chain(&without).copied().collect();
        Self {
            ascending,
            descending,
        }
    }
}

impl BundleRanks {
    pub(in crate::catalog) fn new(catalog: &Catalog) -> Self {
        let versions: Vec<_> = catalog
            .bundles()
            .map(|bundle| bundle.key().version)
            .collect();
        let by_version = ranks(versions.len(), |a, b| match (&versions[a], &versions[b]) {
            (Some(a), Some(b)) => a.precedence(b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        let by_version = by_version.iter().zip(&versions);
        let names: Vec<Name> = catalog
            .index
            .bundles
            .iter()
            .map(|bundle| bundle.name)
            .collect();
        let text = |at: usize| catalog.index.names.get(names[at]);
        Self {
            by_version: by_version
                .map(|(&rank, version): (_, &Option<BundleVersion<'_>>)| version.map(|_| rank))
                .collect(),
            by_name: ranks(names.len(), |a, b| text(a).cmp(text(b))),
        }
    }
}

/// Ranks `count` items by a comparison of their indexes.
fn ranks(count: usize, compare: impl Fn(usize, usize) -> Ordering) -> Box<[u32]> {
    let mut sorted: Vec<_> = (0..count).collect();
    sorted.sort_unstable_by(|&a, &b| compare(a, b));
    let mut ranks = vec![0; count].into_boxed_slice();
    let mut rank = 0;
    for (at, &place) in sorted.iter().enumerate() {
        if at > 0 && compare(sorted[at - 1], place).is_ne() {
            rank = id(at);
        }
        ranks[place] = rank;
    }
    ranks
}
