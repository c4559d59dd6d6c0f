//! A version and its release, as the OLM v1 controller (operator-controller) takes them together.

use std::cmp::Ordering;

use thiserror::Error;

use super::{Release, ReleaseError, Version, VersionError};
use crate::quote::go_quote;

/// A version with its release: what tells two bundles of a package apart, and orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VersionRelease<'a> {
    /// The version. Build metadata that is taken for the release stays in it, where it does not count.
    pub version: Version<'a>,
    /// The release; empty when there is none.
    pub release: Release<'a>,
}

/// Why texts are no version and release. The texts are those of operator-registry and operator-controller.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VersionReleaseError {
    /// No release was given, and the version is none.
    #[error(transparent)]
    Plain(#[from] VersionError),
    /// A release was given, and the version is none.
    #[error("error parsing version {}: {fault}", go_quote(.text))]
    Version {
        /// What was given as version.
        text: String,
        /// What is wrong with it.
        fault: VersionError,
    },
    /// The release is none.
    #[error("error parsing release {}: {fault}", go_quote(.text))]
    Release {
        /// What was given as release.
        text: String,
        /// What is wrong with it.
        fault: ReleaseError,
    },
}

impl<'a> VersionRelease<'a> {
    /// Reads both. Without a release the build metadata of the version becomes it, where they have the form of one.
    /// A release that is given counts also when it is empty: then there is none.
    pub fn parse(version: &'a str, release: Option<&'a str>) -> Result<Self, VersionReleaseError> {
        let Some(release) = release else {
            let version = Version::parse(version)?;
            return Ok(Self { version, release: Release::parse(version.build()).unwrap_or_default() });
        };
        let version = Version::parse(version)
            .map_err(|fault| VersionReleaseError::Version { text: version.to_owned(), fault })?;
        let release = Release::parse(release)
            .map_err(|fault| VersionReleaseError::Release { text: release.to_owned(), fault })?;
        Ok(Self { version, release })
    }

    /// Itself without build metadata: what is equal then is equal by precedence too.
    pub(crate) fn bare(&self) -> Self {
        let Version { major, minor, patch, pre, .. } = self.version;
        Self { version: Version::from_parts(major, minor, patch, pre), release: self.release }
    }

    /// Which is the later one: by version, and of equal versions by release.
    pub fn precedence(&self, other: &VersionRelease<'_>) -> Ordering {
        self.version.precedence(&other.version).then_with(|| self.release.precedence(&other.release))
    }
}
