//! Adds bundles: the checks that all modes share, and overwriting.

use std::collections::{BTreeMap, BTreeSet};

use fbc_grammar::version::Version;

use crate::bundle::RenderedBundle;
use crate::draft::{CatalogDraft, DraftBlob, DraftBundle, DraftPackage};
use crate::error::{BatchError, EditError};
use crate::notice::EditNotice;
use crate::operation::{Add, AddMode};
use crate::value::BlobValue;
use crate::{remove, replaces, semver, substitute};

/// Adds bundles.
///
/// # Errors
/// All reasons of the first check that fails.
pub(crate) fn add(
    draft: &mut CatalogDraft<'_>,
    request: &Add<RenderedBundle>,
    notices: &mut Vec<EditNotice>,
) -> Result<(), BatchError> {
    notices.extend(request.bundles.iter().flat_map(EditNotice::from_bundle));
    let mut new = by_package(&request.bundles);
    check_form(&new, request)?;
    if request.mode == AddMode::Replaces {
        check_owners(draft, &new)?;
    }

    let mut packages = BTreeMap::new();
    let mut errors = Vec::new();
    for (name, bundles) in &new {
        let mut package = draft.package(name)?;
        match overwrite(&mut package, bundles, request) {
            Ok(overwritten) => {
                notices.extend(overwritten.map(EditNotice::Overwritten));
                errors.extend(
                    bundles
                        .iter()
                        .flat_map(|bundle| find_existing(&package, bundle, request)),
                );
            }
            Err(error) => errors.push(error),
        }
        packages.insert(name.clone(), package);
    }
    BatchError::unless_empty(errors)?;

    let mut errors = Vec::new();
    for (name, mut package) in packages {
        let bundles = new.remove(&name).unwrap_or_default();
        let added = add_to_package(&mut package, bundles, request.mode, draft.max_edges())
            .and_then(|()| remove::finish(draft, package, request.prune_stranded));
        if let Err(BatchError(reasons)) = added {
            errors.extend(reasons);
        }
    }
    BatchError::unless_empty(errors)
}

fn add_to_package(
    package: &mut DraftPackage,
    mut new: Vec<DraftBundle>,
    mode: AddMode,
    max_edges: usize,
) -> Result<(), BatchError> {
    let is_new = package.blob.is_none();
    // The order of a batch must not change its result.
    new.sort_by(|a, b| a.compare(b).then_with(|| a.name.cmp(&b.name)));
    match mode {
        AddMode::Replaces => {
            let changed = substitute::substitute(package, &mut new);
            replaces::add_bundles(package, new, changed, max_edges)?;
        }
        AddMode::Semver { skips_patches } => {
            for bundle in new {
                semver::add_bundle(package, bundle, skips_patches)?;
                // Each bundle can copy a whole chain, so that the limit is checked for each.
                if package.edges() > max_edges {
                    return Err(EditError::TooManyEdges(max_edges).into());
                }
            }
        }
    }
    // The `olm.package` of an existing package is its author's.
    if is_new {
        describe(package);
    }
    Ok(())
}

/// Groups bundles by package; one that is listed twice counts once.
fn by_package(bundles: &[RenderedBundle]) -> BTreeMap<String, Vec<DraftBundle>> {
    let mut packages: BTreeMap<String, Vec<DraftBundle>> = BTreeMap::new();
    for rendered in bundles {
        let members = rendered.blob.clone().into_members();
        let bundle = DraftBundle {
            placement: Some(rendered.placement.clone()),
            ..DraftBundle::from_members(DraftBlob::new(members))
        };
        let others = packages
            .entry(rendered.blob.str("package").to_owned())
            .or_default();
        let is_same =
            |other: &DraftBundle| other.image == bundle.image && other.name == bundle.name;
        if !others.iter().any(is_same) {
            others.push(bundle);
        }
    }
    packages
}

/// Checks bundles by themselves, without the catalog.
fn check_form(
    packages: &BTreeMap<String, Vec<DraftBundle>>,
    request: &Add<RenderedBundle>,
) -> Result<(), BatchError> {
    let mut errors = Vec::new();
    for bundle in packages.values().flatten() {
        let placement = bundle.placement.clone().unwrap_or_default();
        if placement.channels.iter().all(String::is_empty) {
            errors.push(EditError::NoChannels(bundle.name.clone()));
        } else if placement.channels.iter().any(String::is_empty) {
            // `opm` stores a channel without a name, and refuses to read it.
            errors.push(EditError::UnnamedChannel(bundle.name.clone()));
        }
        if !placement.substitutes_for.is_empty() && !request.enable_alpha {
            errors.push(EditError::SubstitutesFor);
        }
        if let Err(reason) = Version::parse(&bundle.version) {
            let version = bundle.version.clone();
            errors.push(match request.mode {
                AddMode::Replaces => EditError::Version {
                    bundle: bundle.name.clone(),
                    version,
                    reason,
                },
                AddMode::Semver { .. } => EditError::InvalidVersion(version),
            });
        }
    }
    BatchError::unless_empty(errors)
}

