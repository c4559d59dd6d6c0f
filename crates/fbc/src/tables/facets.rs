//! Facets of all packages: how many have each value, so that the facets of many catalogs are summed
//! and no package is visited.

use crate::csv_enums::{CapabilityLevel, InstallMode};
use crate::install_verdict::OlmV1Installability;
use crate::names::{Name, NameInterner, NameTable};

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

/// Numbers of packages by the values of each facet but that of OLM v1, whose verdicts are made one
/// by one.
#[derive(Debug)]
pub(crate) struct FacetTable {
    names: NameTable,
    /// By facet.
    facets: [ValueCounts; Facet::ALL.len()],
}

/// Values of one facet with the number of packages that have each.
#[derive(Debug)]
struct ValueCounts {
    texts: Box<[(Name, u32)]>,
    others: Box<[(FacetValue<'static>, u32)]>,
}

impl Facet {
    /// All facets.
    const ALL: [Self; 12] = [
        Self::Categories,
        Self::Providers,
        Self::Keywords,
        Self::CapabilityLevels,
        Self::InstallModes,
        Self::InfrastructureFeatures,
        Self::Architectures,
        Self::OperatingSystems,
        Self::ValidSubscriptions,
        Self::Certified,
        Self::Deprecated,
        Self::OlmV1,
    ];
}

impl FacetTable {
    /// Creates the table; `count` counts the packages by the values of a facet.
    pub(crate) fn new<'c>(count: impl Fn(Facet) -> Vec<(FacetValue<'c>, u32)>) -> Self {
        let mut names = NameInterner::new();
        let facets = Facet::ALL.map(|facet| {
            let mut texts = Vec::new();
            let mut others = Vec::new();
            for (value, count) in count(facet) {
                match value {
                    FacetValue::Text(text) => {
                        texts.push((names.intern(text.to_owned().into()), count));
                    }
                    FacetValue::CapabilityLevel(level) => {
                        others.push((FacetValue::CapabilityLevel(level), count));
                    }
                    FacetValue::InstallMode(mode) => {
                        others.push((FacetValue::InstallMode(mode), count));
                    }
                    FacetValue::OlmV1(value) => others.push((FacetValue::OlmV1(value), count)),
                    FacetValue::Boolean(is) => others.push((FacetValue::Boolean(is), count)),
                }
            }
            ValueCounts {
                texts: texts.into(),
                others: others.into(),
            }
        });
        Self {
            names: names.finish(),
            facets,
        }
    }

    /// Number of values of a facet.
    pub(crate) fn len(&self, facet: Facet) -> usize {
        let counts = &self.facets[facet as usize];
        counts.texts.len() + counts.others.len()
    }

    /// Iterates over the values of a facet with their numbers of packages.
    pub(crate) fn values(&self, facet: Facet) -> impl Iterator<Item = (FacetValue<'_>, u32)> {
        let ValueCounts { texts, others } = &self.facets[facet as usize];
        let texts = texts
            .iter()
            .map(|&(name, count)| (FacetValue::Text(self.names.get(name)), count));
        texts.chain(others.iter().copied())
    }
}
