//! Resolution: picks the bundle that the OLM v1 controller would install for a `ClusterExtension`,
//! with its messages.
//!
//! It deliberately differs from the controller in three points. Of bundles with the same version
//! and release in one catalog it picks the one with the higher given release, then the one with the
//! smaller name, where upstream picks the one that it read first. It returns the deprecations of
//! the picked bundle, where upstream may return those of another catalog. Of objects with the same
//! key the first counts, as everywhere in this crate. Beyond what the controller does, a request
//! can name the platform that bundles must run on.

mod candidate;
mod message;

use std::collections::BTreeMap;

use crate::graph::Releases;
use candidate::{Candidate, compare_catalogs, evaluate_package};
use fbc::work::{Step, Work, WorkStopped, sort_steps};
use fbc::{Bundle, Catalog, Deprecation, Platform, PlatformVersionError, Property};
use fbc_grammar::range::MastermindsRange;
use fbc_grammar::selector::{Selector, SelectorError};

/// Maximum number of considered bundles in a result.
pub const MAX_CONSIDERED: usize = 100;

/// A catalog that resolution may choose from.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// Name of the catalog.
    pub name: &'a str,
    /// Priority: of several catalogs with a matching bundle, the highest wins.
    pub priority: i32,
    /// Labels of the catalog.
    pub labels: &'a BTreeMap<String, String>,
    /// The catalog, or why it cannot be read, which fails the resolution.
    pub content: Result<&'a Catalog, &'a str>,
}

/// The package to install or upgrade, with constraints.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResolutionRequest<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Range of acceptable versions, a [`MastermindsRange`]; any version when empty.
    pub version: &'a str,
    /// Channels whose bundles and edges are considered; all channels when empty.
    pub channels: &'a [&'a str],
    /// Selector for the labels of catalogs; `None` considers all catalogs.
    pub selector: Option<&'a Selector>,
    /// The installed bundle, if any.
    pub installed: Option<InstalledBundle<'a>>,
    /// Policy for upgrades.
    pub policy: UpgradePolicy,
    /// Whether given releases of bundles count.
    pub releases: Releases,
    /// Cluster to install into, which the controller does not look at; `None` considers every
    /// bundle.
    pub platform: Option<Platform<'a>>,
}

/// The installed bundle as described by a client; it need not be in a catalog any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstalledBundle<'a> {
    /// Name of the bundle.
    pub name: &'a str,
    /// Version of the bundle.
    pub version: &'a str,
    /// Release of the bundle; when `None`, build metadata of the version counts as release.
    pub release: Option<&'a str>,
}

/// Policy for upgrades: whether they must follow the edges of the catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpgradePolicy {
    /// Upgrades must follow the edges of the catalog.
    #[default]
    CatalogProvided,
    /// Any version is allowed, also a downgrade.
    SelfCertified,
}

/// Result of a resolution that picked a bundle.
#[derive(Clone)]
pub struct Resolution<'a> {
    /// Index of its catalog in the offers.
    pub offer: usize,
    /// The picked or considered bundle.
    pub bundle: Bundle<'a>,
    /// Deprecations of the bundle, its package, and its requested channels, in this order.
    pub deprecations: Vec<Deprecation<'a>>,
    /// Considered bundles, best first, at most [`MAX_CONSIDERED`].
    pub considered: Vec<Considered<'a>>,
}

/// Error of a resolution that found no bundle, or several equally good ones.
#[derive(Clone)]
pub struct ResolutionFailure<'a> {
    /// Stable code of the error.
    pub code: FailureCode,
    /// Upstream's message.
    pub message: String,
    /// Considered bundles, best first, at most [`MAX_CONSIDERED`]; empty when the request is
    /// malformed.
    pub considered: Vec<Considered<'a>>,
}

/// Why there is no resolution.
enum ResolutionError<'a> {
    Failed(ResolutionFailure<'a>),
    Stopped(WorkStopped),
}

/// Stable code of a resolution error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCode {
    /// The range, the selector, the installed version or the platform is malformed.
    InvalidRequest,
    /// No readable catalog has the package.
    PackageNotFound,
    /// Catalogs have the package, but no bundle meets the request.
    NoMatchingBundle,
    /// Catalogs of the same priority each have a bundle that meets the request.
    Ambiguous,
    /// The best bundle has dependencies, which a `ClusterExtension` cannot install.
    HasDependencies,
}

