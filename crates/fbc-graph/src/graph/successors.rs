//! Finds the upgrades of an installed bundle in one step, in one pass over the channels and without
//! a graph.

use std::borrow::Cow;

use hashbrown::HashMap;

use fbc::work::{Step, Work, WorkStopped, sort_steps};
use fbc::{Bundle, ChannelEntry, Package, PropertyKind};
use fbc_grammar::range::BlangRange;
use fbc_grammar::version::{VersionRelease, VersionReleaseError};

use super::{Reasons, draw_range, selected_channels};

/// An installed bundle, which need not be in a catalog any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installed<'a> {
    /// Name of the bundle.
    pub name: &'a str,
    /// Version and release; `None` when malformed, which only happens to bundles of catalogs.
    pub version: Option<VersionRelease<'a>>,
}

/// Tells whether the `release` of an `olm.package` property counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Releases {
    /// Only build metadata of the version becomes a release, as in the OLM v1 controller without
    /// its feature gate `BundleReleaseSupport`.
    #[default]
    FromBuildMetadata,
    /// A given release counts.
    Given,
}

impl<'a> Installed<'a> {
    /// Parses the description of an installed bundle.
    ///
    /// # Errors
    /// Fails when the version or the release is malformed.
    pub fn parse(
        name: &'a str,
        version: &'a str,
        release: Option<&'a str>,
    ) -> Result<Self, VersionReleaseError> {
        Ok(Self {
            name,
            version: Some(VersionRelease::parse(version, release)?),
        })
    }

    /// Describes a bundle of a catalog as installed.
    pub fn from_bundle(bundle: Bundle<'a>) -> Self {
        Self {
            name: bundle.name(),
            version: identity(bundle, Releases::Given).ok(),
        }
    }
}

/// Returns the bundles that can replace an installed one in one upgrade step: highest version and
/// release first, then by name.
///
/// As in the OLM v1 controller, these are the bundles of entries that replace or skip the installed
/// bundle by name, or whose skip range contains its version, and the bundles of the same version
/// and release under another name. Only entries of these channels count, or those of every channel
/// when none is named. The installed bundle itself is not among them. Takes time in the number of
/// bundles, entries and skips of the package.
///
/// # Errors
/// If the work was stopped.
pub fn successors<'a>(
    package: Package<'a>,
    installed: &Installed<'_>,
    channels: &[impl AsRef<str>],
    work: &Work<'_>,
) -> Result<Vec<Bundle<'a>>, WorkStopped> {
    let allowed = allowed_upgrades(package, installed, channels, Releases::Given, work)?;
    work.draw(Step::Comparison, sort_steps(allowed.len()))?;
    let mut bundles: Vec<_> = allowed
        .into_iter()
        .filter(|bundle| bundle.name() != installed.name)
        .map(|bundle| (identity(bundle, Releases::Given).ok(), bundle))
        .collect();
    bundles.sort_by(|(a, _), (b, _)| match (a, b) {
        (Some(a), Some(b)) => b.precedence(a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    Ok(bundles.into_iter().map(|(_, bundle)| bundle).collect())
}

/// Tells what in an entry allows the upgrade of an installed bundle to it.
pub(super) struct Admission<'a, 'i> {
    installed: &'i Installed<'i>,
    /// Results by range: the same one often stands in several channels.
    ranges: HashMap<&'a str, bool>,
}

impl<'a, 'i> Admission<'a, 'i> {
    pub(super) fn new(installed: &'i Installed<'i>) -> Self {
        Self {
            installed,
            ranges: HashMap::new(),
        }
    }

    pub(super) fn reasons(
        &mut self,
        entry: ChannelEntry<'a>,
        work: &Work<'_>,
    ) -> Result<Reasons, WorkStopped> {
        work.draw(Step::Edge, entry.skips().len())?;
        let name = self.installed.name;
        Ok(Reasons {
            // An absent `replaces` is an empty name upstream.
            replaces: entry.replaces().unwrap_or_default() == name,
            skips: entry.skips().any(|skip| skip == name),
            skip_range: entry
                .skip_range()
                .map_or(Ok(false), |range| self.is_in_range(range, work))?,
        })
    }

    fn is_in_range(&mut self, range: &'a str, work: &Work<'_>) -> Result<bool, WorkStopped> {
        let Some(version) = &self.installed.version else {
            return Ok(false);
        };
        if let Some(&is_in_range) = self.ranges.get(range) {
            return Ok(is_in_range);
        }
        draw_range(range, work)?;
        let is_in_range =
            BlangRange::parse(range).is_ok_and(|range| range.contains(&version.version));
        self.ranges.insert(range, is_in_range);
        Ok(is_in_range)
    }
}

/// Returns the bundles that an upgrade may choose, including the installed one, in catalog order.
pub(crate) fn allowed_upgrades<'a>(
    package: Package<'a>,
    installed: &Installed<'_>,
    channels: &[impl AsRef<str>],
    releases: Releases,
    work: &Work<'_>,
) -> Result<Vec<Bundle<'a>>, WorkStopped> {
    work.draw(Step::Bundle, 2 * package.bundle_places().len())?;
    let first = package.bundle_places().start;
    let mut is_allowed = vec![false; package.bundle_places().len()];
    let mut admission = Admission::new(installed);
    for channel in selected_channels(package, channels, work)? {
        for entry in channel.entries() {
            work.draw(Step::Edge, 1)?;
            if let Some(bundle) = entry.bundle()
                && !is_allowed[bundle.place() - first]
                && admission.reasons(entry, work)?.any()
            {
                is_allowed[bundle.place() - first] = true;
            }
        }
    }
    let is_same = |bundle: Bundle<'_>| {
        let Some(version) = &installed.version else {
            return false;
        };
        identity(bundle, releases).is_ok_and(|other| other.precedence(version).is_eq())
    };
    let allowed = package
        .bundles()
        .zip(is_allowed)
        .filter(|&(bundle, allowed)| allowed || is_same(bundle));
    Ok(allowed.map(|(bundle, _)| bundle).collect())
}

/// Parses version and release of a bundle from its first property of type `olm.package`.
///
/// # Errors
/// Returns upstream's message when the property is missing or malformed.
pub(crate) fn identity(
    bundle: Bundle<'_>,
    releases: Releases,
) -> Result<VersionRelease<'_>, Cow<'static, str>> {
    let Some(property) = bundle
        .properties()
        .find(|property| property.type_name() == "olm.package")
    else {
        return Err(format!(
            "no package property found in bundle {}",
            fbc_grammar::go_quote(bundle.name())
        )
        .into());
    };
    let PropertyKind::Package {
        version, release, ..
    } = property.kind()
    else {
        let reason = property
            .package_mismatch()
            .unwrap_or_else(|| "a field has the wrong type".to_owned());
        return Err(format!("error unmarshalling package property: {reason}").into());
    };
    let release = release.filter(|_| releases == Releases::Given);
    VersionRelease::parse(version, release).map_err(|error| error.to_string().into())
}
