//! Searches in the update graph: shortest upgrade paths, and stranded and unreachable bundles.
//!
//! A path takes time almost linear in the number of bundles, entries and skips, however many edges
//! skip ranges have.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

use fbc::work::{Step, Work, WorkStopped};
use fbc::{Bundle, Channel, ChannelEntry};
use fbc_grammar::version::VersionRelease;

use super::successors::{Admission, Installed, Releases, identity, successors};
use super::{UpdateGraph, UpgradeTarget};

/// A set of unvisited indexes that skips visited ones in almost constant time (union-find).
struct SkipSet {
    /// For each index itself while it is unvisited, then a later one.
    next: Vec<usize>,
}

/// Groups of bundles with equal version and release, between which the controller allows upgrades.
pub(super) struct EqualVersions {
    /// Group of each bundle; `None` when its version is malformed.
    groups: Vec<Option<usize>>,
    /// Bundles of each group, until they are taken.
    members: Vec<Vec<usize>>,
}

impl<'a> UpdateGraph<'a> {
    /// Finds a shortest sequence of upgrades from one bundle of the package to another, both
    /// included; `None` when there is none.
    ///
    /// Each step is one of [`successors`]. Of several shortest paths it is the one whose first step
    /// goes to the highest version, then to the least name, and so on with the second step.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn path(
        &self,
        from: Bundle<'_>,
        to: Bundle<'_>,
        work: &Work<'_>,
    ) -> Result<Option<Vec<Bundle<'a>>>, WorkStopped> {
        let Some((from, to)) = self.index_of(from).zip(self.index_of(to)) else {
            return Ok(None);
        };
        // Each entry is visited once to find the distances, and once to choose the steps.
        for target in &self.targets {
            work.draw(Step::Edge, 2 * (1 + target.entry.skips().len()))?;
        }
        work.draw(Step::Edge, 10 * self.bundles.len())?;
        let mut equal_versions = EqualVersions::new(&self.bundles);
        let unvisited = SkipSet::new(self.bundles.len());
        let distances = self.distances(&[to], unvisited, &mut equal_versions);
        let path = self.descend(from, &distances, &equal_versions);
        Ok(path.map(|path| path.into_iter().map(|at| self.bundles[at]).collect()))
    }

    /// Finds a shortest sequence of upgrades from an installed bundle, which need not be in the
    /// catalog, to a bundle of the package, through bundles that are allowed. Returns the bundles
    /// after each upgrade, none if the target is installed; `None` when there is no sequence.
    ///
    /// Each step needs an entry that allows it, as in OLM v0. Of several shortest sequences it is
    /// the one that [`Self::path`] would choose.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn path_from_installed(
        &self,
        installed: &Installed<'_>,
        to: Bundle<'_>,
        is_allowed: &dyn Fn(Bundle<'a>) -> bool,
        work: &Work<'_>,
    ) -> Result<Option<Vec<Bundle<'a>>>, WorkStopped> {
        if installed.name == to.name() {
            return Ok(Some(Vec::new()));
        }
        let Some(to) = self.index_of(to) else {
            return Ok(None);
        };
        for target in &self.targets {
            work.draw(Step::Edge, 2 * (1 + target.entry.skips().len()))?;
        }
        work.draw(Step::Edge, 10 * self.bundles.len())?;
        let mut unvisited = SkipSet::new(self.bundles.len());
        for (at, &bundle) in self.bundles.iter().enumerate() {
            if !is_allowed(bundle) {
                unvisited.take(at);
            }
        }
        let mut no_equal_versions = EqualVersions::none(self.bundles.len());
        let distances = self.distances(&[to], unvisited, &mut no_equal_versions);
        let first = self.first_steps(installed, work)?;
        let nearest = first
            .into_iter()
            .filter(|&at| distances[at].is_some())
            .min_by_key(|&at| distances[at]);
        let path = nearest.and_then(|from| self.descend(from, &distances, &no_equal_versions));
        Ok(path.map(|path| path.into_iter().map(|at| self.bundles[at]).collect()))
    }

    /// Returns the indexes of the bundles whose entries allow an upgrade of the installed one,
    /// highest version first.
    fn first_steps(
        &self,
        installed: &Installed<'_>,
        work: &Work<'_>,
    ) -> Result<Vec<usize>, WorkStopped> {
        let mut admission = Admission::new(installed);
        let mut allowed = Vec::new();
        for target in &self.targets {
            work.draw(Step::Edge, 1)?;
            if let Some(at) = target.bundle
                && target.entry.name() != installed.name
                && admission.reasons(target.entry, work)?.any()
            {
                allowed.push(at);
            }
        }
        allowed.sort_unstable();
        allowed.dedup();
        Ok(allowed)
    }

    /// Returns the indexes of a shortest path from a bundle, by the distances to its end.
    fn descend(
        &self,
        from: usize,
        distances: &[Option<usize>],
        equal_versions: &EqualVersions,
    ) -> Option<Vec<usize>> {
        let mut layers = vec![Vec::new(); distances[from]?];
        for (at, distance) in distances.iter().enumerate() {
            if let Some(layer) = distance.and_then(|distance| layers.get_mut(distance)) {
                layer.push(at);
            }
        }
        let mut path = vec![from];
        for layer in layers.iter().rev() {
            let current = path[path.len() - 1];
            path.extend(
                layer
                    .iter()
                    .copied()
                    .find(|&next| self.is_step(current, next, equal_versions)),
            );
        }
        Some(path)
    }

    /// Returns the bundles in the channels from which no path leads to the head of any of the
    /// channels, highest version first.
    ///
    /// A head is an entry that nothing in its channel replaces or skips, so a channel without one
    /// strands its bundles. Upstream calls an entry stranded that is neither on the chain of
    /// `replaces` below the head nor skipped; such an entry may still reach the head by a skip
    /// range.
    pub fn stranded(&self) -> Vec<Bundle<'a>> {
        let heads: Vec<_> = self
            .channels
            .iter()
            .flat_map(|&channel| heads(channel))
            .filter_map(|name| self.index_of_name(name))
            .collect();
        let unvisited = SkipSet::new(self.bundles.len());
        let mut equal_versions = EqualVersions::new(&self.bundles);
        let distances = self.distances(&heads, unvisited, &mut equal_versions);
        let is_stranded =
            |at: &usize| distances[*at].is_none() && !self.targets_by_bundle[*at].is_empty();
        (0..self.bundles.len())
            .filter(is_stranded)
            .map(|at| self.bundles[at])
            .collect()
    }

    /// Returns the bundles in the channels that no sequence of upgrades reaches from the installed
    /// one, highest version first.
    ///
    /// Takes time in the number of bundles times that of entries with a skip range.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn unreachable(
        &self,
        installed: &Installed<'_>,
        work: &Work<'_>,
    ) -> Result<Vec<Bundle<'a>>, WorkStopped> {
        let channels: Vec<_> = self.channels.iter().map(|channel| channel.name()).collect();
        let mut equal_versions = EqualVersions::new(&self.bundles);
        let by_name = self.entries_by_name();
        let mut ranged: Vec<&UpgradeTarget<'_>> = self
            .targets
            .iter()
            .filter(|entry| !entry.in_range.is_empty())
            .collect();
        let mut is_reached = vec![false; self.bundles.len()];
        // Without channels the list of names is empty, which would mean all channels.
        let first = if channels.is_empty() {
            Vec::new()
        } else {
            successors(self.package, installed, &channels, work)?
        };
        let mut reached: Vec<_> = first
            .into_iter()
            .filter_map(|bundle| self.index_of(bundle))
            .collect();
        reached.extend(self.index_of_name(installed.name));
        while let Some(at) = reached.pop() {
            if std::mem::replace(&mut is_reached[at], true) {
                continue;
            }
            work.draw(Step::Edge, 1 + ranged.len())?;
            let named = by_name.get(self.bundles[at].name());
            reached.extend(
                named
                    .into_iter()
                    .flatten()
                    .filter_map(|&entry| self.targets[entry].bundle),
            );
            reached.extend(equal_versions.take(at));
            ranged.retain(|entry| {
                let is_in_range = entry.holds(at);
                reached.extend(entry.bundle.filter(|_| is_in_range));
                !is_in_range
            });
        }
        let is_unreachable =
            |at: &usize| !is_reached[*at] && !self.targets_by_bundle[*at].is_empty();
        Ok((0..self.bundles.len())
            .filter(is_unreachable)
            .map(|at| self.bundles[at])
            .collect())
    }

    /// Returns the number of steps from each bundle to the nearest of the bundles `to`; `None`
    /// without a path through those that are unvisited.
    fn distances(
        &self,
        to: &[usize],
        mut unvisited: SkipSet,
        equal_versions: &mut EqualVersions,
    ) -> Vec<Option<usize>> {
        let mut distances = vec![None; self.bundles.len()];
        let mut queue = VecDeque::new();
        for &at in to {
            if unvisited.take(at) {
                distances[at] = Some(0);
                queue.push_back(at);
            }
        }
        while let Some(at) = queue.pop_front() {
            let distance = distances[at].map(|distance| distance + 1);
            let mut reach = |from: usize| {
                distances[from] = distance;
                queue.push_back(from);
            };
            for &entry in &self.targets_by_bundle[at] {
                let UpgradeTarget {
                    entry, in_range, ..
                } = &self.targets[entry];
                for name in entry.replaces().into_iter().chain(entry.skips()) {
                    self.index_of_name(name)
                        .filter(|&from| unvisited.take(from))
                        .into_iter()
                        .for_each(&mut reach);
                }
                for range in in_range.iter() {
                    while let Some(from) = unvisited
                        .first_from(range.start)
                        .filter(|from| range.contains(from))
                    {
                        unvisited.take(from);
                        reach(from);
                    }
                }
            }
            equal_versions
                .take(at)
                .into_iter()
                .filter(|&from| unvisited.take(from))
                .for_each(&mut reach);
        }
        distances
    }

    /// Tells whether one upgrade step leads from one bundle to the other.
    fn is_step(&self, from: usize, to: usize, equal_versions: &EqualVersions) -> bool {
        let name = self.bundles[from].name();
        let admits = |entry: &UpgradeTarget<'_>| {
            entry.entry.replaces() == Some(name)
                || entry.entry.skips().any(|skip| skip == name)
                || entry.holds(from)
        };
        self.targets_by_bundle[to]
            .iter()
            .any(|&entry| admits(&self.targets[entry]))
            || equal_versions.contains_both(from, to)
    }

    /// Maps names to the indexes of the entries that replace or skip them.
    fn entries_by_name(&self) -> HashMap<&'a str, Vec<usize>> {
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        for (at, UpgradeTarget { entry, .. }) in self.targets.iter().enumerate() {
            for name in entry.replaces().into_iter().chain(entry.skips()) {
                by_name.entry(name).or_default().push(at);
            }
        }
        by_name
    }
}

