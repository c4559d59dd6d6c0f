//! The plan of a whole configuration: what `mirror plan` prints.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use fbc::Catalog;
use fbc::work::{Work, WorkStopped};
use serde::Serialize;

use crate::configuration::{CatalogSelection, MirrorConfiguration};
use crate::image::{MirroredImage, MirroredImageKind, images};
use crate::mirror_set::{MirrorSet, MirroredPackage};
use crate::problem::MirrorProblem;
use crate::select::{MirrorRules, select};

/// A plan as JSON; names only, so that it outlives the catalogs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MirrorPlan {
    /// Selected packages, in the order of the items of the configuration.
    pub packages: Vec<PlannedPackage>,
    /// Selected bundles, with reasons.
    pub bundles: Vec<PlannedBundle>,
    /// Images to copy, sorted by reference.
    pub images: Vec<PlannedImage>,
    /// Reasons for a refusal, and warnings.
    pub problems: Vec<PlannedProblem>,
}

/// A package of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedPackage {
    /// Reference of its catalog; absent if the configuration has only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// Name of the package.
    pub name: String,
    /// Name of its default channel.
    pub default_channel: String,
    /// Selected channels, sorted by name.
    pub channels: Vec<PlannedChannel>,
    /// Names of the selected bundles, sorted.
    pub bundles: Vec<String>,
    /// Deprecations that stay, as SCHEMA/NAME, in catalog order.
    pub deprecations: Vec<String>,
}

/// A channel of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedChannel {
    /// Name of the channel.
    pub name: String,
    /// Names of the selected entries, in catalog order.
    pub entries: Vec<String>,
}

/// A bundle of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedBundle {
    /// Reference of its catalog; absent if the configuration has only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// Name of its package.
    pub package: String,
    /// Name of the bundle.
    pub name: String,
    /// Semantic version, if it has one.
    pub version: Option<String>,
    /// Image reference; empty if it has none.
    pub image: String,
    /// Reason of the selection.
    pub reasons: Vec<PlannedReason>,
}

/// A reason of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedReason {
    /// Kind, such as `HEAD`.
    pub kind: &'static str,
    /// Channel that selects the bundle.
    pub channel: Option<String>,
    /// Name of the bundle that requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_by: Option<String>,
}

/// An image of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedImage {
    /// Reference, as bundles name it.
    pub reference: String,
    /// `BUNDLE` or `RELATED`.
    pub kind: &'static str,
    /// Digest that the reference names.
    pub digest: Option<String>,
    /// `true` if the reference names no digest, so that its image may change.
    pub by_tag: bool,
    /// Names of the bundles that use it.
    pub used_by: Vec<String>,
}

/// A problem of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedProblem {
    /// Code, such as `MULTIPLE_HEADS`.
    pub code: &'static str,
    /// `ERROR` or `WARNING`.
    pub severity: &'static str,
    /// Place in the configuration.
    pub path: String,
    /// Line of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Message: the fault and how to correct it.
    pub message: String,
    /// Behaviour of oc-mirror in this case, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like_oc_mirror: Option<&'static str>,
}

impl MirrorPlan {
    /// Creates a plan that only says why a configuration is refused.
    pub fn refused(problems: Vec<MirrorProblem>) -> Self {
        Self {
            problems: problems.into_iter().map(PlannedProblem::from).collect(),
            ..Self::default()
        }
    }

    /// Tells whether the configuration is refused.
    pub fn is_refused(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.severity == "ERROR")
    }
}

