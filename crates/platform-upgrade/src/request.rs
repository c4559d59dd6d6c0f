//! Requests: the versions of the platform with their catalogs, and what is installed.

use std::collections::BTreeMap;

use fbc::{Catalog, Platform, PlatformVersion};

use crate::max_openshift::OpenshiftMinor;

/// Maximum number of steps of a request, the present version included.
pub const MAX_STEPS: usize = 10;

/// Maximum number of installed bundles of a request.
pub const MAX_INSTALLED_BUNDLES: usize = 500;

/// Question for a plan.
#[derive(Clone, Debug, Default)]
pub struct PlatformUpgradeRequest<'a> {
    /// Versions of the platform in their order; the first is where the cluster is.
    pub steps: Vec<PlatformStep<'a>>,
    /// Installed bundles.
    pub installed: Vec<ClusterBundle<'a>>,
}

/// A version of the platform with the catalogs that a cluster of that version reads.
#[derive(Clone, Debug)]
pub struct PlatformStep<'a> {
    /// The platform. Without a version of Kubernetes, that of the version of `OpenShift` counts.
    pub platform: Platform<'a>,
    /// The catalogs. Catalogs at the same place of two steps are versions of one catalog.
    pub catalogs: Vec<StepCatalog<'a>>,
}

/// A catalog of a step.
#[derive(Clone, Copy, Debug)]
pub struct StepCatalog<'a> {
    /// Name of the catalog.
    pub name: &'a str,
    /// Priority: of several catalogs with a package, the highest wins.
    pub priority: i32,
    /// Labels of the catalog.
    pub labels: &'a BTreeMap<String, String>,
    /// The content; `None` when the catalog is not served.
    pub content: Option<&'a Catalog>,
}

/// An installed bundle.
#[derive(Clone, Debug, Default)]
pub struct ClusterBundle<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Name of the bundle; that of the version when `None`.
    pub name: Option<&'a str>,
    /// Version of the bundle; that of the name when `None`.
    pub version: Option<&'a str>,
    /// Namespace of its `ClusterServiceVersion`; empty if unknown.
    pub namespace: &'a str,
    /// Channels that the cluster names for it: one at most for OLM v0. None stands for the default
    /// channel of the catalog (v0) or every channel (v1).
    pub channels: Vec<&'a str>,
    /// Name of the catalog of the first step that it comes from.
    pub catalog: Option<&'a str>,
    /// Range of versions that a `ClusterExtension` allows; empty allows all.
    pub version_range: &'a str,
    /// Approval of upgrades.
    pub approval: Approval,
    /// Rules of upgrades.
    pub rules: OlmRules,
    /// JSON values of its properties `olm.maxOpenShiftVersion`; those of the catalog when `None`.
    pub max_openshift: Option<Vec<&'a str>>,
    /// `true` if OLM installed it as a dependency.
    pub is_dependency: bool,
}

/// Approval of upgrades in a `Subscription`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// OLM upgrades by itself.
    #[default]
    Automatic,
    /// A user approves each upgrade.
    Manual,
}

/// Rules by which a bundle is upgraded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OlmRules {
    /// Those of a `Subscription`.
    #[default]
    V0,
    /// Those of a `ClusterExtension`.
    V1,
}

/// An error in a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlatformUpgradeError {
    /// There are too few or too many steps.
    #[error("`steps` must have 2 to {MAX_STEPS} versions, the present one included, and has {0}")]
    Steps(usize),
    /// Too much is installed.
    #[error("`installed` has {0} items; at most {MAX_INSTALLED_BUNDLES} are allowed")]
    Installed(usize),
    /// A step has no version.
    #[error(
        "`steps[{0}].platform` has no version: give `openshift` or `kubernetes`, the same in each step"
    )]
    NoVersion(usize),
    /// A step is to a lower version.
    #[error("`steps[{step}]` goes backwards from {from} to {to}")]
    Backwards {
        /// Index of the step.
        step: usize,
        /// Version of the step before it.
        from: String,
        /// Version of the step.
        to: String,
    },
    /// A step leaves out a minor version.
    #[error(
        "`steps[{step}]` skips a minor version between {from} and {to}: the control plane takes one at a time"
    )]
    Skips {
        /// Index of the step.
        step: usize,
        /// Version of the step before it.
        from: String,
        /// Version of the step.
        to: String,
    },
    /// An installed bundle has neither name nor version.
    #[error("`installed[{0}]` has neither `name` nor `version`")]
    NoBundle(usize),
    /// An installed bundle of OLM v0 has several channels.
    #[error("`installed[{0}].channels` has several items: a Subscription follows one channel")]
    SeveralChannels(usize),
}

