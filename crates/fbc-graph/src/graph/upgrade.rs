//! Upgrades between two bundles with everything that allows them, and skip ranges as the statements
//! that they are.
//!
//! Channels repeat each other: what several of them say of the same two bundles is one upgrade
//! here.

use std::ops::Range;
use std::rc::Rc;

use hashbrown::HashMap;

use fbc::work::{Step, Work, WorkStopped};
use fbc::{Bundle, Channel, ChannelEntry, Package};

use super::search::EqualVersions;
use super::successors::{Admission, Installed, successors};
use super::{Reasons, UpdateGraph, UpgradeTarget, selected_channels};

/// A single-step upgrade from one bundle to another.
#[derive(Clone)]
pub struct Upgrade<'a> {
    /// Name of the bundle before the upgrade.
    pub from: &'a str,
    /// That bundle; `None` when the catalog has no bundle of that name.
    pub from_bundle: Option<Bundle<'a>>,
    /// Name of the bundle after the upgrade.
    pub to: &'a str,
    /// That bundle; `None` when the catalog has no bundle of that name.
    pub to_bundle: Option<Bundle<'a>>,
    /// Fields of the entries that allow it. None for a bundle of the same version and release under
    /// another name, which the controller allows without an entry.
    pub reasons: Reasons,
    /// Names of the channels with such an entry, sorted.
    pub channels: Vec<&'a str>,
}

/// A skip range: every bundle whose version is in it can be upgraded to one bundle.
#[derive(Clone)]
pub struct SkipRange<'a> {
    /// The range as it is written.
    pub range: &'a str,
    /// `true` when it is well-formed. A malformed one contains no version.
    pub is_valid: bool,
    /// Name of the bundle after the upgrade.
    pub to: &'a str,
    /// That bundle; `None` when the catalog has no bundle of that name.
    pub to_bundle: Option<Bundle<'a>>,
    /// Names of the channels with such an entry, sorted.
    pub channels: Vec<&'a str>,
    /// The bundles of the package in the range, as runs in the order of the graph, highest version
    /// first.
    runs: Rc<[Range<usize>]>,
}

/// Bundles of a package whose versions follow each other.
#[derive(Clone, Copy)]
pub struct BundleSpan<'a> {
    /// The bundle with the highest version.
    pub highest: Bundle<'a>,
    /// The bundle with the lowest version.
    pub lowest: Bundle<'a>,
    /// Number of bundles from the highest to the lowest, both included.
    pub count: usize,
}

impl<'a> Upgrade<'a> {
    fn new(from: &'a str, to: &'a str, package: Package<'a>) -> Self {
        let from_bundle = package.bundle(from);
        let to_bundle = package.bundle(to);
        Self {
            from,
            from_bundle,
            to,
            to_bundle,
            reasons: Reasons::default(),
            channels: Vec::new(),
        }
    }

    /// Adds what an entry says. Entries come sorted by channel.
    fn add(&mut self, entry: ChannelEntry<'a>, reasons: Reasons) {
        self.reasons.add(reasons);
        add_channel(&mut self.channels, entry);
    }
}

/// Adds the channel of an entry to names that are sorted. Entries come sorted by channel.
fn add_channel<'a>(channels: &mut Vec<&'a str>, entry: ChannelEntry<'a>) {
    let name = entry.channel().name();
    if channels.last() != Some(&name) {
        channels.push(name);
    }
}

/// Returns the single-step upgrades of an installed bundle: those to its [`successors`], in their
/// order.
///
/// # Errors
/// If the work was stopped.
pub fn upgrades_from<'a>(
    package: Package<'a>,
    installed: &Installed<'a>,
    channels: &[impl AsRef<str>],
    work: &Work<'_>,
) -> Result<Vec<Upgrade<'a>>, WorkStopped> {
    let bundles = successors(package, installed, channels, work)?;
    let mut upgrades: Vec<_> = bundles
        .iter()
        .map(|bundle| Upgrade::new(installed.name, bundle.name(), package))
        .collect();
    if upgrades.is_empty() {
        return Ok(upgrades);
    }
    let at: HashMap<_, _> = bundles
        .iter()
        .enumerate()
        .map(|(at, bundle)| (bundle.name(), at))
        .collect();
    let mut admission = Admission::new(installed);
    for entry in selected_channels(package, channels, work)?
        .into_iter()
        .flat_map(Channel::entries)
    {
        work.draw(Step::Edge, 1)?;
        if let Some(&at) = at.get(entry.name()) {
            let reasons = admission.reasons(entry, work)?;
            if reasons.any() {
                upgrades[at].add(entry, reasons);
            }
        }
    }
    Ok(upgrades)
}

