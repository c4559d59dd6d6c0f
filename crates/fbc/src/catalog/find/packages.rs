//! Which packages meet given conditions.
//!
//! Each package is held once against every condition, and keeps a bit for each that it fails. It is found when it has
//! none; a facet counts it when it has at most the bit of the facet's own condition.

use super::super::record::{HeadRecord, NONE};
use super::super::{Catalog, Package, id};
use super::{ApiFilter, Facet, FacetCounts, FacetValue, PackageFilter};

/// What [`Catalog::find_packages`] found.
#[derive(Clone)]
pub struct FoundPackages<'c> {
    catalog: &'c Catalog,
    /// For each package the conditions that it fails.
    failed: Vec<u16>,
    /// For each package how well it matches; empty when nothing was searched for.
    ranks: Vec<u32>,
}

/// Conditions that no facet ignores.
const OTHER: u16 = 1 << 15;

impl Catalog {
    /// Holds every package against these conditions.
    ///
    /// # Searching
    /// The text to search for is split into words where something else than a letter or a digit stands. Letter case
    /// and accents do not count. Every word must be found: it, or a word that begins with it, is in the name, the
    /// display name, a keyword, the name of the provider or a description, the package's own or that of its metadata.
    /// A word of five letters or more may have one typo: a letter too many, too few or wrong, or two neighbours
    /// exchanged.
    ///
    /// A word's rank is 0 where it is the whole name, then comes what begins a word of the name, of the display name,
    /// of a keyword, of the provider, of a description, and then in the same order what was found with a typo. The rank
    /// of a package is the sum of its words'; 0 also when all words together are its name. It depends on nothing but
    /// the package and the words.
    ///
    /// Of the text the first [`MAX_SEARCH_LETTERS`](super::MAX_SEARCH_LETTERS) letters count, of these the first
    /// [`MAX_SEARCH_WORDS`](super::MAX_SEARCH_WORDS) words, and of a word the first
    /// [`MAX_WORD_LETTERS`](super::MAX_WORD_LETTERS) letters.
    pub fn find_packages<'c>(&'c self, filter: &PackageFilter<'_>) -> FoundPackages<'c> {
        let mut found = FoundPackages { catalog: self, failed: vec![0; self.packages.len()], ranks: Vec::new() };
        if let Some(ranks) = filter.search.and_then(|text| self.search_index().search(self, text)) {
            found.keep(OTHER, |package| ranks[package.place()] != NONE);
            found.ranks = ranks;
        }
        found.keep_listed(OTHER, &filter.names, |package, names| names.contains(package.name()));
        found.keep_listed(Facet::Categories.bit(), &filter.categories, |package, wanted| {
            package.summary().categories().any(|category| wanted.contains(category))
        });
        found.keep_listed(Facet::Providers.bit(), &filter.providers, |package, wanted| {
            package.summary().provider_name().is_some_and(|provider| wanted.contains(provider))
        });
        found.keep_listed(Facet::Keywords.bit(), &filter.keywords, |package, wanted| {
            package.summary().keywords().any(|keyword| wanted.contains(keyword))
        });
        found.keep_listed(Facet::InfrastructureFeatures.bit(), &filter.infrastructure_features, |package, wanted| {
            // A package lists a feature once, so all that are wanted are there when as many are.
            let features = package.summary().infrastructure_features();
            features.filter(|feature| wanted.contains(feature)).count() == wanted.0.len()
        });
        if !filter.capability_levels.is_empty() {
            found.keep(Facet::CapabilityLevels.bit(), |package| {
                package.summary().capability_level().is_some_and(|level| filter.capability_levels.contains(&level))
            });
        }
        if !filter.install_modes.is_empty() {
            found.keep(Facet::InstallModes.bit(), |package| {
                filter.install_modes.iter().any(|&mode| package.summary().install_modes().contains(mode))
            });
        }
        if let Some(api) = filter.provides {
            let providing = self.packages_providing(api);
            found.keep(OTHER, |package| providing.binary_search(&id(package.place())).is_ok());
        }
        if let Some(wanted) = filter.deprecated {
            found.keep(OTHER, |package| package.deprecation().is_some() == wanted);
        }
        found
    }

