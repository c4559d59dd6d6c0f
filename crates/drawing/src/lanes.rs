//! Draws the update graph with letters: a row for each bundle, highest version first, and a lane
//! for each channel.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display};

use crate::Drawing;
use crate::rows::{lanes, rows};

/// A head, another entry, and an entry without a bundle.
const DOTS: [&str; 3] = ["●", "○", "×"];

impl Drawing<'_> {
    /// Draws the graph for a terminal. A lane goes from the name of a channel, which is above it,
    /// to the last of its entries.
    pub fn lanes(&self) -> impl Display {
        fmt::from_fn(|f| {
            let lanes = lanes(self);
            let rows = rows(self);
            let places: HashMap<_, _> = rows
                .iter()
                .enumerate()
                .map(|(at, row)| (row.name, at))
                .collect();
            let columns: Vec<BTreeMap<usize, &str>> = lanes
                .iter()
                .map(|lane| {
                    let entries = lane
                        .entries
                        .iter()
                        .filter_map(|entry| Some((*places.get(entry.name)?, entry.name)));
                    entries.collect()
                })
                .collect();
            for (at, lane) in lanes.iter().enumerate() {
                writeln!(f, "{}{}", "│ ".repeat(at), clean(&lane.title()))?;
            }
            let longest = |texts: &mut dyn Iterator<Item = &str>| {
                texts.map(|text| text.chars().count()).max().unwrap_or(0)
            };
            let versions = longest(&mut rows.iter().map(|row| row.version));
            let names = longest(&mut rows.iter().map(|row| row.name));
            for (at, row) in rows.iter().enumerate() {
                for (lane, column) in lanes.iter().zip(&columns) {
                    let dot = match column.get(&at) {
                        Some(_) if row.is_absent => DOTS[2],
                        Some(name) if lane.heads.contains(name) => DOTS[0],
                        Some(_) => DOTS[1],
                        // The lane runs from the name of its channel to its last entry, in rows of others too.
                        None if column.last_key_value().is_some_and(|(last, _)| at < *last) => "│",
                        None => " ",
                    };
                    write!(f, "{dot} ")?;
                }
                let version = clean(row.version);
                let name = clean(row.name);
                let notes = clean(&row.notes);
                let line = format!(" {version:versions$}  {name:names$}  {notes}");
                writeln!(f, "{}", line.trim_end())?;
            }
            Ok(())
        })
    }
}

/// Text without what a terminal would obey: control characters, and those that change the direction
/// of what follows.
fn clean(text: &str) -> String {
    let is_obeyed =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .map(|c| if is_obeyed(c) { ' ' } else { c })
        .collect()
}
