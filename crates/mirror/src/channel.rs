//! The update graph of a channel as oc-mirror sees it, and the entries that a range selects.
//!
//! Edges are `replaces` and `skips`; `skipRange` is none. Names that have no entry are nodes too.
//! All steps take time linear in the entries and their skips.

use fbc::work::{Step, Work, WorkStopped};
use fbc::{Channel, ChannelEntry, Package};
use hashbrown::{HashMap, HashSet};

use crate::problem::MirrorProblemCode;
use crate::range::MirrorRange;

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

    /// Returns what a range selects: the nodes of the `replaces` chain between the lowest one with
    /// the most matches at or below it and the highest one without any, and the direct skips of
    /// these that are in the range.
    pub(crate) fn within(
        &self,
        range: &MirrorRange,
        package: Package<'a>,
        work: &Work<'_>,
    ) -> Result<Vec<RangeEntry<'a>>, WorkStopped> {
        let matches = |name: &str| range.contains(version_of(package, name));
        let chain = self.chain();
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

    /// Returns the names on the `replaces` chain, from the head on. The last one may have no entry.
    fn chain(&self) -> Vec<&'a str> {
        let mut chain = vec![self.head.name()];
        let mut next = self.head.replaces();
        while let Some(name) = next {
            chain.push(name);
            next = self.entries.get(name).and_then(|entry| entry.replaces());
        }
        chain
    }
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