/// A bundle that a resolution considered.
#[derive(Clone, Copy)]
pub struct Considered<'a> {
    /// Index of its catalog in the offers.
    pub offer: usize,
    /// The picked or considered bundle.
    pub bundle: Bundle<'a>,
    /// Why it was rejected; `None` for the picked bundle.
    pub rejection: Option<Rejection>,
}

/// Why a resolution rejected a bundle: the first reason that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rejection {
    /// It is in none of the requested channels.
    Channel,
    /// Its version is not in the requested range, or is malformed.
    Version,
    /// No edge leads from the installed bundle to it.
    NotASuccessor,
    /// It does not run on the requested platform.
    Incompatible,
    /// It is deprecated, and another candidate is not.
    Deprecated,
    /// Another bundle of the same catalog has a higher version, or the same version and precedes
    /// it.
    LowerVersion,
    /// A catalog of higher priority has a candidate.
    LowerPriority,
    /// Another catalog of the same priority has a candidate.
    Ambiguous,
    /// It has dependencies.
    HasDependencies,
}

/// Types of properties that declare dependencies, which the controller cannot install.
const DEPENDENCIES: [&str; 3] = ["olm.package.required", "olm.gvk.required", "olm.constraint"];

/// Picks the bundle to install from the offered catalogs, which must be sorted by name, as upstream
/// lists them.
///
/// Takes time in the size of the package, not of the catalogs.
///
/// ```
/// # use std::collections::BTreeMap;
/// # use fbc::Catalog;
/// # use fbc_read::{Origins, origin::FileOrigin};
/// use fbc_graph::resolve::{Offer, ResolutionRequest, resolve};
/// use fbc::work::Work;
///
/// # let lines = br#"{"name":"etcd","schema":"olm.package"}
/// # {"image":"a.io/etcd:1","name":"etcd.v1","package":"etcd","properties":[{"type":"olm.package","value":{"packageName":"etcd","version":"1.0.0"}}],"schema":"olm.bundle"}
/// # {"image":"a.io/etcd:2","name":"etcd.v2","package":"etcd","properties":[{"type":"olm.package","value":{"packageName":"etcd","version":"2.0.0"}}],"schema":"olm.bundle"}
/// # "#;
/// # let lines: Vec<u8> = lines.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).flat_map(|line| [line, b"\n"].concat()).collect();
/// # let file = FileOrigin { path: "catalog.json".to_owned(), lines: vec![1, 2, 3], ..FileOrigin::default() };
/// # let catalog = Catalog::build(lines.into(), &Origins { files: vec![file], ..Origins::default() })?;
/// # let labels = BTreeMap::new();
/// // The catalog has the bundles `etcd.v1` (1.0.0) and `etcd.v2` (2.0.0).
/// let offers = [Offer { name: "community", priority: 0, labels: &labels, content: Ok(&catalog) }];
/// let request = ResolutionRequest { package: "etcd", version: "<2.0.0", ..ResolutionRequest::default() };
/// let resolution = resolve(&request, &offers, &Work::unlimited())?.map_err(|failure| failure.message)?;
/// assert_eq!(resolution.bundle.name(), "etcd.v1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The inner result fails when the request is malformed, no bundle matches, several are equally
/// good, or the best cannot be installed.
///
/// # Errors
/// If the work was stopped.
pub fn resolve<'a>(
    request: &ResolutionRequest<'_>,
    offers: &[Offer<'a>],
    work: &Work<'_>,
) -> Result<Result<Resolution<'a>, ResolutionFailure<'a>>, WorkStopped> {
    match pick(request, offers, work) {
        Ok(resolution) => Ok(Ok(resolution)),
        Err(ResolutionError::Failed(failure)) => Ok(Err(failure)),
        Err(ResolutionError::Stopped(stopped)) => Err(stopped),
    }
}

