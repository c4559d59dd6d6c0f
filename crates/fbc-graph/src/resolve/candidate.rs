//! Candidates of a resolution: rejects bundles one by one, then within their catalog, then among
//! catalogs.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};

use fbc::work::{Step, Work};
use fbc::{Bundle, Package};
use fbc_grammar::range::MastermindsRange;
use fbc_grammar::version::VersionRelease;

use super::outcome::{Rejection, ResolutionError, ResolutionFailure};
use super::request::{Offer, ResolutionRequest, UpgradePolicy};
use crate::graph::{Installed, allowed_upgrades, identity};

/// A bundle under consideration.
pub(super) struct Candidate<'a> {
    /// Index of its catalog in the offers.
    pub(super) offer: usize,
    pub(super) bundle: Bundle<'a>,
    /// Version and release, or upstream's error.
    pub(super) identity: Result<VersionRelease<'a>, Cow<'static, str>>,
    /// `true` when the bundle itself is deprecated.
    is_deprecated: bool,
    /// Reason that it is rejected; `None` while it is not.
    pub(super) rejection: Option<Rejection>,
}

/// A request with its parsed range.
pub(super) struct Criteria<'r> {
    pub(super) request: &'r ResolutionRequest<'r>,
    /// Range of acceptable versions; `None` accepts every version.
    pub(super) range: Option<MastermindsRange>,
}

/// Adds the bundles of a package in one catalog to the candidates and rejects all but at most one
/// of them.
pub(super) fn evaluate_package<'a>(
    criteria: &Criteria<'_>,
    offer: usize,
    package: Package<'a>,
    candidates: &mut Vec<Candidate<'a>>,
    work: &Work<'_>,
) -> Result<(), ResolutionError<'a>> {
    let Criteria { request, range } = criteria;
    let range = range.as_ref();
    let successors = successors(request, package, work)?;
    let mut channels = request.channels.to_vec();
    channels.sort_unstable();
    let first = candidates.len();
    for (at, bundle) in package.bundles().enumerate() {
        work.draw(Step::Bundle, 4)?;
        work.draw(Step::Edge, bundle.channel_entries().len())?;
        work.draw(
            Step::Comparison,
            range.map_or(0, MastermindsRange::constraints),
        )?;
        let identity = identity(bundle, request.releases);
        let is_in_range = || match (range, &identity) {
            (Some(range), Ok(identity)) => range.contains(&identity.version),
            (Some(_), Err(_)) => false,
            (None, _) => true,
        };
        let is_compatible = request
            .platform
            .map_or(Ok(true), |platform| bundle.runs_on(&platform, work))?;
        let rejection = if !is_in_channels(&channels, bundle) {
            Some(Rejection::Channel)
        } else if !is_in_range() {
            Some(Rejection::Version)
        } else if successors
            .as_ref()
            .is_some_and(|successors| !successors[at])
        {
            Some(Rejection::NotASuccessor)
        } else if !is_compatible {
            Some(Rejection::Incompatible)
        } else {
            None
        };
        let is_deprecated = bundle.deprecation().is_some();
        candidates.push(Candidate {
            offer,
            bundle,
            identity,
            is_deprecated,
            rejection,
        });
    }
    reject_all_but_best(&mut candidates[first..]);
    Ok(())
}

