//! Enumerations of metadata: capability levels and install modes.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Capability level: how much of the operation is automated, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapabilityLevel {
    /// `Basic Install`.
    BasicInstall,
    /// `Seamless Upgrades`.
    SeamlessUpgrades,
    /// `Full Lifecycle`.
    FullLifecycle,
    /// `Deep Insights`.
    DeepInsights,
    /// `Auto Pilot`.
    AutoPilot,
}

/// Install mode: the namespaces that an operator can be installed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstallMode {
    /// Its own namespace.
    OwnNamespace,
    /// One other namespace.
    SingleNamespace,
    /// Several namespaces.
    MultiNamespace,
    /// Every namespace.
    AllNamespaces,
}

/// A set of install modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub struct InstallModes(u8);

impl CapabilityLevel {
    /// All levels, least first.
    pub const ALL: [CapabilityLevel; 5] = [
        Self::BasicInstall,
        Self::SeamlessUpgrades,
        Self::FullLifecycle,
        Self::DeepInsights,
        Self::AutoPilot,
    ];

    /// Returns the name as in the annotation, such as `Basic Install`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BasicInstall => "Basic Install",
            Self::SeamlessUpgrades => "Seamless Upgrades",
            Self::FullLifecycle => "Full Lifecycle",
            Self::DeepInsights => "Deep Insights",
            Self::AutoPilot => "Auto Pilot",
        }
    }

    /// Parses the name of a level, in any letter case and with space around it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str().eq_ignore_ascii_case(text.trim()))
    }
}

impl InstallMode {
    /// All modes, in the order in which sets iterate.
    pub const ALL: [InstallMode; 4] = [
        Self::OwnNamespace,
        Self::SingleNamespace,
        Self::MultiNamespace,
        Self::AllNamespaces,
    ];

    /// Returns the name as upstream writes it, such as `OwnNamespace`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OwnNamespace => "OwnNamespace",
            Self::SingleNamespace => "SingleNamespace",
            Self::MultiNamespace => "MultiNamespace",
            Self::AllNamespaces => "AllNamespaces",
        }
    }

    /// Parses the exact name of a mode.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

impl InstallModes {
    /// Tells whether the set contains a mode.
    pub fn contains(self, mode: InstallMode) -> bool {
        self.0 & 1 << mode as u8 != 0
    }

    /// Tells whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the modes of the set, in the order of [`InstallMode::ALL`].
    pub fn iter(self) -> impl Iterator<Item = InstallMode> {
        InstallMode::ALL
            .into_iter()
            .filter(move |&mode| self.contains(mode))
    }

    /// Returns the set with a mode added.
    pub(super) fn with(self, mode: InstallMode) -> Self {
        Self(self.0 | 1 << mode as u8)
    }
}