impl<'a> UpdateGraph<'a> {
    /// Returns the upgrades to a bundle from the other bundles of the package, highest version
    /// first.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn upgrades_to(
        &self,
        bundle: Bundle<'_>,
        work: &Work<'_>,
    ) -> Result<Vec<Upgrade<'a>>, WorkStopped> {
        let Some(to) = self.index_of(bundle) else {
            return Ok(Vec::new());
        };
        work.draw(Step::Edge, 10 * self.bundles.len())?;
        let equal_versions = EqualVersions::new(&self.bundles);
        let mut is_from: Vec<_> = (0..self.bundles.len())
            .map(|from| equal_versions.contains_both(from, to))
            .collect();
        for target in self.targets_by_bundle[to]
            .iter()
            .map(|&at| &self.targets[at])
        {
            work.draw(
                Step::Edge,
                1 + target.entry.skips().len()
                    + target.in_range.iter().map(Range::len).sum::<usize>(),
            )?;
            let named = target
                .entry
                .replaces()
                .into_iter()
                .chain(target.entry.skips());
            let named = named.filter_map(|name| self.index_of_name(name));
            named
                .chain(target.in_range.iter().cloned().flatten())
                .for_each(|from| is_from[from] = true);
        }
        is_from[to] = false;
        let from = (0..self.bundles.len()).filter(|&from| is_from[from]);
        from.map(|from| self.upgrade_at(from, to, work)).collect()
    }

    /// Returns the upgrade from one bundle of the package to another, with what the entries of the
    /// channels say of it.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn upgrade(
        &self,
        from: Bundle<'a>,
        to: Bundle<'a>,
        work: &Work<'_>,
    ) -> Result<Upgrade<'a>, WorkStopped> {
        match self.index_of(from).zip(self.index_of(to)) {
            Some((from, to)) => self.upgrade_at(from, to, work),
            None => Ok(Upgrade::new(from.name(), to.name(), self.package)),
        }
    }

    fn upgrade_at(
        &self,
        from: usize,
        to: usize,
        work: &Work<'_>,
    ) -> Result<Upgrade<'a>, WorkStopped> {
        let mut upgrade = Upgrade::new(
            self.bundles[from].name(),
            self.bundles[to].name(),
            self.package,
        );
        for target in self.targets_by_bundle[to]
            .iter()
            .map(|&at| &self.targets[at])
        {
            work.draw(Step::Edge, 1 + target.entry.skips().len())?;
            let reasons = Reasons {
                replaces: target.entry.replaces() == Some(upgrade.from),
                skips: target.entry.skips().any(|name| name == upgrade.from),
                skip_range: target.holds(from),
            };
            if reasons.any() {
                upgrade.add(target.entry, reasons);
            }
        }
        Ok(upgrade)
    }

    /// Returns the upgrades from bundles that the entries name as replaced, by channel, then in
    /// catalog order.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn replaces(&self, work: &Work<'_>) -> Result<Vec<Upgrade<'a>>, WorkStopped> {
        let reasons = Reasons {
            replaces: true,
            ..Reasons::default()
        };
        self.named_upgrades(reasons, work, |entry| entry.replaces().into_iter())
    }

    /// Returns the upgrades from bundles that the entries name as skipped, by channel, then in
    /// catalog order.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn skips(&self, work: &Work<'_>) -> Result<Vec<Upgrade<'a>>, WorkStopped> {
        let reasons = Reasons {
            skips: true,
            ..Reasons::default()
        };
        self.named_upgrades(reasons, work, ChannelEntry::skips)
    }

    fn named_upgrades<N: Iterator<Item = &'a str>>(
        &self,
        reasons: Reasons,
        work: &Work<'_>,
        names: impl Fn(ChannelEntry<'a>) -> N,
    ) -> Result<Vec<Upgrade<'a>>, WorkStopped> {
        let mut upgrades: Vec<Upgrade<'a>> = Vec::new();
        let mut places = HashMap::new();
        for UpgradeTarget { entry, .. } in &self.targets {
            let to = entry.name();
            for from in names(*entry).filter(|from| *from != to) {
                work.draw(Step::Edge, 2)?;
                let at = *places.entry((from, to)).or_insert_with(|| {
                    upgrades.push(Upgrade::new(from, to, self.package));
                    upgrades.len() - 1
                });
                upgrades[at].add(*entry, reasons);
            }
        }
        Ok(upgrades)
    }

    /// Returns the skip ranges with the bundles that they lead to, by channel, then in catalog
    /// order.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn skip_ranges(&self, work: &Work<'_>) -> Result<Vec<SkipRange<'a>>, WorkStopped> {
        let mut ranges: Vec<SkipRange<'a>> = Vec::new();
        let mut places = HashMap::new();
        for UpgradeTarget {
            entry,
            in_range,
            is_range_valid,
            ..
        } in &self.targets
        {
            work.draw(Step::Edge, 1)?;
            let Some(range) = entry.skip_range() else {
                continue;
            };
            let at = *places.entry((range, entry.name())).or_insert_with(|| {
                ranges.push(SkipRange {
                    range,
                    is_valid: *is_range_valid,
                    to: entry.name(),
                    to_bundle: entry.bundle(),
                    channels: Vec::new(),
                    runs: Rc::clone(in_range),
                });
                ranges.len() - 1
            });
            add_channel(&mut ranges[at].channels, *entry);
        }
        Ok(ranges)
    }

    /// Iterates over the bundles of the package whose version is in a range of this graph, as runs
    /// without a gap, highest version first.
    pub fn spans(&self, range: &SkipRange<'a>) -> impl Iterator<Item = BundleSpan<'a>> {
        range.runs.iter().map(|run| BundleSpan {
            highest: self.bundles[run.start],
            lowest: self.bundles[run.end - 1],
            count: run.len(),
        })
    }

    /// Returns the number of bundles of the package whose version is in a range of this graph,
    /// without the bundle that it leads to.
    pub fn count_from(&self, range: &SkipRange<'a>) -> usize {
        let to = range.to_bundle.and_then(|bundle| self.index_of(bundle));
        let all = range.runs.iter().map(Range::len).sum::<usize>();
        all - usize::from(to.is_some_and(|to| range.runs.iter().any(|run| run.contains(&to))))
    }
}
