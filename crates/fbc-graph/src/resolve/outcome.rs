//! Results and errors of resolutions.

use fbc::work::WorkStopped;
use fbc::{Bundle, Deprecation};

/// Maximum number of considered bundles in a result.
pub const MAX_CONSIDERED: usize = 100;

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

/// Failure or interruption of a resolution.
pub(super) enum ResolutionError<'a> {
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
    /// The caller requires verified catalogs, and only others have the package.
    CatalogNotVerified,
}

/// A bundle that a resolution considered.
#[derive(Clone, Copy)]
pub struct Considered<'a> {
    /// Index of its catalog in the offers.
    pub offer: usize,
    /// The picked or considered bundle.
    pub bundle: Bundle<'a>,
    /// Reason that it was rejected; `None` for the picked bundle.
    pub rejection: Option<Rejection>,
}

/// Reason that a resolution rejected a bundle: the first one that applies.
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

impl FailureCode {
    /// Returns the canonical spelling, such as `NO_MATCHING_BUNDLE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::PackageNotFound => "PACKAGE_NOT_FOUND",
            Self::NoMatchingBundle => "NO_MATCHING_BUNDLE",
            Self::Ambiguous => "AMBIGUOUS",
            Self::HasDependencies => "HAS_DEPENDENCIES",
            Self::CatalogNotVerified => "CATALOG_NOT_VERIFIED",
        }
    }
}

impl Rejection {
    /// Returns the canonical spelling, such as `NOT_A_SUCCESSOR`.
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
