//! The entries that can serve a subscription or meet a requirement, in OLM v0's order of preference.

use std::collections::HashSet;
use std::rc::Rc;

use fbc::work::{Step, sort_steps};
use fbc::{ApiFilter, Bundle, BundleFilter, Catalog, Channel, ChannelEntry, Package};
use fbc_grammar::range::BlangRange;
use fbc_grammar::version::Version;
use fbc_graph::channel_order::ChannelOrderError;

use super::{CatalogChannel, ChannelEntrySet, EntryId, EntryOrigin, SortedEntries, Universe};
use crate::budget::SolveBudget;
use crate::error::SolveError;
use crate::request::{PackageSubscription, SolvePolicy};
use crate::requirement::Predicate;

/// Extent of the search for candidates of a requirement that any bundle of a catalog may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CandidateSearch {
    /// The search ends after this number of candidates.
    First(usize),
    /// The search covers all bundles.
    All,
}

/// The entries that a subscription can choose from.
pub(crate) enum CandidateSet {
    /// Entries, best first.
    Entries(Vec<EntryId>),
    /// There are none, with upstream's message.
    Nothing(String),
    /// A channel cannot be ordered, with upstream's message.
    Unordered(String),
    /// The subscription is malformed by the rules of OLM v1.
    Invalid(String),
}

/// The last stage of the search for a subscription at which something was found. It determines
/// upstream's message if there are no entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SearchStage {
    /// No matching catalog has any package.
    Start,
    /// A matching catalog has packages.
    Catalog,
    /// The package has entries in another channel.
    Package,
    /// The channel has entries, but not the `startingCSV`.
    Channel,
    /// There are entries.
    Entries,
}

/// The entries of one channel that a subscription can choose from.
struct ChannelCandidates {
    stage: SearchStage,
    entries: Result<Vec<EntryId>, ChannelOrderError>,
}

