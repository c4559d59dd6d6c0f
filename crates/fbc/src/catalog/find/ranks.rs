//! Orders of bundles over all packages, as numbers: comparing two versions takes as long as comparing a hundred ranks.

use std::cmp::Ordering;

use super::super::names::Name;
use super::super::{BundleVersion, Catalog, id};

/// The rank of each bundle, by its place. Equal ones have the same.
#[derive(Debug)]
pub(in crate::catalog) struct BundleRanks {
    by_version: Box<[Option<u32>]>,
    by_name: Box<[u32]>,
}

impl Catalog {
    /// For each bundle, in the order of [`Catalog::bundles`], how many bundles have a lower version or release;
    /// nothing for those without a version.
    pub fn version_ranks(&self) -> &[Option<u32>] {
        &self.bundle_ranks().by_version
    }

    /// For each bundle, in the order of [`Catalog::bundles`], how many bundles have a name before its own.
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
        let names: Vec<Name> = catalog.bundles.iter().map(|bundle| bundle.name).collect();
        let text = |at: usize| catalog.names.get(names[at]);
        Self {
            by_version: by_version
                .map(|(&rank, version): (_, &Option<BundleVersion<'_>>)| version.map(|_| rank))
                .collect(),
            by_name: ranks(names.len(), |a, b| text(a).cmp(text(b))),
        }
    }
}

/// The rank of each of so many things in an order.
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
