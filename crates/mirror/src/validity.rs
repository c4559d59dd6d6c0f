//! Checks that the selected part is a valid catalog, before anything is copied.

use fbc::{Catalog, ChannelEntry, find_graph_problem};
use fbc_read::problem::{ProblemCode, Severity};
use hashbrown::{HashMap, HashSet};

use crate::channel::shown;
use crate::configuration::CatalogSelection;
use crate::mirror_set::{MirrorReason, MirroredChannel, MirroredPackage, ReasonKind};
use crate::problem::{MAX_PROBLEMS, MirrorProblem, MirrorProblemCode};

/// Removes bundles that no channel has an entry for, and adds a problem for each rule that the
/// selected part breaks.
pub(crate) fn check(
    catalog: &Catalog,
    selection: &CatalogSelection,
    packages: &mut [MirroredPackage<'_>],
    problems: &mut Vec<MirrorProblem>,
) {
    for package in packages.iter_mut() {
        leave_out_bundles(selection, package, problems);
    }
    let mut checker = Checker {
        selection,
        problems,
    };
    for package in packages.iter() {
        checker.package(package);
    }
    checker.known_problems(catalog, packages);
}

/// Leaves out the bundles of a package that no selected channel has an entry for.
fn leave_out_bundles(
    selection: &CatalogSelection,
    package: &mut MirroredPackage<'_>,
    problems: &mut Vec<MirrorProblem>,
) {
    let entries = package.channels.iter().flat_map(|channel| &channel.entries);
    let names: HashSet<&str> = entries.map(|entry| entry.name()).collect();
    let path = path_of(selection, package, None);
    let line = line_of(selection, package);
    package.bundles.retain_mut(|mirrored| {
        let name = mirrored.bundle.name();
        mirrored.is_listed = names.contains(name);
        let is_installed = |reason: &MirrorReason<'_>| reason.kind == ReasonKind::Installed;
        let stays = mirrored.is_listed || mirrored.reasons.iter().any(is_installed);
        if !stays && problems.len() < MAX_PROBLEMS {
            let message =
                format!("bundle `{name}` is left out: no selected channel has an entry for it");
            let problem = MirrorProblem::new(MirrorProblemCode::BundleLeftOut, &*path, message);
            problems.push(
                problem
                    .on_line(line)
                    .but_oc_mirror("keeps it: `opm` and OLM refuse the catalog"),
            );
        }
        stays
    });
    package.deprecations.retain(|deprecation| {
        deprecation.schema != "olm.bundle" || names.contains(&*deprecation.name)
    });
}

struct Checker<'c> {
    selection: &'c CatalogSelection,
    problems: &'c mut Vec<MirrorProblem>,
}

