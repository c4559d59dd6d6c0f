//! Formats the update graph as a Mermaid flowchart (mermaid.js.org).

use std::fmt::{self, Display};

use crate::Drawing;
use crate::boxes::{ChannelBox, Edge, Node};

/// Maximum number of edges that Mermaid draws unless its page says otherwise (`maxEdges`).
const MAX_EDGES: usize = 500;

/// Maximum length in characters of what Mermaid draws unless its page says otherwise
/// (`maxTextSize`).
const MAX_CHARACTERS: usize = 50_000;

/// Styles of marked bundles.
const CLASSES: [&str; 4] = [
    "classDef head stroke-width:3px",
    "classDef deprecated stroke-dasharray:4 3,opacity:0.6",
    "classDef stranded stroke:#c62828,stroke-width:3px",
    "classDef absent stroke-dasharray:2 2,fill:none",
];

/// A Mermaid flowchart.
pub struct Mermaid {
    text: String,
    edges: usize,
}

impl Drawing<'_> {
    /// Formats the graph as a Mermaid flowchart. Heads, deprecated and stranded bundles are marked;
    /// a bundle that an entry replaces but that is not in the channel is drawn as absent; one that
    /// is only skipped is not drawn. A skip range is a text on its bundle.
    pub fn mermaid(&self) -> Mermaid {
        let channels: Vec<_> = self.boxes().collect();
        let text = fmt::from_fn(|f| {
            writeln!(f, "flowchart LR")?;
            channels
                .iter()
                .enumerate()
                .try_for_each(|(at, channel)| draw(f, at, channel))?;
            CLASSES
                .iter()
                .try_for_each(|class| writeln!(f, "  {class}"))
        });
        Mermaid {
            text: text.to_string(),
            edges: channels.iter().map(|channel| channel.edges.len()).sum(),
        }
    }
}

impl Mermaid {
    /// Returns why Mermaid would refuse to draw it, unless its page raises Mermaid's limits.
    pub fn refusal(&self) -> Option<String> {
        let characters = self.text.chars().count();
        if self.edges > MAX_EDGES {
            return Some(format!(
                "it has {} edges, and Mermaid draws at most {MAX_EDGES}",
                self.edges
            ));
        }
        (characters > MAX_CHARACTERS).then(|| {
            format!("it has {characters} characters, and Mermaid draws at most {MAX_CHARACTERS}")
        })
    }
}

impl Display for Mermaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Draws one channel as a box. `at` is its index, which makes the ids of its nodes unique.
fn draw(f: &mut fmt::Formatter<'_>, at: usize, channel: &ChannelBox<'_>) -> fmt::Result {
    writeln!(f, "  subgraph c{at}[\"{}\"]", MermaidText(&channel.title))?;
    // A box does not inherit the direction of the chart.
    writeln!(f, "    direction LR")?;
    for (place, node) in channel.nodes.iter().enumerate() {
        draw_node(f, &format!("c{at}n{place}"), node)?;
    }
    for &Edge { from, to, is_skip } in &channel.edges {
        let arrow = if is_skip { "-. skip .->" } else { "-->" };
        writeln!(f, "    c{at}n{from} {arrow} c{at}n{to}")?;
    }
    writeln!(f, "  end")
}

fn draw_node(f: &mut fmt::Formatter<'_>, id: &str, node: &Node<'_>) -> fmt::Result {
    write!(f, "    {id}[\"{}", MermaidText(&node.label()))?;
    node.ranges
        .iter()
        .try_for_each(|range| write!(f, "<br/>from {}", MermaidText(range)))?;
    write!(f, "\"]")?;
    match node.marks.last() {
        Some(mark) => writeln!(f, ":::{}", mark.as_str()),
        None => writeln!(f),
    }
}

/// Text of a label, in which quotes and HTML are escaped as Mermaid's entities.
#[derive(Clone, Copy, Debug)]
pub struct MermaidText<'a>(pub &'a str);

impl Display for MermaidText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' => write!(f, "#{};", u32::from(c)),
            c if c.is_control() => f.write_str(" "),
            c => write!(f, "{c}"),
        })
    }
}
