//! Adding a bundle by its version: it replaces the next lower bundle of each channel, and the next
//! higher replaces it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use fbc_grammar::version::Version;

use crate::error::EditError;
use crate::state::{Bundle, Channel, Entry, Package};

/// Places a new bundle in the channels that it names.
pub(crate) fn place(
    package: &mut Package,
    bundle: Bundle,
    skips_patches: bool,
) -> Result<(), EditError> {
    let placement = bundle.placement.clone().unwrap_or_default();
    let is_highest = package
        .bundles
        .iter()
        .all(|other| other.compare(&bundle) == Ordering::Less);
    let places = package
        .channels
        .iter()
        .enumerate()
        .map(|(at, channel)| (channel.name.clone(), at));
    let mut places: HashMap<String, usize> = places.collect();
    for name in &placement.channels {
        let at = *places.entry(name.clone()).or_insert_with(|| {
            package.channels.push(Channel::new(&package.name, name));
            package.channels.len() - 1
        });
        insert(
            &package.bundles,
            &mut package.channels[at],
            &bundle,
            skips_patches,
        )?;
    }
    let hint = &placement.default_channel;
    if package.default_channel().is_empty() {
        let first = placement.channels.iter().min();
        let chosen = if hint.is_empty() {
            first.cloned().unwrap_or_default()
        } else {
            hint.clone()
        };
        package.set_default_channel(&chosen);
    } else if is_highest && !hint.is_empty() && package.default_channel() != hint {
        package.set_default_channel(hint);
    }
    let default = package.default_channel().to_owned();
    if package.channel(&default).is_none() {
        let bundle = bundle.name.clone();
        let package = package.name.clone();
        return Err(EditError::DefaultChannelUnknown {
            bundle,
            channel: default,
            package,
        });
    }
    package.bundles.push(bundle);
    Ok(())
}

/// An entry with its version.
struct Versioned<'b> {
    name: &'b str,
    version: Version<'b>,
    is_skipped: bool,
    is_truncated: bool,
}

fn insert(
    bundles: &[Bundle],
    channel: &mut Channel,
    new: &Bundle,
    skips_patches: bool,
) -> Result<(), EditError> {
    let invalid = |_| EditError::InvalidVersion(new.version.clone());
    let version = Version::parse(&new.version).map_err(invalid)?;
    let others = versions(bundles, channel)?;
    check_version(channel, new, &version, &others)?;
    let is_patch = |other: &Versioned<'_>| {
        skips_patches
            && (other.version.major(), other.version.minor()) == (version.major(), version.minor())
    };
    let placed = others.iter().filter(|other| !other.is_skipped);
    let (below, above): (Vec<_>, Vec<_>) =
        placed.partition(|other| other.version.precedence(&version).is_lt());
    let behind = below
        .iter()
        .rev()
        .find(|other| !is_patch(other))
        .map(|other| other.name.to_owned());
    let lower_patches = others
        .iter()
        .filter(|other| is_patch(other) && other.version.precedence(&version).is_lt());
    let skips = lower_patches.map(|other| other.name.to_owned()).collect();
    let ahead = above
        .first()
        .map(|other| (other.name.to_owned(), is_patch(other)));
    let skip_range = new
        .placement
        .as_ref()
        .map(|placement| placement.skip_range.clone())
        .unwrap_or_default();
    let name = new.name.clone();
    let replaces = behind.unwrap_or_default();
    if let Some((ahead, is_patch)) = ahead
        && let Some(ahead) = channel.entries.iter_mut().find(|entry| entry.name == ahead)
    {
        if is_patch {
            ahead.skips.push(name.clone());
        } else {
            ahead.replaces.clone_from(&name);
        }
    }
    channel.put([Entry {
        name,
        replaces,
        skips,
        skip_range,
        ..Entry::default()
    }]);
    Ok(())
}

/// Returns the entries of a channel in the order of their versions.
fn versions<'b>(bundles: &'b [Bundle], channel: &Channel) -> Result<Vec<Versioned<'b>>, EditError> {
    let listed: HashSet<&str> = channel.entries.iter().map(|entry| &*entry.name).collect();
    let skipped: HashSet<&String> = channel
        .entries
        .iter()
        .flat_map(|entry| &entry.skips)
        .collect();
    let members = bundles
        .iter()
        .filter(|bundle| listed.contains(&*bundle.name));
    let versioned = |bundle: &'b Bundle| {
        let invalid = |_| EditError::InvalidExistingVersion {
            bundle: bundle.name.clone(),
            version: bundle.version.clone(),
        };
        let version = Version::parse(&bundle.version).map_err(invalid)?;
        let is_skipped = skipped.contains(&bundle.name);
        let is_truncated = bundle.is_truncated;
        Ok(Versioned {
            name: &bundle.name,
            version,
            is_skipped,
            is_truncated,
        })
    };
    let mut versions: Vec<_> = members.map(versioned).collect::<Result<_, _>>()?;
    versions.sort_by(|a, b| a.version.precedence(&b.version));
    Ok(versions)
}

fn check_version(
    channel: &Channel,
    new: &Bundle,
    version: &Version<'_>,
    others: &[Versioned<'_>],
) -> Result<(), EditError> {
    if others
        .iter()
        .any(|other| other.version.precedence(version).is_eq())
    {
        return Err(EditError::VersionExists(new.version.clone()));
    }
    let is_truncated_above =
        |other: &&Versioned<'_>| other.is_truncated && other.version.precedence(version).is_gt();
    match others.iter().find(is_truncated_above) {
        None => Ok(()),
        Some(deprecated) => Err(EditError::BelowTruncation {
            bundle: new.name.clone(),
            channel: channel.name.clone(),
            deprecated: deprecated.name.to_owned(),
        }),
    }
}
