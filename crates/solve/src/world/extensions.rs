//! What OLM v1 would install for a `ClusterExtension`, and what could meet the requirements of
//! that.

use std::collections::BTreeMap;

use fbc::work::{Step, sort_steps};
use fbc::{Bundle, ChannelEntry};
use fbc_grammar::selector::Selector;
use fbc_graph::resolve::{
    FailureCode, InstalledBundle, Offer, Rejection, ResolutionRequest, resolve,
};

use super::candidates::Pool;
use super::{EntryId, Source, World};
use crate::meter::{Halt, Meter};
use crate::request::Subscription;

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

impl<'a> World<'a> {
    /// Returns the only bundle that a `ClusterExtension` gets; none if that is installed already.
    pub(super) fn extension_pool(
        &mut self,
        wanted: &Subscription,
        installed: Option<EntryId>,
        meter: &Meter<'_>,
    ) -> Result<Pool, Halt<'static>> {
        let selector = match Some(&*wanted.selector)
            .filter(|text| !text.is_empty())
            .map(Selector::parse)
            .transpose()
        {
            Ok(selector) => selector,
            Err(error) => return Ok(Pool::Invalid(error.to_string())),
        };
        let mut catalogs = self.by_preference(None);
        catalogs.retain(|&at| wanted.is_from(self.catalogs[at]));
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
        let (offer, bundle) = match resolve(&request, &offers, meter.work())? {
            Ok(resolution) => (resolution.offer, resolution.bundle),
            Err(failure) if failure.code == FailureCode::InvalidRequest => {
                return Ok(Pool::Invalid(failure.message));
            }
            // The controller refuses what has dependencies; which ones, is what is asked for here.
            Err(failure) => {
                let is_picked = |rejection| rejection == Some(Rejection::HasDependencies);
                match failure
                    .considered
                    .iter()
                    .find(|considered| is_picked(considered.rejection))
                {
                    Some(picked) => (picked.offer, picked.bundle),
                    None => return Ok(Pool::Nothing(failure.message)),
                }
            }
        };
        if installed.is_some_and(|id| self.entries[id].name == bundle.name()) {
            return Ok(Pool::Entries(Vec::new()));
        }
        Ok(Pool::Entries(
            self.entry_of(catalogs[offer], bundle, &channels, meter)?
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
            Source::Installed { operator, .. } => Some(InstalledBundle {
                name: &operator.name,
                version: &operator.version,
                release: None,
            }),
            Source::Catalog { .. } => None,
        }
    }

    /// Returns the bundles of all catalogs that meet a requirement, best first: by the priority of
    /// the catalog, those that are not deprecated, by package, and by version.
    pub(super) fn extension_candidates(
        &mut self,
        requirement: usize,
        limit: usize,
        meter: &Meter<'_>,
    ) -> Result<Vec<EntryId>, Halt<'static>> {
        let mut found = Vec::new();
        for at in self.by_preference(None) {
            let mut bundles = self.bundles_to_test(requirement, at, meter)?;
            meter.draw(Step::SortStep, sort_steps(bundles.len()))?;
            bundles.sort_by_key(|bundle| (bundle.deprecation().is_some(), bundle.place()));
            for bundle in bundles {
                if found.len() >= limit {
                    self.cut_off.insert(requirement);
                    return Ok(found);
                }
                if self.meets(requirement, at, bundle, meter)? {
                    found.extend(self.entry_of(at, bundle, &[], meter)?);
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
        meter: &Meter<'_>,
    ) -> Result<Option<EntryId>, Halt<'static>> {
        let is_wanted = |entry: &ChannelEntry<'_>| {
            channels.is_empty() || channels.contains(&entry.channel().name())
        };
        meter.draw(
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
        let (ids, _) = self.channel(at, channel, meter)?;
        let key = (at, channel.package().place(), channel.name());
        if !self.named.contains_key(&key) {
            meter.draw(Step::Edge, ids.len())?;
            // Where a channel names a bundle twice, its first entry counts.
            let named = ids
                .iter()
                .rev()
                .map(|&id| (self.entries[id].name, id))
                .collect();
            self.named.insert(key, named);
        }
        Ok(self.named[&key].get(bundle.name()).copied())
    }
}
