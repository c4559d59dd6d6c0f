//! The update graph of a channel as oc-mirror sees it, and the entries that a range selects.
//!
//! Edges are `replaces` and `skips`; `skipRange` is none. Names that have no entry are nodes too.
//! All steps take time linear in the entries and their skips.

use fbc::work::{Step, Work, WorkStopped};
use fbc::{Channel, ChannelEntry, Package};
use hashbrown::{HashMap, HashSet};

use crate::problem::MirrorProblemCode;

/// The update graph of a channel with exactly one head.
pub(crate) struct ChannelGraph<'a> {
    entries: HashMap<&'a str, ChannelEntry<'a>>,
    head: ChannelEntry<'a>,
}

/// Fault of the entries of a channel.
pub(crate) struct ChannelFault {
    pub(crate) code: MirrorProblemCode,
    pub(crate) message: String,
}

/// A bundle that a range selects in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeEntry<'a> {
    pub(crate) name: &'a str,
    /// `false` for an entry that only connects entries of the range.
    pub(crate) is_in_range: bool,
}

impl<'a> ChannelGraph<'a> {
    /// Creates the graph of a channel.
    pub(crate) fn new(
        channel: Channel<'a>,
        work: &Work<'_>,
    ) -> Result<Result<Self, ChannelFault>, WorkStopped> {
        let mut entries = HashMap::with_capacity(channel.entries().len());
        let mut incoming: HashMap<&str, HashSet<&str>> = HashMap::new();
        let mut fault = None;
        for entry in channel.entries() {
            work.draw(Step::Edge, 1 + entry.skips().len())?;
            let name = entry.name();
            if entries.contains_key(name) {
                fault.get_or_insert_with(|| format!("entry `{name}` is there twice"));
                continue;
            }
            entries.insert(name, entry);
            for to in entry.replaces().into_iter().chain(entry.skips()) {
                if to == name {
                    fault.get_or_insert_with(|| format!("entry `{name}` replaces or skips itself"));
                }
                incoming.entry(to).or_default().insert(name);
            }
        }

        let is_head = |entry: &ChannelEntry<'_>| !incoming.contains_key(entry.name());
        let heads: Vec<_> = channel.entries().filter(is_head).collect();
        let mut names: Vec<_> = heads.iter().map(|head| head.name()).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() > 1 {
            return Ok(Err(ChannelFault {
                code: MirrorProblemCode::MultipleHeads,
                message: format!("it has several heads: {}", shown(&names)),
            }));
        }
        let graph = heads.first().map(|&head| Self { entries, head });
        let fault = match (fault, &graph) {
            (Some(fault), _) => Some(fault),
            (None, None) if channel.entries().len() == 0 => Some("it has no entries".to_owned()),
            (None, None) => {
                Some("it has no head: its entries replace or skip each other".to_owned())
            }
            (None, Some(graph)) if graph.has_cycle(incoming, work)? => {
                Some("entries replace or skip each other in a cycle".to_owned())
            }
            (None, Some(_)) => None,
        };
        Ok(match (fault, graph) {
            (None, Some(graph)) => Ok(graph),
            (fault, _) => Err(ChannelFault {
                code: MirrorProblemCode::InvalidChannel,
                message: fault.unwrap_or_default(),
            }),
        })
    }

