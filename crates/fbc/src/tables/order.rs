//! Ranks of bundles by version and by name, over all packages: comparing ranks is a hundred times
//! as fast as comparing versions. And the orders of all bundles, so that a page of many catalogs
//! sorts none of them.

use std::cmp::{Ordering, Reverse};
use std::io;
use std::sync::OnceLock;

use crate::array::Array;
use crate::ids::{NONE, id};
use crate::index::ContentIndex;
use crate::key::BundleVersion;
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};

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
    ascending: Array<u32>,
    descending: Array<u32>,
}

/// Ranks of all bundles, by bundle id. Equal bundles have equal ranks.
#[derive(Debug)]
pub(crate) struct BundleRanks {
    /// [`NONE`] for bundles without a version.
    versions: Array<u32>,
    /// The same for callers, made when first asked for.
    by_version: OnceLock<Box<[Option<u32>]>>,
    by_name: Array<u32>,
}

impl BundleOrders {
    /// Sorts the bundles of a catalog by version, by name, and by time of creation.
    pub(crate) fn new(
        index: &ContentIndex,
        ranks: &BundleRanks,
        created_at: impl Fn(usize) -> Option<i64>,
    ) -> Self {
        let versions = &ranks.versions;
        let names = &ranks.by_name;
        let all = || 0..id(index.bundles.len());
        let mut by_package: Vec<u32> = all().collect();
        // The catalog has the bundles of a package by version.
        by_package.sort_by_key(|&at| (index.bundles[at as usize].package, names[at as usize]));
        Self {
            version: BothWays::new(all(), |at| Some(versions[at]).filter(|&rank| rank != NONE)),
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

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        let orders = [&self.version, &self.name, &self.created_at];
        orders.into_iter().try_for_each(|order| {
            sections.array(&order.ascending)?;
            sections.array(&order.descending)
        })
    }

    /// Reads the orders of so many bundles.
    pub(crate) fn read(
        sections: &mut SectionReader,
        bundles: usize,
    ) -> Result<Self, StoredIndexError> {
        let mut order = || -> Result<BothWays, StoredIndexError> {
            Ok(BothWays {
                ascending: sections.ids_of(bundles, bundles)?,
                descending: sections.ids_of(bundles, bundles)?,
            })
        };
        Ok(Self {
            version: order()?,
            name: order()?,
            created_at: order()?,
        })
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
            versions: by_version
                .map(|(&rank, version)| version.map_or(NONE, |_| rank))
                .collect(),
            by_version: OnceLock::new(),
            by_name: Array::new(ranks(index.bundles.len(), |a, b| name(a).cmp(name(b)))),
        }
    }
}

impl BundleRanks {
    pub(crate) fn by_version(&self) -> &[Option<u32>] {
        self.by_version.get_or_init(|| {
            let versions = self.versions.iter();
            versions
                .map(|&rank| Some(rank).filter(|&rank| rank != NONE))
                .collect()
        })
    }

    pub(crate) fn by_name(&self) -> &[u32] {
        &self.by_name
    }

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        sections.array(&self.versions)?;
        sections.array(&self.by_name)
    }

    /// Reads the ranks of so many bundles.
    pub(crate) fn read(
        sections: &mut SectionReader,
        bundles: usize,
    ) -> Result<Self, StoredIndexError> {
        let versions = sections.optional_ids(bundles)?;
        sections.check(versions.len() == bundles)?;
        Ok(Self {
            versions,
            by_version: OnceLock::new(),
            by_name: sections.ids_of(bundles, bundles)?,
        })
    }
}

/// Ranks `count` items by a comparison of their indexes.
fn ranks(count: usize, compare: impl Fn(usize, usize) -> Ordering) -> Vec<u32> {
    let mut sorted: Vec<_> = (0..count).collect();
    sorted.sort_unstable_by(|&a, &b| compare(a, b));
    let mut ranks = vec![0; count];
    let mut rank = 0;
    for (at, &place) in sorted.iter().enumerate() {
        if at > 0 && compare(sorted[at - 1], place).is_ne() {
            rank = id(at);
        }
        ranks[place] = rank;
    }
    ranks
}
