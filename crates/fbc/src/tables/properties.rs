//! Platforms, times of creation and verdicts of OLM v1 of all bundles, for filters and orders.

use std::sync::Arc;

use hashbrown::HashMap;
use jiff::Timestamp;

use crate::ids::id;
use crate::install_verdict::{InstallVerdict, InstallVerdicts};
use crate::platform::{Platform, PlatformVersion};

/// Properties of all bundles that their metadata decides, by bundle id.
pub(crate) struct BundleProperties {
    times: CreationTimes,
    platforms: Platforms,
    pub(crate) verdicts: InstallVerdicts,
}

/// Times of creation in microseconds since 1970; [`UNKNOWN`] where the metadata has none.
#[derive(Default)]
struct CreationTimes(Vec<i64>);

/// Stands for no time: the first year that is written is 0.
const UNKNOWN: i64 = i64::MIN;

/// The platforms of all bundles of a catalog: four bytes for each bundle, since most say the same
/// as others.
struct Platforms {
    statements: Box<[PlatformStatement]>,
    /// Index in `statements`, by bundle.
    of_bundles: Box<[u32]>,
}

/// Platforms that a catalog allows a bundle on.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct PlatformStatement {
    /// Lowest version of Kubernetes.
    pub min_kubernetes: Option<PlatformVersion>,
    /// Highest version of Kubernetes.
    pub max_kubernetes: Option<PlatformVersion>,
    /// Highest version of `OpenShift`, from the first property that says it.
    pub max_openshift: Option<PlatformVersion>,
    /// Architectures of the nodes.
    pub architectures: Box<[Box<str>]>,
    /// Versions of `OpenShift` that the life cycle of its package lists; empty when that lists
    /// none.
    pub openshift: Arc<[PlatformVersion]>,
}

/// Collects the properties of bundles, in their order.
#[derive(Default)]
pub(crate) struct BundlePropertiesBuilder {
    times: CreationTimes,
    statements: HashMap<PlatformStatement, u32>,
    of_bundles: Vec<u32>,
    verdicts: InstallVerdicts,
}

/// Properties of one bundle.
pub(crate) struct DecodedBundle {
    pub(crate) platforms: PlatformStatement,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) verdict: InstallVerdict,
}

impl BundleProperties {
    /// Returns when a bundle was created, in microseconds since 1970.
    pub(crate) fn created_at(&self, bundle: usize) -> Option<i64> {
        self.times
            .0
            .get(bundle)
            .copied()
            .filter(|&time| time != UNKNOWN)
    }

    /// Returns the platforms of a bundle.
    pub(crate) fn platforms(&self, bundle: usize) -> &PlatformStatement {
        &self.platforms.statements[self.platforms.of_bundles[bundle] as usize]
    }
}

impl BundlePropertiesBuilder {
    /// Adds the next bundle.
    pub(crate) fn add(&mut self, bundle: DecodedBundle) {
        let next = id(self.statements.len());
        self.of_bundles
            .push(*self.statements.entry(bundle.platforms).or_insert(next));
        let time = bundle.created_at.map(Timestamp::as_microsecond);
        self.times.0.push(time.unwrap_or(UNKNOWN));
        self.verdicts.push(bundle.verdict);
    }

    pub(crate) fn finish(mut self) -> BundleProperties {
        let mut statements: Vec<_> = self.statements.into_iter().collect();
        statements.sort_unstable_by_key(|(_, at)| *at);
        self.times.0.shrink_to_fit();
        BundleProperties {
            times: self.times,
            verdicts: self.verdicts,
            platforms: Platforms {
                statements: statements
                    .into_iter()
                    .map(|(statement, _)| statement)
                    .collect(),
                of_bundles: self.of_bundles.into_boxed_slice(),
            },
        }
    }
}

impl PlatformStatement {
    /// Returns whether the bundle is allowed on a platform.
    pub(crate) fn allows(&self, platform: &Platform<'_>) -> bool {
        let is_at_most = |version: PlatformVersion, max: Option<PlatformVersion>| {
            max.is_none_or(|max| version.compare(max).is_le())
        };
        platform.kubernetes.is_none_or(|version| {
            self.min_kubernetes
                .is_none_or(|min| version.compare(min).is_ge())
                && is_at_most(version, self.max_kubernetes)
        }) && platform
            .openshift
            .map(PlatformVersion::of_openshift)
            .is_none_or(|version| {
                is_at_most(
                    version,
                    self.max_openshift.map(PlatformVersion::of_openshift),
                ) && (self.openshift.is_empty()
                    || self
                        .openshift
                        .iter()
                        .any(|listed| version.compare(*listed).is_eq()))
            })
            && platform
                .architecture
                .is_none_or(|name| self.architectures.iter().any(|own| **own == *name))
    }
}
