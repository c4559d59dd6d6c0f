//! Which bundle an install or an upgrade of a package would pick: what the OLM v1 controller does for a
//! `ClusterExtension`, step by step, with its texts.
//!
//! It differs from the controller on purpose in this: of bundles with one version and release in one catalog it takes
//! the one whose given release is higher, and then the one with the least name, where upstream takes the one that it
//! read first; it says the deprecations of the bundle that it picks, where upstream may say another catalog's; of
//! objects with one key the first counts, as everywhere here. It knows catalogs as values, and nothing of servers.

mod judge;
mod message;

use std::collections::BTreeMap;

use crate::catalog::{Bundle, Catalog, Deprecation, Property};
use crate::graph::Releases;
use crate::range::MastermindsRange;
use crate::selector::{Selector, SelectorError};
use judge::{Judged, judge_across, judge_package};

/// The most bundles that an answer gives reasons for.
pub const MAX_CONSIDERED: usize = 100;

/// A catalog to choose from.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// Its name.
    pub name: &'a str,
    /// Which catalog wins when several have a bundle; the highest does.
    pub priority: i32,
    /// Its labels, by key.
    pub labels: &'a BTreeMap<String, String>,
    /// What it holds, or why that cannot be read.
    pub content: Result<&'a Catalog, &'a str>,
}

/// What to install or upgrade.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Only versions in this range, as [`MastermindsRange`] reads it; every version when empty.
    pub version: &'a str,
    /// Only bundles in one of these channels, and only upgrades that they allow; every channel when empty.
    pub channels: &'a [&'a str],
    /// Only catalogs whose labels match; every catalog when absent.
    pub selector: Option<&'a Selector>,
    /// What is installed now; nothing when absent.
    pub installed: Option<InstalledBundle<'a>>,
    /// Whether an upgrade must follow the catalog's edges.
    pub policy: UpgradePolicy,
    /// Whether releases that bundles give count.
    pub releases: Releases,
}

/// The bundle that is installed now, as a client says it; it need not be in a catalog any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstalledBundle<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// Its release; when absent, build metadata of the version counts as one.
    pub release: Option<&'a str>,
}

/// Whether an upgrade must follow the catalog's edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpgradePolicy {
    /// It must.
    #[default]
    CatalogProvided,
    /// It need not; any other version will do.
    SelfCertified,
}

/// A resolution that found exactly one bundle.
#[derive(Clone)]
pub struct Resolution<'a> {
    /// Which of the offered catalogs it is in, by its place among them.
    pub offer: usize,
    /// The bundle.
    pub bundle: Bundle<'a>,
    /// Why not to use the bundle, its package, or its channels (of those asked for) any more, in this order.
    pub deprecations: Vec<Deprecation<'a>>,
    /// What was looked at, best first, at most [`MAX_CONSIDERED`].
    pub considered: Vec<Considered<'a>>,
}

/// A resolution that found no bundle, or more than one equally good.
#[derive(Clone)]
pub struct Failure<'a> {
    /// What went wrong.
    pub code: FailureCode,
    /// The same in upstream's words.
    pub message: String,
    /// What was looked at, best first, at most [`MAX_CONSIDERED`]; empty when the request is malformed.
    pub considered: Vec<Considered<'a>>,
}

/// What can go wrong in a resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCode {
    /// The request is malformed: its range, its selector or its installed version.
    InvalidRequest,
    /// No catalog has the package, as far as the catalogs can be read.
    PackageNotFound,
    /// Catalogs have the package, but no bundle meets the request.
    NoMatchingBundle,
    /// Catalogs of the same priority each have a bundle that meets the request.
    Ambiguous,
    /// The best bundle needs other bundles, which a `ClusterExtension` cannot install.
    HasDependencies,
}

/// A bundle that a resolution looked at.
#[derive(Clone, Copy)]
pub struct Considered<'a> {
    /// Which of the offered catalogs it is in, by its place among them.
    pub offer: usize,
    /// The bundle.
    pub bundle: Bundle<'a>,
    /// Why it was not chosen; `None` for the one that was.
    pub rejection: Option<Rejection>,
}

/// Why a resolution did not choose a bundle: the first of these reasons that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rejection {
    /// It is in none of the channels asked for.
    Channel,
    /// Its version is not in the range asked for, or is malformed.
    Version,
    /// Nothing lets the installed bundle be upgraded to it.
    NotASuccessor,
    /// Another is deprecated less.
    Deprecated,
    /// Another of the same catalog has a higher version, or the same and comes first.
    LowerVersion,
    /// Another catalog has a higher priority.
    LowerPriority,
    /// Another catalog of the same priority has a bundle that is equally good.
    Ambiguous,
    /// It needs other bundles.
    HasDependencies,
}

