//! Pairs of version and release, as the OLM v1 controller (operator-controller) compares them.

use std::cmp::Ordering;

use thiserror::Error;

use super::{Release, ReleaseError, Version, VersionError};
use crate::quote::go_quote;

/// A version with its release, which identifies and orders the bundles of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VersionRelease<'a> {
    /// The version. Build metadata that became the release stays in it, where precedence ignores
    /// it.
    pub version: Version<'a>,
    /// The release; empty when absent.
    pub release: Release<'a>,
}

/// An error in a version or a release. The messages are those of operator-registry and
/// operator-controller.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VersionReleaseError {
    /// The version is invalid, and no release was given.
    #[error(transparent)]
    Plain(#[from] VersionError),
    /// The version is invalid, and a release was given.
    #[error("error parsing version {}: {fault}", go_quote(.text))]
    Version {
        /// Text of the version.
        text: String,
        /// Cause.
        fault: VersionError,
    },
    /// The release is invalid.
    #[error("error parsing release {}: {fault}", go_quote(.text))]
    Release {
        /// Text of the release.
        text: String,
        /// Cause.
        fault: ReleaseError,
    },
}

impl<'a> VersionRelease<'a> {
    /// Parses version and release. Without a given release, build metadata in the form of a release
    /// becomes the release. A given release counts even when it is empty.
    ///
    /// ```
    /// use fbc_grammar::version::VersionRelease;
    ///
    /// let rebuilt = VersionRelease::parse("1.0.0+2", None)?;
    /// assert_eq!(rebuilt.release.as_str(), "2");
    /// assert!(rebuilt.precedence(&VersionRelease::parse("1.0.0", None)?).is_gt());
    /// # Ok::<(), fbc_grammar::version::VersionReleaseError>(())
    /// ```
    pub fn parse(version: &'a str, release: Option<&'a str>) -> Result<Self, VersionReleaseError> {
        let Some(release) = release else {
            let version = Version::parse(version)?;
            return Ok(Self {
                version,
                release: Release::parse(version.build()).unwrap_or_default(),
            });
        };
        let version = Version::parse(version).map_err(|fault| VersionReleaseError::Version {
            text: version.to_owned(),
            fault,
        })?;
        let release = Release::parse(release).map_err(|fault| VersionReleaseError::Release {
            text: release.to_owned(),
            fault,
        })?;
        Ok(Self { version, release })
    }

    /// Removes the build metadata, so that `==` agrees with precedence.
    #[must_use]
    pub fn without_build(&self) -> Self {
        let Version {
            major,
            minor,
            patch,
            pre,
            ..
        } = self.version;
        Self {
            version: Version::from_parts(major, minor, patch, pre),
            release: self.release,
        }
    }

    /// Compares by version, then by release.
    pub fn precedence(&self, other: &VersionRelease<'_>) -> Ordering {
        self.version
            .precedence(&other.version)
            .then_with(|| self.release.precedence(&other.release))
    }
}
