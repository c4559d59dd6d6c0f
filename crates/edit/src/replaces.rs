//! Adds bundles with the edges of their CSVs: the channels that they name are rebuilt from their
//! heads, as `opm registry add --mode=replaces` does.

mod graph;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::draft::{DraftBundle, DraftChannel, DraftEntry, DraftPackage};
use crate::error::{BatchError, EditError, MAX_REASONS, PrunedBundle};

use graph::PackageGraph;

/// Adds new bundles, which must be in the order of their versions. Rebuilds the channels that they
/// name, and `changed`. The channels together may have `max_edges` entries and skips.
pub(crate) fn add_bundles(
    package: &mut DraftPackage,
    new: Vec<DraftBundle>,
    mut changed: BTreeSet<String>,
    max_edges: usize,
) -> Result<(), BatchError> {
    let former_default = package.default_channel().to_owned();
    let names: HashSet<String> = new.iter().map(|bundle| bundle.name.clone()).collect();
    changed.extend(new.iter().flat_map(channels_of).map(str::to_owned));
    package.bundles.extend(new);
    check_unique_maximum(package)?;

    let RebuiltChannels { channels, dropped } = rebuild_all(package, &changed, max_edges)?;
    replace_channels(package, channels);
    package
        .channels
        .retain(|channel| !dropped.contains(&channel.name));
    let default = default_channel(package, &former_default, &dropped)?;
    if package.default_channel() != default {
        package.set_default_channel(&default);
    }
    BatchError::unless_empty(find_pruned(package, &names))
}

/// Channels that were rebuilt.
#[derive(Default)]
struct RebuiltChannels {
    /// The new channels by name.
    channels: BTreeMap<String, DraftChannel>,
    /// Names of channels whose head is a deprecated bundle; they are removed.
    dropped: BTreeSet<String>,
}

/// Rebuilds channels from their heads.
fn rebuild_all(
    package: &DraftPackage,
    names: &BTreeSet<String>,
    max_edges: usize,
) -> Result<RebuiltChannels, BatchError> {
    let graph = PackageGraph::new(package);
    let mut rebuilt = RebuiltChannels::default();
    let mut errors = Vec::new();
    let mut edges = 0;
    for name in names {
        match rebuild(&graph, name) {
            Ok(Some(channel)) => {
                edges += channel.edges();
                rebuilt.channels.insert(name.clone(), channel);
            }
            // A channel without any entry goes the same way.
            Ok(None) => drop(rebuilt.dropped.insert(name.clone())),
            Err(error) => errors.push(error),
        }
        if edges > max_edges {
            return Err(EditError::TooManyEdges(max_edges).into());
        }
    }
    BatchError::unless_empty(errors)?;
    Ok(rebuilt)
}

/// Replaces channels where they are, and adds the others at the end.
fn replace_channels(package: &mut DraftPackage, mut rebuilt: BTreeMap<String, DraftChannel>) {
    for channel in &mut package.channels {
        if let Some(new) = rebuilt.remove(&channel.name) {
            *channel = new;
        }
    }
    package.channels.extend(rebuilt.into_values());
}

/// Returns the channels that a new bundle names.
fn channels_of(bundle: &DraftBundle) -> impl Iterator<Item = &str> {
    bundle
        .placement
        .iter()
        .flat_map(|placement| &placement.channels)
        .map(String::as_str)
}

/// Checks that one bundle alone has the highest version.
fn check_unique_maximum(package: &DraftPackage) -> Result<(), EditError> {
    let Some(highest) = package.bundles.iter().max_by(|a, b| a.compare(b)) else {
        return Ok(());
    };
    let count = package
        .bundles
        .iter()
        .filter(|bundle| bundle.compare(highest) == Ordering::Equal)
        .count();
    if count > 1 {
        Err(EditError::SeveralMaximums(highest.version.clone()))
    } else {
        Ok(())
    }
}

