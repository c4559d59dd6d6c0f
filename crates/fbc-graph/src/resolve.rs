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
mod outcome;
mod request;

use fbc::work::{Step, Work, WorkStopped, sort_steps};
use fbc::{Bundle, Deprecation, Property};
use fbc_grammar::olm::UNRESOLVED_TYPES;
use fbc_grammar::range::MastermindsRange;

use candidate::{Candidate, Criteria, compare_catalogs, evaluate_package};
use outcome::ResolutionError;

pub use outcome::{
    Considered, FailureCode, MAX_CONSIDERED, Rejection, Resolution, ResolutionFailure,
};
pub use request::{InstalledBundle, Offer, ResolutionRequest, UpgradePolicy};

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
    let criteria = Criteria { request, range };
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
            evaluate_package(&criteria, at, package, &mut candidates, work)?;
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
    let is_dependency = |name: &&str| UNRESOLVED_TYPES.contains(name);
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
