//! Lookups in a package by name. Chains are followed with a lookup at each step, so that a search
//! of lists would take the square of a channel's length.

use std::collections::HashMap;

use super::channels_of;
use crate::draft::{DraftBundle, DraftChannel, DraftEntry, DraftPackage};
use crate::error::EditError;

/// A package with its bundles and entries by name.
pub(super) struct PackageGraph<'p> {
    pub(super) package: &'p DraftPackage,
    bundles: HashMap<&'p str, &'p DraftBundle>,
    channels: HashMap<&'p str, &'p DraftChannel>,
    entries: HashMap<(&'p str, &'p str), &'p DraftEntry>,
    /// New bundles by the channels that they name.
    new_bundles: HashMap<&'p str, Vec<&'p DraftBundle>>,
    /// The edges of each bundle in all channels.
    edges: HashMap<&'p str, CommonEdges<'p>>,
}

/// The edges of a bundle in all channels that list it.
struct CommonEdges<'p> {
    first: &'p DraftEntry,
    /// Every channel has these edges.
    is_common: bool,
}

impl<'p> PackageGraph<'p> {
    pub(super) fn new(package: &'p DraftPackage) -> Self {
        let mut bundles = HashMap::new();
        let mut channels = HashMap::new();
        let mut entries = HashMap::new();
        let mut new_bundles: HashMap<_, Vec<_>> = HashMap::new();
        let mut edges: HashMap<&str, CommonEdges<'_>> = HashMap::new();
        for bundle in &package.bundles {
            bundles.entry(&*bundle.name).or_insert(bundle);
            for channel in channels_of(bundle) {
                new_bundles.entry(channel).or_default().push(bundle);
            }
        }
        for channel in &package.channels {
            channels.entry(&*channel.name).or_insert(channel);
            for entry in &channel.entries {
                if entries
                    .insert((&*channel.name, &*entry.name), entry)
                    .is_none()
                {
                    let common = edges.entry(&*entry.name).or_insert(CommonEdges {
                        first: entry,
                        is_common: true,
                    });
                    // A bundle can be in a new channel with these edges only if no other channel
                    // disagrees.
                    common.is_common &= entry.has_edges_of(common.first);
                }
            }
        }
        Self {
            package,
            bundles,
            channels,
            entries,
            new_bundles,
            edges,
        }
    }

    pub(super) fn bundle(&self, name: &str) -> Option<&'p DraftBundle> {
        self.bundles.get(name).copied()
    }

    pub(super) fn channel(&self, name: &str) -> Option<&'p DraftChannel> {
        self.channels.get(name).copied()
    }

    pub(super) fn entry(&self, channel: &str, bundle: &str) -> Option<&'p DraftEntry> {
        self.entries.get(&(channel, bundle)).copied()
    }

    /// Returns the bundles that a channel lists, and the new ones that name it.
    pub(super) fn members(&self, channel: &str) -> Vec<&'p DraftBundle> {
        let listed = self
            .channel(channel)
            .into_iter()
            .flat_map(|channel| &channel.entries);
        let listed = listed.filter_map(|entry| self.bundle(&entry.name));
        listed
            .chain(self.new_bundles.get(channel).into_iter().flatten().copied())
            .collect()
    }

    /// Returns the entry of a bundle in a channel: with the edges of its CSV if it is new, else
    /// with those of its entry in this channel, else with those of its entries in others.
    ///
    /// # Errors
    /// If its entries in other channels differ: none of them is right for sure.
    pub(super) fn edges(
        &self,
        channel: &str,
        bundle: &DraftBundle,
    ) -> Result<DraftEntry, EditError> {
        let name = bundle.name.clone();
        let here = self.entry(channel, &name);
        if let Some(placement) = &bundle.placement {
            return Ok(DraftEntry {
                name,
                replaces: placement.replaces.clone(),
                skips: placement.skips.clone(),
                skip_range: placement.skip_range.clone(),
                others: here.map(|entry| entry.others.clone()).unwrap_or_default(),
            });
        }
        // Edges belong to entries. `opm` reads them from the CSVs again at each addition, and loses
        // those that were made by version or by hand.
        if let Some(entry) = here {
            return Ok(entry.clone());
        }
        match self.edges.get(&*name) {
            None => Ok(DraftEntry {
                name,
                ..DraftEntry::default()
            }),
            Some(CommonEdges {
                first,
                is_common: true,
            }) => Ok((*first).clone()),
            Some(CommonEdges {
                is_common: false, ..
            }) => {
                let lists = |channel: &&DraftChannel| self.entry(&channel.name, &name).is_some();
                let channels = self
                    .package
                    .channels
                    .iter()
                    .filter(lists)
                    .map(|channel| channel.name.clone())
                    .collect();
                Err(EditError::EdgesDiffer {
                    bundle: name,
                    channels,
                })
            }
        }
    }
}
