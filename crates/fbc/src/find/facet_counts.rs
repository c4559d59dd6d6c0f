//! Facets: counts of packages by the values of a filter condition.

use hashbrown::HashMap;

use crate::csv_enums::{CapabilityLevel, InstallMode};
use crate::install_verdict::OlmV1Installability;
use crate::tables::search::fold::fold_text;
use crate::work::{Step, Work, WorkStopped};

/// A dimension by which packages are counted; its filter condition is the field of the same name in
/// [`PackageFilter`](crate::PackageFilter).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Facet {
    /// Counts by category.
    Categories,
    /// Counts by short name of the provider.
    Providers,
    /// Counts by keyword.
    Keywords,
    /// Counts by capability level.
    CapabilityLevels,
    /// Counts by install mode.
    InstallModes,
    /// Counts by platform feature.
    InfrastructureFeatures,
    /// Counts by CPU architecture.
    Architectures,
    /// Counts by operating system.
    OperatingSystems,
    /// Counts by subscription.
    ValidSubscriptions,
    /// Counts packages that are certified and those that are not.
    Certified,
    /// Counts packages that are deprecated and those that are not.
    Deprecated,
    /// Counts by whether OLM v1 can install the head of the default channel.
    OlmV1,
}

/// A value of a facet, as the filter accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FacetValue<'c> {
    /// A category, provider or another text.
    Text(&'c str),
    /// A capability level.
    CapabilityLevel(CapabilityLevel),
    /// An install mode.
    InstallMode(InstallMode),
    /// Installability of the package by OLM v1.
    OlmV1(OlmV1Installability),
    /// `true` for packages that meet a condition, `false` for those that do not.
    Boolean(bool),
}

/// Number of packages for each value of one facet, summed over one or several catalogs.
#[derive(Clone, Debug, Default)]
pub struct FacetCounts<'c>(HashMap<FacetValue<'c>, u32>);

impl<'c> FacetCounts<'c> {
    /// Returns at most `first` values with their counts: the most frequent first, equally frequent
    /// ones by value.
    pub fn top(&self, first: usize) -> Vec<(FacetValue<'c>, u32)> {
        let mut values: Vec<_> = self
            .0
            .iter()
            .map(|(&value, &count)| (value, count))
            .collect();
        let order = |a: &(FacetValue<'c>, u32), b: &(FacetValue<'c>, u32)| {
            b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0))
        };
        if first < values.len() {
            // There are thousands of keywords; only the returned ones are sorted.
            values.select_nth_unstable_by(first, order);
            values.truncate(first);
        }
        values.sort_unstable_by(order);
        values
    }

    /// Returns all values with their counts, in the order of their enum; `true` comes before
    /// `false`.
    pub fn in_order(&self) -> Vec<(FacetValue<'c>, u32)> {
        let mut values: Vec<_> = self
            .0
            .iter()
            .map(|(&value, &count)| (value, count))
            .collect();
        values.sort_unstable_by_key(|&(value, _)| match value {
            FacetValue::Boolean(is) => FacetValue::Boolean(!is),
            other => other,
        });
        values
    }

    /// Keeps the texts that contain another text; letter case, accents and marks are ignored.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn search(&mut self, text: &str, work: &Work<'_>) -> Result<(), WorkStopped> {
        let wanted = fold_text(text);
        for (value, _) in &self.0 {
            if let FacetValue::Text(text) = value {
                work.draw(Step::ParsedByte, text.len())?;
            }
        }
        self.0.retain(|value, _| match value {
            FacetValue::Text(text) => fold_text(text).contains(&wanted),
            _ => true,
        });
        Ok(())
    }

    /// Adds `count` packages with a value.
    pub fn add_many(&mut self, value: FacetValue<'c>, count: u32) {
        if count > 0 {
            *self.0.entry(value).or_default() += count;
        }
    }

    /// Adds one package with distinct values.
    pub(super) fn add(&mut self, values: impl IntoIterator<Item = FacetValue<'c>>) {
        values
            .into_iter()
            .for_each(|value| *self.0.entry(value).or_default() += 1);
    }
}
