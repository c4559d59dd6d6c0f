//! A box for each channel, oldest bundles first: what Mermaid and Graphviz draw.

use std::collections::HashMap;

use crate::{Drawing, DrawnChannel, DrawnEntry, Mark};

/// The drawing of one channel.
pub(crate) struct ChannelBox<'g> {
    /// Its name, with its marks.
    pub(crate) title: String,
    pub(crate) nodes: Vec<Node<'g>>,
    pub(crate) edges: Vec<Edge>,
}

/// A bundle of a channel, or one that the catalog does not have.
pub(crate) struct Node<'g> {
    pub(crate) name: &'g str,
    /// The least important mark first.
    pub(crate) marks: Vec<Mark>,
    /// The skip ranges of its entries.
    pub(crate) ranges: Vec<&'g str>,
}

/// An upgrade between two nodes of a channel, which are named by their indexes.
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// `true` when the entry skips the bundle, `false` when it replaces it.
    pub(crate) is_skip: bool,
}

impl Node<'_> {
    /// The name with its marks in words.
    pub(crate) fn label(&self) -> String {
        let marks: Vec<_> = self.marks.iter().map(|mark| mark.as_str()).collect();
        if marks.is_empty() {
            self.name.to_owned()
        } else {
            format!("{} ({})", self.name, marks.join(", "))
        }
    }
}

impl<'g> Drawing<'g> {
    /// Returns the box of each channel.
    pub(crate) fn boxes(&self) -> impl Iterator<Item = ChannelBox<'g>> {
        self.channels
            .iter()
            .map(|channel| ChannelBox::new(self, channel))
    }
}

impl<'g> ChannelBox<'g> {
    fn new(drawing: &Drawing<'g>, channel: &DrawnChannel<'g>) -> Self {
        let mut ranges: HashMap<&str, Vec<&'g str>> = HashMap::new();
        for entry in &channel.entries {
            ranges
                .entry(entry.name)
                .or_default()
                .extend(entry.skip_range);
        }
        let bundles = drawing.bundles.iter().rev();
        let nodes = bundles.filter_map(|bundle| {
            let ranges = ranges.remove(bundle.name)?;
            let marks = [
                (Mark::Head, channel.heads.contains(&bundle.name)),
                (Mark::Deprecated, bundle.is_deprecated),
                (Mark::Stranded, channel.stranded.contains(&bundle.name)),
            ];
            let marks = marks
                .into_iter()
                .filter_map(|(mark, holds)| holds.then_some(mark))
                .collect();
            Some(Node {
                name: bundle.name,
                marks,
                ranges,
            })
        });
        let nodes: Vec<_> = nodes.collect();
        let mut drawn = Self {
            title: channel.title(),
            nodes,
            edges: Vec::new(),
        };
        let places = drawn
            .nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.name, at))
            .collect();
        channel
            .entries
            .iter()
            .for_each(|entry| drawn.add_edges(&places, entry));
        drawn
    }

    /// Adds the edges to an entry from the bundles that it replaces and skips. One that it replaces
    /// is drawn also where the channel does not have it; one that it only skips is not.
    fn add_edges(&mut self, places: &HashMap<&'g str, usize>, entry: &DrawnEntry<'g>) {
        let Some(&to) = places.get(entry.name) else {
            return;
        };
        if let Some(name) = entry.replaces.filter(|name| *name != entry.name) {
            let from = places.get(name).copied().unwrap_or_else(|| {
                self.nodes.push(Node {
                    name,
                    marks: vec![Mark::Absent],
                    ranges: Vec::new(),
                });
                self.nodes.len() - 1
            });
            self.edges.push(Edge {
                from,
                to,
                is_skip: false,
            });
        }
        let skipped = entry
            .skips
            .iter()
            .filter_map(|name| places.get(name).copied())
            .filter(|from| *from != to);
        self.edges.extend(skipped.map(|from| Edge {
            from,
            to,
            is_skip: true,
        }));
    }
}
