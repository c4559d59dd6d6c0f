//! A row for each bundle, highest version first, and the order of lanes: what pictures and
//! terminals show.

use std::collections::{HashMap, HashSet};

use crate::{Drawing, DrawnBundle, DrawnChannel, Mark};

/// A bundle of any channel, or a name that entries have and the catalog has no bundle of.
pub(crate) struct Row<'g> {
    pub(crate) name: &'g str,
    pub(crate) version: &'g str,
    /// Marks and skip ranges in words.
    pub(crate) notes: String,
    pub(crate) is_head: bool,
    pub(crate) is_absent: bool,
}

/// The channels in the order of their lanes: the default channel first, then by the versions of
/// their heads.
pub(crate) fn lanes<'d, 'g>(drawing: &'d Drawing<'g>) -> Vec<&'d DrawnChannel<'g>> {
    let places: HashMap<_, _> = drawing
        .bundles
        .iter()
        .enumerate()
        .map(|(at, bundle)| (bundle.name, at))
        .collect();
    // The highest version has the first place.
    let head = |channel: &DrawnChannel<'_>| {
        channel
            .heads
            .iter()
            .filter_map(|name| places.get(name).copied())
            .min()
    };
    let mut channels: Vec<_> = drawing.channels.iter().collect();
    channels.sort_by_key(|channel| {
        (
            !channel.is_default,
            head(channel).unwrap_or(usize::MAX),
            channel.name,
        )
    });
    channels
}

/// The rows, those of absent bundles last.
pub(crate) fn rows<'g>(drawing: &Drawing<'g>) -> Vec<Row<'g>> {
    let lanes = lanes(drawing);
    let mut rows: Vec<_> = drawing
        .bundles
        .iter()
        .map(|bundle| Row::new(bundle, &lanes))
        .collect();
    let mut known: HashSet<_> = rows.iter().map(|row| row.name).collect();
    let entries = lanes.iter().flat_map(|lane| &lane.entries);
    for name in entries.flat_map(|entry| std::iter::once(entry.name).chain(entry.replaces)) {
        if known.insert(name) {
            let notes = Mark::Absent.as_str().to_owned();
            rows.push(Row {
                name,
                version: "",
                notes,
                is_head: false,
                is_absent: true,
            });
        }
    }
    rows
}

impl<'g> Row<'g> {
    fn new(bundle: &DrawnBundle<'g>, lanes: &[&DrawnChannel<'g>]) -> Self {
        let heads: Vec<_> = lanes
            .iter()
            .filter(|lane| lane.heads.contains(&bundle.name))
            .map(|lane| lane.name)
            .collect();
        let mut notes = Vec::new();
        if !heads.is_empty() {
            notes.push(format!("head of {}", heads.join(", ")));
        }
        let marks = [
            (Mark::Deprecated, bundle.is_deprecated),
            (
                Mark::Stranded,
                lanes
                    .iter()
                    .any(|lane| lane.stranded.contains(&bundle.name)),
            ),
        ];
        notes.extend(
            marks
                .into_iter()
                .filter(|(_, holds)| *holds)
                .map(|(mark, _)| mark.as_str().to_owned()),
        );
        let entries = lanes
            .iter()
            .flat_map(|lane| &lane.entries)
            .filter(|entry| entry.name == bundle.name);
        let mut ranges: Vec<_> = entries.filter_map(|entry| entry.skip_range).collect();
        ranges.sort_unstable();
        ranges.dedup();
        notes.extend(ranges.into_iter().map(|range| format!("from {range}")));
        let notes = notes.join(" · ");
        Self {
            name: bundle.name,
            version: bundle.version,
            notes,
            is_head: !heads.is_empty(),
            is_absent: false,
        }
    }
}
