//! Adding bundles with the edges of their CSVs: the channels that they name are rebuilt from their heads.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::error::{EditError, PrunedBundle};
use crate::state::{Bundle, Channel, Entry, Package};

/// Places new bundles, which are in the order of their versions, and rebuilds the channels that they name and these.
pub(crate) fn place(
    package: &mut Package,
    new: Vec<Bundle>,
    mut touched: BTreeSet<String>,
) -> Result<(), Vec<EditError>> {
    let former_default = package.default_channel().to_owned();
    let names: BTreeSet<String> = new.iter().map(|bundle| bundle.name.clone()).collect();
    touched.extend(new.iter().flat_map(channels_of).map(str::to_owned));
    package.bundles.extend(new);
    let one = |error| vec![error];
    unique_maximum(package).map_err(one)?;
    let mut dropped = Vec::new();
    let mut errors = Vec::new();
    let snapshot = package.clone();
    for name in &touched {
        match rebuild(&snapshot, name) {
            Ok(Some(channel)) => *package.channel_mut(name) = channel,
            Ok(None) => dropped.push(name.clone()),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    package.channels.retain(|channel| !dropped.contains(&channel.name));
    let default = default_channel(package, &former_default, &dropped).map_err(one)?;
    if package.default_channel() != default {
        package.set_default_channel(&default);
    }
    let pruned = pruned(package, &names);
    if pruned.is_empty() { Ok(()) } else { Err(pruned) }
}

/// Returns the channels that a new bundle names.
fn channels_of(bundle: &Bundle) -> impl Iterator<Item = &str> {
    bundle.placement.iter().flat_map(|placement| &placement.channels).map(String::as_str)
}

fn unique_maximum(package: &Package) -> Result<(), EditError> {
    let Some(highest) = package.bundles.iter().max_by(|a, b| a.compare(b)) else { return Ok(()) };
    let count = package.bundles.iter().filter(|bundle| bundle.compare(highest) == Ordering::Equal).count();
    if count > 1 { Err(EditError::SeveralMaximums(highest.version.clone())) } else { Ok(()) }
}

/// Rebuilds a channel from its head, the highest version; `None` for a channel that a truncated bundle heads.
fn rebuild(package: &Package, name: &str) -> Result<Option<Channel>, EditError> {
    let former = package.channel(name);
    let is_member = |bundle: &&Bundle| {
        channels_of(bundle).any(|channel| channel == name)
            || former.is_some_and(|channel| channel.entry(&bundle.name).is_some())
    };
    let members: Vec<&Bundle> = package.bundles.iter().filter(is_member).collect();
    let Some(head) = members.iter().copied().max_by(|a, b| a.compare(b)) else { return Ok(None) };
    if members.iter().any(|other| other.name != head.name && other.compare(head) == Ordering::Equal) {
        return Err(EditError::SeveralHeads(package.name.clone()));
    }
    if head.is_truncated {
        return Ok(None);
    }
    let entries = walk(package, name, head)?;
    if entries.iter().any(|entry| entry.skips.contains(&head.name)) {
        return Err(EditError::NoHead { package: package.name.clone(), channel: name.to_owned() });
    }
    let mut channel = former.cloned().unwrap_or_else(|| Channel::new(&package.name, name));
    channel.entries.retain(|entry| entries.iter().any(|kept| kept.name == entry.name));
    for entry in entries {
        channel.put(entry);
    }
    Ok(Some(channel))
}

/// Follows the chain from a head: returns its entries and those of the bundles that they skip, in the order of versions.
fn walk(package: &Package, channel: &str, head: &Bundle) -> Result<Vec<Entry>, EditError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut end = None;
    let mut next = Some(head);
    while let Some(bundle) = next {
        if let Some(above) = entries.iter().find(|above| above.skips.contains(&bundle.name)) {
            end = Some((above.name.clone(), bundle));
            break;
        }
        let mut entry = edges(package, channel, bundle)?;
        if bundle.is_truncated {
            entry = Entry { name: entry.name, others: entry.others, ..Entry::default() };
        }
        next = match package.bundle(&entry.replaces) {
            Some(below) if below.name == bundle.name || entries.iter().any(|above| above.name == below.name) => {
                return Err(EditError::Cycle { bundle: entry.name, replaces: entry.replaces });
            }
            None if !entry.replaces.is_empty() && bundle.placement.is_some() => {
                return Err(EditError::ReplacesUnknown { head: head.name.clone(), replaces: entry.replaces });
            }
            found => found,
        };
        entries.push(entry);
    }
    add_skipped(package, channel, &mut entries)?;
    if let Some((above, skipped)) = end {
        check_below(package, channel, &above, skipped, &entries)?;
    }
    let order = |a: &Entry, b: &Entry| match (package.bundle(&a.name), package.bundle(&b.name)) {
        (Some(a), Some(b)) => a.compare(b).then_with(|| a.name.cmp(&b.name)),
        _ => a.name.cmp(&b.name),
    };
    entries.sort_by(order);
    Ok(entries)
}

/// Adds entries for the bundles that entries skip, and for those that these skip.
fn add_skipped(package: &Package, channel: &str, entries: &mut Vec<Entry>) -> Result<(), EditError> {
    let mut at = 0;
    while at < entries.len() {
        for name in entries[at].skips.clone() {
            if let Some(bundle) = package.bundle(&name).filter(|_| !entries.iter().any(|entry| entry.name == name)) {
                entries.push(edges(package, channel, bundle)?);
            }
        }
        at += 1;
    }
    Ok(())
}

/// Checks that everything below a bundle that a chain skips and leads to is skipped too: the chain ends there.
fn check_below(
    package: &Package,
    channel: &str,
    above: &str,
    skipped: &Bundle,
    entries: &[Entry],
) -> Result<(), EditError> {
    let mut below = Vec::new();
    let mut next = package.bundle(&edges(package, channel, skipped)?.replaces);
    while let Some(bundle) = next.filter(|bundle| bundle.name != skipped.name && !below.contains(&bundle.name)) {
        below.push(bundle.name.clone());
        next = package.bundle(&edges(package, channel, bundle)?.replaces);
    }
    below.retain(|name| !entries.iter().any(|entry| entry.name == *name));
    if below.is_empty() {
        return Ok(());
    }
    let (channel, head, skipped) = (channel.to_owned(), above.to_owned(), skipped.name.clone());
    Err(EditError::SkipsOwnChain { channel, head, skipped, below })
}

/// Returns the edges of a bundle in a channel: those of its CSV if it is new, else those of its entry here, else those of
/// its entries elsewhere.
pub(crate) fn edges(package: &Package, channel: &str, bundle: &Bundle) -> Result<Entry, EditError> {
    let name = bundle.name.clone();
    if let Some(placement) = &bundle.placement {
        let (replaces, skips) = (placement.replaces.clone(), placement.skips.clone());
        let here = package.channel(channel).and_then(|channel| channel.entry(&name));
        let others = here.map(|entry| entry.others.clone()).unwrap_or_default();
        return Ok(Entry { name, replaces, skips, skip_range: placement.skip_range.clone(), others });
    }
    if let Some(entry) = package.channel(channel).and_then(|channel| channel.entry(&name)) {
        return Ok(entry.clone());
    }
    let elsewhere = package.channels.iter().filter_map(|channel| Some((&channel.name, channel.entry(&name)?)));
    let elsewhere: Vec<_> = elsewhere.collect();
    match &elsewhere[..] {
        [] => Ok(Entry { name, ..Entry::default() }),
        [(_, first), rest @ ..] if rest.iter().all(|(_, entry)| entry.has_edges_of(first)) => Ok((*first).clone()),
        _ => {
            let channels = elsewhere.iter().map(|(channel, _)| (*channel).clone()).collect();
            Err(EditError::EdgesDiffer { bundle: name, channels })
        }
    }
}

/// Finds the default channel: what the highest bundle names, or the one below it, and so on.
fn default_channel(package: &Package, former: &str, dropped: &[String]) -> Result<String, EditError> {
    let mut bundles: Vec<&Bundle> = package.bundles.iter().collect();
    bundles.sort_by(|a, b| a.compare(b));
    let hint = |bundle: &Bundle| match &bundle.placement {
        Some(placement) => placement.default_channel.clone(),
        None => former.to_owned(),
    };
    let hint = bundles.into_iter().rev().map(hint).find(|hint| !hint.is_empty()).unwrap_or_default();
    let channels: Vec<_> = package.channels.iter().map(|channel| channel.name.clone()).collect();
    match &channels[..] {
        [only] if hint.is_empty() => Ok(only.clone()),
        _ if channels.contains(&hint) => Ok(hint),
        _ if dropped.contains(&hint) => Err(EditError::NoDefaultChannel(package.name.clone())),
        _ => {
            let channels: BTreeSet<_> = channels.into_iter().collect();
            Err(EditError::DefaultChannel { channels: channels.into_iter().collect() })
        }
    }
}

/// Finds new bundles that the chain of a channel that they name does not reach.
fn pruned(package: &Package, new: &BTreeSet<String>) -> Vec<EditError> {
    let mut errors = Vec::new();
    for bundle in package.bundles.iter().filter(|bundle| new.contains(&bundle.name)) {
        for channel in channels_of(bundle).filter_map(|name| package.channel(name)) {
            let heads = channel.heads();
            let Some(head) = heads.first().filter(|_| channel.entry(&bundle.name).is_none()) else { continue };
            let replaces = [&head.replaces].into_iter().filter(|name| !name.is_empty());
            errors.push(EditError::Pruned(Box::new(PrunedBundle {
                bundle: bundle.name.clone(),
                image: bundle.image.clone(),
                package: package.name.clone(),
                channel: channel.name.clone(),
                head: head.name.clone(),
                edges: head.skips.iter().chain(replaces).cloned().collect(),
            })));
        }
    }
    errors
}
