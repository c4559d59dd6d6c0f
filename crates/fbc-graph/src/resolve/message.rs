//! Upstream's messages of resolution errors.

use fbc::{Bundle, PlatformVersionError};
use fbc_grammar::go_quote;
use fbc_grammar::range::VersionRangeError;
use fbc_grammar::selector::SelectorError;
use fbc_grammar::version::VersionReleaseError;

use super::outcome::{Considered, FailureCode, ResolutionFailure};
use super::request::{Offer, ResolutionRequest};

impl<'a> ResolutionFailure<'a> {
    pub(super) fn invalid(message: String) -> Self {
        Self {
            code: FailureCode::InvalidRequest,
            message,
            considered: Vec::new(),
        }
    }

    pub(super) fn invalid_range(text: &str, error: &VersionRangeError) -> Self {
        Self::invalid(format!(
            "desired version range {} is invalid: {error}",
            go_quote(text)
        ))
    }

    pub(super) fn unreadable_catalog(
        request: &ResolutionRequest<'_>,
        offer: &Offer<'_>,
        reason: &str,
    ) -> Self {
        let package = go_quote(request.package);
        let catalog = go_quote(offer.name);
        let message = format!(
            "error walking catalogs: error getting package {package} from catalog {catalog}: {reason}"
        );
        Self {
            code: FailureCode::PackageNotFound,
            message,
            considered: Vec::new(),
        }
    }

    pub(super) fn invalid_installed_bundle(error: &VersionReleaseError) -> Self {
        let what = match error {
            VersionReleaseError::Plain(_) => "get version and release of installed bundle",
            VersionReleaseError::Version { .. } | VersionReleaseError::Release { .. } => {
                "parse installed bundle version and release"
            }
        };
        Self::invalid(format!(
            "error walking catalogs: error finding upgrade edges: failed to {what}: {error}"
        ))
    }

    /// Creates the error for no matching bundle, or for `tied` catalogs that each have one.
    pub(super) fn no_single_bundle(
        request: &ResolutionRequest<'_>,
        offers: &[Offer<'_>],
        is_found: bool,
        tied: &[usize],
        considered: Vec<Considered<'a>>,
    ) -> Self {
        let installed = request.installed.map(|installed| {
            format!(
                "error upgrading from currently installed version {}: ",
                go_quote(installed.version)
            )
        });
        let found = if tied.is_empty() {
            "no bundles found"
        } else {
            "found bundles"
        };
        let version = Some(request.version).filter(|version| !version.is_empty());
        let version = version.map(|version| format!(" matching version {}", go_quote(version)));
        let channels = Some(request.channels).filter(|channels| !channels.is_empty());
        let channels = channels.map(|channels| format!(" in channels [{}]", channels.join(" ")));
        let mut names: Vec<_> = tied.iter().map(|&at| offers[at].name).collect();
        names.sort_unstable();
        let catalogs = Some(names).filter(|names| !names.is_empty());
        let catalogs = catalogs.map(|names| {
            format!(
                " in multiple catalogs with the same priority [{}]",
                names.join(" ")
            )
        });
        let subject = format!("{found} for package {}", go_quote(request.package));
        let platform = request
            .platform
            .map(|platform| format!(" compatible with {platform}"));
        let parts = [
            installed,
            Some(subject),
            version,
            channels,
            platform,
            catalogs,
        ];
        let message: String = parts.into_iter().flatten().collect();
        let code = if !tied.is_empty() {
            FailureCode::Ambiguous
        } else if is_found {
            FailureCode::NoMatchingBundle
        } else {
            FailureCode::PackageNotFound
        };
        Self {
            code,
            message: message.trim().to_owned(),
            considered,
        }
    }
}

pub(super) fn version_error(bundle: Bundle<'_>, error: &str) -> String {
    format!(
        "error getting resolved bundle version for bundle {}: {error}",
        go_quote(bundle.name())
    )
}

pub(super) fn dependency_error(bundle: Bundle<'_>, property: &str) -> String {
    let bundle = go_quote(bundle.name());
    let property = go_quote(property);
    format!(
        "validating bundle {bundle}: bundle {bundle} has a dependency declared via property {property} \
         which is currently not supported"
    )
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
