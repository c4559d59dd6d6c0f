//! Which entries can serve a subscription or meet a requirement, in OLM v0's order of preference.

use std::collections::HashSet;
use std::rc::Rc;

use fbc::work::{Step, sort_steps};
use fbc::{ApiFilter, Bundle, BundleFilter, Catalog, Channel, ChannelEntry, Package};
use fbc_grammar::range::BlangRange;
use fbc_grammar::version::Version;

use super::{EntryId, Ordered, Source, World};
use crate::meter::{Halt, Meter};
use crate::request::{SolvePolicy, Subscription};
use crate::requirement::Predicate;

/// How far candidates are looked for where bundles all over a catalog may be some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CandidateSearch {
    /// Until there are so many.
    First(usize),
    /// Everywhere.
    All,
}

/// What a subscription can choose from.
pub(crate) enum Pool {
    /// Entries, best first.
    Entries(Vec<EntryId>),
    /// There is none: upstream's message.
    Nothing(String),
    /// A channel cannot be ordered: upstream's message.
    Unordered(String),
    /// What is wanted is malformed, by the rules of OLM v1.
    Invalid(String),
}

impl<'a> World<'a> {
    /// Returns the entries that a subscription can choose from; `installed` is its installed
    /// operator.
    pub(crate) fn pool(
        &mut self,
        subscription: &'a Subscription,
        installed: Option<EntryId>,
        meter: &Meter<'_>,
    ) -> Result<Pool, Halt<'static>> {
        if self.request.policy == SolvePolicy::OlmV1 {
            return self.extension_pool(subscription, installed, meter);
        }
        let mut catalogs = self.by_preference(None);
        catalogs.retain(|&at| subscription.is_from(self.catalogs[at]));
        let mut stage = 0;
        let mut pool = Vec::new();
        for at in catalogs {
            let catalog = self.catalogs[at].catalog;
            stage = stage.max(usize::from(catalog.packages().len() > 0));
            let Some(package) = catalog.package(&subscription.package) else {
                continue;
            };
            for channel in Self::channels_of(package) {
                match self.pool_of_channel(at, channel, subscription, installed.is_none(), meter)? {
                    (reached, Ok(entries)) => {
                        stage = stage.max(reached);
                        pool.extend(entries);
                    }
                    (_, Err(message)) => return Ok(Pool::Unordered(message)),
                }
            }
        }
        if pool.is_empty() && stage < FOUND {
            return Ok(Pool::Nothing(nothing_found(subscription, stage)));
        }
        if let Some(installed) = installed {
            pool = self.upgrades_of(installed, &pool, meter)?;
        }
        Ok(Pool::Entries(pool))
    }

    /// Returns how far a channel serves a subscription, and its entries, best first.
    fn pool_of_channel(
        &mut self,
        at: usize,
        channel: Channel<'a>,
        subscription: &Subscription,
        is_new: bool,
        meter: &Meter<'_>,
    ) -> Result<(usize, Result<Vec<EntryId>, String>), Halt<'static>> {
        if !subscription.channel.is_empty() && subscription.channel != channel.name() {
            return Ok((2, Ok(Vec::new())));
        }
        let (entries, ordered) = self.channel(at, channel, meter)?;
        let mut own = entries.to_vec();
        own.retain(|&id| {
            let stated = &self.entries[id].facts;
            stated.package().is_none()
                || stated
                    .stated_packages()
                    .iter()
                    .any(|name| *name == subscription.package)
        });
        if own.is_empty() {
            return Ok((1, Ok(own)));
        }
        if is_new && !subscription.starting_csv.is_empty() {
            own.retain(|&id| self.entries[id].name == subscription.starting_csv);
            let reached = if own.is_empty() { 3 } else { FOUND };
            return Ok((
                reached,
                if own.is_empty() {
                    Ok(own)
                } else {
                    self.sort(&own, channel, meter)?
                },
            ));
        }
        let sorted = if own.len() == entries.len() {
            ordered.map(|ids| ids.to_vec())
        } else {
            self.sort(&own, channel, meter)?
        };
        Ok((FOUND, sorted))
    }

    /// Returns those of the entries that an installed operator can be upgraded to.
    fn upgrades_of(
        &self,
        installed: EntryId,
        pool: &[EntryId],
        meter: &Meter<'_>,
    ) -> Result<Vec<EntryId>, Halt<'static>> {
        let Source::Installed { operator, .. } = self.entries[installed].source else {
            return Ok(Vec::new());
        };
        meter.draw(Step::ParsedByte, operator.version.len())?;
        let version = Version::parse(&operator.version).ok();
        let mut upgrades = Vec::new();
        for &id in pool {
            let Source::Catalog { entry, .. } = self.entries[id].source else {
                continue;
            };
            meter.draw(Step::Edge, 1 + entry.skips().len())?;
            let replaces = entry.replaces() == Some(&operator.name);
            if replaces
                || entry.skips().any(|name| name == operator.name)
                || is_skipped(entry, version, meter)?
            {
                upgrades.push(id);
            }
        }
        Ok(upgrades)
    }

    /// Returns the entries that can meet a requirement, those of the catalog `own` before others.
    pub(crate) fn candidates(
        &mut self,
        requirement: usize,
        own: Option<usize>,
        meter: &Meter<'_>,
    ) -> Result<Ordered, Halt<'static>> {
        if let Some(known) = self.candidates.get(&(requirement, own)) {
            return Ok(known.clone());
        }
        let mut found = self.installed_candidates(requirement, meter)?;
        let limit = self.limit_of(requirement);
        if self.request.policy == SolvePolicy::OlmV1 {
            found.extend(self.extension_candidates(requirement, limit, meter)?);
            self.candidates
                .insert((requirement, own), Ok(Rc::from(&*found)));
            return Ok(Ok(found.into()));
        }
        let is_mandatory = |&id: &EntryId| {
            matches!(
                self.entries[id].source,
                Source::Installed {
                    subscription: None,
                    ..
                }
            )
        };
        // It is chosen before everything else, and serves whatever it can.
        if limit < usize::MAX && found.iter().any(is_mandatory) {
            self.cut_off.insert(requirement);
            return Ok(Ok(found.into()));
        }
        let mut unordered = None;
        'catalogs: for at in self.by_preference(own) {
            for channel in self.channels_meeting(requirement, at, meter)? {
                if found.len() >= limit {
                    self.cut_off.insert(requirement);
                    break 'catalogs;
                }
                match self.entries_meeting(requirement, at, channel, meter)? {
                    Ok(entries) => found.extend(entries),
                    Err(message) => unordered = unordered.or(Some(message)),
                }
            }
        }
        let found: Ordered = unordered.map_or_else(|| Ok(Rc::from(found)), Err);
        self.candidates.insert((requirement, own), found.clone());
        Ok(found)
    }

    /// Returns the number of candidates after which no further ones are looked for.
    fn limit_of(&self, requirement: usize) -> usize {
        match self.search {
            CandidateSearch::First(limit)
                if is_met_anywhere(&self.requirements[requirement].predicate) =>
            {
                limit
            }
            _ => usize::MAX,
        }
    }

    /// Installed operators of equal package and subscription count once: upstream takes only one of
    /// them.
    fn installed_candidates(
        &self,
        requirement: usize,
        meter: &Meter<'_>,
    ) -> Result<Vec<EntryId>, Halt<'static>> {
        let mut sources = HashSet::new();
        let mut found = self.meeting(requirement, &self.installed, meter)?;
        found.retain(|&id| {
            let Source::Installed { subscription, .. } = self.entries[id].source else {
                return false;
            };
            sources.insert((self.entries[id].facts.package(), subscription))
        });
        meter.draw(Step::SortStep, sort_steps(found.len()))?;
        let key = |id: EntryId| (self.entries[id].facts.package(), self.entries[id].name);
        found.sort_by(|&one, &other| key(one).cmp(&key(other)));
        Ok(found)
    }

    fn meeting(
        &self,
        requirement: usize,
        ids: &[EntryId],
        meter: &Meter<'_>,
    ) -> Result<Vec<EntryId>, Halt<'static>> {
        let predicate = &self.requirements[requirement].predicate;
        let mut found = Vec::new();
        for &id in ids {
            if predicate.holds(&self.entries[id].facts, meter)? {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// Returns the channels of a catalog with a bundle that meets a requirement, in the order of
    /// preference: default channels first, then by package and name. Of a requirement whose first
    /// candidates are looked for, returns every channel.
    fn channels_meeting(
        &mut self,
        requirement: usize,
        at: usize,
        meter: &Meter<'_>,
    ) -> Result<Vec<Channel<'a>>, Halt<'static>> {
        let catalog: &'a Catalog = self.catalogs[at].catalog;
        let mut channels: Vec<Channel<'a>> = Vec::new();
        if self.limit_of(requirement) == usize::MAX {
            for bundle in self.bundles_meeting(requirement, at, meter)? {
                meter.draw(Step::Edge, bundle.channel_entries().len())?;
                channels.extend(bundle.channel_entries().map(ChannelEntry::channel));
            }
        } else {
            channels.extend(catalog.packages().flat_map(Package::channels));
            meter.draw(Step::Edge, channels.len())?;
        }
        meter.draw(Step::SortStep, sort_steps(channels.len()))?;
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
        at: usize,
        channel: Channel<'a>,
        meter: &Meter<'_>,
    ) -> Result<Result<Vec<EntryId>, String>, Halt<'static>> {
        // Reading and ordering a channel takes longer than finding out that none of its bundles is
        // a candidate.
        let is_reached = self.limit_of(requirement) == usize::MAX;
        if !is_reached && !self.is_met_in(requirement, at, channel, meter)? {
            return Ok(Ok(Vec::new()));
        }
        match self.channel(at, channel, meter)?.1 {
            Ok(ordered) => Ok(Ok(self.meeting(requirement, &ordered, meter)?)),
            Err(message) => Ok(Err(message)),
        }
    }

    /// Returns whether a bundle of a channel meets a requirement; each bundle is looked at once.
    fn is_met_in(
        &mut self,
        requirement: usize,
        at: usize,
        channel: Channel<'a>,
        meter: &Meter<'_>,
    ) -> Result<bool, Halt<'static>> {
        for bundle in channel.entries().filter_map(ChannelEntry::bundle) {
            meter.draw(Step::Edge, 1)?;
            let key = (requirement, at, bundle.place());
            if self.unmet.contains(&key) {
                continue;
            }
            if self.meets(requirement, at, bundle, meter)? {
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
        meter: &Meter<'_>,
    ) -> Result<Vec<Bundle<'a>>, Halt<'static>> {
        let mut found = Vec::new();
        for bundle in self.bundles_to_test(requirement, at, meter)? {
            if self.meets(requirement, at, bundle, meter)? {
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
        meter: &Meter<'_>,
    ) -> Result<Vec<Bundle<'a>>, Halt<'static>> {
        let catalog: &'a Catalog = self.catalogs[at].catalog;
        let places = places(&self.requirements[requirement].predicate, catalog, meter)?;
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
        meter: &Meter<'_>,
    ) -> Result<bool, Halt<'static>> {
        let facts = self.facts_of(at, bundle, meter)?;
        self.requirements[requirement]
            .predicate
            .holds(&facts, meter)
    }

    /// Returns the catalogs in the order of preference of a bundle: its own, then by priority,
    /// those of the own namespace, and by name.
    pub(super) fn by_preference(&self, own: Option<usize>) -> Vec<usize> {
        let mut catalogs = self.looked_at.clone();
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

/// The stage at which a subscription has entries to choose from.
const FOUND: usize = 4;

/// Upstream's message for the last stage that had something: catalog, package, channel, name.
fn nothing_found(subscription: &Subscription, stage: usize) -> String {
    let Subscription {
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
        0 => format!(
            "no operators found from catalog {catalog} in namespace {catalog_namespace} referenced by subscription \
             {name}"
        ),
        1 => format!("no operators found in package {package} {end}"),
        2 => format!("no operators found in channel {channel} of package {package} {end}"),
        _ => format!(
            "no operators found with name {starting_csv} in channel {channel} of package {package} {end}"
        ),
    }
}

/// Whether a version is in the `skipRange` of an entry.
fn is_skipped(
    entry: ChannelEntry<'_>,
    version: Option<Version<'_>>,
    meter: &Meter<'_>,
) -> Result<bool, Halt<'static>> {
    let Some((range, version)) = entry.skip_range().zip(version) else {
        return Ok(false);
    };
    meter.draw(Step::ParsedByte, range.len())?;
    let Ok(range) = BlangRange::parse(range) else {
        return Ok(false);
    };
    meter.draw(Step::Comparison, range.comparators())?;
    Ok(range.contains(&version))
}

/// Returns places of bundles of a catalog that may meet a predicate: all that do, and perhaps
/// others.
fn places(
    predicate: &Predicate,
    catalog: &Catalog,
    meter: &Meter<'_>,
) -> Result<Vec<u32>, Halt<'static>> {
    Ok(match predicate {
        Predicate::Package { name, .. } => {
            let package = catalog.package(name);
            let places = package.into_iter().flat_map(fbc::Package::bundle_places);
            let places: Vec<u32> = places.filter_map(|at| at.try_into().ok()).collect();
            meter.draw(Step::Posting, places.len() + 1)?;
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
                meter.work(),
            )?
        }
        Predicate::Label(_) => {
            let filter = BundleFilter {
                property_types: vec!["olm.label"],
                ..BundleFilter::default()
            };
            catalog.find_bundles(&filter, meter.work())?
        }
        Predicate::All(all) => {
            let is_narrow =
                |one: &&Predicate| matches!(one, Predicate::Package { .. } | Predicate::Api(_));
            match all.iter().find(is_narrow) {
                Some(narrow) => places(narrow, catalog, meter)?,
                None => every_place(catalog, meter)?,
            }
        }
        Predicate::Any(any) if any.iter().any(is_met_anywhere) => every_place(catalog, meter)?,
        Predicate::Any(any) => {
            let mut found = Vec::new();
            for one in any {
                found.extend(places(one, catalog, meter)?);
                // Alternatives can name the same bundles again and again.
                if found.len() > 2 * catalog.bundles().len() {
                    sort_places(&mut found, meter)?;
                }
            }
            sort_places(&mut found, meter)?;
            found
        }
        Predicate::Not(_) | Predicate::Rule { .. } => every_place(catalog, meter)?,
    })
}

/// Whether bundles all over a catalog may meet a predicate.
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

/// Sorts places, and leaves each once.
fn sort_places(places: &mut Vec<u32>, meter: &Meter<'_>) -> Result<(), Halt<'static>> {
    meter.draw(Step::SortStep, sort_steps(places.len()))?;
    places.sort_unstable();
    places.dedup();
    Ok(())
}

fn every_place(catalog: &Catalog, meter: &Meter<'_>) -> Result<Vec<u32>, Halt<'static>> {
    meter.draw(Step::Posting, catalog.bundles().len())?;
    Ok((0..catalog.bundles().len())
        .filter_map(|at| at.try_into().ok())
        .collect())
}
