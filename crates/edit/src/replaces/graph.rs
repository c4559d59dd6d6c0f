//! A package by names: walks along chains look up a bundle or an entry at each step.

use std::collections::HashMap;

use super::channels_of;
use crate::error::EditError;
use crate::state::{Bundle, Channel, Entry, Package};

/// A package with its bundles and entries by name.
pub(super) struct Graph<'p> {
    pub(super) package: &'p Package,
    bundles: HashMap<&'p str, &'p Bundle>,
    channels: HashMap<&'p str, &'p Channel>,
    entries: HashMap<(&'p str, &'p str), &'p Entry>,
    /// New bundles by the channels that they name.
    new: HashMap<&'p str, Vec<&'p Bundle>>,
    /// The edges of each bundle, whatever the channel.
    edges: HashMap<&'p str, CommonEdges<'p>>,
}

/// The edges of a bundle in all channels that list it.
struct CommonEdges<'p> {
    first: &'p Entry,
    /// Whether every channel has these edges.
    is_common: bool,
}

impl<'p> Graph<'p> {
    pub(super) fn new(package: &'p Package) -> Self {
        let mut bundles = HashMap::new();
        let mut channels = HashMap::new();
        let mut entries = HashMap::new();
        let mut new: HashMap<_, Vec<_>> = HashMap::new();
        let mut edges: HashMap<&str, CommonEdges<'_>> = HashMap::new();
        for bundle in &package.bundles {
            bundles.entry(&*bundle.name).or_insert(bundle);
            for channel in channels_of(bundle) {
                new.entry(channel).or_default().push(bundle);
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
                    common.is_common &= entry.has_edges_of(common.first);
                }
            }
        }
        Self {
            package,
            bundles,
            channels,
            entries,
            new,
            edges,
        }
    }

    pub(super) fn bundle(&self, name: &str) -> Option<&'p Bundle> {
        self.bundles.get(name).copied()
    }

    pub(super) fn channel(&self, name: &str) -> Option<&'p Channel> {
        self.channels.get(name).copied()
    }

    pub(super) fn entry(&self, channel: &str, bundle: &str) -> Option<&'p Entry> {
        self.entries.get(&(channel, bundle)).copied()
    }

    /// Returns the bundles that a channel lists, and the new ones that name it.
    pub(super) fn members(&self, channel: &str) -> Vec<&'p Bundle> {
        let listed = self
            .channel(channel)
            .into_iter()
            .flat_map(|channel| &channel.entries);
        let listed = listed.filter_map(|entry| self.bundle(&entry.name));
        listed
            .chain(self.new.get(channel).into_iter().flatten().copied())
            .collect()
    }

    /// Returns the edges of a bundle in a channel: those of its CSV if it is new, else those of its
    /// entry here, else those of its entries elsewhere.
    pub(super) fn edges(&self, channel: &str, bundle: &Bundle) -> Result<Entry, EditError> {
        let name = bundle.name.clone();
        let here = self.entry(channel, &name);
        if let Some(placement) = &bundle.placement {
            let replaces = placement.replaces.clone();
            let skips = placement.skips.clone();
            let others = here.map(|entry| entry.others.clone()).unwrap_or_default();
            return Ok(Entry {
                name,
                replaces,
                skips,
                skip_range: placement.skip_range.clone(),
                others,
            });
        }
        if let Some(entry) = here {
            return Ok(entry.clone());
        }
        match self.edges.get(&*name) {
            None => Ok(Entry {
                name,
                ..Entry::default()
            }),
            Some(CommonEdges {
                first,
                is_common: true,
            }) => Ok((*first).clone()),
            Some(CommonEdges {
                is_common: false, ..
            }) => {
                let lists = |channel: &&Channel| self.entry(&channel.name, &name).is_some();
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
