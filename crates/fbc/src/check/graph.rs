//! Validates the update graph of a channel: exactly one head, and every other entry on its
//! `replaces` chain or skipped.

use std::collections::{HashMap, HashSet};

use fbc_read::problem::ProblemCode;

use crate::package::ChannelEntry;

/// Returns the first problem of the update graph of some entries of a channel, in upstream's order
/// and words.
///
/// Of entries with one name the first counts. Takes time linear in the entries and their skips.
pub fn find_graph_problem<'a>(
    channel_entries: impl ExactSizeIterator<Item = ChannelEntry<'a>>,
) -> Option<(ProblemCode, String)> {
    let mut entries: HashMap<&str, ChannelEntry<'_>> =
        HashMap::with_capacity(channel_entries.len());
    for entry in channel_entries {
        entries.entry(entry.name()).or_insert(entry);
    }
    let skipped: HashSet<&str> = entries.values().flat_map(|entry| entry.skips()).collect();
    let replaced: HashSet<&str> = entries
        .values()
        .filter_map(|entry| entry.replaces())
        .collect();
    let is_head = |name: &&str| !skipped.contains(name) && !replaced.contains(name);
    let mut heads: Vec<&str> = entries.keys().copied().filter(is_head).collect();
    heads.sort_unstable();
    let &[head] = heads.as_slice() else {
        return Some(match heads.as_slice() {
            [] => (
                ProblemCode::ChannelWithoutHead,
                "no channel head found in graph".to_owned(),
            ),
            heads => {
                let heads = heads.join(", ");
                (
                    ProblemCode::ChannelMultipleHeads,
                    format!("multiple channel heads found in graph: {heads}"),
                )
            }
        });
    };
    let chain = match replaces_chain(head, &entries, &skipped) {
        Ok(chain) => chain,
        Err(cycle) => {
            let cycle = cycle.join(" -> ");
            let message = format!("detected cycle in replaces chain of upgrade graph: {cycle}");
            return Some((ProblemCode::ChannelCycle, message));
        }
    };
    let is_stranded = |name: &&str| !chain.contains_key(name) && !skipped.contains(name);
    let mut stranded: Vec<&str> = entries.keys().copied().filter(is_stranded).collect();
    stranded.sort_unstable();
    (!stranded.is_empty()).then(|| {
        let stranded = stranded.join(", ");
        (
            ProblemCode::ChannelStranded,
            format!("channel contains one or more stranded bundles: {stranded}"),
        )
    })
}

/// Follows `replaces` from the head to the first skipped name and returns each name with its
/// position; or, as error, the names of a cycle.
///
/// As upstream has it, an absent `replaces` names the entry without a name.
fn replaces_chain<'a>(
    head: &'a str,
    entries: &HashMap<&'a str, ChannelEntry<'a>>,
    skipped: &HashSet<&'a str>,
) -> Result<HashMap<&'a str, usize>, Vec<&'a str>> {
    let mut names = vec![head];
    let mut places = HashMap::from([(head, 0)]);
    let mut current = entries.get(head);
    while let Some(entry) = current {
        let next = entry.replaces().unwrap_or("");
        if skipped.contains(next) {
            break;
        }
        if let Some(&from) = places.get(next) {
            let mut cycle = names.split_off(from);
            cycle.push(next);
            return Err(cycle);
        }
        places.insert(next, names.len());
        names.push(next);
        current = entries.get(next);
    }
    Ok(places)
}
