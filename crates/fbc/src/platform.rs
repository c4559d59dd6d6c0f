//! Platforms: the versions of Kubernetes and `OpenShift`, and the CPU architectures, that bundles
//! run on.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hashbrown::HashMap;

use super::{Bundle, CsvMetadata, PropertyKind, VersionLifecycle, id};
use crate::work::{Step, Work, WorkStopped};

/// Maximum number of versions of `OpenShift` that a life cycle lists; further ones are ignored.
const MAX_OPENSHIFT_VERSIONS: usize = 1_000;

/// A cluster that bundles are to run on; a part that is `None` is no condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Platform<'f> {
    /// Version of Kubernetes.
    pub kubernetes: Option<PlatformVersion>,
    /// Version of `OpenShift`.
    pub openshift: Option<PlatformVersion>,
    /// CPU architecture of the nodes, such as `arm64`.
    pub architecture: Option<&'f str>,
}

/// A version of Kubernetes or `OpenShift`, such as `1.31` or `v1.31.4+k3s1`; what follows the
/// numbers is ignored.
///
/// ```
/// use fbc::catalog::PlatformVersion;
///
/// let version: PlatformVersion = "v1.31.4+k3s1".parse()?;
/// assert_eq!(version.to_string(), "1.31.4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlatformVersion {
    major: u32,
    minor: u32,
    /// `None` stands for every patch of the minor version.
    patch: Option<u32>,
}

/// An error for a text that is not a version of a platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a version: expected MAJOR.MINOR or MAJOR.MINOR.PATCH, such as 1.31 or 1.31.4"
)]
pub struct PlatformVersionError {
    text: String,
}

/// The platforms of all bundles of a catalog: four bytes for each bundle, since most say the same
/// as others.
pub(super) struct Platforms {
    statements: Box<[PlatformStatement]>,
    /// Index in `statements`, by bundle.
    of_bundles: Box<[u32]>,
}

/// What a catalog says of the platforms of a bundle.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct PlatformStatement {
    min_kubernetes: Option<PlatformVersion>,
    max_kubernetes: Option<PlatformVersion>,
    max_openshift: Option<PlatformVersion>,
    architectures: Box<[Box<str>]>,
    /// Versions of `OpenShift` that the life cycle of its package lists; empty when that lists
    /// none.
    openshift: Arc<[PlatformVersion]>,
}

/// Versions of `OpenShift` that the life cycles of a package list, by the minor versions of its
/// bundles.
pub(super) struct OpenshiftVersions(HashMap<String, Arc<[PlatformVersion]>>);

/// Collects the statements of bundles, in their order.
#[derive(Default)]
pub(super) struct PlatformsBuilder {
    statements: HashMap<PlatformStatement, u32>,
    of_bundles: Vec<u32>,
}

impl Platform<'_> {
    /// Returns whether there is no condition.
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Platform<'_> {
    /// Writes the conditions for messages, such as `Kubernetes 1.31, architecture arm64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.kubernetes
                .map(|version| format!("Kubernetes {version}")),
            self.openshift.map(|version| format!("OpenShift {version}")),
            self.architecture.map(|name| format!("architecture {name}")),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl PlatformVersion {
    /// Compares the numbers that both versions have.
    fn compare(self, other: Self) -> Ordering {
        let patches = self
            .patch
            .zip(other.patch)
            .map_or(Ordering::Equal, |(one, other)| one.cmp(&other));
        (self.major, self.minor)
            .cmp(&(other.major, other.minor))
            .then(patches)
    }

    /// Returns the version of `OpenShift` as it is compared: 4.23 and 5.0 are one minor version
    /// under two names.
    fn of_openshift(self) -> Self {
        if (self.major, self.minor) == (4, 23) {
            Self {
                major: 5,
                minor: 0,
                ..self
            }
        } else {
            self
        }
    }
}

impl FromStr for PlatformVersion {
    type Err = PlatformVersionError;

    fn from_str(text: &str) -> Result<Self, PlatformVersionError> {
        let error = || PlatformVersionError {
            text: text.to_owned(),
        };
        let plain = text.trim();
        let plain = plain.strip_prefix('v').unwrap_or(plain);
        let numbers = plain.split(['-', '+']).next().unwrap_or_default();
        let mut numbers = numbers
            .split('.')
            .map(|number| number.parse().map_err(|_| error()));
        let mut next = || numbers.next().transpose();
        let (Some(major), Some(minor), patch, None) = (next()?, next()?, next()?, next()?) else {
            return Err(error());
        };
        Ok(Self {
            major,
            minor,
            patch,
        })
    }
}

impl fmt::Display for PlatformVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

