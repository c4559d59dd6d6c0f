//! Adding bundles: what every mode checks, and overwriting.

use std::collections::{BTreeMap, BTreeSet};

use fbc_grammar::version::Version;

use crate::bundle::RenderedBundle;
use crate::draft::Draft;
use crate::error::{EditError, Refusal};
use crate::notice::Notice;
use crate::operation::Add;
use crate::remove;
use crate::state::{Blob, Bundle, Package};
use crate::value::Value;
use crate::{replaces, semver, substitute};

/// How new bundles get their edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// From their CSVs.
    Replaces,
    /// By version.
    Semver {
        /// Skip lower patches of the same minor version.
        skips_patches: bool,
    },
}

/// Adds bundles; all reasons of the first kind that refuse them are told.
pub(crate) fn add(
    draft: &mut Draft<'_>,
    request: &Add<RenderedBundle>,
    notices: &mut Vec<Notice>,
) -> Result<(), Refusal> {
    notices.extend(request.bundles.iter().flat_map(Notice::of_bundle));
    let mode = match &*request.mode {
        "replaces" => Mode::Replaces,
        "semver" => Mode::Semver {
            skips_patches: false,
        },
        "semver-skippatch" => Mode::Semver {
            skips_patches: true,
        },
        other => return Err(EditError::UnknownMode(other.to_owned()).into()),
    };
    let mut packages = by_package(&request.bundles);
    check_form(&packages, mode, request.enable_alpha)?;
    if mode == Mode::Replaces {
        check_owners(draft, &packages)?;
    }
    let mut states = BTreeMap::new();
    let mut errors = Vec::new();
    for (name, new) in &packages {
        let mut package = draft.package(name)?;
        let may_overwrite = request.overwrite_latest && mode == Mode::Replaces;
        let overwritten = if may_overwrite {
            overwrite(&mut package, new)
        } else {
            Ok(None)
        };
        match overwritten {
            Ok(overwritten) => {
                notices.extend(overwritten.map(Notice::Overwritten));
                errors.extend(
                    new.iter()
                        .flat_map(|bundle| exists(&package, bundle, request, mode)),
                );
            }
            Err(error) => errors.push(error),
        }
        states.insert(name.clone(), package);
    }
    if !errors.is_empty() {
        return Err(Refusal(errors));
    }
    for (name, mut package) in states {
        let new = packages.remove(&name).unwrap_or_default();
        match place(&mut package, new, mode, draft.max_edges()) {
            Ok(()) => {
                if let Err(Refusal(faults)) = remove::finish(draft, package, request.prune_stranded)
                {
                    errors.extend(faults);
                }
            }
            Err(faults) => errors.extend(faults),
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Refusal(errors))
    }
}

fn place(
    package: &mut Package,
    mut new: Vec<Bundle>,
    mode: Mode,
    max_edges: usize,
) -> Result<(), Vec<EditError>> {
    let is_new = package.blob.is_none();
    new.sort_by(|a, b| a.compare(b).then_with(|| a.name.cmp(&b.name)));
    match mode {
        Mode::Replaces => {
            let touched = substitute::substitute(package, &mut new);
            replaces::place(package, new, touched, max_edges)?;
        }
        Mode::Semver { skips_patches } => {
            for bundle in new {
                semver::place(package, bundle, skips_patches).map_err(|error| vec![error])?;
                if package.edges() > max_edges {
                    return Err(vec![EditError::TooManyEdges(max_edges)]);
                }
            }
        }
    }
    if is_new {
        describe(package);
    }
    Ok(())
}

/// Collects the bundles of each package; the same image twice is one bundle.
fn by_package(bundles: &[RenderedBundle]) -> BTreeMap<String, Vec<Bundle>> {
    let mut packages: BTreeMap<String, Vec<Bundle>> = BTreeMap::new();
    for rendered in bundles {
        let members = rendered.blob.as_object().cloned().unwrap_or_default();
        let bundle = Bundle {
            placement: Some(rendered.placement.clone()),
            ..Bundle::read(Blob::new(members))
        };
        let others = packages
            .entry(rendered.blob.str("package").to_owned())
            .or_default();
        let is_same = |other: &Bundle| other.image == bundle.image && other.name == bundle.name;
        if !others.iter().any(is_same) {
            others.push(bundle);
        }
    }
    packages
}

/// Checks what does not depend on the content.
fn check_form(
    packages: &BTreeMap<String, Vec<Bundle>>,
    mode: Mode,
    alpha: bool,
) -> Result<(), Refusal> {
    let mut errors = Vec::new();
    for bundle in packages.values().flatten() {
        let placement = bundle.placement.clone().unwrap_or_default();
        if placement.channels.iter().all(String::is_empty) {
            errors.push(EditError::NoChannels(bundle.name.clone()));
        } else if placement.channels.iter().any(String::is_empty) {
            errors.push(EditError::UnnamedChannel(bundle.name.clone()));
        }
        if !placement.substitutes_for.is_empty() && !alpha {
            errors.push(EditError::SubstitutesFor);
        }
        if let Err(fault) = Version::parse(&bundle.version) {
            let name = bundle.name.clone();
            let version = bundle.version.clone();
            errors.push(match mode {
                Mode::Replaces => EditError::Version {
                    bundle: name,
                    version,
                    fault,
                },
                Mode::Semver { .. } => EditError::InvalidVersion(version),
            });
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Refusal(errors))
    }
}

/// Checks that the names that the bundles have, replace and skip belong to one package each.
fn check_owners(
    draft: &mut Draft<'_>,
    packages: &BTreeMap<String, Vec<Bundle>>,
) -> Result<(), Refusal> {
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
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Refusal(errors))
    }
}

/// Finds what of a new bundle is there already.
fn exists(
    package: &Package,
    new: &Bundle,
    request: &Add<RenderedBundle>,
    mode: Mode,
) -> Vec<EditError> {
    let mut errors = Vec::new();
    if !new.image.is_empty()
        && package
            .bundles
            .iter()
            .any(|bundle| bundle.image == new.image)
    {
        errors.push(EditError::ImageExists(new.image.clone()));
    }
    let is_told = request.overwrite_latest && mode == Mode::Replaces && !errors.is_empty();
    if package.bundle(&new.name).is_some() && !is_told {
        errors.push(match mode {
            Mode::Replaces => EditError::NameExists,
            Mode::Semver { .. } => EditError::VersionExists(new.version.clone()),
        });
    }
    errors
}

/// Removes the bundle that a new one of the same name overwrites, and returns its name: its
/// channels fall back to what it replaced.
fn overwrite(package: &mut Package, new: &[Bundle]) -> Result<Option<String>, EditError> {
    let is_there = |bundle: &&Bundle| {
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
fn describe(package: &mut Package) {
    let channel = package.channel(package.default_channel());
    let head = channel.and_then(|channel| channel.heads().first().map(|head| head.name.clone()));
    let placement = head
        .and_then(|head| package.bundle(&head))
        .and_then(|bundle| bundle.placement.clone());
    let Some(placement) = placement else { return };
    let members = package.members();
    if !placement.description.is_empty() {
        members.insert("description".to_owned(), Value::text(placement.description));
    }
    members.extend(placement.icon.map(|icon| ("icon".to_owned(), icon)));
}
