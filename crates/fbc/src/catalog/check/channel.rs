//! Rules of a channel: its entries and its update graph.

use std::collections::HashSet;

use super::{Place, graph};
use crate::catalog::{Channel, ChannelEntry};
use crate::problem::{Code, Problem};
use crate::quote::go_quote;
use crate::range::BlangRange;

pub(super) fn check(channel: Channel<'_>, problems: &mut Vec<Problem>) {
    let place = Place::of_channel(channel);
    if channel.entries().len() == 0 {
        let message = "channel must contain at least one bundle";
        problems.push(place.problem(Code::ChannelEmpty, message));
        return;
    }
    check_names(channel, place, problems);
    if let Some((code, message)) = graph::fault(channel) {
        problems.push(place.problem(code, message));
    }
    for entry in channel.entries() {
        let place = Place { bundle: entry.name(), ..place };
        check_entry(entry, place, problems);
    }
}

/// Names of entries are unique, and of bundles that are there.
fn check_names(channel: Channel<'_>, place: Place<'_>, problems: &mut Vec<Problem>) {
    let mut seen = HashSet::with_capacity(channel.entries().len());
    for entry in channel.entries().filter(|entry| !seen.insert(entry.name())) {
        let (package, channel) = (go_quote(place.package), go_quote(place.channel));
        let name = go_quote(entry.name());
        let message = format!("invalid package {package}, channel {channel}: duplicate entry {name}");
        problems.push(place.problem(Code::ChannelEntryDuplicate, message));
    }
    let missing = channel.entries().filter(|entry| entry.bundle().is_none());
    let mut missing: Vec<&str> = missing.map(ChannelEntry::name).collect();
    if !missing.is_empty() {
        missing.sort_unstable();
        missing.dedup();
        let message = format!(
            "no olm.bundle blobs found in package {} for olm.channel entries [{}]",
            go_quote(place.package),
            missing.join(" "),
        );
        problems.push(place.problem(Code::ChannelEntryBundleMissing, message));
    }
}

fn check_entry(entry: ChannelEntry<'_>, place: Place<'_>, problems: &mut Vec<Problem>) {
    if entry.name().is_empty() {
        problems.push(place.problem(Code::BundleNameMissing, "name must be set"));
    }
    for (at, _) in entry.skips().enumerate().filter(|(_, name)| name.is_empty()) {
        problems.push(place.problem(Code::EntrySkipEmpty, format!("skip[{at}] is empty")));
    }
    if let Some(range) = entry.skip_range()
        && let Err(fault) = BlangRange::parse(range)
    {
        let message = format!("invalid skipRange {}: {fault}", go_quote(range));
        problems.push(place.problem(Code::EntrySkipRangeInvalid, message));
    }
}