impl<'a> Bundle<'a> {
    /// Returns the last version of `OpenShift` that it supports, such as `4.18`, from its first
    /// `olm.maxOpenShiftVersion`; `None` when it does not say.
    pub fn max_openshift_version(self) -> Option<&'a str> {
        self.properties()
            .find_map(|property| match property.kind() {
                PropertyKind::MaxOpenShiftVersion(version) => Some(version),
                _ => None,
            })
    }

    /// Returns whether the catalog allows the bundle on a platform: Kubernetes within
    /// `minKubeVersion` and the maximum of its metadata, `OpenShift` up to
    /// [`Bundle::max_openshift_version`] and among the versions that [`Bundle::lifecycle`] lists,
    /// and one of the architectures of its metadata. What is missing or malformed is no limit;
    /// without labels, the architecture is `amd64`.
    ///
    /// The first call on a catalog decodes the metadata of all bundles.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn runs_on(self, platform: &Platform<'_>, work: &Work<'_>) -> Result<bool, WorkStopped> {
        let platforms = self.catalog().platforms();
        let statement = &platforms.statements[platforms.of_bundles[self.place()] as usize];
        work.draw(
            Step::Comparison,
            1 + statement.architectures.len() + statement.openshift.len(),
        )?;
        Ok(statement.allows(platform))
    }
}

impl PlatformStatement {
    fn new(
        bundle: Bundle<'_>,
        metadata: Option<&CsvMetadata<'_>>,
        openshift: &OpenshiftVersions,
    ) -> Self {
        let architectures =
            metadata.map_or_else(|| vec!["amd64".to_owned()], CsvMetadata::architectures);
        let parse = |text: &str| text.parse::<PlatformVersion>().ok();
        Self {
            openshift: openshift.of(bundle),
            min_kubernetes: metadata
                .and_then(|metadata| parse(&metadata.min_kube_version()?.decode())),
            max_kubernetes: metadata.and_then(|metadata| parse(&metadata.max_kube_version()?)),
            max_openshift: bundle.max_openshift_version().and_then(parse),
            architectures: architectures
                .into_iter()
                .map(String::into_boxed_str)
                .collect(),
        }
    }

    fn allows(&self, platform: &Platform<'_>) -> bool {
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

impl OpenshiftVersions {
    /// Reads the life cycles of a package. Of several for one version, the first counts.
    pub(super) fn new(lifecycles: &[VersionLifecycle<'_>]) -> Self {
        let mut versions = HashMap::new();
        for lifecycle in lifecycles {
            let name = lifecycle.version.decode().into_owned();
            versions
                .entry(name)
                .or_insert_with(|| listed_openshift_versions(lifecycle));
        }
        Self(versions)
    }

    /// Returns the versions for a bundle; none when its life cycle lists none.
    fn of(&self, bundle: Bundle<'_>) -> Arc<[PlatformVersion]> {
        if self.0.is_empty() {
            return Arc::default();
        }
        bundle
            .minor_version()
            .and_then(|version| self.0.get(&version))
            .cloned()
            .unwrap_or_default()
    }
}

fn listed_openshift_versions(lifecycle: &VersionLifecycle<'_>) -> Arc<[PlatformVersion]> {
    let platforms = lifecycle
        .platforms
        .iter()
        .filter(|platform| platform.name.decode() == "openshift");
    let texts = platforms.flat_map(|platform| &platform.versions);
    let versions = texts
        .filter_map(|text| text.decode().parse().ok())
        .map(PlatformVersion::of_openshift);
    versions.take(MAX_OPENSHIFT_VERSIONS).collect()
}

impl PlatformsBuilder {
    /// Adds what a catalog says of its next bundle, with what the life cycles of its package list.
    pub(super) fn add(
        &mut self,
        bundle: Bundle<'_>,
        metadata: Option<&CsvMetadata<'_>>,
        openshift: &OpenshiftVersions,
    ) {
        let next = id(self.statements.len());
        self.of_bundles.push(
            *self
                .statements
                .entry(PlatformStatement::new(bundle, metadata, openshift))
                .or_insert(next),
        );
    }

    pub(super) fn finish(self) -> Platforms {
        let mut statements: Vec<_> = self.statements.into_iter().collect();
        statements.sort_unstable_by_key(|(_, at)| *at);
        Platforms {
            statements: statements
                .into_iter()
                .map(|(statement, _)| statement)
                .collect(),
            of_bundles: self.of_bundles.into_boxed_slice(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> PlatformVersion {
        text.parse().expect("a version")
    }

    #[test]
    fn versions_are_read_as_people_and_clusters_write_them() {
        for (text, shown) in [
            ("1.31", "1.31"),
            (" v1.31.4 ", "1.31.4"),
            ("v1.31.4+k3s1", "1.31.4"),
            ("1.20.0-0", "1.20.0"),
            ("4.18.0-rc.3", "4.18.0"),
            ("1.35.999", "1.35.999"),
        ] {
            assert_eq!(version(text).to_string(), shown, "{text}");
        }
        for text in [
            "",
            "1",
            "v",
            "1.",
            "1.x",
            "1.2.3.4",
            "1.-2",
            "latest",
            ">=1.2",
            "99999999999.1",
        ] {
            let error = text.parse::<PlatformVersion>().expect_err(text);
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("{text:?} is not a version: expected MAJOR.MINOR")),
                "{error}"
            );
        }
    }

    #[test]
    fn versions_are_compared_by_the_numbers_that_both_have() {
        for (one, other, order) in [
            ("1.9", "1.10", Ordering::Less),
            ("1.31", "1.31.4", Ordering::Equal),
            ("1.31.4", "1.31", Ordering::Equal),
            ("1.31.4", "1.31.5", Ordering::Less),
            ("2.0", "1.99.9", Ordering::Greater),
        ] {
            assert_eq!(
                version(one).compare(version(other)),
                order,
                "{one} and {other}"
            );
        }
    }
}
