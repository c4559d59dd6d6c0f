//! The order of the entries of a channel, best first. OLM v0 follows `replaces` from the only head.

use fbc_grammar::go_quote;
use hashbrown::{HashMap, HashSet};

/// An entry of a channel, by names.
pub struct ChainEntry<'a> {
    /// Name of the bundle.
    pub name: &'a str,
    /// Name that it replaces.
    pub replaces: Option<&'a str>,
    /// Names that it skips.
    pub skips: Vec<&'a str>,
}

/// A channel without a unique chain of replacements, with upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChannelOrderError(String);

/// Returns the positions of the entries on the chain of replacements, best first. Entries that are
/// skipped or off the chain are omitted.
///
/// # Errors
/// There is no unique chain.
pub fn sort_channel(
    links: &[ChainEntry<'_>],
    channel: &str,
    package: &str,
) -> Result<Vec<usize>, ChannelOrderError> {
    let positions: HashMap<&str, usize> = links
        .iter()
        .enumerate()
        .map(|(at, link)| (link.name, at))
        .collect();
    let mut skipped = HashSet::<usize>::new();
    let mut succeeded = HashSet::<usize>::new();
    for link in links {
        succeeded.extend(link.replaces.and_then(|name| positions.get(name)));
        let skips = link.skips.iter().filter_map(|name| positions.get(name));
        skipped.extend(skips);
    }
    succeeded.extend(&skipped);
    let heads = (0..links.len()).filter(|at| !succeeded.contains(at));
    let chains = heads.map(|head| chain(links, &positions, head));
    let chains: Result<Vec<_>, &str> = chains.collect();
    let place = || {
        format!(
            "channel {} of package {}",
            go_quote(channel),
            go_quote(package)
        )
    };
    let mut chains = chains.map_err(|head| {
        ChannelOrderError(format!(
            "a cycle exists in the chain of replacement beginning with {} in {}",
            go_quote(head),
            place()
        ))
    })?;
    for chain in &mut chains {
        chain.retain(|at| !skipped.contains(at));
    }
    match &mut *chains {
        [] => Err(ChannelOrderError(format!(
            "no channel heads (entries not replaced by another entry) found in {}",
            place()
        ))),
        [chain] => Ok(std::mem::take(chain)),
        several => Err(ChannelOrderError(several_chains(links, several, &place()))),
    }
}

/// Returns the entries from a head along `replaces`, or the name of the head if they form a cycle.
fn chain<'a>(
    links: &[ChainEntry<'a>],
    positions: &HashMap<&str, usize>,
    head: usize,
) -> Result<Vec<usize>, &'a str> {
    let mut chain = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some(head);
    while let Some(at) = next {
        if !seen.insert(at) {
            return Err(links[head].name);
        }
        chain.push(at);
        next = links[at]
            .replaces
            .and_then(|name| positions.get(name).copied());
    }
    Ok(chain)
}

fn several_chains(links: &[ChainEntry<'_>], chains: &[Vec<usize>], place: &str) -> String {
    let text = |chain: &Vec<usize>| match &chain[..] {
        [] => "[]".to_owned(),
        [only] => links[*only].name.to_owned(),
        [first, .., last] => format!("{}...{}", links[*first].name, links[*last].name),
    };
    let mut texts: Vec<_> = chains.iter().map(text).collect();
    texts.sort_unstable();
    format!(
        "a unique replacement chain within a channel is required to determine the relative order between channel \
         entries, but {} replacement chains were found in {place}: {}",
        chains.len(),
        texts.join(", ")
    )
}
