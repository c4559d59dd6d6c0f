//! Adding bundles with the edges of their CSVs: the channels that they name are rebuilt from their
//! heads.

mod graph;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::error::{EditError, MAX_REASONS, PrunedBundle};
use crate::state::{Bundle, Channel, Entry, Package};

use graph::Graph;

/// Places new bundles, which are in the order of their versions, and rebuilds the channels that
/// they name and these. The channels may have `max_edges` entries and skips.
pub(crate) fn place(
    package: &mut Package,
    new: Vec<Bundle>,
    mut touched: BTreeSet<String>,
    max_edges: usize,
) -> Result<(), Vec<EditError>> {
    let former_default = package.default_channel().to_owned();
    let names: HashSet<String> = new.iter().map(|bundle| bundle.name.clone()).collect();
    touched.extend(new.iter().flat_map(channels_of).map(str::to_owned));
    package.bundles.extend(new);
    let one = |error| vec![error];
    unique_maximum(package).map_err(one)?;
    let Rebuilt { channels, dropped } = rebuild_all(package, &touched, max_edges)?;
    replace_channels(package, channels);
    package
        .channels
        .retain(|channel| !dropped.contains(&channel.name));
    let default = default_channel(package, &former_default, &dropped).map_err(one)?;
    if package.default_channel() != default {
        package.set_default_channel(&default);
    }
    let pruned = pruned(package, &names);
    if pruned.is_empty() {
        Ok(())
    } else {
        Err(pruned)
    }
}

/// Channels that were rebuilt.
#[derive(Default)]
struct Rebuilt {
    /// The new channels by name.
    channels: BTreeMap<String, Channel>,
    /// Names of those that truncated bundles head.
    dropped: BTreeSet<String>,
}

/// Rebuilds channels from their heads.
fn rebuild_all(
    package: &Package,
    names: &BTreeSet<String>,
    max_edges: usize,
) -> Result<Rebuilt, Vec<EditError>> {
    let graph = Graph::new(package);
    let mut rebuilt = Rebuilt::default();
    let mut errors = Vec::new();
    let mut edges = 0;
    for name in names {
        match rebuild(&graph, name) {
            Ok(Some(channel)) => {
                edges += channel.edges();
                rebuilt.channels.insert(name.clone(), channel);
            }
            Ok(None) => drop(rebuilt.dropped.insert(name.clone())),
            Err(error) => errors.push(error),
        }
        if edges > max_edges {
            return Err(vec![EditError::TooManyEdges(max_edges)]);
        }
    }
    if errors.is_empty() {
        Ok(rebuilt)
    } else {
        Err(errors)
    }
}

/// Replaces channels in their places, or adds them at the end.
fn replace_channels(package: &mut Package, mut rebuilt: BTreeMap<String, Channel>) {
    for channel in &mut package.channels {
        if let Some(new) = rebuilt.remove(&channel.name) {
            *channel = new;
        }
    }
    package.channels.extend(rebuilt.into_values());
}

/// Returns the channels that a new bundle names.
fn channels_of(bundle: &Bundle) -> impl Iterator<Item = &str> {
    bundle
        .placement
        .iter()
        .flat_map(|placement| &placement.channels)
        .map(String::as_str)
}

fn unique_maximum(package: &Package) -> Result<(), EditError> {
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

/// Rebuilds a channel from its head, the highest version; `None` for a channel that a truncated
/// bundle heads.
fn rebuild(graph: &Graph<'_>, name: &str) -> Result<Option<Channel>, EditError> {
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
    if head.is_truncated {
        return Ok(None);
    }
    let entries = walk(graph, name, head)?;
    if entries.iter().any(|entry| entry.skips.contains(&head.name)) {
        return Err(EditError::NoHead {
            package: graph.package.name.clone(),
            channel: name.to_owned(),
        });
    }
    let former = graph.channel(name).cloned();
    let mut channel = former.unwrap_or_else(|| Channel::new(&graph.package.name, name));
    let kept: HashSet<&str> = entries.iter().map(|entry| &*entry.name).collect();
    channel.entries.retain(|entry| kept.contains(&*entry.name));
    channel.put(entries);
    Ok(Some(channel))
}

/// The entries of a channel, as the walk from its head finds them.
#[derive(Default)]
struct Chain {
    entries: Vec<Entry>,
    /// Names of the entries.
    names: HashSet<String>,
    /// The first entry that skips a bundle, by the name of the bundle.
    skipped_by: HashMap<String, usize>,
}

impl Chain {
    fn push(&mut self, entry: Entry) {
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
fn walk(graph: &Graph<'_>, channel: &str, head: &Bundle) -> Result<Vec<Entry>, EditError> {
    let mut chain = Chain::default();
    let mut end = None;
    let mut next = Some(head);
    while let Some(bundle) = next {
        if let Some(above) = chain.skipped_by.get(&bundle.name) {
            end = Some((chain.entries[*above].name.clone(), bundle));
            break;
        }
        let mut entry = graph.edges(channel, bundle)?;
        if bundle.is_truncated {
            entry = Entry {
                name: entry.name,
                others: entry.others,
                ..Entry::default()
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
    let order = |a: &Entry, b: &Entry| match (graph.bundle(&a.name), graph.bundle(&b.name)) {
        (Some(a), Some(b)) => a.compare(b).then_with(|| a.name.cmp(&b.name)),
        _ => a.name.cmp(&b.name),
    };
    entries.sort_by(order);
    Ok(entries)
}

/// Adds entries for the bundles that entries skip, and for those that these skip.
fn add_skipped(graph: &Graph<'_>, channel: &str, chain: &mut Chain) -> Result<(), EditError> {
    let mut at = 0;
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

/// Checks that everything below a bundle that a chain skips and leads to is skipped too: the chain
/// ends there.
fn check_below(
    graph: &Graph<'_>,
    channel: &str,
    above: &str,
    skipped: &Bundle,
    chain: &Chain,
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
    below.retain(|name| !chain.names.contains(name));
    if below.is_empty() {
        return Ok(());
    }
    let channel = channel.to_owned();
    let head = above.to_owned();
    let skipped = skipped.name.clone();
    Err(EditError::SkipsOwnChain {
        channel,
        head,
        skipped,
        below,
    })
}

/// Finds the default channel: what the highest bundle names, or the one below it, and so on.
fn default_channel(
    package: &Package,
    former: &str,
    dropped: &BTreeSet<String>,
) -> Result<String, EditError> {
    let mut bundles: Vec<&Bundle> = package.bundles.iter().collect();
    bundles.sort_by(|a, b| a.compare(b));
    let hint = |bundle: &Bundle| match &bundle.placement {
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

/// Finds new bundles that the chain of a channel that they name does not reach.
fn pruned(package: &Package, new: &HashSet<String>) -> Vec<EditError> {
    let graph = Graph::new(package);
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
            if errors.len() == MAX_REASONS {
                return errors;
            }
        }
    }
    errors
}