/// The types of properties that declare a dependency, which the controller cannot install.
const DEPENDENCIES: [&str; 3] = ["olm.package.required", "olm.gvk.required", "olm.constraint"];

/// Picks a bundle from the catalogs offered, which stand in the order in which upstream would list them: by name.
///
/// Takes time in what the catalogs hold of this package, and not in what else they hold.
///
/// # Errors
/// When not exactly one bundle is best, or it cannot be installed.
pub fn resolve<'a>(request: &Request<'_>, offers: &[Offer<'a>]) -> Result<Resolution<'a>, Failure<'a>> {
    let range = match request.version {
        "" => None,
        text => Some(MastermindsRange::parse(text).map_err(|fault| Failure::of_range(text, &fault))?),
    };
    let mut judged: Vec<Judged<'a>> = Vec::new();
    let mut is_found = false;
    for (at, offer) in offers.iter().enumerate() {
        if !request.selector.is_none_or(|selector| selector.matches(offer.labels)) {
            continue;
        }
        let catalog = offer.content.map_err(|reason| Failure::of_catalog(request, offer, reason))?;
        if let Some(package) = catalog.package(request.package) {
            is_found = true;
            judge_package(request, range.as_ref(), at, package, &mut judged)?;
        }
    }
    let tied = judge_across(offers, &mut judged);
    let best = judged.iter().position(|judged| judged.rejection.is_none());
    let winner = best.map(|at| conclude(&mut judged[at]));
    let considered = considered(offers, judged);
    match winner {
        Some(Ok((offer, bundle))) => {
            Ok(Resolution { offer, bundle, deprecations: deprecations(request, bundle), considered })
        }
        Some(Err((code, message))) => Err(Failure { code, message, considered }),
        None => Err(Failure::of_nothing(request, offers, is_found, &tied, considered)),
    }
}

/// Whether the best bundle can be installed; if not, why, which becomes its rejection too.
fn conclude<'a>(best: &mut Judged<'a>) -> Result<(usize, Bundle<'a>), (FailureCode, String)> {
    if let Err(fault) = &best.identity {
        best.rejection = Some(Rejection::Version);
        return Err((FailureCode::NoMatchingBundle, message::of_version(best.bundle, fault)));
    }
    let is_dependency = |name: &&str| DEPENDENCIES.contains(name);
    if let Some(property) = best.bundle.properties().map(Property::type_name).find(is_dependency) {
        best.rejection = Some(Rejection::HasDependencies);
        return Err((FailureCode::HasDependencies, message::of_dependency(best.bundle, property)));
    }
    Ok((best.offer, best.bundle))
}

fn considered<'a>(offers: &[Offer<'_>], mut judged: Vec<Judged<'a>>) -> Vec<Considered<'a>> {
    judged.sort_by(|a, b| a.order(b, offers));
    judged.truncate(MAX_CONSIDERED);
    let considered = |Judged { offer, bundle, rejection, .. }| Considered { offer, bundle, rejection };
    judged.into_iter().map(considered).collect()
}

fn deprecations<'a>(request: &Request<'_>, bundle: Bundle<'a>) -> Vec<Deprecation<'a>> {
    let mut deprecations: Vec<_> = bundle.deprecation().into_iter().chain(bundle.package().deprecation()).collect();
    let mut names = Vec::new();
    for entry in bundle.channel_entries() {
        let channel = entry.channel();
        let is_asked_for = request.channels.is_empty() || request.channels.contains(&channel.name());
        if is_asked_for && names.last() != Some(&channel.name()) {
            names.push(channel.name());
            deprecations.extend(channel.deprecation());
        }
    }
    deprecations
}

impl FailureCode {
    /// Its name, such as `NO_MATCHING_BUNDLE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::PackageNotFound => "PACKAGE_NOT_FOUND",
            Self::NoMatchingBundle => "NO_MATCHING_BUNDLE",
            Self::Ambiguous => "AMBIGUOUS",
            Self::HasDependencies => "HAS_DEPENDENCIES",
        }
    }
}

impl Rejection {
    /// Its name, such as `NOT_A_SUCCESSOR`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Channel => "CHANNEL",
            Self::Version => "VERSION",
            Self::NotASuccessor => "NOT_A_SUCCESSOR",
            Self::Deprecated => "DEPRECATED",
            Self::LowerVersion => "LOWER_VERSION",
            Self::LowerPriority => "LOWER_PRIORITY",
            Self::Ambiguous => "AMBIGUOUS",
            Self::HasDependencies => "HAS_DEPENDENCIES",
        }
    }
}

impl From<SelectorError> for Failure<'_> {
    fn from(fault: SelectorError) -> Self {
        Failure::invalid(format!("desired catalog selector is invalid: {fault}"))
    }
}