impl UpgradeTarget<'_> {
    /// Tells whether its skip range contains the version of a bundle.
    pub(super) fn holds(&self, at: usize) -> bool {
        let after = self.in_range.partition_point(|range| range.start <= at);
        after > 0 && self.in_range[after - 1].contains(&at)
    }
}

impl SkipSet {
    fn new(count: usize) -> Self {
        Self {
            next: (0..=count).collect(),
        }
    }

    /// Visits an index and returns whether it was unvisited.
    fn take(&mut self, at: usize) -> bool {
        let is_new = self.next[at] == at;
        self.next[at] = self.next[at].max(at + 1);
        is_new
    }

    /// Returns the first unvisited index from `start` on.
    fn first_from(&mut self, start: usize) -> Option<usize> {
        let mut found = start;
        while self.next[found] != found {
            found = self.next[found];
        }
        // Path compression: the next search takes one step.
        let mut at = start;
        while at != found {
            at = std::mem::replace(&mut self.next[at], found);
        }
        (found + 1 < self.next.len()).then_some(found)
    }
}

impl EqualVersions {
    pub(super) fn new(bundles: &[Bundle<'_>]) -> Self {
        let mut by_identity: HashMap<VersionRelease<'_>, usize> = HashMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut group = |(at, &bundle): (usize, &_)| {
            let identity = identity(bundle, Releases::Given).ok()?.without_build();
            let group = *by_identity.entry(identity).or_insert(members.len());
            members.resize_with(members.len().max(group + 1), Vec::new);
            members[group].push(at);
            Some(group)
        };
        let groups = bundles.iter().enumerate().map(&mut group).collect();
        Self { groups, members }
    }

