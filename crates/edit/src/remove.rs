//! Removes packages, channels and bundles.

use std::collections::BTreeSet;

use crate::deprecate::remove_stale_messages;
use crate::draft::{CatalogDraft, DraftPackage};
use crate::error::{BatchError, EditError};
use crate::notice::EditNotice;
use crate::operation::{Packages, ReplacedPolicy};
use crate::package::{existing_package, unknown_bundle, unknown_channel};

/// Removes packages.
///
/// # Errors
/// One for each package that does not exist, unless the request is permissive.
pub(crate) fn remove_packages(
    draft: &mut CatalogDraft<'_>,
    request: &Packages,
) -> Result<(), BatchError> {
    let names = names(request);
    let all = draft.packages();
    let unknown: Vec<_> = names
        .iter()
        .filter(|name| !all.contains(name.as_str()))
        .collect();
    if !unknown.is_empty() && !request.permissive {
        let errors = unknown
            .into_iter()
            .map(|name| EditError::NothingToRemove(name.clone()));
        return Err(BatchError(errors.collect()));
    }
    for name in &names {
        draft.remove_package(name);
    }
    prune_stranded(draft)
}

/// Removes every package that is not listed. Listed names without a package give notices, because
/// they may be misspelled.
pub(crate) fn prune(
    draft: &mut CatalogDraft<'_>,
    request: &Packages,
    notices: &mut Vec<EditNotice>,
) -> Result<(), BatchError> {
    let listed = names(request);
    let all = draft.packages();
    let unknown = listed.iter().filter(|name| !all.contains(name.as_str()));
    notices.extend(unknown.map(|name| EditNotice::NothingToKeep(name.clone())));
    let (kept, removed): (Vec<_>, Vec<_>) = all
        .iter()
        .cloned()
        .partition(|name| listed.contains(&**name));
    // A misspelled name would empty the catalog.
    if kept.is_empty() && !removed.is_empty() && !request.allow_empty {
        return Err(EditError::WouldEmpty.into());
    }
    for name in &removed {
        draft.remove_package(name);
    }
    Ok(())
}

/// Removes bundles that are in no channel, in all packages.
pub(crate) fn prune_stranded(draft: &mut CatalogDraft<'_>) -> Result<(), BatchError> {
    for name in draft.packages_with_stranded()? {
        let former = draft.package(&name)?;
        let mut package = former.clone();
        package.prune_stranded();
        remove_stale_messages(&mut package, &former);
        draft.set_package(package)?;
    }
    Ok(())
}

pub(crate) fn remove_channel(
    draft: &mut CatalogDraft<'_>,
    name: &str,
    channel: &str,
    prune: bool,
) -> Result<(), BatchError> {
    let mut package = existing_package(draft, name)?;
    if package.channel(channel).is_none() {
        return Err(unknown_channel(name, channel).into());
    }
    package.channels.retain(|other| other.name != channel);
    finish(draft, package, prune)
}

/// Removes the head of the default channel from each channel that it heads.
pub(crate) fn delete_latest(
    draft: &mut CatalogDraft<'_>,
    name: &str,
    drop_empty: bool,
) -> Result<(), BatchError> {
    let mut package = existing_package(draft, name)?;
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

pub(crate) fn delete_bundle(
    draft: &mut CatalogDraft<'_>,
    name: &str,
    bundle: &str,
    policy: ReplacedPolicy,
) -> Result<(), BatchError> {
    let mut package = existing_package(draft, name)?;
    if package.bundle(bundle).is_none() {
        return Err(unknown_bundle(name, bundle).into());
    }
    for channel in &mut package.channels {
        let below = channel.entry(bundle).map(|entry| entry.replaces.clone());
        let by: Vec<_> = channel
            .entries
            .iter()
            .filter(|entry| entry.replaces == bundle)
            .map(|entry| entry.name.clone())
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
        // The entry skips the removed bundle, so that clusters which have it can still upgrade.
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

/// Stores a package. Deprecation messages of channels and bundles that it lost are removed.
///
/// # Errors
/// If bundles would become stranded: clusters may have them installed.
pub(crate) fn finish(
    draft: &mut CatalogDraft<'_>,
    mut package: DraftPackage,
    prune: bool,
) -> Result<(), BatchError> {
    if prune {
        package.prune_stranded();
    }
    let former = draft.read_package(&package.name)?;
    // Bundles that were stranded before the operation are not its fault.
    let stranded_before = former.stranded();
    let bundles: Vec<_> = package
        .stranded()
        .difference(&stranded_before)
        .map(|name| (*name).to_owned())
        .collect();
    if !bundles.is_empty() {
        return Err(EditError::WouldStrand {
            package: package.name,
            bundles,
        }
        .into());
    }
    remove_stale_messages(&mut package, former);
    Ok(draft.set_package(package)?)
}

/// Splits the names of packages at commas, as `opm` does.
fn names(request: &Packages) -> BTreeSet<String> {
    let names = request.packages.iter().flat_map(|names| names.split(','));
    names
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}
