//! Ranks of bundles by version and by name, over all packages: comparing ranks is a hundred times
//! as fast as comparing versions. And the orders of all bundles, so that a page of many catalogs
//! sorts none of them.

use std::cmp::{Ordering, Reverse};

use crate::ids::id;
use crate::index::ContentIndex;
use crate::key::BundleVersion;

/// Value that bundles are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleSort {
    /// Version, then release.
    Version,
    /// Name.
    Name,
    /// When it was created.
    CreatedAt,
}

/// The direction in which items are sorted. Those without the value come last in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortDirection {
    /// Least first.
    Ascending,
    /// Greatest first.
    Descending,
}

/// Ids of all bundles in each order.
#[derive(Debug)]
pub(crate) struct BundleOrders {
    version: BothWays,
    name: BothWays,
    created_at: BothWays,
}

/// An order and its reverse, in which items of equal value are in the same order. Items without a
/// value come last in both.
#[derive(Debug)]
pub(crate) struct BothWays {
    ascending: Box<[u32]>,
    descending: Box<[u32]>,
}

/// Ranks of all bundles, by bundle id. Equal bundles have equal ranks.
#[derive(Debug)]
pub(crate) struct BundleRanks {
    by_version: Box<[Option<u32>]>,
    by_name: Box<[u32]>,
}

impl BundleOrders {
    /// Sorts the bundles of a catalog by version, by name, and by time of creation.
    pub(crate) fn new(
        index: &ContentIndex,
        ranks: &BundleRanks,
        created_at: impl Fn(usize) -> Option<i64>,
    ) -> Self {
        let versions = ranks.by_version();
        let names = ranks.by_name();
        let all = || 0..id(index.bundles.len());
        let mut by_package: Vec<u32> = all().collect();
        // The catalog has the bundles of a package by version.
        by_package.sort_by_key(|&at| (index.bundles[at as usize].package, names[at as usize]));
        Self {
            version: BothWays::new(all(), |at| versions[at]),
            name: BothWays::new(all(), |at| Some(names[at])),
            created_at: BothWays::new(by_package, created_at),
        }
    }
}

impl BundleOrders {
    /// Returns the ids of all bundles, sorted.
    pub(crate) fn sorted(&self, sort: BundleSort, direction: SortDirection) -> &[u32] {
        let order = match sort {
            BundleSort::Version => &self.version,
            BundleSort::Name => &self.name,
            BundleSort::CreatedAt => &self.created_at,
        };
        order.get(direction)
    }
}

impl BothWays {
    /// Sorts ids by a value; those of equal value stay as they come.
    pub(crate) fn new<T: Ord>(
        ids: impl IntoIterator<Item = u32>,
        value: impl Fn(usize) -> Option<T>,
    ) -> Self {
        let (mut sorted, without): (Vec<u32>, Vec<u32>) = ids
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

    /// Returns the ids, sorted.
    pub(crate) fn get(&self, direction: SortDirection) -> &[u32] {
        match direction {
            SortDirection::Ascending => &self.ascending,
            SortDirection::Descending => &self.descending,
        }
    }
}

impl BundleRanks {
    pub(crate) fn new(index: &ContentIndex) -> Self {
        let names = &index.names;
        let versions: Vec<_> = index
            .bundles
            .iter()
            .map(|bundle| {
                let version = names.get_optional(bundle.version);
                BundleVersion::parse(version, names.get_optional(bundle.release))
            })
            .collect();
        let by_version = ranks(versions.len(), |a, b| match (&versions[a], &versions[b]) {
            (Some(a), Some(b)) => a.precedence(b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        let by_version = by_version.iter().zip(&versions);
        let name = |at: usize| names.get(index.bundles[at].name);
        Self {
            by_version: by_version
                .map(|(&rank, version): (_, &Option<BundleVersion<'_>>)| version.map(|_| rank))
                .collect(),
            by_name: ranks(index.bundles.len(), |a, b| name(a).cmp(name(b))),
        }
    }
}

impl BundleRanks {
    pub(crate) fn by_version(&self) -> &[Option<u32>] {
        &self.by_version
    }

    pub(crate) fn by_name(&self) -> &[u32] {
        &self.by_name
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
