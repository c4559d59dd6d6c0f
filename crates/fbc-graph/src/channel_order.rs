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
    let heads: Vec<_> = heads.collect();
    let place = || {
        format!(
            "channel {} of package {}",
            go_quote(channel),
            go_quote(package)
        )
    };
    let cycle = |head: &str| {
        ChannelOrderError(format!(
            "a cycle exists in the chain of replacement beginning with {} in {}",
            go_quote(head),
            place()
        ))
    };
    match heads[..] {
        [] => Err(ChannelOrderError(format!(
            "no channel heads (entries not replaced by another entry) found in {}",
            place()
        ))),
        [head] => {
            let mut chain = chain(links, &positions, head).map_err(cycle)?;
            chain.retain(|at| !skipped.contains(at));
            Ok(chain)
        }
        ref heads => {
            let ends = chain_ends(links, &positions, &skipped, heads).map_err(cycle)?;
            Err(ChannelOrderError(several_chains(links, &ends, &place())))
        }
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

/// Returns the first and the last entry of the chain of each head, without those that are skipped, or
/// the name of the first head whose chain is a cycle. Each entry is visited once: the chains of many
/// heads may share a long end.
fn chain_ends<'a>(
    links: &[ChainEntry<'a>],
    positions: &HashMap<&str, usize>,
    skipped: &HashSet<usize>,
    heads: &[usize],
) -> Result<Vec<Option<(usize, usize)>>, &'a str> {
    let mut ends: HashMap<usize, Option<(usize, usize)>> = HashMap::new();
    for &head in heads {
        let mut path = Vec::new();
        let mut on_path = HashSet::new();
        let mut next = Some(head);
        while let Some(at) = next.filter(|at| !ends.contains_key(at)) {
            if !on_path.insert(at) {
                return Err(links[head].name);
            }
            path.push(at);
            next = links[at]
                .replaces
                .and_then(|name| positions.get(name).copied());
        }
        let mut rest = next.and_then(|at| ends[&at]);
        for at in path.into_iter().rev() {
            if !skipped.contains(&at) {
                rest = Some((at, rest.map_or(at, |(_, last)| last)));
            }
            ends.insert(at, rest);
        }
    }
    Ok(heads.iter().map(|head| ends[head]).collect())
}

fn several_chains(
    links: &[ChainEntry<'_>],
    chains: &[Option<(usize, usize)>],
    place: &str,
) -> String {
    let text = |ends: &Option<(usize, usize)>| match *ends {
        None => "[]".to_owned(),
        Some((first, last)) if first == last => links[first].name.to_owned(),
        Some((first, last)) => format!("{}...{}", links[first].name, links[last].name),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn order(entries: &[(&str, &str, &[&str])]) -> Result<Vec<String>, String> {
        let links: Vec<_> = entries
            .iter()
            .map(|(name, replaces, skips)| ChainEntry {
                name,
                replaces: Some(*replaces).filter(|name| !name.is_empty()),
                skips: skips.to_vec(),
            })
            .collect();
        let order = sort_channel(&links, "stable", "etcd").map_err(|error| error.to_string())?;
        Ok(order.iter().map(|at| links[*at].name.to_owned()).collect())
    }

    #[test]
    fn a_channel_is_ordered_along_its_only_chain_of_replacements() {
        let ordered = order(&[("a", "", &[]), ("b", "a", &[]), ("c", "b", &["b", "x"])]);
        assert_eq!(ordered, Ok(vec!["c".to_owned(), "a".to_owned()]));
        let error = order(&[("a", "b", &[]), ("b", "a", &[])]).unwrap_err();
        assert!(error.starts_with("no channel heads"), "{error}");
        let error = order(&[("a", "b", &[]), ("b", "a", &[]), ("c", "a", &[])]).unwrap_err();
        assert!(
            error.ends_with("beginning with \"c\" in channel \"stable\" of package \"etcd\""),
            "{error}"
        );
        let error = order(&[
            ("a", "", &[]),
            ("b", "a", &[]),
            ("c", "b", &[]),
            ("d", "b", &[]),
            ("e", "", &[]),
            ("f", "gone", &["e", "a"]),
        ])
        .unwrap_err();
        assert!(
            error.ends_with(
                "3 replacement chains were found in channel \"stable\" of package \"etcd\": c...b, d...b, f"
            ),
            "{error}"
        );
    }

    #[test]
    fn chains_of_many_heads_with_one_long_end_are_walked_once() {
        let names: Vec<_> = (0..60_000).map(|at| format!("v{at}")).collect();
        // Half of the entries are heads, each of a chain through the other half.
        let links = (0..60_000).map(|at: usize| ChainEntry {
            name: &names[at],
            replaces: match at {
                0 => None,
                1..30_000 => Some(&names[at - 1]),
                _ => Some(&names[29_999]),
            },
            skips: Vec::new(),
        });
        let links: Vec<_> = links.collect();
        let error = sort_channel(&links, "stable", "etcd")
            .unwrap_err()
            .to_string();
        assert!(error.contains("but 30000 replacement chains were found"));
    }
}
