//! Formats the update graph as a Mermaid flowchart (mermaid.js.org): one box per channel, oldest bundles first.
//!
//! It stays readable where ranges allow thousands of edges: a skip range is written on its bundle, and drawn as an arrow
//! only from bundles that no entry of the channel names. Its length is linear in the entries and skips.

use std::fmt::{self, Display};

use hashbrown::HashSet;

use super::{UpdateGraph, heads};
use crate::catalog::{Bundle, Channel, ChannelEntry};
use crate::work::Work;

/// Styles of marked bundles. The labels repeat the marks, for readers who do not see colours.
const CLASSES: [&str; 4] = [
    "classDef head stroke-width:3px",
    "classDef deprecated stroke-dasharray:4 3,opacity:0.6",
    "classDef stranded stroke:#c62828,stroke-width:3px",
    "classDef absent stroke-dasharray:2 2,fill:none",
];

impl UpdateGraph<'_> {
    /// Formats the graph as a Mermaid flowchart. Heads, deprecated and stranded bundles are marked; a bundle that an entry
    /// replaces but that is not in the channel is drawn as absent; one that is only skipped is not drawn.
    pub fn mermaid(&self) -> impl Display {
        fmt::from_fn(|f| {
            writeln!(f, "flowchart LR")?;
            for (at, &channel) in self.channels.iter().enumerate() {
                ChannelDrawing::new(self, channel, at).draw(f)?;
            }
            CLASSES.iter().try_for_each(|class| writeln!(f, "  {class}"))
        })
    }
}

/// The drawing of one channel.
struct ChannelDrawing<'g> {
    graph: UpdateGraph<'g>,
    channel: Channel<'g>,
    /// Index of the channel, which makes the ids of its bundles unique.
    at: usize,
    heads: HashSet<&'g str>,
    stranded: HashSet<&'g str>,
    /// Names of bundles that an entry replaces or skips.
    named: HashSet<&'g str>,
}

impl<'g> ChannelDrawing<'g> {
    fn new(all: &UpdateGraph<'g>, channel: Channel<'g>, at: usize) -> Self {
        let graph = UpdateGraph::new(all.package, &[channel.name()], &Work::unlimited())
            .expect("an account without limit refuses nothing");
        let stranded = graph.stranded().into_iter().map(Bundle::name).collect();
        let named = channel.entries().flat_map(|entry| entry.replaces().into_iter().chain(entry.skips())).collect();
        Self { graph, channel, at, heads: heads(channel).collect(), stranded, named }
    }

    fn draw(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut title = self.channel.name().to_owned();
        for (mark, holds) in
            [("default", self.channel.is_default()), ("deprecated", self.channel.deprecation().is_some())]
        {
            if holds {
                title = format!("{title} ({mark})");
            }
        }
        writeln!(f, "  subgraph c{}[\"{}\"]", self.at, MermaidText(&title))?;
        let mut bundles: Vec<_> = self.graph.nodes().collect();
        bundles.reverse();
        bundles.iter().try_for_each(|&bundle| self.bundle(f, bundle))?;
        self.channel.entries().enumerate().try_for_each(|(at, entry)| self.named_steps(f, at, entry))?;
        for &bundle in bundles.iter().filter(|bundle| !self.named.contains(bundle.name())) {
            if let Some(to) = self.range_step(bundle) {
                writeln!(f, "    {} -. range .-> {}", self.id(bundle), self.id(to))?;
            }
        }
        writeln!(f, "  end")
    }

    /// Draws a bundle with its marks and skip ranges.
    fn bundle(&self, f: &mut fmt::Formatter<'_>, bundle: Bundle<'_>) -> fmt::Result {
        let marks: Vec<_> = [
            ("head", self.heads.contains(bundle.name())),
            ("deprecated", bundle.deprecation().is_some()),
            ("stranded", self.stranded.contains(bundle.name())),
        ]
        .into_iter()
        .filter_map(|(mark, holds)| holds.then_some(mark))
        .collect();
        write!(f, "    {}[\"{}", self.id(bundle), MermaidText(bundle.name()))?;
        if !marks.is_empty() {
            write!(f, " ({})", marks.join(", "))?;
        }
        let entries = bundle.channel_entries().filter(|entry| entry.channel().name() == self.channel.name());
        for range in entries.filter_map(ChannelEntry::skip_range) {
            write!(f, "<br/>from {}", MermaidText(range))?;
        }
        write!(f, "\"]")?;
        match marks.last() {
            Some(mark) => writeln!(f, ":::{mark}"),
            None => writeln!(f),
        }
    }

    /// Draws the arrows to an entry from the bundles that it replaces and skips.
    fn named_steps(&self, f: &mut fmt::Formatter<'_>, at: usize, entry: ChannelEntry<'_>) -> fmt::Result {
        let Some(to) = entry.bundle().map(|bundle| self.id(bundle)) else { return Ok(()) };
        if let Some(name) = entry.replaces().filter(|name| *name != entry.name()) {
            if let Some(from) = self.node(name) {
                writeln!(f, "    {} --> {to}", self.id(from))?;
            } else {
                writeln!(f, "    c{}a{at}[\"{} (absent)\"]:::absent --> {to}", self.at, MermaidText(name))?;
            }
        }
        let skipped = entry.skips().filter(|name| *name != entry.name()).filter_map(|name| self.node(name));
        for from in skipped {
            writeln!(f, "    {} -. skip .-> {to}", self.id(from))?;
        }
        Ok(())
    }

    /// Finds the bundle of a name, if it is in the channel.
    fn node(&self, name: &str) -> Option<Bundle<'g>> {
        let place = self.graph.index_of_name(name)?;
        (!self.graph.targets_by_bundle[place].is_empty()).then(|| self.graph.bundles[place])
    }

    /// Returns the highest version that a skip range allows as upgrade of a bundle.
    fn range_step(&self, bundle: Bundle<'_>) -> Option<Bundle<'g>> {
        let from = self.graph.index_of(bundle)?;
        let targets = self.graph.targets.iter().filter(|target| target.bundle != Some(from) && target.holds(from));
        targets.filter_map(|target| target.bundle).min().map(|to| self.graph.bundles[to])
    }

    fn id(&self, bundle: Bundle<'_>) -> impl Display + use<> {
        let (channel, bundle) = (self.at, self.graph.index_of(bundle).unwrap_or_default());
        fmt::from_fn(move |f| write!(f, "c{channel}b{bundle}"))
    }
}

/// Text of a label, in which quotes and HTML are escaped as Mermaid's entities.
struct MermaidText<'a>(&'a str);

impl Display for MermaidText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' => write!(f, "#{};", u32::from(c)),
            c if c.is_control() => f.write_str(" "),
            c => write!(f, "{c}"),
        })
    }
}