impl<'a> Universe<'a> {
    /// Returns the entries that a subscription can choose from. `installed` is its installed
    /// operator.
    pub(crate) fn subscription_candidates(
        &mut self,
        subscription: &'a PackageSubscription,
        installed: Option<EntryId>,
        budget: &SolveBudget<'_>,
    ) -> Result<CandidateSet, SolveError<'static>> {
        if self.request.policy == SolvePolicy::OlmV1 {
            return self.extension_candidate_set(subscription, installed, budget);
        }
        let mut catalogs = self.catalogs_by_preference(None);
        catalogs.retain(|&at| subscription.allows(self.catalogs[at]));
        let mut stage = SearchStage::Start;
        let mut entries = Vec::new();
        for at in catalogs {
            let catalog = self.catalogs[at].catalog;
            if catalog.packages().len() > 0 {
                stage = stage.max(SearchStage::Catalog);
            }
            let Some(package) = catalog.package(&subscription.package) else {
                continue;
            };
            for channel in Self::sorted_channels(package) {
                let channel = CatalogChannel {
                    catalog: at,
                    channel,
                };
                let is_new = installed.is_none();
                let found = self.channel_candidates(channel, subscription, is_new, budget)?;
                stage = stage.max(found.stage);
                match found.entries {
                    Ok(found) => entries.extend(found),
                    Err(error) => return Ok(CandidateSet::Unordered(error.to_string())),
                }
            }
        }
        if entries.is_empty() && stage < SearchStage::Entries {
            return Ok(CandidateSet::Nothing(nothing_found(subscription, stage)));
        }
        if let Some(installed) = installed {
            entries = self.upgrades(installed, &entries, budget)?;
        }
        Ok(CandidateSet::Entries(entries))
    }

    /// Returns the entries of a channel that a subscription can choose from, best first. `is_new`
    /// means that nothing is installed for it.
    fn channel_candidates(
        &mut self,
        channel: CatalogChannel<'a>,
        subscription: &PackageSubscription,
        is_new: bool,
        budget: &SolveBudget<'_>,
    ) -> Result<ChannelCandidates, SolveError<'static>> {
        let found = |stage, entries| Ok(ChannelCandidates { stage, entries });
        if !subscription.channel.is_empty() && subscription.channel != channel.channel.name() {
            return found(SearchStage::Package, Ok(Vec::new()));
        }

        let ChannelEntrySet { all, sorted } = self.channel_entries(channel, budget)?;
        let mut own = all.to_vec();
        // Upstream selects entries by their `olm.package` property, which may differ from the package
        // of the blob.
        own.retain(|&id| {
            let stated = &self.entries[id].properties;
            stated.package().is_none()
                || stated
                    .stated_packages()
                    .iter()
                    .any(|name| *name == subscription.package)
        });
        if own.is_empty() {
            return found(SearchStage::Catalog, Ok(own));
        }

        if is_new && !subscription.starting_csv.is_empty() {
            own.retain(|&id| self.entries[id].name == subscription.starting_csv);
            if own.is_empty() {
                return found(SearchStage::Channel, Ok(own));
            }
            let sorted = self.sort(&own, channel.channel, budget)?;
            return found(SearchStage::Entries, sorted);
        }
        let sorted = if own.len() == all.len() {
            sorted.map(|ids| ids.to_vec())
        } else {
            self.sort(&own, channel.channel, budget)?
        };
        found(SearchStage::Entries, sorted)
    }

    /// Returns those of the entries that an installed operator can be upgraded to.
    fn upgrades(
        &self,
        installed: EntryId,
        entries: &[EntryId],
        budget: &SolveBudget<'_>,
    ) -> Result<Vec<EntryId>, SolveError<'static>> {
        let EntryOrigin::Installed { operator, .. } = self.entries[installed].source else {
            return Ok(Vec::new());
        };
        budget.draw(Step::ParsedByte, operator.version.len())?;
        let version = Version::parse(&operator.version).ok();
        let mut upgrades = Vec::new();
        for &id in entries {
            let EntryOrigin::Catalog { entry, .. } = self.entries[id].source else {
                continue;
            };
            budget.draw(Step::Edge, 1 + entry.skips().len())?;
            let replaces = entry.replaces() == Some(&operator.name);
            if replaces
                || entry.skips().any(|name| name == operator.name)
                || is_skipped(entry, version, budget)?
            {
                upgrades.push(id);
            }
        }
        Ok(upgrades)
    }

    /// Returns the entries that can meet a requirement. Those of the catalog `own` come first.
    pub(crate) fn requirement_candidates(
        &mut self,
        requirement: usize,
        own: Option<usize>,
        budget: &SolveBudget<'_>,
    ) -> Result<SortedEntries, SolveError<'static>> {
        if let Some(known) = self.candidates.get(&(requirement, own)) {
            return Ok(known.clone());
        }
        let mut found = self.installed_candidates(requirement, budget)?;
        let limit = self.candidate_limit(requirement);
        if self.request.policy == SolvePolicy::OlmV1 {
            found.extend(self.extension_candidates(requirement, limit, budget)?);
            self.candidates
                .insert((requirement, own), Ok(Rc::from(&*found)));
            return Ok(Ok(found.into()));
        }
        let is_mandatory = |&id: &EntryId| {
            matches!(
                self.entries[id].source,
                EntryOrigin::Installed {
                    subscription: None,
                    ..
                }
            )
        };
        // Such an operator is chosen before everything else, and serves every requirement that it
        // meets: no other candidate would be chosen.
        if limit < usize::MAX && found.iter().any(is_mandatory) {
            self.truncated.insert(requirement);
            return Ok(Ok(found.into()));
        }
        let mut unordered = None;
        'catalogs: for at in self.catalogs_by_preference(own) {
            for channel in self.channels_meeting(requirement, at, budget)? {
                if found.len() >= limit {
                    self.truncated.insert(requirement);
                    break 'catalogs;
                }
                let channel = CatalogChannel {
                    catalog: at,
                    channel,
                };
                match self.entries_meeting(requirement, channel, budget)? {
                    Ok(entries) => found.extend(entries),
                    Err(error) => unordered = unordered.or(Some(error)),
                }
            }
        }
        let found: SortedEntries = unordered.map_or_else(|| Ok(Rc::from(found)), Err);
        self.candidates.insert((requirement, own), found.clone());
        Ok(found)
    }

    /// Returns the number of candidates at which the search for further ones ends.
    fn candidate_limit(&self, requirement: usize) -> usize {
        match self.search {
            CandidateSearch::First(limit)
                if is_met_anywhere(&self.requirements[requirement].predicate) =>
            {
                limit
            }
            _ => usize::MAX,
        }
    }

    /// Returns the installed operators that meet a requirement, by package and name.
    fn installed_candidates(
        &self,
        requirement: usize,
        budget: &SolveBudget<'_>,
    ) -> Result<Vec<EntryId>, SolveError<'static>> {
        // Upstream takes only one of several operators with the same package and subscription.
        let mut sources = HashSet::new();
        let mut found = self.meeting(requirement, &self.installed, budget)?;
        found.retain(|&id| {
            let EntryOrigin::Installed { subscription, .. } = self.entries[id].source else {
                return false;
            };
            sources.insert((self.entries[id].properties.package(), subscription))
        });
        budget.draw(Step::SortStep, sort_steps(found.len()))?;
        let key = |id: EntryId| (self.entries[id].properties.package(), self.entries[id].name);
        found.sort_by(|&one, &other| key(one).cmp(&key(other)));
        Ok(found)
    }

    /// Returns those of the entries that meet a requirement.
    fn meeting(
        &self,
        requirement: usize,
        ids: &[EntryId],
        budget: &SolveBudget<'_>,
    ) -> Result<Vec<EntryId>, SolveError<'static>> {
        let predicate = &self.requirements[requirement].predicate;
        let mut found = Vec::new();
        for &id in ids {
            if predicate.holds(&self.entries[id].properties, budget)? {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// Returns the channels of a catalog with a bundle that meets a requirement, in order of
    /// preference: default channels first, then by package and name. If the search has a limit,
    /// returns all channels.
    fn channels_meeting(
        &mut self,
        requirement: usize,
        at: usize,
        budget: &SolveBudget<'_>,
    ) -> Result<Vec<Channel<'a>>, SolveError<'static>> {
        let catalog: &'a Catalog = self.catalogs[at].catalog;
        let mut channels: Vec<Channel<'a>> = Vec::new();
        if self.candidate_limit(requirement) == usize::MAX {
            for bundle in self.bundles_meeting(requirement, at, budget)? {
                budget.draw(Step::Edge, bundle.channel_entries().len())?;
                channels.extend(bundle.channel_entries().map(ChannelEntry::channel));
            }
        } else {
            channels.extend(catalog.packages().flat_map(Package::channels));
            budget.draw(Step::Edge, channels.len())?;
        }
        budget.draw(Step::SortStep, sort_steps(channels.len()))?;
        channels.sort_by_key(|channel| {
            (
                !channel.is_default(),
                channel.package().place(),
                channel.name(),
            )
        });
        channels.dedup_by_key(|channel| (channel.package().place(), channel.name()));
        Ok(channels)
    }

    /// Returns the entries of a channel that meet a requirement, best first, or upstream's message
    /// if they cannot be ordered.
    fn entries_meeting(
        &mut self,
        requirement: usize,
        channel: CatalogChannel<'a>,
        budget: &SolveBudget<'_>,
    ) -> Result<Result<Vec<EntryId>, ChannelOrderError>, SolveError<'static>> {
        // Reading and sorting a channel takes longer than testing that none of its bundles is a
        // candidate.
        let is_known_to_meet = self.candidate_limit(requirement) == usize::MAX;
        if !is_known_to_meet && !self.is_met_in(requirement, channel, budget)? {
            return Ok(Ok(Vec::new()));
        }
        match self.channel_entries(channel, budget)?.sorted {
            Ok(sorted) => Ok(Ok(self.meeting(requirement, &sorted, budget)?)),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Returns whether a bundle of a channel meets a requirement.
    fn is_met_in(
        &mut self,
        requirement: usize,
        channel: CatalogChannel<'a>,
        budget: &SolveBudget<'_>,
    ) -> Result<bool, SolveError<'static>> {
        let bundles = channel.channel.entries().filter_map(ChannelEntry::bundle);
        for bundle in bundles {
            budget.draw(Step::Edge, 1)?;
            // A bundle may be in many channels.
            let key = (requirement, channel.catalog, bundle.place());
            if self.unmet.contains(&key) {
                continue;
            }
            if self.meets(requirement, channel.catalog, bundle, budget)? {
                return Ok(true);
            }
            self.unmet.insert(key);
        }
        Ok(false)
    }

    /// Returns the bundles of a catalog that meet a requirement, in catalog order.
    fn bundles_meeting(
        &mut self,
        requirement: usize,
        at: usize,
        budget: &SolveBudget<'_>,
    ) -> Result<Vec<Bundle<'a>>, SolveError<'static>> {
        let mut found = Vec::new();
        for bundle in self.bundles_to_test(requirement, at, budget)? {
            if self.meets(requirement, at, bundle, budget)? {
                found.push(bundle);
            }
        }
        Ok(found)
    }

    /// Returns the bundles of a catalog that may meet a requirement, in catalog order.
    pub(super) fn bundles_to_test(
        &self,
        requirement: usize,
        at: usize,
        budget: &SolveBudget<'_>,
    ) -> Result<Vec<Bundle<'a>>, SolveError<'static>> {
        let catalog: &'a Catalog = self.catalogs[at].catalog;
        let places = candidate_places(&self.requirements[requirement].predicate, catalog, budget)?;
        Ok(places
            .into_iter()
            .map(|place| catalog.bundle_at(place as usize))
            .collect())
    }

    /// Returns whether a bundle meets a requirement.
    pub(super) fn meets(
        &mut self,
        requirement: usize,
        at: usize,
        bundle: Bundle<'a>,
        budget: &SolveBudget<'_>,
    ) -> Result<bool, SolveError<'static>> {
        let properties = self.read_properties(at, bundle, budget)?;
        self.requirements[requirement]
            .predicate
            .holds(&properties, budget)
    }

    /// Returns the catalogs in order of preference: `own` first, then by priority, those of the own
    /// namespace before others, then by name.
    pub(super) fn catalogs_by_preference(&self, own: Option<usize>) -> Vec<usize> {
        let mut catalogs = self.visible_catalogs.clone();
        catalogs.sort_by_key(|&at| {
            let catalog = self.catalogs[at];
            let is_foreign = catalog.namespace != self.request.own_namespace();
            (
                Some(at) != own,
                -i64::from(catalog.priority),
                is_foreign,
                catalog.name,
                catalog.namespace,
            )
        });
        catalogs
    }
}

