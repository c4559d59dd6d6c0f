//! Ranks of bundles by version and by name, over all packages: comparing ranks is a hundred times as fast as comparing
//! versions.

use std::cmp::Ordering;

use super::super::names::Name;
use super::super::{BundleVersion, Catalog, id};

/// Ranks of all bundles, by bundle id. Equal bundles have equal ranks.
#[derive(Debug)]
pub(in crate::catalog) struct BundleRanks {
    by_version: Box<[Option<u32>]>,
    by_name: Box<[u32]>,
}

impl Catalog {
    /// Returns for each bundle, in the order of [`Catalog::bundles`], the number of bundles with a lower version or
    /// release; `None` for bundles without a version.
    pub fn version_ranks(&self) -> &[Option<u32>] {
        &self.bundle_ranks().by_version
    }

    /// Returns for each bundle, in the order of [`Catalog::bundles`], the number of bundles with a smaller name.
    pub fn name_ranks(&self) -> &[u32] {
        &self.bundle_ranks().by_name
    }
}

impl BundleRanks {
    pub(in crate::catalog) fn new(catalog: &Catalog) -> Self {
        let versions: Vec<_> = catalog.bundles().map(|bundle| bundle.key().version).collect();
        let by_version = ranks(versions.len(), |a, b| match (&versions[a], &versions[b]) {
            (Some(a), Some(b)) => a.precedence(b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        let by_version = by_version.iter().zip(&versions);
        let names: Vec<Name> = catalog.index.bundles.iter().map(|bundle| bundle.name).collect();
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
