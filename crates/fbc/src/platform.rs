//! Platforms: versions of Kubernetes and `OpenShift`, and CPU architectures.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use zerocopy::{FromBytes, Immutable, IntoBytes};

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
/// use fbc::PlatformVersion;
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

/// A version of a platform, or none, as it is stored.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct VersionRecord {
    /// Number of its numbers: 0 for no version, 2, or 3.
    numbers: u32,
    major: u32,
    minor: u32,
    patch: u32,
}

impl From<Option<PlatformVersion>> for VersionRecord {
    fn from(version: Option<PlatformVersion>) -> Self {
        let numbers = version.map_or(0, |version| 2 + u32::from(version.patch.is_some()));
        let version = version.unwrap_or(PlatformVersion {
            major: 0,
            minor: 0,
            patch: None,
        });
        Self {
            numbers,
            major: version.major,
            minor: version.minor,
            patch: version.patch.unwrap_or(0),
        }
    }
}

impl From<VersionRecord> for Option<PlatformVersion> {
    fn from(record: VersionRecord) -> Self {
        (record.numbers > 0).then_some(PlatformVersion {
            major: record.major,
            minor: record.minor,
            patch: (record.numbers > 2).then_some(record.patch),
        })
    }
}

/// An error for a text that is not a version of a platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a version: expected MAJOR.MINOR or MAJOR.MINOR.PATCH, such as 1.31 or 1.31.4"
)]
pub struct PlatformVersionError {
    text: String,
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
    /// Returns the major version.
    pub fn major(self) -> u32 {
        self.major
    }

    /// Returns the minor version.
    pub fn minor(self) -> u32 {
        self.minor
    }

    /// Compares the numbers that both versions have.
    pub fn compare(self, other: Self) -> Ordering {
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
    #[must_use]
    pub fn of_openshift(self) -> Self {
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
