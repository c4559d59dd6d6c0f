//! Validates channels: their entries and their update graph.

use std::collections::{BTreeSet, HashSet};

use fbc_grammar::go_quote;
use fbc_grammar::range::BlangRange;
use fbc_read::problem::{ProblemCode, ProblemCollector};

use super::graph;
use super::location::ProblemLocation;
use crate::package::{Channel, ChannelEntry};

pub(super) fn check(channel: Channel<'_>, problems: &mut ProblemCollector) {
    let location = ProblemLocation::new_in_channel(channel);
    if channel.entries().len() == 0 {
        let message = "channel must contain at least one bundle";
        problems.add(ProblemCode::ChannelEmpty, || {
            location.problem(ProblemCode::ChannelEmpty, message)
        });
        return;
    }
    check_names(channel, location, problems);
    if let Some((code, message)) = graph::find_graph_problem(channel.entries()) {
        problems.add(code, || location.problem(code, message));
    }
    for entry in channel.entries() {
        let location = ProblemLocation {
            bundle: entry.name(),
            ..location
        };
        check_entry(entry, location, problems);
    }
}

/// Checks that the names of entries are unique and name existing bundles.
fn check_names(
    channel: Channel<'_>,
    location: ProblemLocation<'_>,
    problems: &mut ProblemCollector,
) {
    // Grows with the names: a hostile channel has millions of entries without any.
    let mut seen = HashSet::new();
    for entry in channel.entries().filter(|entry| !seen.insert(entry.name())) {
        problems.add(ProblemCode::ChannelEntryDuplicate, || {
            let package = go_quote(location.package);
            let channel = go_quote(location.channel);
            let name = go_quote(entry.name());
            let message =
                format!("invalid package {package}, channel {channel}: duplicate entry {name}");
            location.problem(ProblemCode::ChannelEntryDuplicate, message)
        });
    }
    let missing = || channel.entries().filter(|entry| entry.bundle().is_none());
    if missing().next().is_some() {
        problems.add(ProblemCode::ChannelEntryBundleMissing, || {
            let missing: BTreeSet<&str> = missing().map(ChannelEntry::name).collect();
            let message = format!(
                "no olm.bundle blobs found in package {} for olm.channel entries [{}]",
                go_quote(location.package),
                missing.into_iter().collect::<Vec<_>>().join(" "),
            );
            location.problem(ProblemCode::ChannelEntryBundleMissing, message)
        });
    }
}

fn check_entry(
    entry: ChannelEntry<'_>,
    location: ProblemLocation<'_>,
    problems: &mut ProblemCollector,
) {
    if entry.name().is_empty() {
        problems.add(ProblemCode::BundleNameMissing, || {
            location.problem(ProblemCode::BundleNameMissing, "name must be set")
        });
    }
    for (at, _) in entry
        .skips()
        .enumerate()
        .filter(|(_, name)| name.is_empty())
    {
        problems.add(ProblemCode::EntrySkipEmpty, || {
            location.problem(ProblemCode::EntrySkipEmpty, format!("skip[{at}] is empty"))
        });
    }
    if let Some(range) = entry.skip_range()
        && let Err(error) = BlangRange::parse(range)
    {
        problems.add(ProblemCode::EntrySkipRangeInvalid, || {
            let message = format!("invalid skipRange {}: {error}", go_quote(range));
            location.problem(ProblemCode::EntrySkipRangeInvalid, message)
        });
    }
}
