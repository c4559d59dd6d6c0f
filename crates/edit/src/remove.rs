//! Removing packages, channels and bundles.

use std::collections::BTreeSet;

use crate::deprecate::drop_lost;
use crate::draft::Draft;
use crate::error::{EditError, Refusal};
use crate::notice::Notice;
use crate::operation::{Packages, ReplacedPolicy};
use crate::package::{existing, unknown_channel};
use crate::state::Package;

/// Removes packages; every one that there is not is told.
pub(crate) fn packages(draft: &mut Draft<'_>, request: &Packages) -> Result<(), Refusal> {
    let names = names(request);
    let all = draft.packages();
    let unknown: Vec<_> = names
        .iter()
        .filter(|name| !all.contains(name.as_str()))
        .collect();
    if !unknown.is_empty() && !request.permissive {
        return Err(Refusal(
            unknown
                .into_iter()
                .map(|name| EditError::NothingToRemove(name.clone()))
                .collect(),
        ));
    }
    for name in &names {
        draft.remove_package(name);
    }
    prune_stranded(draft)
}

/// Removes every package that is not listed. Names that there are not are told: they may be
/// misspelled.
pub(crate) fn all_but(
    draft: &mut Draft<'_>,
    request: &Packages,
    notices: &mut Vec<Notice>,
) -> Result<(), Refusal> {
    let wanted = names(request);
    let all = draft.packages();
    let unknown = wanted.iter().filter(|name| !all.contains(name.as_str()));
    notices.extend(unknown.map(|name| Notice::NothingToKeep(name.clone())));
    let (kept, removed): (Vec<_>, Vec<_>) = all
        .iter()
        .cloned()
        .partition(|name| wanted.contains(&**name));
    if kept.is_empty() && !removed.is_empty() && !request.allow_empty {
        return Err(EditError::WouldEmpty.into());
    }
    for name in &removed {
        draft.remove_package(name);
    }
    Ok(())
}

pub(crate) fn prune_stranded(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    for name in draft.with_stranded()? {
        let former = draft.package(&name)?;
        let mut package = former.clone();
        package.prune_stranded();
        drop_lost(&mut package, &former);
        draft.set_package(package)?;
    }
    Ok(())
}

pub(crate) fn channel(
    draft: &mut Draft<'_>,
    name: &str,
    channel: &str,
    prune: bool,
) -> Result<(), Refusal> {
    let mut package = existing(draft, name)?;
    if package.channel(channel).is_none() {
        return Err(unknown_channel(name, channel).into());
    }
    package.channels.retain(|other| other.name != channel);
    finish(draft, package, prune)
}

/// Removes the head of the default channel from each channel that it heads.
pub(crate) fn latest(draft: &mut Draft<'_>, name: &str, drop_empty: bool) -> Result<(), Refusal> {
    let mut package = existing(draft, name)?;
    let default = package.default_channel().to_owned();
    let heads = package.channel(&default).map(|channel| channel.heads());
    let Some(head) = heads.and_then(|heads| heads.first().map(|head| head.name.clone())) else {
        return Err(unknown_channel(name, &default).into());
    };
    for channel in &mut package.channels {
        if channel.heads().iter().any(|entry| entry.name == head) {
            channel.entries.retain(|entry| entry.name != head);
            if channel.entries.is_empty() && !drop_empty {
                return Err(EditError::WouldEmptyChannel {
                    bundle: head,
                    channel: channel.name.clone(),
                }
                .into());
            }
        }
    }
    package
        .channels
        .retain(|channel| !channel.entries.is_empty());
    let is_used = package
        .channels
        .iter()
        .any(|channel| channel.entry(&head).is_some());
    package
        .bundles
        .retain(|bundle| bundle.name != head || is_used);
    finish(draft, package, false)
}

pub(crate) fn bundle(
    draft: &mut Draft<'_>,
    name: &str,
    bundle: &str,
    policy: ReplacedPolicy,
) -> Result<(), Refusal> {
    let mut package = existing(draft, name)?;
    if package.bundle(bundle).is_none() {
        return Err(EditError::UnknownBundle {
            package: name.to_owned(),
            bundle: bundle.to_owned(),
        }
        .into());
    }
    for channel in &mut package.channels {
        let below = channel.entry(bundle).map(|entry| entry.replaces.clone());
        let by: Vec<_> = channel
            .entries
            .iter()
            .filter(|entry| entry.replaces == bundle)
            .map(|e| e.name.clone())
            .collect();
        if !by.is_empty() && policy == ReplacedPolicy::Refuse {
            return Err(EditError::IsReplaced {
                bundle: bundle.to_owned(),
                channel: channel.name.clone(),
                by,
            }
            .into());
        }
        channel.entries.retain(|entry| entry.name != bundle);
        if policy == ReplacedPolicy::Reconnect {
            for entry in channel
                .entries
                .iter_mut()
                .filter(|entry| entry.replaces == bundle)
            {
                entry.replaces = below.clone().unwrap_or_default();
                if !entry.skips.iter().any(|skip| skip == bundle) {
                    entry.skips.push(bundle.to_owned());
                }
            }
        }
    }
    package
        .channels
        .retain(|channel| !channel.entries.is_empty());
    package.bundles.retain(|other| other.name != bundle);
    finish(draft, package, false)
}

/// Stores a package unless bundles of it would be in no channel that were in one before. Messages
/// of deprecation go with the channels and bundles that they are about.
pub(crate) fn finish(
    draft: &mut Draft<'_>,
    mut package: Package,
    prune: bool,
) -> Result<(), Refusal> {
    if prune {
        package.prune_stranded();
    }
    let former = draft.look(&package.name)?;
    let before = former.stranded();
    let bundles: Vec<_> = package
        .stranded()
        .difference(&before)
        .map(|name| (*name).to_owned())
        .collect();
    if !bundles.is_empty() {
        return Err(EditError::WouldStrand {
            package: package.name,
            bundles,
        }
        .into());
    }
    drop_lost(&mut package, former);
    Ok(draft.set_package(package)?)
}

/// Splits names at commas, as `opm` does.
fn names(request: &Packages) -> BTreeSet<String> {
    let names = request.packages.iter().flat_map(|names| names.split(','));
    names
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}