impl PlatformUpgradeRequest<'_> {
    /// Checks the limits and the order of the steps.
    pub(crate) fn check(&self) -> Result<(), PlatformUpgradeError> {
        if !(2..=MAX_STEPS).contains(&self.steps.len()) {
            return Err(PlatformUpgradeError::Steps(self.steps.len()));
        }
        if self.installed.len() > MAX_INSTALLED_BUNDLES {
            return Err(PlatformUpgradeError::Installed(self.installed.len()));
        }
        let has_openshift = self.steps[0].platform.openshift.is_some();
        for (at, step) in self.steps.iter().enumerate() {
            let is_same_kind = step.platform.openshift.is_some() == has_openshift;
            if !is_same_kind || step.version().is_none() {
                return Err(PlatformUpgradeError::NoVersion(at));
            }
        }
        for (at, pair) in self.steps.windows(2).enumerate() {
            check_order(at + 1, &pair[0], &pair[1])?;
        }
        for (at, installed) in self.installed.iter().enumerate() {
            if installed.name.is_none() && installed.version.is_none() {
                return Err(PlatformUpgradeError::NoBundle(at));
            }
            if installed.rules == OlmRules::V0 && installed.channels.len() > 1 {
                return Err(PlatformUpgradeError::SeveralChannels(at));
            }
        }
        Ok(())
    }
}

fn check_order(
    step: usize,
    from: &PlatformStep<'_>,
    to: &PlatformStep<'_>,
) -> Result<(), PlatformUpgradeError> {
    let versions = || (from.version_text(), to.version_text());
    let kubernetes = from.kubernetes().zip(to.kubernetes());
    let is_lower = if let Some((old, new)) = from.platform.openshift.zip(to.platform.openshift) {
        new.of_openshift().compare(old.of_openshift()).is_lt()
    } else {
        kubernetes.is_some_and(|(old, new)| new.compare(old).is_lt())
    };
    if is_lower {
        let (from, to) = versions();
        return Err(PlatformUpgradeError::Backwards { step, from, to });
    }
    let is_next = match from.openshift().zip(to.openshift()) {
        Some((old, new)) => new == old || new == old.next(),
        None => kubernetes
            .is_none_or(|(old, new)| old.major() == new.major() && new.minor() - old.minor() <= 1),
    };
    if !is_next {
        let (from, to) = versions();
        return Err(PlatformUpgradeError::Skips { step, from, to });
    }
    Ok(())
}

impl ClusterBundle<'_> {
    /// Returns whether a user approves each upgrade; a `ClusterExtension` knows no approvals.
    pub(crate) fn effective_approval(&self) -> Approval {
        match self.rules {
            OlmRules::V0 => self.approval,
            OlmRules::V1 => Approval::Automatic,
        }
    }
}

impl PlatformStep<'_> {
    /// Returns the minor version of `OpenShift`.
    pub fn openshift(&self) -> Option<OpenshiftMinor> {
        self.platform.openshift.map(Into::into)
    }

    /// Returns the version of Kubernetes: the given one, or that of the version of `OpenShift`.
    pub fn kubernetes(&self) -> Option<PlatformVersion> {
        self.platform
            .kubernetes
            .or_else(|| self.openshift()?.kubernetes())
    }

    /// Returns the version of `OpenShift`, or else of Kubernetes.
    fn version(&self) -> Option<PlatformVersion> {
        self.platform.openshift.or(self.platform.kubernetes)
    }

    /// Returns the version for messages, as it was given.
    pub fn version_text(&self) -> String {
        self.version()
            .map(|version| version.to_string())
            .unwrap_or_default()
    }

    /// Returns the name and version of the platform for messages, such as `OpenShift 4.18`.
    pub fn platform_text(&self) -> String {
        let name = if self.platform.openshift.is_some() {
            "OpenShift"
        } else {
            "Kubernetes"
        };
        format!("{name} {}", self.version_text())
    }
}