fn pick<'a>(
    request: &ResolutionRequest<'_>,
    offers: &[Offer<'a>],
    work: &Work<'_>,
) -> Result<Resolution<'a>, ResolutionError<'a>> {
    let range = match request.version {
        "" => None,
        text => Some(
            MastermindsRange::parse(text)
                .map_err(|error| ResolutionFailure::invalid_range(text, &error))?,
        ),
    };
    let mut candidates: Vec<Candidate<'a>> = Vec::new();
    let mut is_found = false;
    for (at, offer) in offers.iter().enumerate() {
        if !request
            .selector
            .is_none_or(|selector| selector.matches(offer.labels))
        {
            continue;
        }
        let catalog = offer
            .content
            .map_err(|reason| ResolutionFailure::unreadable_catalog(request, offer, reason))?;
        if let Some(package) = catalog.package(request.package) {
            is_found = true;
            evaluate_package(request, range.as_ref(), at, package, &mut candidates, work)?;
        }
    }
    let tied = compare_catalogs(offers, &mut candidates);
    let best = candidates
        .iter()
        .position(|candidates| candidates.rejection.is_none());
    let winner = best.map(|at| check_installable(&mut candidates[at]));
    work.draw(Step::Comparison, sort_steps(candidates.len()))?;
    let considered = considered(offers, candidates);
    match winner {
        Some(Ok((offer, bundle))) => Ok(Resolution {
            offer,
            bundle,
            deprecations: deprecations(request, bundle),
            considered,
        }),
        Some(Err((code, message))) => Err(ResolutionFailure {
            code,
            message,
            considered,
        }
        .into()),
        None => Err(ResolutionFailure::no_single_bundle(
            request, offers, is_found, &tied, considered,
        )
        .into()),
    }
}

/// Checks that the best candidate can be installed; if not, sets its rejection and returns the
/// error.
fn check_installable<'a>(
    best: &mut Candidate<'a>,
) -> Result<(usize, Bundle<'a>), (FailureCode, String)> {
    if let Err(error) = &best.identity {
        best.rejection = Some(Rejection::Version);
        return Err((
            FailureCode::NoMatchingBundle,
            message::version_error(best.bundle, error),
        ));
    }
    let is_dependency = |name: &&str| DEPENDENCIES.contains(name);
    if let Some(property) = best
        .bundle
        .properties()
        .map(Property::type_name)
        .find(is_dependency)
    {
        best.rejection = Some(Rejection::HasDependencies);
        return Err((
            FailureCode::HasDependencies,
            message::dependency_error(best.bundle, property),
        ));
    }
    Ok((best.offer, best.bundle))
}

fn considered<'a>(offers: &[Offer<'_>], mut candidates: Vec<Candidate<'a>>) -> Vec<Considered<'a>> {
    candidates.sort_by(|a, b| a.order(b, offers));
    candidates.truncate(MAX_CONSIDERED);
    let considered = |Candidate {
                          offer,
                          bundle,
                          rejection,
                          ..
                      }| Considered {
        offer,
        bundle,
        rejection,
    };
    candidates.into_iter().map(considered).collect()
}

fn deprecations<'a>(request: &ResolutionRequest<'_>, bundle: Bundle<'a>) -> Vec<Deprecation<'a>> {
    let mut deprecations: Vec<_> = bundle
        .deprecation()
        .into_iter()
        .chain(bundle.package().deprecation())
        .collect();
    let mut names = Vec::new();
    for entry in bundle.channel_entries() {
        let channel = entry.channel();
        let is_requested =
            request.channels.is_empty() || request.channels.contains(&channel.name());
        if is_requested && names.last() != Some(&channel.name()) {
            names.push(channel.name());
            deprecations.extend(channel.deprecation());
        }
    }
    deprecations
}

impl FailureCode {
    /// Returns the name in the GraphQL schema, such as `NO_MATCHING_BUNDLE`.
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
    /// Returns the name in the GraphQL schema, such as `NOT_A_SUCCESSOR`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Channel => "CHANNEL",
            Self::Version => "VERSION",
            Self::NotASuccessor => "NOT_A_SUCCESSOR",
            Self::Incompatible => "INCOMPATIBLE",
            Self::Deprecated => "DEPRECATED",
            Self::LowerVersion => "LOWER_VERSION",
            Self::LowerPriority => "LOWER_PRIORITY",
            Self::Ambiguous => "AMBIGUOUS",
            Self::HasDependencies => "HAS_DEPENDENCIES",
        }
    }
}

impl<'a> From<ResolutionFailure<'a>> for ResolutionError<'a> {
    fn from(failure: ResolutionFailure<'a>) -> Self {
        Self::Failed(failure)
    }
}

impl From<WorkStopped> for ResolutionError<'_> {
    fn from(stopped: WorkStopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<PlatformVersionError> for ResolutionFailure<'_> {
    fn from(error: PlatformVersionError) -> Self {
        ResolutionFailure::invalid(format!("desired platform is invalid: {error}"))
    }
}

impl From<SelectorError> for ResolutionFailure<'_> {
    fn from(error: SelectorError) -> Self {
        ResolutionFailure::invalid(format!("desired catalog selector is invalid: {error}"))
    }
}