/// Rebuilds a channel from its head, the highest version; `None` if that is a deprecated bundle.
fn rebuild(graph: &PackageGraph<'_>, name: &str) -> Result<Option<DraftChannel>, EditError> {
    let members = graph.members(name);
    let Some(head) = members.iter().copied().max_by(|a, b| a.compare(b)) else {
        return Ok(None);
    };
    if members
        .iter()
        .any(|other| other.name != head.name && other.compare(head) == Ordering::Equal)
    {
        return Err(EditError::SeveralHeads(graph.package.name.clone()));
    }
    // `opm` removes a channel that ends at a deprecated bundle.
    if head.is_deprecated {
        return Ok(None);
    }
    let entries = follow_chain(graph, name, head)?;
    // A channel in which something skips the highest version has no head.
    if entries.iter().any(|entry| entry.skips.contains(&head.name)) {
        return Err(EditError::NoHead {
            package: graph.package.name.clone(),
            channel: name.to_owned(),
        });
    }
    // The blob of the channel and the order of its entries stay, so that unchanged lines of its
    // file do.
    let former = graph.channel(name).cloned();
    let mut channel = former.unwrap_or_else(|| DraftChannel::new(&graph.package.name, name));
    let kept: HashSet<&str> = entries.iter().map(|entry| &*entry.name).collect();
    channel.entries.retain(|entry| kept.contains(&*entry.name));
    channel.put(entries);
    Ok(Some(channel))
}

/// Entries of a channel, collected from its head down.
#[derive(Default)]
struct ChannelChain {
    entries: Vec<DraftEntry>,
    /// Names of the entries.
    names: HashSet<String>,
    /// The first entry that skips a bundle, by the name of the bundle.
    skipped_by: HashMap<String, usize>,
}

impl ChannelChain {
    fn push(&mut self, entry: DraftEntry) {
        for skip in &entry.skips {
            self.skipped_by
                .entry(skip.clone())
                .or_insert(self.entries.len());
        }
        self.names.insert(entry.name.clone());
        self.entries.push(entry);
    }
}

/// Follows the chain from a head: returns its entries and those of the bundles that they skip, in
/// the order of versions.
fn follow_chain(
    graph: &PackageGraph<'_>,
    channel: &str,
    head: &DraftBundle,
) -> Result<Vec<DraftEntry>, EditError> {
    let mut chain = ChannelChain::default();
    // The chain ends at a bundle that it skips further up.
    let mut end = None;
    let mut next = Some(head);
    while let Some(bundle) = next {
        if let Some(above) = chain.skipped_by.get(&bundle.name) {
            end = Some((chain.entries[*above].name.clone(), bundle));
            break;
        }
        let mut entry = graph.edges(channel, bundle)?;
        if bundle.is_deprecated {
            // Its package was truncated at it, so that nothing is below it.
            entry = DraftEntry {
                name: entry.name,
                others: entry.others,
                ..DraftEntry::default()
            };
        }
        next = match graph.bundle(&entry.replaces) {
            Some(below) if below.name == bundle.name || chain.names.contains(&below.name) => {
                return Err(EditError::Cycle {
                    bundle: entry.name,
                    replaces: entry.replaces,
                });
            }
            None if !entry.replaces.is_empty() && bundle.placement.is_some() => {
                return Err(EditError::ReplacesUnknown {
                    head: head.name.clone(),
                    replaces: entry.replaces,
                });
            }
            found => found,
        };
        chain.push(entry);
    }
    add_skipped(graph, channel, &mut chain)?;
    if let Some((above, skipped)) = end {
        check_below(graph, channel, &above, skipped, &chain)?;
    }
    let mut entries = chain.entries;
    let order =
        |a: &DraftEntry, b: &DraftEntry| match (graph.bundle(&a.name), graph.bundle(&b.name)) {
            (Some(a), Some(b)) => a.compare(b).then_with(|| a.name.cmp(&b.name)),
            _ => a.name.cmp(&b.name),
        };
    entries.sort_by(order);
    Ok(entries)
}