/// Checks that the names that the bundles have, replace and skip belong to one package each.
fn check_owners(
    draft: &mut CatalogDraft<'_>,
    packages: &BTreeMap<String, Vec<DraftBundle>>,
) -> Result<(), BatchError> {
    let mut owners: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (package, bundles) in packages {
        for bundle in bundles {
            let placement = bundle.placement.as_ref();
            let edges = placement
                .into_iter()
                .flat_map(|placement| placement.skips.iter().chain([&placement.replaces]));
            for name in edges.chain([&bundle.name]).filter(|name| !name.is_empty()) {
                owners.entry(name).or_default().insert(package);
            }
        }
    }
    let mut errors = Vec::new();
    for (bundle, packages) in owners {
        let bundle = bundle.to_owned();
        if packages.len() > 1 {
            let packages = packages.into_iter().map(str::to_owned).collect();
            errors.push(EditError::SeveralPackages { bundle, packages });
        } else if let Some(package) = packages.first()
            && let Some(owner) = draft.owner(&bundle, package)?
        {
            errors.push(EditError::ForeignEdge {
                bundle,
                owner,
                package: (*package).to_owned(),
            });
        }
    }
    BatchError::unless_empty(errors)
}

/// Finds the image and the name of a new bundle in its package.
fn find_existing(
    package: &DraftPackage,
    new: &DraftBundle,
    request: &Add<RenderedBundle>,
) -> Vec<EditError> {
    let mut errors = Vec::new();
    let mut images = package.bundles.iter().map(|bundle| &bundle.image);
    if !new.image.is_empty() && images.any(|image| *image == new.image) {
        errors.push(EditError::ImageExists(new.image.clone()));
    }

    // `opm` with `--overwrite-latest` names an image that exists, and not its bundle too.
    let is_named = request.overwrites() && !errors.is_empty();
    if package.bundle(&new.name).is_some() && !is_named {
        errors.push(match request.mode {
            AddMode::Replaces => EditError::NameExists,
            AddMode::Semver { .. } => EditError::VersionExists(new.version.clone()),
        });
    }
    errors
}

/// Removes the bundle that a new one of the same name overwrites, if the request allows that, and
/// returns its name. Its channels fall back to the bundle that it replaced.
fn overwrite(
    package: &mut DraftPackage,
    new: &[DraftBundle],
    request: &Add<RenderedBundle>,
) -> Result<Option<String>, EditError> {
    if !request.overwrites() {
        return Ok(None);
    }
    let is_there = |bundle: &&DraftBundle| {
        package
            .bundle(&bundle.name)
            .is_some_and(|other| other.image != bundle.image)
    };
    let names: Vec<_> = new
        .iter()
        .filter(is_there)
        .map(|bundle| bundle.name.clone())
        .collect();
    if names.len() > 1 {
        return Err(EditError::OverwriteSeveral);
    }
    for name in &names {
        for channel in package
            .channels
            .iter_mut()
            .filter(|channel| channel.entry(name).is_some())
        {
            if !channel.heads().iter().any(|head| head.name == *name) {
                return Err(EditError::OverwriteNotHead);
            }
            let below = channel
                .entry(name)
                .map(|entry| entry.replaces.clone())
                .unwrap_or_default();
            // A head that replaces nothing leaves nothing to fall back to.
            if below.is_empty() {
                channel.entries.clear();
            }
            channel.entries.retain(|entry| entry.name != *name);
        }
        package
            .channels
            .retain(|channel| !channel.entries.is_empty());
        package.bundles.retain(|bundle| bundle.name != *name);
    }
    Ok(names.into_iter().next())
}

/// Gives a new package the description and the icon of its default channel's head.
fn describe(package: &mut DraftPackage) {
    let channel = package.channel(package.default_channel());
    let head = channel.and_then(|channel| channel.heads().first().map(|head| head.name.clone()));
    let placement = head
        .and_then(|head| package.bundle(&head))
        .and_then(|bundle| bundle.placement.clone());
    let Some(placement) = placement else { return };
    let members = package.members();
    if !placement.description.is_empty() {
        members.insert(
            "description".to_owned(),
            BlobValue::text(placement.description),
        );
    }
    members.extend(placement.icon.map(|icon| ("icon".to_owned(), icon)));
}
