//! Why each bundle is chosen or not: first by itself, then in its catalog, then among catalogs.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};

use super::{Failure, Offer, Rejection, Request, UpgradePolicy};
use crate::catalog::{Bundle, Package};
use crate::graph::{Installed, allowed, identity};
use crate::range::MastermindsRange;
use crate::version::VersionRelease;

/// A bundle with what it is judged by.
pub(super) struct Judged<'a> {
    /// Which of the offered catalogs it is in.
    pub(super) offer: usize,
    pub(super) bundle: Bundle<'a>,
    /// Its version and release, or why there is none.
    pub(super) identity: Result<VersionRelease<'a>, Cow<'static, str>>,
    /// Whether the bundle itself is deprecated.
    is_deprecated: bool,
    /// Why it is not chosen; `None` while it may be.
    pub(super) rejection: Option<Rejection>,
}

/// Judges the bundles of a package in one catalog; at most one of them is left without a rejection.
pub(super) fn judge_package<'a>(
    request: &Request<'_>,
    range: Option<&MastermindsRange>,
    offer: usize,
    package: Package<'a>,
    judged: &mut Vec<Judged<'a>>,
) -> Result<(), Failure<'a>> {
    let successors = successors(request, package)?;
    let first = judged.len();
    for (at, bundle) in package.bundles().enumerate() {
        let identity = identity(bundle, request.releases);
        let is_in_range = || match (range, &identity) {
            (Some(range), Ok(identity)) => range.contains(&identity.version),
            (Some(_), Err(_)) => false,
            (None, _) => true,
        };
        let rejection = match () {
            () if !is_in_channels(request, bundle) => Some(Rejection::Channel),
            () if !is_in_range() => Some(Rejection::Version),
            () if successors.as_ref().is_some_and(|successors| !successors[at]) => Some(Rejection::NotASuccessor),
            () => None,
        };
        let is_deprecated = bundle.deprecation().is_some();
        judged.push(Judged { offer, bundle, identity, is_deprecated, rejection });
    }
    reject_all_but_best(&mut judged[first..]);
    Ok(())
}

/// Judges the best bundles of the catalogs against each other; at most one of all is left without a rejection.
///
/// When several are equally good, it answers the catalogs that upstream names then: also those of lower priority.
pub(super) fn judge_across(offers: &[Offer<'_>], judged: &mut [Judged<'_>]) -> Vec<usize> {
    let mut candidates: Vec<_> = judged.iter_mut().filter(|judged| judged.rejection.is_none()).collect();
    if candidates.iter().any(|candidate| !candidate.is_deprecated) {
        for candidate in candidates.iter_mut().filter(|candidate| candidate.is_deprecated) {
            candidate.rejection = Some(Rejection::Deprecated);
        }
        candidates.retain(|candidate| !candidate.is_deprecated);
    }
    let priority = |candidate: &Judged<'_>| offers[candidate.offer].priority;
    let highest = candidates.iter().map(|candidate| priority(candidate)).max();
    let is_tied = candidates.iter().filter(|candidate| Some(priority(candidate)) == highest).count() > 1;
    let tied = if is_tied { candidates.iter().map(|candidate| candidate.offer).collect() } else { Vec::new() };
    for candidate in candidates {
        candidate.rejection = match () {
            () if Some(priority(candidate)) != highest => Some(Rejection::LowerPriority),
            () if is_tied => Some(Rejection::Ambiguous),
            () => None,
        };
    }
    tied
}

impl Judged<'_> {
    /// Best first: what was chosen, what others beat, what does not meet the request; of these what is not deprecated,
    /// then the highest version and priority.
    pub(super) fn order(&self, other: &Self, offers: &[Offer<'_>]) -> Ordering {
        let key = |this: &Self| (this.tier(), this.is_deprecated && this.tier() == Tier::Beaten);
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
            Some(Rejection::Deprecated | Rejection::LowerVersion | Rejection::LowerPriority) => Tier::Beaten,
            Some(Rejection::Channel | Rejection::Version | Rejection::NotASuccessor) => Tier::Unfit,
        }
    }

    /// By version and release; what has none comes last.
    fn highest_first(&self, other: &Self) -> Ordering {
        match (&self.identity, &other.identity) {
            (Ok(a), Ok(b)) => b.precedence(a),
            (a, b) => a.is_err().cmp(&b.is_err()),
        }
    }
}

/// How far a bundle came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Best,
    Tied,
    Beaten,
    Unfit,
}

/// Of each bundle of the package whether the installed one may be upgraded to it; `None` when that is not asked.
fn successors<'a>(request: &Request<'_>, package: Package<'a>) -> Result<Option<Vec<bool>>, Failure<'a>> {
    let Some(installed) = request.installed.filter(|_| request.policy == UpgradePolicy::CatalogProvided) else {
        return Ok(None);
    };
    let installed = Installed::parse(installed.name, installed.version, installed.release)
        .map_err(|fault| Failure::of_installed(&fault))?;
    let places = package.bundle_places();
    let mut is_successor = vec![false; places.len()];
    for bundle in allowed(package, &installed, request.channels, request.releases) {
        is_successor[bundle.place() - places.start] = true;
    }
    Ok(Some(is_successor))
}

fn is_in_channels(request: &Request<'_>, bundle: Bundle<'_>) -> bool {
    let mut names = bundle.channel_entries().map(|entry| entry.channel().name());
    request.channels.is_empty() || names.any(|name| request.channels.contains(&name))
}

/// Leaves of the bundles of one catalog that meet the request only the best: not deprecated, then the highest version.
/// Of equals it is the first in catalog order.
fn reject_all_but_best(judged: &mut [Judged<'_>]) {
    let is_better = |a: &Judged<'_>, b: &Judged<'_>| a.is_deprecated.cmp(&b.is_deprecated).then(a.highest_first(b));
    let fit = judged.iter().enumerate().filter(|(_, judged)| judged.rejection.is_none());
    let Some((best, _)) = fit.min_by(|(_, a), (_, b)| is_better(a, b)) else { return };
    let is_deprecated = judged[best].is_deprecated;
    for (at, judged) in judged.iter_mut().enumerate() {
        if at != best && judged.rejection.is_none() {
            judged.rejection = Some(match judged.identity {
                _ if judged.is_deprecated && !is_deprecated => Rejection::Deprecated,
                Err(_) => Rejection::Version,
                Ok(_) => Rejection::LowerVersion,
            });
        }
    }
}