    /// Returns the head.
    pub(crate) fn head(&self) -> ChannelEntry<'a> {
        self.head
    }

    /// Removes nodes without incoming edges from the head on; tells whether edges are left.
    fn has_cycle(
        &self,
        mut incoming: HashMap<&'a str, HashSet<&'a str>>,
        work: &Work<'_>,
    ) -> Result<bool, WorkStopped> {
        let mut free = vec![self.head.name()];
        while let Some(name) = free.pop() {
            let Some(entry) = self.entries.get(name) else {
                continue;
            };
            work.draw(Step::Edge, 1 + entry.skips().len())?;
            for to in entry.replaces().into_iter().chain(entry.skips()) {
                let Some(from) = incoming.get_mut(to) else {
                    continue;
                };
                from.remove(name);
                if from.is_empty() {
                    incoming.remove(to);
                    free.push(to);
                }
            }
        }
        Ok(!incoming.is_empty())
    }

    /// Returns the entry with a name.
    pub(crate) fn entry(&self, name: &str) -> Option<ChannelEntry<'a>> {
        self.entries.get(name).copied()
    }

    /// Returns the highest entry on the `replaces` chain that is allowed.
    pub(crate) fn highest(&self, is_allowed: impl Fn(&str) -> bool) -> Option<ChannelEntry<'a>> {
        let names = self.chain_from(self.head).into_iter();
        names
            .filter_map(|name| self.entry(name))
            .find(|entry| is_allowed(entry.name()))
    }

    /// Returns the entries, each before those that it replaces or skips.
    fn head_down(&self, work: &Work<'_>) -> Result<Vec<ChannelEntry<'a>>, WorkStopped> {
        let mut incoming: HashMap<&str, usize> = HashMap::new();
        for entry in self.entries.values() {
            work.draw(Step::Edge, 1 + entry.skips().len())?;
            for to in targets(*entry) {
                *incoming.entry(to).or_default() += 1;
            }
        }
        let mut order = Vec::with_capacity(self.entries.len());
        let mut free = vec![self.head];
        while let Some(entry) = free.pop() {
            work.draw(Step::Edge, 1 + entry.skips().len())?;
            order.push(entry);
            for to in targets(entry) {
                let Some(count) = incoming.get_mut(to) else {
                    continue;
                };
                *count -= 1;
                if *count == 0 {
                    free.extend(self.entry(to));
                }
            }
        }
        Ok(order)
    }

    /// Returns the names of entries that connect the wanted ones to a valid channel: of the entries
    /// together, one is the head, and each other one is on its `replaces` chain or skipped. `None`
    /// if nothing leads to one of them.
    pub(crate) fn connecting(
        &self,
        wanted: &HashSet<&'a str>,
        work: &Work<'_>,
    ) -> Result<Option<Vec<&'a str>>, WorkStopped> {
        let order = self.head_down(work)?;
        let is_wanted = |entry: &ChannelEntry<'_>| wanted.contains(entry.name());
        let Some(first) = order.iter().position(is_wanted) else {
            return Ok(Some(Vec::new()));
        };
        if let Some(names) = self.connecting_below(&order[first..], wanted, work)? {
            return Ok(Some(names));
        }
        // Entries beside each other have only the head of the channel in common.
        self.connecting_below(&order, wanted, work)
    }

    /// Returns the entries that connect the wanted ones to the first one of an order; `None` if that
    /// is impossible.
    fn connecting_below(
        &self,
        order: &[ChannelEntry<'a>],
        wanted: &HashSet<&'a str>,
        work: &Work<'_>,
    ) -> Result<Option<Vec<&'a str>>, WorkStopped> {
        let top = order[0];
        let chain = self.chain_from(top);
        let place: HashMap<&str, usize> = chain.iter().copied().zip(0..).collect();
        // The nearest entry to the head that skips a name: one on the chain, or else another one.
        let mut skipping: HashMap<&str, ChannelEntry<'a>> = HashMap::new();
        for on_chain in [true, false] {
            for entry in order {
                work.draw(Step::Edge, 1 + entry.skips().len())?;
                if place.contains_key(entry.name()) == on_chain {
                    for name in entry.skips() {
                        skipping.entry(name).or_insert(*entry);
                    }
                }
            }
        }

        let mut kept = wanted.clone();
        kept.insert(top.name());
        let mut skipped: HashSet<&str> = HashSet::new();
        let mut connected = 1;
        let mut open: Vec<&str> = kept.iter().copied().collect();
        open.sort_unstable_by_key(|name| place.get(name).copied().unwrap_or(usize::MAX));
        open.reverse();
        while let Some(name) = open.pop() {
            let Some(entry) = self.entry(name) else {
                continue;
            };
            work.draw(Step::Edge, 1 + entry.skips().len())?;
            let new_skips = entry.skips();
            skipped.extend(new_skips);
            if name == top.name() || skipped.contains(name) {
                continue;
            }
            if let Some(&at) = place.get(name) {
                // The chain goes on to this entry.
                for &between in &chain[connected.min(at)..=at] {
                    if kept.insert(between) {
                        open.push(between);
                    }
                }
                connected = connected.max(at + 1);
                continue;
            }
            let Some(by) = skipping.get(name) else {
                return Ok(None);
            };
            skipped.insert(name);
            if kept.insert(by.name()) {
                open.push(by.name());
            }
        }
        kept.retain(|name| !wanted.contains(name));
        let mut names: Vec<_> = kept.into_iter().collect();
        names.sort_unstable();
        Ok(Some(names))
    }

    /// Returns what a range selects: the nodes of the `replaces` chain between the lowest one with
    /// the most matches at or below it and the highest one without any, and the direct skips of
    /// these that are in the range.
    pub(crate) fn within(
        &self,
        matches: impl Fn(&str) -> bool,
        work: &Work<'_>,
    ) -> Result<Vec<RangeEntry<'a>>, WorkStopped> {
        let chain = self.chain_from(self.head);
        let skips = |name: &str| {
            self.entries
                .get(name)
                .into_iter()
                .flat_map(|entry| entry.skips())
        };

        // Matches at or below each node, counted from the lowest one: each name once.
        let mut seen = HashSet::new();
        let mut counts = vec![0; chain.len()];
        let mut count = 0;
        for (at, name) in chain.iter().enumerate().rev() {
            work.draw(Step::Comparison, 1 + skips(name).count())?;
            let names = std::iter::once(*name).chain(skips(name));
            count += names
                .filter(|name| matches(name) && seen.insert(*name))
                .count();
            counts[at] = count;
        }

        // Counts fall along the chain, so that the most matches are those of the channel's head.
        let most = counts.first().copied().unwrap_or(0);
        let tail = counts
            .iter()
            .position(|&count| count == 0)
            .unwrap_or(chain.len());
        let head = counts
            .iter()
            .rposition(|&count| count == most)
            .unwrap_or(0)
            .min(tail);
        let mut selected = Vec::new();
        for name in &chain[head..tail] {
            work.draw(Step::Comparison, 1 + skips(name).count())?;
            selected.push(RangeEntry {
                name,
                is_in_range: matches(name),
            });
            let skipped = skips(name).filter(|name| matches(name));
            selected.extend(skipped.map(|name| RangeEntry {
                name,
                is_in_range: true,
            }));
        }
        Ok(selected)
    }

    /// Returns the names on the `replaces` chain, from an entry on. The last one may have no entry.
    fn chain_from(&self, top: ChannelEntry<'a>) -> Vec<&'a str> {
        let mut chain = vec![top.name()];
        let mut next = top.replaces();
        while let Some(name) = next {
            chain.push(name);
            next = self.entries.get(name).and_then(|entry| entry.replaces());
        }
        chain
    }
}

/// Iterates over the names that an entry replaces or skips.
fn targets(entry: ChannelEntry<'_>) -> impl Iterator<Item = &str> {
    entry.replaces().into_iter().chain(entry.skips())
}

/// Returns the version of the bundle with a name.
pub(crate) fn version_of<'a>(package: Package<'a>, name: &str) -> Option<&'a str> {
    package.bundle(name)?.version()
}

/// Maximum number of names that a message lists.
const MAX_SHOWN: usize = 5;

/// Lists the first of many names for a message.
pub(crate) fn shown(names: &[&str]) -> String {
    let first = names[..names.len().min(MAX_SHOWN)].join("`, `");
    match names.len().saturating_sub(MAX_SHOWN) {
        0 => format!("`{first}`"),
        more => format!("`{first}` and {more} more"),
    }
}