/// Returns upstream's message for a subscription without entries.
fn nothing_found(subscription: &PackageSubscription, stage: SearchStage) -> String {
    let PackageSubscription {
        name,
        package,
        channel,
        catalog,
        catalog_namespace,
        starting_csv,
        ..
    } = subscription;
    let end = format!("in the catalog referenced by subscription {name}");
    match stage {
        SearchStage::Start => format!(
            "no operators found from catalog {catalog} in namespace {catalog_namespace} referenced by subscription \
             {name}"
        ),
        SearchStage::Catalog => format!("no operators found in package {package} {end}"),
        SearchStage::Package => {
            format!("no operators found in channel {channel} of package {package} {end}")
        }
        SearchStage::Channel | SearchStage::Entries => format!(
            "no operators found with name {starting_csv} in channel {channel} of package {package} {end}"
        ),
    }
}

/// Returns whether a version is in the `skipRange` of an entry.
fn is_skipped(
    entry: ChannelEntry<'_>,
    version: Option<Version<'_>>,
    budget: &SolveBudget<'_>,
) -> Result<bool, SolveError<'static>> {
    let Some((range, version)) = entry.skip_range().zip(version) else {
        return Ok(false);
    };
    budget.draw(Step::ParsedByte, range.len())?;
    let Ok(range) = BlangRange::parse(range) else {
        return Ok(false);
    };
    budget.draw(Step::Comparison, range.comparators())?;
    Ok(range.contains(&version))
}

