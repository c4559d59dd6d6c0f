//! What drawings of the update graph show, whatever their format: a box for each channel, oldest bundles first.
//!
//! It stays readable where ranges allow thousands of upgrades: a skip range is a text on its bundle. The size is linear in
//! the entries and skips.

use hashbrown::{HashMap, HashSet};

use super::{UpdateGraph, heads, stranded};
use crate::catalog::{Bundle, Channel, ChannelEntry};

/// The drawing of one channel.
pub(super) struct DrawnChannel<'g> {
    /// Its name, with its marks.
    pub(super) title: String,
    pub(super) nodes: Vec<Node<'g>>,
    pub(super) edges: Vec<Edge>,
}

/// A bundle of a channel, or one that the catalog does not have.
pub(super) struct Node<'g> {
    pub(super) name: &'g str,
    /// The least important mark first.
    pub(super) marks: Vec<Mark>,
    /// The skip ranges of its entries.
    pub(super) ranges: Vec<&'g str>,
}

/// What is special about a bundle in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Head,
    Deprecated,
    Stranded,
    /// An entry replaces it, but it is not in the channel.
    Absent,
}

/// An upgrade between two nodes of a channel, which are named by their indexes.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether the entry skips the bundle; otherwise it replaces it.
    pub(super) is_skip: bool,
}

impl Mark {
    /// The mark as a word, for readers who do not see styles.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Deprecated => "deprecated",
            Self::Stranded => "stranded",
            Self::Absent => "absent",
        }
    }
}

impl Node<'_> {
    /// The name with its marks in words.
    pub(super) fn label(&self) -> String {
        let marks: Vec<_> = self.marks.iter().map(|mark| mark.as_str()).collect();
        if marks.is_empty() { self.name.to_owned() } else { format!("{} ({})", self.name, marks.join(", ")) }
    }
}

/// The name of a channel, with its marks.
pub(super) fn channel_title(channel: Channel<'_>) -> String {
    let marks = [(" (default)", channel.is_default()), (" (deprecated)", channel.deprecation().is_some())];
    let marks = marks.iter().filter(|(_, holds)| *holds).map(|(mark, _)| *mark);
    std::iter::once(channel.name()).chain(marks).collect()
}

/// Returns the marks of the bundles of a channel.
fn marks_of(channel: Channel<'_>) -> impl Fn(Bundle<'_>) -> Vec<Mark> {
    let heads: HashSet<_> = heads(channel).collect();
    let stranded: HashSet<_> = stranded(channel).into_iter().collect();
    move |bundle| {
        let marks = [
            (Mark::Head, heads.contains(bundle.name())),
            (Mark::Deprecated, bundle.deprecation().is_some()),
            (Mark::Stranded, stranded.contains(bundle.name())),
        ];
        marks.into_iter().filter_map(|(mark, holds)| holds.then_some(mark)).collect()
    }
}

impl<'g> UpdateGraph<'g> {
    /// Returns the drawing of each channel.
    pub(super) fn drawn_channels(&self) -> impl Iterator<Item = DrawnChannel<'g>> {
        self.channels().map(|channel| DrawnChannel::new(self, channel))
    }
}

impl<'g> DrawnChannel<'g> {
    fn new(graph: &UpdateGraph<'g>, channel: Channel<'g>) -> Self {
        let marks = marks_of(channel);
        let entries_of =
            |bundle: Bundle<'g>| bundle.channel_entries().filter(move |entry| entry.channel().name() == channel.name());
        let mut nodes: Vec<_> = graph
            .nodes()
            .filter(|bundle| entries_of(*bundle).next().is_some())
            .map(|bundle| Node {
                name: bundle.name(),
                marks: marks(bundle),
                ranges: entries_of(bundle).filter_map(ChannelEntry::skip_range).collect(),
            })
            .collect();
        nodes.reverse();
        let mut drawn = Self { title: channel_title(channel), nodes, edges: Vec::new() };
        let places = drawn.nodes.iter().enumerate().map(|(at, node)| (node.name, at)).collect();
        channel.entries().for_each(|entry| drawn.add_edges(&places, entry));
        drawn
    }

    /// Adds the edges to an entry from the bundles that it replaces and skips. One that it replaces is drawn also where the
    /// channel does not have it; one that it only skips is not.
    fn add_edges(&mut self, places: &HashMap<&'g str, usize>, entry: ChannelEntry<'g>) {
        let Some(&to) = places.get(entry.name()) else { return };
        if let Some(name) = entry.replaces().filter(|name| *name != entry.name()) {
            let from = places.get(name).copied().unwrap_or_else(|| {
                self.nodes.push(Node { name, marks: vec![Mark::Absent], ranges: Vec::new() });
                self.nodes.len() - 1
            });
            self.edges.push(Edge { from, to, is_skip: false });
        }
        let skipped = entry.skips().filter_map(|name| places.get(name).copied()).filter(|from| *from != to);
        self.edges.extend(skipped.map(|from| Edge { from, to, is_skip: true }));
    }
}