impl Checker<'_> {
    fn package(&mut self, package: &MirroredPackage<'_>) {
        let name = package.package.name();
        if package.channels.is_empty() {
            self.refuse(
                package,
                None,
                format!("no channel of package `{name}` is selected"),
            );
            return;
        }
        let default = &package.default_channel;
        let is_default = |channel: &MirroredChannel<'_>| channel.channel.name() == default;
        if !package.channels.iter().any(is_default) {
            let message =
                format!("the default channel `{default}` of package `{name}` is not selected");
            self.refuse(package, None, message);
        }
        let mut versions = HashSet::with_capacity(package.bundles.len());
        for mirrored in package.bundles.iter().filter(|one| one.is_listed) {
            let bundle = mirrored.bundle;
            let Some(version) = bundle.version() else {
                continue;
            };
            if !versions.insert((version, bundle.release())) {
                let message =
                    format!("several bundles of package `{name}` have the version {version}");
                self.refuse(package, None, message);
            }
        }
        for channel in &package.channels {
            self.channel(package, channel);
        }
    }

    fn channel(&mut self, package: &MirroredPackage<'_>, channel: &MirroredChannel<'_>) {
        let name = channel.channel.name();
        let missing = channel
            .entries
            .iter()
            .filter(|entry| entry.bundle().is_none());
        let missing: Vec<&str> = missing.map(|entry| ChannelEntry::name(*entry)).collect();
        if !missing.is_empty() {
            let message = format!(
                "channel `{name}` names bundles that the catalog does not have: {}",
                shown(&missing)
            );
            self.refuse(package, Some(channel), message);
        }
        let mut names = HashSet::with_capacity(channel.entries.len());
        if let Some(twice) = channel
            .entries
            .iter()
            .find(|entry| !names.insert(entry.name()))
        {
            let message = format!("channel `{name}` has the entry `{}` twice", twice.name());
            self.refuse(package, Some(channel), message);
        }
        if let Some((_, problem)) = find_graph_problem(channel.entries.iter().copied()) {
            let message = format!("channel `{name}` would not be valid: {problem}");
            self.refuse(package, Some(channel), message);
        }
    }

    /// Refuses what is selected of a catalog and was invalid before.
    fn known_problems(&mut self, catalog: &Catalog, packages: &[MirroredPackage<'_>]) {
        let errors = catalog
            .problems()
            .iter()
            .filter(|problem| problem.severity() == Severity::Error);
        let errors: Vec<_> = errors.collect();
        if errors.is_empty() {
            return;
        }
        let by_name: HashMap<&str, &MirroredPackage<'_>> = packages
            .iter()
            .map(|package| (package.package.name(), package))
            .collect();
        for problem in errors {
            let package = problem
                .package
                .as_deref()
                .and_then(|name| by_name.get(name));
            let Some(&package) = package else {
                continue;
            };
            let is_selected = match (problem.channel.as_deref(), problem.bundle.as_deref()) {
                // The entries and the default channel of the selected part were checked above.
                _ if is_recomputed(problem.code) => false,
                (Some(channel), bundle) => package.channels.iter().any(|one| {
                    one.channel.name() == channel
                        && bundle.is_none_or(|bundle| {
                            one.entries.iter().any(|entry| entry.name() == bundle)
                        })
                }),
                (None, Some(bundle)) => package
                    .bundles
                    .binary_search_by(|one| one.bundle.name().cmp(bundle))
                    .is_ok_and(|at| package.bundles[at].is_listed),
                (None, None) => true,
            };
            if is_selected {
                let message = format!("the catalog is not valid: {}", problem.message);
                self.refuse(package, None, message);
            }
        }
    }

    fn refuse(
        &mut self,
        package: &MirroredPackage<'_>,
        channel: Option<&MirroredChannel<'_>>,
        message: String,
    ) {
        if self.problems.len() >= MAX_PROBLEMS && self.problems.iter().any(MirrorProblem::is_error)
        {
            return;
        }
        let path = path_of(self.selection, package, channel);
        let problem = MirrorProblem::new(MirrorProblemCode::InvalidCatalog, path, message);
        self.problems.push(
            problem
                .on_line(line_of(self.selection, package))
                .but_oc_mirror("makes the catalog: `opm` and OLM refuse it"),
        );
    }
}

/// Tells whether a problem of the whole catalog says nothing about the selected part of it.
fn is_recomputed(code: ProblemCode) -> bool {
    matches!(
        code,
        ProblemCode::ChannelEmpty
            | ProblemCode::ChannelEntryDuplicate
            | ProblemCode::ChannelEntryBundleMissing
            | ProblemCode::ChannelWithoutHead
            | ProblemCode::ChannelMultipleHeads
            | ProblemCode::ChannelCycle
            | ProblemCode::ChannelStranded
            | ProblemCode::PackageDefaultChannelMissing
            | ProblemCode::PackageDefaultChannelUnknown
            | ProblemCode::PackageWithoutChannels
            | ProblemCode::PackageVersionsDuplicate
            | ProblemCode::BundleNotInChannel
            | ProblemCode::DeprecationBundleUnknown
            | ProblemCode::DeprecationChannelUnknown
    )
}

fn path_of(
    selection: &CatalogSelection,
    package: &MirroredPackage<'_>,
    channel: Option<&MirroredChannel<'_>>,
) -> String {
    let channel = channel.and_then(|channel| channel.selection);
    match (package.selection, channel) {
        (Some(package), Some(channel)) => selection.channel_path(package, channel),
        (Some(package), None) => selection.package_path(package),
        (None, _) => selection.path.clone(),
    }
}

fn line_of(selection: &CatalogSelection, package: &MirroredPackage<'_>) -> Option<u64> {
    match package.selection {
        Some(at) => selection.packages[at].line,
        None => selection.line,
    }
}