/// Returns the places of the bundles that may meet a predicate: a superset of those that do.
fn candidate_places(
    predicate: &Predicate,
    catalog: &Catalog,
    budget: &SolveBudget<'_>,
) -> Result<Vec<u32>, SolveError<'static>> {
    Ok(match predicate {
        Predicate::Package { name, .. } => {
            let package = catalog.package(name);
            let places = package.into_iter().flat_map(fbc::Package::bundle_places);
            let places: Vec<u32> = places.filter_map(|at| at.try_into().ok()).collect();
            budget.draw(Step::Posting, places.len() + 1)?;
            places
        }
        Predicate::Api(api) => {
            let api = ApiFilter {
                group: &api.group,
                version: Some(&api.version),
                kind: &api.kind,
            };
            catalog.find_bundles(
                &BundleFilter {
                    provides: Some(api),
                    ..BundleFilter::default()
                },
                budget.work(),
            )?
        }
        Predicate::Label(_) => {
            let filter = BundleFilter {
                property_types: vec!["olm.label"],
                ..BundleFilter::default()
            };
            catalog.find_bundles(&filter, budget.work())?
        }
        Predicate::All(all) => {
            let is_narrow =
                |one: &&Predicate| matches!(one, Predicate::Package { .. } | Predicate::Api(_));
            match all.iter().find(is_narrow) {
                Some(narrow) => candidate_places(narrow, catalog, budget)?,
                None => every_place(catalog, budget)?,
            }
        }
        Predicate::Any(any) if any.iter().any(is_met_anywhere) => every_place(catalog, budget)?,
        Predicate::Any(any) => {
            let mut found = Vec::new();
            for one in any {
                found.extend(candidate_places(one, catalog, budget)?);
                // Alternatives may name the same bundles again and again. The list must not grow with
                // their number.
                if found.len() > 2 * catalog.bundles().len() {
                    sort_places(&mut found, budget)?;
                }
            }
            sort_places(&mut found, budget)?;
            found
        }
        Predicate::Not(_) | Predicate::Rule { .. } => every_place(catalog, budget)?,
    })
}

/// Returns whether any bundle of a catalog may meet a predicate.
fn is_met_anywhere(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Package { .. } | Predicate::Api(_) | Predicate::Label(_) => false,
        Predicate::All(all) => !all
            .iter()
            .any(|one| matches!(one, Predicate::Package { .. } | Predicate::Api(_))),
        Predicate::Any(any) => any.iter().any(is_met_anywhere),
        Predicate::Not(_) | Predicate::Rule { .. } => true,
    }
}

/// Sorts places and removes duplicates.
fn sort_places(places: &mut Vec<u32>, budget: &SolveBudget<'_>) -> Result<(), SolveError<'static>> {
    budget.draw(Step::SortStep, sort_steps(places.len()))?;
    places.sort_unstable();
    places.dedup();
    Ok(())
}

/// Returns the places of all bundles.
fn every_place(
    catalog: &Catalog,
    budget: &SolveBudget<'_>,
) -> Result<Vec<u32>, SolveError<'static>> {
    budget.draw(Step::Posting, catalog.bundles().len())?;
    Ok((0..catalog.bundles().len())
        .filter_map(|at| at.try_into().ok())
        .collect())
}
