//! The closed sets of words that metadata uses: capability levels and install modes.

/// How much of an operator's work is automated, least first.
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

/// Which namespaces an operator can be installed for.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct InstallModes(u8);

impl CapabilityLevel {
    /// Every level, least first.
    pub const ALL: [CapabilityLevel; 5] =
        [Self::BasicInstall, Self::SeamlessUpgrades, Self::FullLifecycle, Self::DeepInsights, Self::AutoPilot];

    /// As the annotation writes it, such as `Basic Install`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BasicInstall => "Basic Install",
            Self::SeamlessUpgrades => "Seamless Upgrades",
            Self::FullLifecycle => "Full Lifecycle",
            Self::DeepInsights => "Deep Insights",
            Self::AutoPilot => "Auto Pilot",
        }
    }

    /// The level of this name, whatever its letter case and the space around it.
    pub(super) fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(text.trim()))
    }
}

impl InstallMode {
    /// Every mode, in the order in which sets of them are listed.
    pub const ALL: [InstallMode; 4] =
        [Self::OwnNamespace, Self::SingleNamespace, Self::MultiNamespace, Self::AllNamespaces];

    /// As upstream writes it, such as `OwnNamespace`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OwnNamespace => "OwnNamespace",
            Self::SingleNamespace => "SingleNamespace",
            Self::MultiNamespace => "MultiNamespace",
            Self::AllNamespaces => "AllNamespaces",
        }
    }

    /// The mode of exactly this name.
    pub(in crate::catalog) fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

impl InstallModes {
    /// Whether it has this one.
    pub fn contains(self, mode: InstallMode) -> bool {
        self.0 & 1 << mode as u8 != 0
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those it has, in the order of [`InstallMode::ALL`].
    pub fn iter(self) -> impl Iterator<Item = InstallMode> {
        InstallMode::ALL.into_iter().filter(move |&mode| self.contains(mode))
    }

    /// The same set with this one.
    pub(super) fn with(self, mode: InstallMode) -> Self {
        Self(self.0 | 1 << mode as u8)
    }
}
