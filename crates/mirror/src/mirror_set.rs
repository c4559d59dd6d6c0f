//! The selected part of a catalog.

use std::borrow::Cow;
use std::fmt;

use fbc::{Bundle, Channel, ChannelEntry, Package};

use crate::problem::MirrorProblem;

/// The selected part of a catalog.
#[derive(Clone, Default)]
pub struct MirrorSet<'a> {
    /// Selected packages, sorted by name; none if the configuration is refused.
    pub packages: Vec<MirroredPackage<'a>>,
    /// Reasons for a refusal, and warnings.
    pub problems: Vec<MirrorProblem>,
}

/// The selected part of a package.
#[derive(Clone)]
pub struct MirroredPackage<'a> {
    /// The package in the catalog.
    pub package: Package<'a>,
    /// Index of its item in the configuration; `None` if all packages are selected.
    pub selection: Option<usize>,
    /// Name of its default channel in the selected part.
    pub default_channel: String,
    /// Selected channels, sorted by name.
    pub channels: Vec<MirroredChannel<'a>>,
    /// Selected bundles, sorted by name.
    pub bundles: Vec<MirroredBundle<'a>>,
    /// Deprecations that stay, in catalog order.
    pub deprecations: Vec<MirroredDeprecation<'a>>,
}

/// The selected part of a channel.
#[derive(Clone)]
pub struct MirroredChannel<'a> {
    /// The channel in the catalog.
    pub channel: Channel<'a>,
    /// Index of its item in that of the package; `None` if all channels are selected.
    pub selection: Option<usize>,
    /// Selected entries, in catalog order.
    pub entries: Vec<ChannelEntry<'a>>,
}

/// A selected bundle.
#[derive(Clone)]
pub struct MirroredBundle<'a> {
    /// The bundle in the catalog.
    pub bundle: Bundle<'a>,
    /// Reasons of the selection, at least one.
    pub reasons: Vec<MirrorReason<'a>>,
    /// `false` for an installed bundle without an entry in the selected channels: its images are
    /// mirrored, but the catalog does not have it.
    pub is_listed: bool,
}

/// Reason of the selection of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MirrorReason<'a> {
    /// Kind of the reason.
    pub kind: ReasonKind,
    /// Channel that selects the bundle; `None` if all bundles of the package are selected, or the
    /// bundle is installed.
    pub channel: Option<&'a str>,
    /// Name of the selected bundle that requires this one.
    pub required_by: Option<&'a str>,
}

/// Kind of a [`MirrorReason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasonKind {
    /// It is the head of the channel, or the highest bundle there that runs on the platform.
    Head,
    /// Its version is in the range.
    InRange,
    /// Its version is outside of the range, but upgrades between versions of the range need it.
    OutsideRange,
    /// The whole channel is selected.
    Full,
    /// Upgrades from an installed bundle pass through it, or the channel would not be valid without
    /// it.
    OnTheWay,
    /// It is installed.
    Installed,
    /// Another selected bundle requires it.
    RequiredBy,
}

/// An entry of an `olm.deprecations` that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirroredDeprecation<'a> {
    /// Index of its blob in the catalog.
    pub meta: usize,
    /// Index of the entry in the blob.
    pub index: usize,
    /// Schema of the deprecated object.
    pub schema: Cow<'a, str>,
    /// Name of the deprecated object; empty for a package.
    pub name: Cow<'a, str>,
}

impl ReasonKind {
    /// Returns the name as programs see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Head => "HEAD",
            Self::InRange => "IN_RANGE",
            Self::OutsideRange => "OUTSIDE_RANGE",
            Self::Full => "FULL",
            Self::OnTheWay => "ON_THE_WAY",
            Self::Installed => "INSTALLED",
            Self::RequiredBy => "REQUIRED_BY",
        }
    }
}

impl fmt::Display for MirroredDeprecation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.schema, self.name)
    }
}

impl MirrorSet<'_> {
    /// Tells whether the configuration is refused.
    pub fn is_refused(&self) -> bool {
        self.problems.iter().any(MirrorProblem::is_error)
    }
}
