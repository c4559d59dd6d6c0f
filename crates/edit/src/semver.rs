//! Adds a bundle by its version: it replaces the next lower bundle of each channel, and the next
//! higher one replaces it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use fbc_grammar::version::Version;

use crate::draft::{DraftBundle, DraftChannel, DraftEntry, DraftPackage};
use crate::error::EditError;

/// Adds a new bundle to the channels that it names.
pub(crate) fn add_bundle(
    package: &mut DraftPackage,
    bundle: DraftBundle,
    skips_patches: bool,
) -> Result<(), EditError> {
    let placement = bundle.placement.clone().unwrap_or_default();
    let is_highest = package
        .bundles
        .iter()
        .all(|other| other.compare(&bundle) == Ordering::Less);
    let indexes = package
        .channels
        .iter()
        .enumerate()
        .map(|(index, channel)| (channel.name.clone(), index));
    let mut indexes: HashMap<String, usize> = indexes.collect();
    for name in &placement.channels {
        let index = *indexes.entry(name.clone()).or_insert_with(|| {
            package
                .channels
                .push(DraftChannel::new(&package.name, name));
            package.channels.len() - 1
        });
        insert(
            &package.bundles,
            &mut package.channels[index],
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
        // A fix of an old version does not move the default channel. In `opm` the bundle that comes
        // last does.
        package.set_default_channel(hint);
    }
    let default = package.default_channel().to_owned();
    if package.channel(&default).is_none() {
        return Err(EditError::DefaultChannelUnknown {
            bundle: bundle.name.clone(),
            channel: default,
            package: package.name.clone(),
        });
    }
    package.bundles.push(bundle);
    Ok(())
}

/// An entry with its version.
struct VersionedEntry<'b> {
    name: &'b str,
    version: Version<'b>,
    is_skipped: bool,
    is_deprecated: bool,
}

/// Inserts a bundle into the chain of a channel.
fn insert(
    bundles: &[DraftBundle],
    channel: &mut DraftChannel,
    new: &DraftBundle,
    skips_patches: bool,
) -> Result<(), EditError> {
    let invalid = |_| EditError::InvalidVersion(new.version.clone());
    let version = Version::parse(&new.version).map_err(invalid)?;
    let others = versions(bundles, channel)?;
    check_version(channel, new, &version, &others)?;
    let is_patch = |other: &VersionedEntry<'_>| {
        skips_patches
            && (other.version.major(), other.version.minor()) == (version.major(), version.minor())
    };
    // Only entries that nothing skips are part of the chain.
    let chain = others.iter().filter(|other| !other.is_skipped);
    let (below, above): (Vec<_>, Vec<_>) =
        chain.partition(|other| other.version.precedence(&version).is_lt());
    let replaces = below
        .iter()
        .rev()
        .find(|other| !is_patch(other))
        .map(|other| other.name.to_owned())
        .unwrap_or_default();
    // Skipped patches stay skipped. `opm` forgets them at the next addition.
    let lower_patches = others
        .iter()
        .filter(|other| is_patch(other) && other.version.precedence(&version).is_lt());
    let skips = lower_patches.map(|other| other.name.to_owned()).collect();
    let skip_range = new
        .placement
        .as_ref()
        .map(|placement| placement.skip_range.clone())
        .unwrap_or_default();
    let name = new.name.clone();
    if let Some(next) = above.first()
        && let Some(entry) = channel
            .entries
            .iter_mut()
            .find(|entry| entry.name == next.name)
    {
        // A later patch of the same minor version skips the new one instead of replacing it.
        if is_patch(next) {
            entry.skips.push(name.clone());
        } else {
            entry.replaces.clone_from(&name);
        }
    }
    channel.put([DraftEntry {
        name,
        replaces,
        skips,
        skip_range,
        ..DraftEntry::default()
    }]);
    Ok(())
}

/// Returns the entries of a channel in the order of their versions.
fn versions<'b>(
    bundles: &'b [DraftBundle],
    channel: &DraftChannel,
) -> Result<Vec<VersionedEntry<'b>>, EditError> {
    let listed: HashSet<&str> = channel.entries.iter().map(|entry| &*entry.name).collect();
    let skipped: HashSet<&String> = channel
        .entries
        .iter()
        .flat_map(|entry| &entry.skips)
        .collect();
    let members = bundles
        .iter()
        .filter(|bundle| listed.contains(&*bundle.name));
    let versioned = |bundle: &'b DraftBundle| {
        let invalid = |_| EditError::InvalidExistingVersion {
            bundle: bundle.name.clone(),
            version: bundle.version.clone(),
        };
        let version = Version::parse(&bundle.version).map_err(invalid)?;
        Ok(VersionedEntry {
            name: &bundle.name,
            version,
            is_skipped: skipped.contains(&bundle.name),
            is_deprecated: bundle.is_deprecated,
        })
    };
    let mut versions: Vec<_> = members.map(versioned).collect::<Result<_, _>>()?;
    versions.sort_by(|a, b| a.version.precedence(&b.version));
    Ok(versions)
}

/// Checks that a channel has neither the version nor, where it was truncated, a deprecated bundle
/// above it.
fn check_version(
    channel: &DraftChannel,
    new: &DraftBundle,
    version: &Version<'_>,
    others: &[VersionedEntry<'_>],
) -> Result<(), EditError> {
    if others
        .iter()
        .any(|other| other.version.precedence(version).is_eq())
    {
        return Err(EditError::VersionExists(new.version.clone()));
    }
    let is_deprecated_above = |other: &&VersionedEntry<'_>| {
        other.is_deprecated && other.version.precedence(version).is_gt()
    };
    match others.iter().find(is_deprecated_above) {
        None => Ok(()),
        Some(deprecated) => Err(EditError::BelowTruncation {
            bundle: new.name.clone(),
            channel: channel.name.clone(),
            deprecated: deprecated.name.to_owned(),
        }),
    }
}