/// Adds entries for the bundles that entries skip, and for those that these skip.
fn add_skipped(
    graph: &PackageGraph<'_>,
    channel: &str,
    chain: &mut ChannelChain,
) -> Result<(), EditError> {
    let mut at = 0;
    // Clusters that have a skipped bundle upgrade all the same, so that its entry keeps its edges.
    // `opm` makes it without any.
    while at < chain.entries.len() {
        for name in chain.entries[at].skips.clone() {
            if let Some(bundle) = graph.bundle(&name).filter(|_| !chain.names.contains(&name)) {
                chain.push(graph.edges(channel, bundle)?);
            }
        }
        at += 1;
    }
    Ok(())
}

/// Checks the bundles below one that a chain skips and leads to. The chain ends there, so that all
/// of them must be skipped too.
fn check_below(
    graph: &PackageGraph<'_>,
    channel: &str,
    above: &str,
    skipped: &DraftBundle,
    chain: &ChannelChain,
) -> Result<(), EditError> {
    let mut below = Vec::new();
    let mut seen = HashSet::new();
    let mut next = graph.bundle(&graph.edges(channel, skipped)?.replaces);
    while let Some(bundle) =
        next.filter(|bundle| bundle.name != skipped.name && seen.insert(&*bundle.name))
    {
        below.push(bundle.name.clone());
        next = graph.bundle(&graph.edges(channel, bundle)?.replaces);
    }
    // `opm` stores a channel that loses them, and refuses to read it from then on.
    below.retain(|name| !chain.names.contains(name));
    if below.is_empty() {
        return Ok(());
    }
    Err(EditError::SkipsOwnChain {
        channel: channel.to_owned(),
        head: above.to_owned(),
        skipped: skipped.name.clone(),
        below,
    })
}

/// Finds the default channel: the one that the highest bundle names, or else the one below it, and
/// so on.
fn default_channel(
    package: &DraftPackage,
    former: &str,
    dropped: &BTreeSet<String>,
) -> Result<String, EditError> {
    let mut bundles: Vec<&DraftBundle> = package.bundles.iter().collect();
    bundles.sort_by(|a, b| a.compare(b));
    let hint = |bundle: &DraftBundle| match &bundle.placement {
        // Only new bundles name one: the blob of a bundle does not have it.
        Some(placement) => placement.default_channel.clone(),
        None => former.to_owned(),
    };
    let hint = bundles
        .into_iter()
        .rev()
        .map(hint)
        .find(|hint| !hint.is_empty())
        .unwrap_or_default();
    let channels: Vec<_> = package
        .channels
        .iter()
        .map(|channel| channel.name.clone())
        .collect();
    match &channels[..] {
        // A package with one channel needs no hint.
        [only] if hint.is_empty() => Ok(only.clone()),
        _ if channels.contains(&hint) => Ok(hint),
        _ if dropped.contains(&hint) => Err(EditError::NoDefaultChannel(package.name.clone())),
        _ => {
            let channels: BTreeSet<_> = channels.into_iter().collect();
            Err(EditError::DefaultChannel {
                channels: channels.into_iter().collect(),
            })
        }
    }
}

/// Finds new bundles that the chain of a channel which they name does not reach.
fn find_pruned(package: &DraftPackage, new: &HashSet<String>) -> Vec<EditError> {
    let graph = PackageGraph::new(package);
    let mut errors = Vec::new();
    for bundle in package
        .bundles
        .iter()
        .filter(|bundle| new.contains(&bundle.name))
    {
        let missing = channels_of(bundle).filter(|name| graph.entry(name, &bundle.name).is_none());
        for channel in missing.filter_map(|name| graph.channel(name)) {
            let heads = channel.heads();
            let Some(head) = heads.first() else { continue };
            let replaces = [&head.replaces].into_iter().filter(|name| !name.is_empty());
            errors.push(EditError::Pruned(Box::new(PrunedBundle {
                bundle: bundle.name.clone(),
                image: bundle.image.clone(),
                package: package.name.clone(),
                channel: channel.name.clone(),
                head: head.name.clone(),
                edges: head.skips.iter().chain(replaces).cloned().collect(),
            })));
            // More are not shown.
            if errors.len() == MAX_REASONS {
                return errors;
            }
        }
    }
    errors
}