/// Plans a configuration. `catalogs` has the catalog of each item of `operators`.
///
/// # Errors
/// If the work was stopped.
pub fn plan(
    configuration: &MirrorConfiguration,
    catalogs: &[&Catalog],
    rules: MirrorRules,
    work: &Work<'_>,
) -> Result<MirrorPlan, WorkStopped> {
    let is_single = configuration.operators.len() == 1;
    let mut plan = MirrorPlan::default();
    let mut all_images: BTreeMap<String, PlannedImage> = BTreeMap::new();
    if rules == MirrorRules::Catalogql {
        let notices = configuration.notices.iter().cloned();
        plan.problems.extend(notices.map(PlannedProblem::from));
    }
    for (selection, catalog) in configuration.operators.iter().zip(catalogs) {
        let mut set = select(catalog, selection, rules, work)?;
        let images = images(&mut set, selection, configuration, rules, work)?;
        for image in &images {
            let planned = PlannedImage::from(image);
            match all_images.entry(planned.reference.clone()) {
                Entry::Vacant(entry) => {
                    entry.insert(planned);
                }
                Entry::Occupied(mut entry) => {
                    let known = entry.get_mut();
                    if image.kind == MirroredImageKind::Bundle {
                        known.kind = planned.kind;
                    }
                    known.used_by.extend(planned.used_by);
                }
            }
        }
        let reference = (!is_single).then_some(selection);
        plan.add(&set, reference);
    }
    plan.images = all_images.into_values().collect();
    if plan.is_refused() {
        plan = MirrorPlan {
            problems: plan.problems,
            ..MirrorPlan::default()
        };
    }
    Ok(plan)
}

impl MirrorPlan {
    fn add(&mut self, set: &MirrorSet<'_>, selection: Option<&CatalogSelection>) {
        let catalog = || selection.map(|selection| selection.catalog.clone());
        for package in &set.packages {
            self.packages.push(PlannedPackage {
                catalog: catalog(),
                ..PlannedPackage::from(package)
            });
            let bundles = package.bundles.iter().map(|mirrored| PlannedBundle {
                catalog: catalog(),
                package: package.package.name().to_owned(),
                name: mirrored.bundle.name().to_owned(),
                version: mirrored.bundle.version().map(str::to_owned),
                image: mirrored.bundle.image().decode().into_owned(),
                reasons: mirrored
                    .reasons
                    .iter()
                    .map(|reason| PlannedReason {
                        kind: reason.kind.as_str(),
                        channel: reason.channel.map(str::to_owned),
                        required_by: reason.required_by.map(str::to_owned),
                    })
                    .collect(),
            });
            self.bundles.extend(bundles);
        }
        self.problems
            .extend(set.problems.iter().cloned().map(PlannedProblem::from));
    }
}

impl From<&MirroredPackage<'_>> for PlannedPackage {
    fn from(package: &MirroredPackage<'_>) -> Self {
        let channels = package.channels.iter().map(|channel| PlannedChannel {
            name: channel.channel.name().to_owned(),
            entries: channel
                .entries
                .iter()
                .map(|entry| entry.name().to_owned())
                .collect(),
        });
        let bundles = package
            .bundles
            .iter()
            .map(|one| one.bundle.name().to_owned());
        let deprecations = package.deprecations.iter().map(ToString::to_string);
        Self {
            catalog: None,
            name: package.package.name().to_owned(),
            default_channel: package.default_channel.clone(),
            channels: channels.collect(),
            bundles: bundles.collect(),
            deprecations: deprecations.collect(),
        }
    }
}

impl From<&MirroredImage<'_>> for PlannedImage {
    fn from(image: &MirroredImage<'_>) -> Self {
        let digest = image.digest().map(str::to_owned);
        let used_by = image.used_by.iter().map(|bundle| bundle.name().to_owned());
        Self {
            reference: image.reference.clone(),
            kind: image.kind.as_str(),
            by_tag: digest.is_none(),
            digest,
            used_by: used_by.collect(),
        }
    }
}

impl From<MirrorProblem> for PlannedProblem {
    fn from(problem: MirrorProblem) -> Self {
        Self {
            code: problem.code.as_str(),
            severity: problem.code.severity().as_str(),
            path: problem.path,
            line: problem.line,
            message: problem.message,
            like_oc_mirror: problem.like_oc_mirror,
        }
    }
}
