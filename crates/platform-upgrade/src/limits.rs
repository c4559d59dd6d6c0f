//! The platforms that a bundle runs on, and what bars it from a step.

use std::sync::Arc;

use fbc::work::{Step, Work, WorkStopped};
use fbc::{Bundle, PlatformVersion};

use crate::max_openshift::{
    MAX_OPENSHIFT_PROPERTY, MaxOpenshiftError, OpenshiftMinor, max_openshift_version,
};
use crate::request::PlatformStep;

/// Reason that bars an installed bundle from a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockCause {
    /// Its `olm.maxOpenShiftVersion` is invalid, which blocks every minor upgrade.
    InvalidMaxOpenshift,
    /// Its `olm.maxOpenShiftVersion` is lower.
    MaxOpenshift,
    /// The life cycle of its package lists other versions of `OpenShift`.
    LifeCycle,
    /// Its `minKubeVersion` is higher.
    MinKubernetes,
    /// The highest version of Kubernetes in its metadata is lower.
    MaxKubernetes,
    /// No catalog of the step has the package.
    PackageGone,
    /// The package has no channel of that name in the catalog of the step.
    ChannelGone,
    /// The channel has neither the bundle nor an upgrade from it.
    NoEdge,
}

/// Platforms that a bundle states.
#[derive(Clone, Debug)]
pub(crate) struct SupportLimits {
    pub(crate) max_openshift: Result<Option<OpenshiftMinor>, MaxOpenshiftError>,
    pub(crate) min_kubernetes: Option<PlatformVersion>,
    pub(crate) max_kubernetes: Option<PlatformVersion>,
    /// Versions of `OpenShift` in the life cycle; empty when it lists none.
    pub(crate) openshift: Arc<[PlatformVersion]>,
}

impl BlockCause {
    /// Returns the canonical spelling, such as `MAX_OPENSHIFT`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidMaxOpenshift => "INVALID_MAX_OPENSHIFT",
            Self::MaxOpenshift => "MAX_OPENSHIFT",
            Self::LifeCycle => "LIFE_CYCLE",
            Self::MinKubernetes => "MIN_KUBERNETES",
            Self::MaxKubernetes => "MAX_KUBERNETES",
            Self::PackageGone => "PACKAGE_GONE",
            Self::ChannelGone => "CHANNEL_GONE",
            Self::NoEdge => "NO_EDGE",
        }
    }
}

impl SupportLimits {
    /// Reads what a catalog says of a bundle.
    pub(crate) fn of_bundle(bundle: Bundle<'_>, work: &Work<'_>) -> Result<Self, WorkStopped> {
        work.draw(Step::Comparison, bundle.properties().len())?;
        let values: Vec<_> = bundle
            .properties()
            .filter(|property| property.type_name() == MAX_OPENSHIFT_PROPERTY)
            .filter_map(|property| std::str::from_utf8(property.value()?.raw()).ok())
            .collect();
        let statement = bundle.platforms();
        Ok(Self {
            max_openshift: limit_of_values(&values, work)?,
            min_kubernetes: statement.min_kubernetes,
            max_kubernetes: statement.max_kubernetes,
            openshift: Arc::clone(&statement.openshift),
        })
    }

    /// Takes the values that the cluster has of a bundle, which no catalog need have.
    pub(crate) fn of_values(values: &[&str], work: &Work<'_>) -> Result<Self, WorkStopped> {
        Ok(Self {
            max_openshift: limit_of_values(values, work)?,
            min_kubernetes: None,
            max_kubernetes: None,
            openshift: Arc::default(),
        })
    }

    /// Returns what bars the bundle from the step to a platform. `listed` has the versions that the
    /// catalog of that step lists for it; those of its own catalog count when there are none.
    ///
    /// OLM looks at minor upgrades only. So does this: a bundle that runs on a minor version runs
    /// on each of its patches.
    pub(crate) fn barrier(
        &self,
        from: &PlatformStep<'_>,
        to: &PlatformStep<'_>,
        listed: Option<&[PlatformVersion]>,
    ) -> Option<BlockCause> {
        match from.openshift().zip(to.openshift()) {
            Some((old, new)) if old == new => return None,
            Some((_, new)) => {
                match &self.max_openshift {
                    Err(_) => return Some(BlockCause::InvalidMaxOpenshift),
                    Ok(Some(max)) if *max < new => return Some(BlockCause::MaxOpenshift),
                    Ok(_) => {}
                }
                let listed = self.listed(listed);
                if !listed.is_empty() && !listed.iter().any(|one| OpenshiftMinor::from(*one) == new)
                {
                    return Some(BlockCause::LifeCycle);
                }
            }
            None => {
                let is_too_high = to.kubernetes().zip(self.max_kubernetes);
                if is_too_high.is_some_and(|(version, max)| version.compare(max).is_gt()) {
                    return Some(BlockCause::MaxKubernetes);
                }
            }
        }
        let minimum = to.kubernetes().zip(self.min_kubernetes);
        minimum
            .is_some_and(|(version, min)| version.compare(min).is_lt())
            .then_some(BlockCause::MinKubernetes)
    }

    /// Returns whether anything is said about the step to a platform.
    pub(crate) fn says_something(
        &self,
        to: &PlatformStep<'_>,
        listed: Option<&[PlatformVersion]>,
    ) -> bool {
        if to.openshift().is_some() {
            !matches!(self.max_openshift, Ok(None)) || !self.listed(listed).is_empty()
        } else {
            self.max_kubernetes.is_some()
        }
    }

    /// Returns the versions of `OpenShift` in the life cycle that counts.
    pub(crate) fn listed<'l>(
        &'l self,
        listed: Option<&'l [PlatformVersion]>,
    ) -> &'l [PlatformVersion] {
        listed
            .filter(|listed| !listed.is_empty())
            .unwrap_or(&self.openshift)
    }
}

/// Returns whether OLM can install a bundle on a platform.
pub(crate) fn is_installable(bundle: Bundle<'_>, step: &PlatformStep<'_>) -> bool {
    let statement = bundle.platforms();
    let minimum = step.kubernetes().zip(statement.min_kubernetes);
    let has_kubernetes = minimum.is_none_or(|(version, min)| version.compare(min).is_ge());
    let architecture = step.platform.architecture;
    has_kubernetes
        && architecture.is_none_or(|name| statement.architectures.iter().any(|own| **own == *name))
}

fn limit_of_values(
    values: &[&str],
    work: &Work<'_>,
) -> Result<Result<Option<OpenshiftMinor>, MaxOpenshiftError>, WorkStopped> {
    let bytes = values.iter().map(|value| value.len()).sum();
    work.draw(Step::ParsedByte, bytes)?;
    Ok(max_openshift_version(values))
}
