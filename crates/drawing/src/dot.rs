//! Formats the update graph in DOT, the language of Graphviz (graphviz.org).

use std::fmt::{self, Display};

use crate::boxes::{ChannelBox, Edge, Node};
use crate::{Drawing, Mark};

impl Drawing<'_> {
    /// Formats the graph as a DOT digraph with a cluster for each channel. It shows what
    /// [`Drawing::mermaid`] shows.
    pub fn dot(&self) -> impl Display {
        fmt::from_fn(|f| {
            writeln!(f, "digraph {} {{", DotText(self.package))?;
            writeln!(
                f,
                "  rankdir=LR\n  node [shape=box, style=rounded, fontname=\"sans-serif\"]"
            )?;
            self.boxes()
                .enumerate()
                .try_for_each(|(at, channel)| draw(f, at, &channel))?;
            writeln!(f, "}}")
        })
    }
}

fn draw(f: &mut fmt::Formatter<'_>, at: usize, channel: &ChannelBox<'_>) -> fmt::Result {
    writeln!(
        f,
        "  subgraph cluster_{at} {{\n    label={}",
        DotText(&channel.title)
    )?;
    for (place, node) in channel.nodes.iter().enumerate() {
        writeln!(
            f,
            "    c{at}n{place} [label={}{}]",
            DotText(&text(node)),
            style(node.marks.last().copied())
        )?;
    }
    for &Edge { from, to, is_skip } in &channel.edges {
        writeln!(
            f,
            "    c{at}n{from} -> c{at}n{to}{}",
            if is_skip {
                " [style=dashed, label=skip]"
            } else {
                ""
            }
        )?;
    }
    writeln!(f, "  }}")
}

fn text(node: &Node<'_>) -> String {
    let ranges = node
        .ranges
        .iter()
        .map(|range| format!("\nfrom {}", range.replace('\n', " ")));
    node.label().replace('\n', " ") + &ranges.collect::<String>()
}

/// Attributes of a node by its most important mark.
fn style(mark: Option<Mark>) -> &'static str {
    match mark {
        None => "",
        Some(Mark::Head) => ", penwidth=3",
        Some(Mark::Deprecated) => ", style=\"rounded,dashed\", fontcolor=gray40",
        Some(Mark::Stranded) => ", penwidth=3, color=\"#c62828\"",
        Some(Mark::Absent) => ", style=\"rounded,dotted\"",
    }
}

/// A quoted string of DOT.
struct DotText<'a>(&'a str);

impl Display for DotText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"")?;
        self.0.chars().try_for_each(|c| match c {
            '"' | '\\' => write!(f, "\\{c}"),
            '\n' => write!(f, "\\n"),
            c if c.is_control() => f.write_str(" "),
            c => write!(f, "{c}"),
        })?;
        write!(f, "\"")
    }
}
