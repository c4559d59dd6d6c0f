//! Filters packages.
//!
//! Each package is tested against every condition and gets a bit for each that it fails. It matches
//! when it has no bit; a facet counts it when it has at most the bit of the facet's own condition.

use crate::bundle::Bundle;
use crate::catalog::Catalog;
use crate::find::facet_counts::FacetCounts;
use crate::find::filter::PackageFilter;
use crate::gvk::ApiFilter;
use crate::ids::{NONE, id};
use crate::install_verdict::OlmV1Installability;
use crate::package::Package;
use crate::platform::Platform;
use crate::record::HeadRecord;
use crate::tables::facets::{Facet, FacetTable, FacetValue};
use crate::tables::search::SearchMatch;
use crate::work::{CHUNK, Step, Work, WorkStopped, sort_steps};

/// Result of [`Catalog::find_packages`].
#[derive(Clone)]
pub struct FoundPackages<'c> {
    catalog: &'c Catalog,
    /// Bits of the conditions that each package fails.
    failed: Vec<u16>,
    /// Bits of the search match of each package; empty without a query.
    ranks: Vec<u32>,
}

/// Bit of the conditions without a facet.
const NOT_A_FACET: u16 = 1 << 15;

impl Catalog {
    /// Tests every package against the conditions.
    ///
    /// # Searching
    /// The query is split into words at everything but letters and digits. Letter case and accents
    /// are ignored. Every word must match: the name, display name, keywords, name of the provider,
    /// or a description (of the package or of its metadata) must have a word that begins with it.
    /// Words of five letters or more may have one typo: an additional, missing or wrong letter, or
    /// two transposed letters.
    ///
    /// Names and display names also match without what is between their words: `certmanager` and
    /// `cert manager` find `cert-manager`, and `argo cd` finds `argocd-operator`. The words
    /// `operator` and `community` tell no package from another: `redis operator` finds `redis`.
    ///
    /// The distance of a word is 0 if it is the whole name or the whole display name but for these
    /// generic words. It is higher for the beginning of a word in the name, the display name, a
    /// keyword, the provider, a description, and then in the same order for matches with a typo.
    /// The distance of a package is the sum over the words, or the distance of all words as one if
    /// that is less. A package with a lower distance has a better rank; of two with the same
    /// distance, the one with the shorter display name. The rank is 0 if all words together are the
    /// name. It depends on the package and the query only.
    ///
    /// Only the first [`MAX_SEARCH_LETTERS`](crate::MAX_SEARCH_LETTERS) letters of the query count,
    /// of these the first [`MAX_SEARCH_WORDS`](crate::MAX_SEARCH_WORDS) words, and of a word the
    /// first [`MAX_WORD_LETTERS`](crate::MAX_WORD_LETTERS) letters.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn find_packages<'c>(
        &'c self,
        filter: &PackageFilter<'_>,
        work: &Work<'_>,
    ) -> Result<FoundPackages<'c>, WorkStopped> {
        work.draw(Step::Package, self.index.packages.len())?;
        let mut found = Filtering {
            found: FoundPackages::all(self),
            work,
        };
        found.search(filter)?;
        found.mark_failing_list(NOT_A_FACET, &filter.names, |package, names| {
            names.contains(package.name())
        })?;
        found.mark_failing_list(
            Facet::Categories.bit(),
            &filter.categories,
            |package, wanted| {
                package
                    .summary()
                    .categories()
                    .any(|category| wanted.contains(category))
            },
        )?;
        found.mark_failing_list(
            Facet::Providers.bit(),
            &filter.providers,
            |package, wanted| {
                let summary = package.summary();
                let names = [summary.provider_name(), summary.provider_short_name()];
                names
                    .into_iter()
                    .flatten()
                    .any(|provider| wanted.contains(provider))
            },
        )?;
        found.mark_failing_list(
            Facet::Keywords.bit(),
            &filter.keywords,
            |package, wanted| {
                package
                    .summary()
                    .keywords()
                    .any(|keyword| wanted.contains(keyword))
            },
        )?;
        found.mark_failing_list(
            Facet::InfrastructureFeatures.bit(),
            &filter.infrastructure_features,
            |package, wanted| {
                // A package lists each feature once, so equal numbers mean that all wanted features
                // are there.
                let features = package.summary().infrastructure_features();
                features.filter(|feature| wanted.contains(feature)).count() == wanted.0.len()
            },
        )?;
        found.mark_failing_list(
            Facet::Architectures.bit(),
            &filter.architectures,
            |package, wanted| {
                package
                    .summary()
                    .architectures()
                    .any(|name| wanted.contains(name))
            },
        )?;
        found.mark_failing_list(
            Facet::OperatingSystems.bit(),
            &filter.operating_systems,
            |package, wanted| {
                package
                    .summary()
                    .operating_systems()
                    .any(|name| wanted.contains(name))
            },
        )?;
        found.mark_failing_list(
            Facet::ValidSubscriptions.bit(),
            &filter.valid_subscriptions,
            |package, wanted| {
                package
                    .summary()
                    .valid_subscriptions()
                    .any(|name| wanted.contains(name))
            },
        )?;
        found.mark_failing_scalars(filter)?;
        Ok(found.found)
    }

    /// Counts all packages by the values of a facet, as [`FoundPackages::count`] does without
    /// conditions. But for OLM v1, it adds numbers that the catalog keeps.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn count_packages<'c>(
        &'c self,
        facet: Facet,
        counts: &mut FacetCounts<'c>,
        work: &Work<'_>,
    ) -> Result<(), WorkStopped> {
        if facet == Facet::OlmV1 {
            return FoundPackages::all(self).count(facet, counts, work);
        }
        let table = self.facet_table();
        work.draw(Step::FacetValue, table.len(facet))?;
        for (value, count) in table.values(facet) {
            counts.add_many(value, count);
        }
        Ok(())
    }

    pub(crate) fn facet_table(&self) -> &FacetTable {
        self.tables.facets.get_or_init(|| {
            FacetTable::new(|facet| {
                let mut counts = FacetCounts::default();
                // The verdicts of OLM v1 may have to be made, which the caller pays for.
                if facet != Facet::OlmV1 {
                    FoundPackages::all(self)
                        .count(facet, &mut counts, &Work::unlimited())
                        .expect("unlimited work is not stopped");
                }
                counts.in_order()
            })
        })
    }

    /// Returns the packages that provide an API at the head of their default channel, ascending.
    fn packages_providing(&self, api: ApiFilter<'_>) -> Vec<u32> {
        let bundles = self.bundle_index().apis.providing(&self.index, api);
        let with_package = bundles
            .into_iter()
            .map(|bundle| (bundle, self.index.bundles[bundle as usize].package));
        with_package
            .filter(|&(bundle, package)| self.default_head(package) == Some(bundle))
            .map(|(_, package)| package)
            .collect()
    }

    /// Returns the packages with a bundle that runs on a platform, ascending.
    fn packages_running_on(
        &self,
        platform: &Platform<'_>,
        work: &Work<'_>,
    ) -> Result<Vec<u32>, WorkStopped> {
        let mut found = Vec::new();
        for package in self.packages() {
            for bundle in package.bundles() {
                if bundle.runs_on(platform, work)? {
                    found.push(id(package.place()));
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Returns whether OLM v1 can install each package: the only head of its default channel.
    fn olm_v1_of_packages(&self, work: &Work<'_>) -> Result<Vec<OlmV1Installability>, WorkStopped> {
        let packages = 0..id(self.index.packages.len());
        packages
            .map(|package| match self.default_head(package) {
                Some(bundle) if bundle != NONE => {
                    Bundle::new(self, bundle).olm_v1_installability(work)
                }
                _ => Ok(OlmV1Installability::Unknown),
            })
            .collect()
    }

    /// Returns the bundle at the only head of a package's default channel.
    fn default_head(&self, package: u32) -> Option<u32> {
        let channel = self.index.packages[package as usize].default_channel;
        match self.index.channels.get(channel as usize)?.head.get() {
            HeadRecord::One(entry) => Some(self.index.entries[entry as usize].bundle),
            HeadRecord::None | HeadRecord::Several => None,
        }
    }
}

impl<'c> FoundPackages<'c> {
    /// All packages of a catalog.
    fn all(catalog: &'c Catalog) -> Self {
        Self {
            catalog,
            failed: vec![0; catalog.index.packages.len()],
            ranks: Vec::new(),
        }
    }

    /// Iterates over the packages that meet every condition: their indexes in the order of
    /// [`Catalog::packages`], ascending, each with its match.
    pub fn matches(&self) -> impl DoubleEndedIterator<Item = (u32, SearchMatch)> {
        let places = 0..id(self.failed.len());
        places.filter_map(|place| Some((place, self.match_of(place)?)))
    }

    /// Returns how a package, by its index in the order of [`Catalog::packages`], was found; `None`
    /// if it fails a condition.
    ///
    /// # Panics
    /// Panics when the index is out of range.
    pub fn match_of(&self, place: u32) -> Option<SearchMatch> {
        let place = place as usize;
        let rank = self.ranks.get(place).copied();
        (self.failed[place] == 0)
            .then(|| rank.map_or_else(SearchMatch::default, SearchMatch::from_bits))
    }

    /// Counts the packages that meet every condition except the facet's own.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn count(
        &self,
        facet: Facet,
        counts: &mut FacetCounts<'c>,
        work: &Work<'_>,
    ) -> Result<(), WorkStopped> {
        let own = facet.bit();
        work.draw(Step::Package, self.failed.len())?;
        let installabilities = match facet {
            Facet::OlmV1 => self.catalog.olm_v1_of_packages(work)?,
            _ => Vec::new(),
        };
        for (place, failed) in self.failed.iter().enumerate() {
            if place.is_multiple_of(CHUNK) {
                work.draw(Step::FacetValue, CHUNK)?;
            }
            if failed & !own != 0 {
                continue;
            }
            let summary = self.catalog.package_at(place).summary();
            match facet {
                Facet::Categories => counts.add(summary.categories().map(FacetValue::Text)),
                Facet::Providers => counts.add(summary.provider_short_name().map(FacetValue::Text)),
                Facet::Keywords => {
                    work.draw(Step::FacetValue, summary.keywords().len())?;
                    counts.add(summary.keywords().map(FacetValue::Text));
                }
                Facet::CapabilityLevels => {
                    counts.add(summary.capability_level().map(FacetValue::CapabilityLevel));
                }
                Facet::InstallModes => {
                    counts.add(summary.install_modes().iter().map(FacetValue::InstallMode));
                }
                Facet::InfrastructureFeatures => {
                    counts.add(summary.infrastructure_features().map(FacetValue::Text));
                }
                Facet::Architectures => counts.add(summary.architectures().map(FacetValue::Text)),
                Facet::OperatingSystems => {
                    counts.add(summary.operating_systems().map(FacetValue::Text));
                }
                Facet::ValidSubscriptions => {
                    counts.add(summary.valid_subscriptions().map(FacetValue::Text));
                }
                Facet::OlmV1 => counts.add([FacetValue::OlmV1(installabilities[place])]),
                Facet::Certified => counts.add(summary.certified().map(FacetValue::Boolean)),
                Facet::Deprecated => {
                    counts.add([FacetValue::Boolean(
                        self.catalog.package_at(place).deprecation().is_some(),
                    )]);
                }
            }
        }
        Ok(())
    }
}

/// Packages that are being filtered.
struct Filtering<'w, 'c> {
    found: FoundPackages<'c>,
    work: &'w Work<'w>,
}

impl<'c> Filtering<'_, 'c> {
    /// Marks the packages that a search does not find, and ranks the others.
    fn search(&mut self, filter: &PackageFilter<'_>) -> Result<(), WorkStopped> {
        let Some(query) = &filter.search else {
            return Ok(());
        };
        let catalog = self.found.catalog;
        let name = |package| catalog.index.package_name(package);
        if let Some(ranks) = catalog.search_index().search(name, query, self.work)? {
            self.mark_failing(NOT_A_FACET, |package| ranks[package.place()] != NONE)?;
            self.found.ranks = ranks;
        }
        Ok(())
    }

    /// Marks the packages that fail a condition with a list of texts, unless the list is empty.
    fn mark_failing_list(
        &mut self,
        bit: u16,
        texts: &[&str],
        meets: impl Fn(Package<'c>, &SortedTexts<'_>) -> bool,
    ) -> Result<(), WorkStopped> {
        if texts.is_empty() {
            return Ok(());
        }
        self.work.draw(Step::SortStep, sort_steps(texts.len()))?;
        let wanted = SortedTexts::new(texts);
        self.mark_failing(bit, |package| meets(package, &wanted))
    }

    /// Marks the packages that fail a condition without a list of texts.
    fn mark_failing_scalars(&mut self, filter: &PackageFilter<'_>) -> Result<(), WorkStopped> {
        if !filter.capability_levels.is_empty() {
            self.mark_failing(Facet::CapabilityLevels.bit(), |package| {
                package
                    .summary()
                    .capability_level()
                    .is_some_and(|level| filter.capability_levels.contains(&level))
            })?;
        }
        if !filter.install_modes.is_empty() {
            self.mark_failing(Facet::InstallModes.bit(), |package| {
                filter
                    .install_modes
                    .iter()
                    .any(|&mode| package.summary().install_modes().contains(mode))
            })?;
        }
        if let Some(api) = filter.provides {
            let providing = self.found.catalog.packages_providing(api);
            self.work.draw(Step::Bundle, providing.len())?;
            self.mark_failing(NOT_A_FACET, |package| {
                providing.binary_search(&id(package.place())).is_ok()
            })?;
        }
        if let Some(platform) = filter.platform {
            let compatible = self
                .found
                .catalog
                .packages_running_on(&platform, self.work)?;
            self.mark_failing(NOT_A_FACET, |package| {
                compatible.binary_search(&id(package.place())).is_ok()
            })?;
        }
        if !filter.olm_v1.is_empty() {
            let installabilities = self.found.catalog.olm_v1_of_packages(self.work)?;
            self.mark_failing(Facet::OlmV1.bit(), |package| {
                filter.olm_v1.contains(&installabilities[package.place()])
            })?;
        }
        if let Some(wanted) = filter.deprecated {
            self.mark_failing(Facet::Deprecated.bit(), |package| {
                package.deprecation().is_some() == wanted
            })?;
        }
        if let Some(wanted) = filter.certified {
            self.mark_failing(Facet::Certified.bit(), |package| {
                package.summary().certified() == Some(wanted)
            })?;
        }
        if let Some(severity) = filter.problem_severity {
            self.mark_failing(NOT_A_FACET, |package| {
                package.problem_counts().has_at_least(severity)
            })?;
        }
        Ok(())
    }

    /// Marks the packages that fail a condition.
    fn mark_failing(
        &mut self,
        bit: u16,
        meets: impl Fn(Package<'c>) -> bool,
    ) -> Result<(), WorkStopped> {
        for (place, (package, failed)) in self
            .found
            .catalog
            .packages()
            .zip(&mut self.found.failed)
            .enumerate()
        {
            if place.is_multiple_of(CHUNK) {
                self.work.draw(Step::Package, CHUNK)?;
            }
            if !meets(package) {
                *failed |= bit;
            }
        }
        Ok(())
    }
}

impl Facet {
    /// Returns the bit of its condition.
    fn bit(self) -> u16 {
        match self {
            Self::Categories => 1,
            Self::Providers => 2,
            Self::Keywords => 4,
            Self::CapabilityLevels => 8,
            Self::InstallModes => 16,
            Self::InfrastructureFeatures => 32,
            Self::Architectures => 64,
            Self::OperatingSystems => 128,
            Self::ValidSubscriptions => 256,
            Self::Certified => 512,
            Self::Deprecated => 1024,
            Self::OlmV1 => 2048,
        }
    }
}

/// Sorted texts for binary search, so that long lists stay cheap.
struct SortedTexts<'f>(Vec<&'f str>);

impl<'f> SortedTexts<'f> {
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