    /// The packages that provide an API at the head of their default channel, rising.
    fn packages_providing(&self, api: ApiFilter<'_>) -> Vec<u32> {
        let bundles = self.bundle_index().apis.providing(self, api);
        let with_package = bundles.into_iter().map(|bundle| (bundle, self.bundles[bundle as usize].package));
        with_package
            .filter(|&(bundle, package)| self.default_head(package) == Some(bundle))
            .map(|(_, package)| package)
            .collect()
    }

    /// The bundle at the one head of a package's default channel.
    fn default_head(&self, package: u32) -> Option<u32> {
        let channel = self.packages[package as usize].default_channel;
        match self.channels.get(channel as usize)?.head {
            HeadRecord::One(entry) => Some(self.entries[entry as usize].bundle),
            HeadRecord::None | HeadRecord::Several => None,
        }
    }
}

impl<'c> FoundPackages<'c> {
    /// The packages that meet every condition: their places in the order of [`Catalog::packages`], rising, each with
    /// its rank, which is 0 for the best match, and for all when nothing was searched for.
    pub fn matches(&self) -> impl Iterator<Item = (u32, u32)> {
        let places = self.failed.iter().enumerate().filter(|(_, failed)| **failed == 0);
        places.map(|(place, _)| (id(place), self.ranks.get(place).copied().unwrap_or(0)))
    }

    /// Adds the packages that meet every condition but the facet's own.
    pub fn count(&self, facet: Facet, counts: &mut FacetCounts<'c>) {
        let own = facet.bit();
        for (place, _) in self.failed.iter().enumerate().filter(|(_, failed)| **failed & !own == 0) {
            let summary = self.catalog.package_at(place).summary();
            match facet {
                Facet::Categories => counts.add(summary.categories().map(FacetValue::Text)),
                Facet::Providers => counts.add(summary.provider_name().map(FacetValue::Text)),
                Facet::Keywords => counts.add(summary.keywords().map(FacetValue::Text)),
                Facet::CapabilityLevels => counts.add(summary.capability_level().map(FacetValue::CapabilityLevel)),
                Facet::InstallModes => counts.add(summary.install_modes().iter().map(FacetValue::InstallMode)),
                Facet::InfrastructureFeatures => {
                    counts.add(summary.infrastructure_features().map(FacetValue::Text));
                }
            }
        }
    }

    /// Marks the packages that a list of texts is a condition for, and that fail it.
    fn keep_listed(&mut self, bit: u16, texts: &[&str], meets: impl Fn(Package<'c>, &Wanted<'_>) -> bool) {
        if !texts.is_empty() {
            let wanted = Wanted::new(texts);
            self.keep(bit, |package| meets(package, &wanted));
        }
    }

    /// Marks the packages that fail a condition.
    fn keep(&mut self, bit: u16, meets: impl Fn(Package<'c>) -> bool) {
        for (package, failed) in self.catalog.packages().zip(&mut self.failed) {
            if !meets(package) {
                *failed |= bit;
            }
        }
    }
}

impl Facet {
    /// The bit of its condition.
    fn bit(self) -> u16 {
        match self {
            Self::Categories => 1,
            Self::Providers => 2,
            Self::Keywords => 4,
            Self::CapabilityLevels => 8,
            Self::InstallModes => 16,
            Self::InfrastructureFeatures => 32,
        }
    }
}

/// A list of texts to look for, sorted, so that a long one takes little longer.
struct Wanted<'f>(Vec<&'f str>);

impl<'f> Wanted<'f> {
    fn new(texts: &[&'f str]) -> Self {
        let mut texts = texts.to_vec();
        texts.sort_unstable();
        texts.dedup();
        Self(texts)
    }

    fn contains(&self, text: &str) -> bool {
        self.0.binary_search(&text).is_ok()
    }
}