/// Compares the remaining candidates of the catalogs and rejects all but at most one.
///
/// When several are equally good, all are rejected, and the result is the indexes of the catalogs
/// that upstream names in its message: also those of lower priority.
pub(super) fn compare_catalogs(
    offers: &[Offer<'_>],
    candidates: &mut [Candidate<'_>],
) -> Vec<usize> {
    let mut candidates: Vec<_> = candidates
        .iter_mut()
        .filter(|candidates| candidates.rejection.is_none())
        .collect();
    if candidates.iter().any(|candidate| !candidate.is_deprecated) {
        for candidate in candidates
            .iter_mut()
            .filter(|candidate| candidate.is_deprecated)
        {
            candidate.rejection = Some(Rejection::Deprecated);
        }
        candidates.retain(|candidate| !candidate.is_deprecated);
    }
    let priority = |candidate: &Candidate<'_>| offers[candidate.offer].priority;
    let highest = candidates.iter().map(|candidate| priority(candidate)).max();
    let is_tied = candidates
        .iter()
        .filter(|candidate| Some(priority(candidate)) == highest)
        .count()
        > 1;
    let tied = if is_tied {
        candidates.iter().map(|candidate| candidate.offer).collect()
    } else {
        Vec::new()
    };
    for candidate in candidates {
        candidate.rejection = if Some(priority(candidate)) != highest {
            Some(Rejection::LowerPriority)
        } else if is_tied {
            Some(Rejection::Ambiguous)
        } else {
            None
        };
    }
    tied
}

impl Candidate<'_> {
    /// Compares candidates for display: the picked one, those that others beat, those that do not
    /// match the request; among these not deprecated ones first, then by version and priority,
    /// highest first.
    pub(super) fn order(&self, other: &Self, offers: &[Offer<'_>]) -> Ordering {
        let key = |this: &Self| {
            (
                this.tier(),
                this.is_deprecated && this.tier() == Tier::Beaten,
            )
        };
        let priority = |this: &Self| Reverse(offers[this.offer].priority);
        key(self)
            .cmp(&key(other))
            .then_with(|| self.highest_first(other))
            .then_with(|| priority(self).cmp(&priority(other)))
            .then_with(|| self.offer.cmp(&other.offer))
    }

    fn tier(&self) -> Tier {
        match self.rejection {
            None | Some(Rejection::HasDependencies) => Tier::Best,
            Some(Rejection::Ambiguous) => Tier::Tied,
            Some(Rejection::Deprecated | Rejection::LowerVersion | Rejection::LowerPriority) => {
                Tier::Beaten
            }
            Some(
                Rejection::Channel
                | Rejection::Version
                | Rejection::NotASuccessor
                | Rejection::Incompatible,
            ) => Tier::NotMatching,
        }
    }

    /// Compares by version and release, highest first; candidates without a version come last.
    fn highest_first(&self, other: &Self) -> Ordering {
        match (&self.identity, &other.identity) {
            (Ok(a), Ok(b)) => b.precedence(a),
            (a, b) => a.is_err().cmp(&b.is_err()),
        }
    }
}

/// Groups of candidates, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Best,
    Tied,
    Beaten,
    NotMatching,
}

/// Tells for each bundle of the package whether the installed one may be upgraded to it; `None`
/// when any is allowed.
fn successors<'a>(
    request: &ResolutionRequest<'_>,
    package: Package<'a>,
    work: &Work<'_>,
) -> Result<Option<Vec<bool>>, ResolutionError<'a>> {
    let Some(installed) = request
        .installed
        .filter(|_| request.policy == UpgradePolicy::CatalogProvided)
    else {
        return Ok(None);
    };
    let installed = Installed::parse(installed.name, installed.version, installed.release)
        .map_err(|error| ResolutionFailure::invalid_installed_bundle(&error))?;
    let places = package.bundle_places();
    let mut is_successor = vec![false; places.len()];
    for bundle in allowed_upgrades(
        package,
        &installed,
        request.channels,
        request.releases,
        work,
    )? {
        is_successor[bundle.place() - places.start] = true;
    }
    Ok(Some(is_successor))
}

/// Returns whether a bundle is in one of these channels, sorted by name, or in any if there are
/// none.
fn is_in_channels(channels: &[&str], bundle: Bundle<'_>) -> bool {
    let mut names = bundle.channel_entries().map(|entry| entry.channel().name());
    channels.is_empty() || names.any(|name| channels.binary_search(&name).is_ok())
}

/// Rejects all matching candidates of one catalog but the best: not deprecated, then the highest
/// version, then the first in catalog order.
fn reject_all_but_best(candidates: &mut [Candidate<'_>]) {
    let is_better = |a: &Candidate<'_>, b: &Candidate<'_>| {
        a.is_deprecated
            .cmp(&b.is_deprecated)
            .then(a.highest_first(b))
    };
    let matching = candidates
        .iter()
        .enumerate()
        .filter(|(_, candidates)| candidates.rejection.is_none());
    let Some((best, _)) = matching.min_by(|(_, a), (_, b)| is_better(a, b)) else {
        return;
    };
    let is_deprecated = candidates[best].is_deprecated;
    for (at, candidates) in candidates.iter_mut().enumerate() {
        if at != best && candidates.rejection.is_none() {
            candidates.rejection = Some(match candidates.identity {
                _ if candidates.is_deprecated && !is_deprecated => Rejection::Deprecated,
                Err(_) => Rejection::Version,
                Ok(_) => Rejection::LowerVersion,
            });
        }
    }
}
