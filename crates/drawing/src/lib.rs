//! Drawings of update graphs as text: for Mermaid, for Graphviz, as a picture, and with letters for
//! a terminal.
//!
//! The crate knows neither catalogs nor where a drawing is printed: callers fill in a [`Drawing`]. It
//! stays readable where ranges allow thousands of upgrades: a skip range is a text on its
//! bundle. The size is linear in the entries and skips.

mod boxes;
mod dot;
mod lanes;
mod mermaid;
mod rows;
mod svg;

pub use mermaid::{Mermaid, MermaidText};

/// The channels of a package, and which of their bundles can be upgraded to which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing<'g> {
    /// Name of the package.
    pub package: &'g str,
    /// The channels by name.
    pub channels: Vec<DrawnChannel<'g>>,
    /// The bundles in these channels, highest version first.
    pub bundles: Vec<DrawnBundle<'g>>,
}

/// A channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawnChannel<'g> {
    /// Its name.
    pub name: &'g str,
    /// `true` for the default channel of the package.
    pub is_default: bool,
    /// `true` when it is deprecated.
    pub is_deprecated: bool,
    /// Names of the entries that no other replaces or skips.
    pub heads: Vec<&'g str>,
    /// Names of the entries from which no sequence of upgrades leads to a head.
    pub stranded: Vec<&'g str>,
    /// Its entries.
    pub entries: Vec<DrawnEntry<'g>>,
}

/// An entry of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawnEntry<'g> {
    /// Name of the bundle, which the catalog may not have.
    pub name: &'g str,
    /// Name of the bundle that it replaces.
    pub replaces: Option<&'g str>,
    /// Names of the bundles that it skips.
    pub skips: Vec<&'g str>,
    /// The versions that can be upgraded to it.
    pub skip_range: Option<&'g str>,
}

/// A bundle that the catalog has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawnBundle<'g> {
    /// Its name.
    pub name: &'g str,
    /// Its version; empty if it has none.
    pub version: &'g str,
    /// `true` when it is deprecated.
    pub is_deprecated: bool,
}

/// A property of a bundle in a channel that drawings mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Head,
    Deprecated,
    Stranded,
    /// An entry replaces it, but it is not in the channel.
    Absent,
}

impl Mark {
    /// Returns the mark as a word, for formats without styles and for screen readers.
    fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Deprecated => "deprecated",
            Self::Stranded => "stranded",
            Self::Absent => "absent",
        }
    }
}

impl<'g> DrawnChannel<'g> {
    /// Returns the names of the entries that no other entry replaces or skips.
    pub fn heads_of(entries: &[DrawnEntry<'g>]) -> Vec<&'g str> {
        let superseded: std::collections::HashSet<_> = entries
            .iter()
            .flat_map(|entry| {
                entry
                    .replaces
                    .into_iter()
                    .chain(entry.skips.iter().copied())
            })
            .collect();
        entries
            .iter()
            .map(|entry| entry.name)
            .filter(|name| !superseded.contains(name))
            .collect()
    }

    /// The name with its marks.
    fn title(&self) -> String {
        let marks = [
            (" (default)", self.is_default),
            (" (deprecated)", self.is_deprecated),
        ];
        let marks = marks
            .iter()
            .filter(|(_, holds)| *holds)
            .map(|(mark, _)| *mark);
        std::iter::once(self.name).chain(marks).collect()
    }
}
