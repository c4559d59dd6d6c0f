//! Reasons why a configuration is refused, and differences between the two sets of rules.

use std::fmt;

/// Maximum number of problems of one kind of check that are listed; the rest is only counted.
pub const MAX_PROBLEMS: usize = 1_000;

/// A problem of a configuration or of the catalog that it makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorProblem {
    /// Stable code for programs; it determines the severity.
    pub code: MirrorProblemCode,
    /// Place in the configuration, such as `mirror.operators[0].packages[2].minVersion`.
    pub path: String,
    /// Line of the configuration, counted from 1; `None` if it is not known.
    pub line: Option<u64>,
    /// Message: the fault and how to correct it.
    pub message: String,
    /// Behaviour of oc-mirror in this case, where it differs.
    pub like_oc_mirror: Option<&'static str>,
}

/// Severity of a [`MirrorProblem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorSeverity {
    /// The configuration is refused: nothing may be mirrored.
    Error,
    /// The set is complete; the user should know this.
    Warning,
}

impl MirrorSeverity {
    /// Returns the name as programs see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Warning => "WARNING",
        }
    }
}

/// Kind of a [`MirrorProblem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorProblemCode {
    /// The configuration is malformed, or has members that exclude each other.
    Config,
    /// An item names a catalog that is not at hand.
    UnknownCatalog,
    /// A channel has several heads.
    MultipleHeads,
    /// The entries of a channel are no update graph for another reason.
    InvalidChannel,
    /// A range leaves nothing of the default channel.
    EmptyDefault,
    /// The default channel is not among the selected channels.
    DefaultFiltered,
    /// The configured default channel is not among the selected channels.
    DefaultUnknown,
    /// `full` and a range exclude each other.
    FullRange,
    /// A bundle of a selected package has no semantic version.
    InvalidVersion,
    /// No bundle has the wanted version.
    VersionNotFound,
    /// No upgrades lead from an installed bundle to the wanted one.
    Stranded,
    /// The selected part is not a valid catalog.
    InvalidCatalog,
    /// A related image has no reference that can be copied.
    InvalidImage,
    /// The catalog has no such package.
    UnknownPackage,
    /// The package has no such channel.
    UnknownChannel,
    /// A channel is left out because it has no bundle of the wanted versions.
    ChannelLeftOut,
    /// Several bundles have the wanted version with different build metadata.
    SameVersion,
    /// A deprecation is left out because its channel is.
    DeprecationLeftOut,
    /// A bundle is left out because no channel has an entry for it.
    BundleLeftOut,
    /// The image of a bundle is mirrored although its related images do not name it.
    BundleImageAdded,
    /// The catalog does not have what a selected bundle requires.
    UnmetDependency,
    /// A part of the configuration is not about catalogs and is ignored.
    PartIgnored,
}

impl MirrorProblemCode {
    /// Every code, in the order of the documentation.
    pub const ALL: [Self; 22] = [
        Self::Config,
        Self::UnknownCatalog,
        Self::MultipleHeads,
        Self::InvalidChannel,
        Self::EmptyDefault,
        Self::DefaultFiltered,
        Self::DefaultUnknown,
        Self::FullRange,
        Self::InvalidVersion,
        Self::VersionNotFound,
        Self::Stranded,
        Self::InvalidCatalog,
        Self::InvalidImage,
        Self::UnknownPackage,
        Self::UnknownChannel,
        Self::ChannelLeftOut,
        Self::SameVersion,
        Self::DeprecationLeftOut,
        Self::BundleLeftOut,
        Self::BundleImageAdded,
        Self::UnmetDependency,
        Self::PartIgnored,
    ];

    /// Returns the code as programs see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "CONFIG",
            Self::UnknownCatalog => "UNKNOWN_CATALOG",
            Self::MultipleHeads => "MULTIPLE_HEADS",
            Self::InvalidChannel => "INVALID_CHANNEL",
            Self::EmptyDefault => "EMPTY_DEFAULT",
            Self::DefaultFiltered => "DEFAULT_FILTERED",
            Self::DefaultUnknown => "DEFAULT_UNKNOWN",
            Self::FullRange => "FULL_RANGE",
            Self::InvalidVersion => "INVALID_VERSION",
            Self::VersionNotFound => "VERSION_NOT_FOUND",
            Self::Stranded => "STRANDED",
            Self::InvalidCatalog => "INVALID_CATALOG",
            Self::InvalidImage => "INVALID_IMAGE",
            Self::UnknownPackage => "UNKNOWN_PACKAGE",
            Self::UnknownChannel => "UNKNOWN_CHANNEL",
            Self::ChannelLeftOut => "CHANNEL_LEFT_OUT",
            Self::SameVersion => "SAME_VERSION",
            Self::DeprecationLeftOut => "DEPRECATION_LEFT_OUT",
            Self::BundleLeftOut => "BUNDLE_LEFT_OUT",
            Self::BundleImageAdded => "BUNDLE_IMAGE_ADDED",
            Self::UnmetDependency => "UNMET_DEPENDENCY",
            Self::PartIgnored => "PART_IGNORED",
        }
    }

    /// Returns the severity of all problems with this code.
    pub const fn severity(self) -> MirrorSeverity {
        match self {
            Self::UnknownPackage
            | Self::UnknownChannel
            | Self::ChannelLeftOut
            | Self::SameVersion
            | Self::DeprecationLeftOut
            | Self::BundleLeftOut
            | Self::BundleImageAdded
            | Self::UnmetDependency
            | Self::PartIgnored => MirrorSeverity::Warning,
            _ => MirrorSeverity::Error,
        }
    }
}

impl MirrorProblem {
    /// Creates a problem without a line and without a difference.
    pub fn new(
        code: MirrorProblemCode,
        path: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            path: path.into(),
            line: None,
            message: message.into(),
            like_oc_mirror: None,
        }
    }

    /// Sets the line of the configuration.
    #[must_use]
    pub fn on_line(mut self, line: Option<u64>) -> Self {
        self.line = line;
        self
    }

    /// Sets what oc-mirror does instead.
    #[must_use]
    pub fn but_oc_mirror(mut self, does: &'static str) -> Self {
        self.like_oc_mirror = Some(does);
        self
    }

    /// Tells whether the configuration is refused because of it.
    pub fn is_error(&self) -> bool {
        self.code.severity() == MirrorSeverity::Error
    }
}

impl fmt::Display for MirrorProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path)?;
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{} ({})", self.message, self.code.as_str())
    }
}
