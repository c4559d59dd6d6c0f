//! Orders of all packages, so that a page of many catalogs sorts none of them.

use crate::ids::id;
use crate::tables::order::SortDirection;

/// Value that packages are sorted by. Their names are the order of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageSort {
    /// Folded display name.
    DisplayName,
    /// When the bundle was created that the metadata comes from, in microseconds.
    CreatedAt,
    /// Capability level.
    CapabilityLevel,
}

/// Ids of all packages in each order and direction.
#[derive(Debug)]
pub(crate) struct PackageOrders([[Box<[u32]>; 2]; 3]);

impl PackageOrders {
    /// Creates the orders; `sorted` sorts the packages.
    pub(crate) fn new(sorted: impl Fn(PackageSort, SortDirection) -> Box<[u32]>) -> Self {
        let sorts = [
            PackageSort::DisplayName,
            PackageSort::CreatedAt,
            PackageSort::CapabilityLevel,
        ];
        let directions = [SortDirection::Ascending, SortDirection::Descending];
        Self(sorts.map(|sort| directions.map(|direction| sorted(sort, direction))))
    }

    /// Returns the ids of all packages, sorted.
    pub(crate) fn get(&self, sort: PackageSort, direction: SortDirection) -> &[u32] {
        &self.0[sort as usize][direction as usize]
    }
}

/// Sorts the packages with these values by id; those of equal value stay in the order of their
/// names, and those without a value come last.
pub(crate) fn sort<T: Ord>(values: &[Option<T>], direction: SortDirection) -> Box<[u32]> {
    let mut sorted: Vec<u32> = (0..id(values.len())).collect();
    sorted.sort_by(|&a, &b| {
        let [a, b] = [a, b].map(|at| values[at as usize].as_ref());
        match (a, b) {
            (Some(a), Some(b)) => match direction {
                SortDirection::Ascending => a.cmp(b),
                SortDirection::Descending => b.cmp(a),
            },
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    });
    sorted.into_boxed_slice()
}
