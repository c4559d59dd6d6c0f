//! Needs of a cluster: upgrades from what is installed, what runs on its platform,
//! and dependencies.

use fbc::{Platform, PlatformVersion};
use fbc_grammar::version::Version;

/// Maximum number of installed bundles of one package.
pub const MAX_INSTALLED_BUNDLES: usize = 100;

/// Need of a cluster for a package; nothing beyond the selection by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageNeed {
    /// Installed bundles, from which upgrades must be possible.
    pub from: Vec<InstalledText>,
    /// Name or version of the bundle to upgrade to; the head of the channel if absent.
    pub to: Option<String>,
    /// Selects the bundles that the selected ones require, too.
    pub dependencies: bool,
    /// Selects only bundles that say that they run there.
    pub platform: Option<MirrorPlatform>,
}

/// An installed bundle: its name, its version, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledText {
    /// As it was written.
    pub text: String,
    /// Name; empty if only the version is known.
    pub name: String,
    /// Version, if it was written.
    pub version: Option<String>,
}

/// A platform whose texts are owned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirrorPlatform {
    /// Version of Kubernetes.
    pub kubernetes: Option<PlatformVersion>,
    /// Version of `OpenShift`.
    pub openshift: Option<PlatformVersion>,
    /// CPU architecture of the nodes, such as `arm64`.
    pub architecture: Option<String>,
}

impl PackageNeed {
    /// Tells whether bundles are selected by an upgrade, in place of a range.
    pub fn is_upgrade(&self) -> bool {
        !self.from.is_empty() || self.to.is_some()
    }

    /// Tells whether it changes what is selected.
    pub fn is_any(&self) -> bool {
        self.is_upgrade() || self.dependencies || self.platform.is_some()
    }
}

impl InstalledText {
    /// Parses NAME, VERSION or NAME@VERSION.
    pub fn parse(text: &str) -> Self {
        let is_version = |text: &str| Version::parse(text.trim_start_matches('v')).is_ok();
        let version = |text: &str| Some(text.trim_start_matches('v').to_owned());
        let (name, version) = match text.rsplit_once('@') {
            Some((name, after)) if is_version(after) => (name, version(after)),
            _ if is_version(text) => ("", version(text)),
            _ => (text, None),
        };
        Self {
            text: text.to_owned(),
            name: name.to_owned(),
            version,
        }
    }
}

impl MirrorPlatform {
    /// Returns the platform, or `None` if it says nothing.
    pub fn platform(&self) -> Option<Platform<'_>> {
        let platform = Platform {
            kubernetes: self.kubernetes,
            openshift: self.openshift,
            architecture: self.architecture.as_deref(),
        };
        (!platform.is_any()).then_some(platform)
    }
}