    /// Creates groups of none of so many bundles.
    fn none(count: usize) -> Self {
        Self {
            groups: vec![None; count],
            members: Vec::new(),
        }
    }

    /// Takes the bundles with the version and release of a bundle, itself included. Later calls for
    /// the group return none.
    fn take(&mut self, at: usize) -> Vec<usize> {
        self.groups[at]
            .map(|group| std::mem::take(&mut self.members[group]))
            .unwrap_or_default()
    }

    pub(super) fn contains_both(&self, one: usize, other: usize) -> bool {
        self.groups[one].is_some() && self.groups[one] == self.groups[other]
    }
}

/// Iterates over the names of the entries that nothing in the channel replaces or skips, in catalog
/// order. A valid channel has exactly one.
pub fn heads(channel: Channel<'_>) -> impl Iterator<Item = &str> {
    let superseded: HashSet<&str> = channel
        .entries()
        .flat_map(|entry| entry.replaces().into_iter().chain(entry.skips()))
        .collect();
    channel
        .entries()
        .map(ChannelEntry::name)
        .filter(move |name| !superseded.contains(name))
}

/// Returns the names of the bundles of a channel from which no upgrades within it lead to its head,
/// highest version first.
pub fn stranded(channel: Channel<'_>) -> Vec<&str> {
    let work = Work::unlimited();
    let graph = UpdateGraph::new(channel.package(), &[channel.name()], &work);
    graph
        .expect("an account without limit refuses nothing")
        .stranded()
        .into_iter()
        .map(Bundle::name)
        .collect()
}
