//! Validates channels: their entries and their update graph.

use std::collections::HashSet;

use super::{ProblemLocation, graph};
use crate::catalog::{Channel, ChannelEntry};
use crate::problem::{Problem, ProblemCode};
use crate::quote::go_quote;
use crate::range::BlangRange;

pub(super) fn check(channel: Channel<'_>, problems: &mut Vec<Problem>) {
    let location = ProblemLocation::new_in_channel(channel);
    if channel.entries().len() == 0 {
        let message = "channel must contain at least one bundle";
        problems.push(location.problem(ProblemCode::ChannelEmpty, message));
        return;
    }
    check_names(channel, location, problems);
    if let Some((code, message)) = graph::find_problem(channel) {
        problems.push(location.problem(code, message));
    }
    for entry in channel.entries() {
        let location = ProblemLocation { bundle: entry.name(), ..location };
        check_entry(entry, location, problems);
    }
}

/// Checks that the names of entries are unique and name existing bundles.
fn check_names(channel: Channel<'_>, location: ProblemLocation<'_>, problems: &mut Vec<Problem>) {
    let mut seen = HashSet::with_capacity(channel.entries().len());
    for entry in channel.entries().filter(|entry| !seen.insert(entry.name())) {
        let (package, channel) = (go_quote(location.package), go_quote(location.channel));
        let name = go_quote(entry.name());
        let message = format!("invalid package {package}, channel {channel}: duplicate entry {name}");
        problems.push(location.problem(ProblemCode::ChannelEntryDuplicate, message));
    }
    let missing = channel.entries().filter(|entry| entry.bundle().is_none());
    let mut missing: Vec<&str> = missing.map(ChannelEntry::name).collect();
    if !missing.is_empty() {
        missing.sort_unstable();
        missing.dedup();
        let message = format!(
            "no olm.bundle blobs found in package {} for olm.channel entries [{}]",
            go_quote(location.package),
            missing.join(" "),
        );
        problems.push(location.problem(ProblemCode::ChannelEntryBundleMissing, message));
    }
}

fn check_entry(entry: ChannelEntry<'_>, location: ProblemLocation<'_>, problems: &mut Vec<Problem>) {
    if entry.name().is_empty() {
        problems.push(location.problem(ProblemCode::BundleNameMissing, "name must be set"));
    }
    for (at, _) in entry.skips().enumerate().filter(|(_, name)| name.is_empty()) {
        problems.push(location.problem(ProblemCode::EntrySkipEmpty, format!("skip[{at}] is empty")));
    }
    if let Some(range) = entry.skip_range()
        && let Err(error) = BlangRange::parse(range)
    {
        let message = format!("invalid skipRange {}: {error}", go_quote(range));
        problems.push(location.problem(ProblemCode::EntrySkipRangeInvalid, message));
    }
}
