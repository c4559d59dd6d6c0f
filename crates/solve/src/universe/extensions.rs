//! Candidates by the policy of OLM v1: the bundle that its controller would install for a
//! `ClusterExtension`, and the bundles that meet the requirements of that.

use std::collections::BTreeMap;

use fbc::work::{Step, sort_steps};
use fbc::{Bundle, ChannelEntry};
use fbc_grammar::selector::Selector;
use fbc_graph::resolve::{
    FailureCode, InstalledBundle, Offer, Rejection, ResolutionRequest, resolve,
};

use super::candidates::CandidateSet;
use super::{CatalogChannel, EntryId, EntryOrigin, Universe};
use crate::budget::SolveBudget;
use crate::error::SolveError;
use crate::request::PackageSubscription;

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

impl<'a> Universe<'a> {
    /// Returns the one bundle that a `ClusterExtension` gets; none if it is installed already.
    pub(super) fn extension_candidate_set(
        &mut self,
        wanted: &PackageSubscription,
        installed: Option<EntryId>,
        budget: &SolveBudget<'_>,
    ) -> Result<CandidateSet, SolveError<'static>> {
        let selector = match Some(&*wanted.selector)
            .filter(|text| !text.is_empty())
            .map(Selector::parse)
            .transpose()
        {
            Ok(selector) => selector,
            Err(error) => return Ok(CandidateSet::Invalid(error.to_string())),
        };
        let mut catalogs = self.catalogs_by_preference(None);
        catalogs.retain(|&at| wanted.allows(self.catalogs[at]));
        let offers: Vec<Offer<'a>> = catalogs.iter().map(|&at| self.offer(at)).collect();
        let channels = wanted.channels();
        let request = ResolutionRequest {
            package: &wanted.package,
            version: &wanted.version,
            channels: &channels,
            selector: selector.as_ref(),
            installed: installed.and_then(|id| self.installed_bundle(id)),
            ..ResolutionRequest::default()
        };
        let (offer, bundle) = match resolve(&request, &offers, budget.work())? {
            Ok(resolution) => (resolution.offer, resolution.bundle),
            Err(failure) if failure.code == FailureCode::InvalidRequest => {
                return Ok(CandidateSet::Invalid(failure.message));
            }
            // The controller rejects a bundle with dependencies. Here it is a candidate: the answer
            // says what has to be installed before it.
            Err(failure) => {
                let is_picked = |rejection| rejection == Some(Rejection::HasDependencies);
                match failure
                    .considered
                    .iter()
                    .find(|considered| is_picked(considered.rejection))
                {
                    Some(picked) => (picked.offer, picked.bundle),
                    None => return Ok(CandidateSet::Nothing(failure.message)),
                }
            }
        };
        // The installed operator is an entry of its own, which the subscription can keep.
        if installed.is_some_and(|id| self.entries[id].name == bundle.name()) {
            return Ok(CandidateSet::Entries(Vec::new()));
        }
        Ok(CandidateSet::Entries(
            self.entry_of(catalogs[offer], bundle, &channels, budget)?
                .into_iter()
                .collect(),
        ))
    }

    fn offer(&self, at: usize) -> Offer<'a> {
        let catalog = self.catalogs[at];
        Offer {
            name: catalog.name,
            priority: catalog.priority,
            labels: catalog.labels.unwrap_or(&NO_LABELS),
            content: Ok(catalog.catalog),
        }
    }

    fn installed_bundle(&self, id: EntryId) -> Option<InstalledBundle<'a>> {
        match self.entries[id].source {
            EntryOrigin::Installed { operator, .. } => Some(InstalledBundle {
                name: &operator.name,
                version: &operator.version,
                release: None,
            }),
            EntryOrigin::Catalog { .. } => None,
        }
    }

    /// Returns the bundles of all catalogs that meet a requirement, best first: by the priority of
    /// the catalog, then those that are not deprecated, then by package and version.
    pub(super) fn extension_candidates(
        &mut self,
        requirement: usize,
        limit: usize,
        budget: &SolveBudget<'_>,
    ) -> Result<Vec<EntryId>, SolveError<'static>> {
        let mut found = Vec::new();
        for at in self.catalogs_by_preference(None) {
            let mut bundles = self.bundles_to_test(requirement, at, budget)?;
            budget.draw(Step::SortStep, sort_steps(bundles.len()))?;
            bundles.sort_by_key(|bundle| (bundle.deprecation().is_some(), bundle.place()));
            for bundle in bundles {
                if found.len() >= limit {
                    self.truncated.insert(requirement);
                    return Ok(found);
                }
                if self.meets(requirement, at, bundle, budget)? {
                    found.extend(self.entry_of(at, bundle, &[], budget)?);
                }
            }
        }
        Ok(found)
    }

    /// Returns the entry of a bundle in one of the channels, the default one if it is there.
    fn entry_of(
        &mut self,
        at: usize,
        bundle: Bundle<'a>,
        channels: &[&str],
        budget: &SolveBudget<'_>,
    ) -> Result<Option<EntryId>, SolveError<'static>> {
        let is_wanted = |entry: &ChannelEntry<'_>| {
            channels.is_empty() || channels.contains(&entry.channel().name())
        };
        budget.draw(
            Step::Edge,
            bundle
                .channel_entries()
                .len()
                .saturating_mul(channels.len().max(1)),
        )?;
        let entries = bundle.channel_entries().filter(is_wanted);
        let Some(place) = entries.min_by_key(|entry| !entry.channel().is_default()) else {
            return Ok(None);
        };
        let channel = place.channel();
        let channel = CatalogChannel {
            catalog: at,
            channel,
        };
        let entries = self.channel_entries(channel, budget)?.all;
        let key = channel.key();
        if !self.named.contains_key(&key) {
            budget.draw(Step::Edge, entries.len())?;
            // Where a channel names a bundle twice, its first entry counts.
            let named = entries
                .iter()
                .rev()
                .map(|&id| (self.entries[id].name, id))
                .collect();
            self.named.insert(key, named);
        }
        Ok(self.named[&key].get(bundle.name()).copied())
    }
}
