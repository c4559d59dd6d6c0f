//! Facets: how packages are spread over the values one can filter them by.

use hashbrown::HashMap;

use super::super::{CapabilityLevel, InstallMode};

/// A kind of value that packages are counted by; its condition is the one of the same name in
/// [`PackageFilter`](super::PackageFilter).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Facet {
    /// By category.
    Categories,
    /// By name of the provider.
    Providers,
    /// By keyword.
    Keywords,
    /// By capability level.
    CapabilityLevels,
    /// By install mode.
    InstallModes,
    /// By platform feature.
    InfrastructureFeatures,
}

/// A value that packages are counted by, as the filter takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FacetValue<'c> {
    /// A category, provider, keyword or platform feature.
    Text(&'c str),
    /// A capability level.
    CapabilityLevel(CapabilityLevel),
    /// An install mode.
    InstallMode(InstallMode),
}

/// How many packages have each value of one facet. It adds up over several catalogs.
#[derive(Clone, Debug, Default)]
pub struct FacetCounts<'c>(HashMap<FacetValue<'c>, u32>);

impl<'c> FacetCounts<'c> {
    /// At most this many values, the most frequent first and equally frequent ones by value.
    pub fn top(&self, first: usize) -> Vec<(FacetValue<'c>, u32)> {
        let mut values: Vec<_> = self.0.iter().map(|(&value, &count)| (value, count)).collect();
        let order = |a: &(FacetValue<'c>, u32), b: &(FacetValue<'c>, u32)| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0));
        if first < values.len() {
            // Of thousands of keywords only those that are shown are worth sorting.
            values.select_nth_unstable_by(first, order);
            values.truncate(first);
        }
        values.sort_unstable_by(order);
        values
    }

    /// Adds so many packages that have this value.
    pub fn add_many(&mut self, value: FacetValue<'c>, count: u32) {
        if count > 0 {
            *self.0.entry(value).or_default() += count;
        }
    }

    /// Adds a package that has these values, each named once.
    pub(super) fn add(&mut self, values: impl IntoIterator<Item = FacetValue<'c>>) {
        values.into_iter().for_each(|value| *self.0.entry(value).or_default() += 1);
    }
}
