//! Parses version ranges in the two grammars that OLM uses.
//!
//! [`BlangRange`] is the grammar of `skipRange` and `olm.package.required` (github.com/blang/semver
//! v4). [`MastermindsRange`] is the grammar of a `ClusterExtension`'s version
//! (github.com/Masterminds/semver 3.5). They disagree on much: `1.0` is an error in the first and
//! `~1.0` in the second, `<2.0.0` contains `2.0.0-rc` in the first only. Both accept what upstream
//! accepts and return its results and error texts, including its oddities; a range for which
//! upstream panics is rejected.

mod blang;
mod masterminds;

use std::cmp::Ordering;

use thiserror::Error;

pub use blang::BlangRange;
pub use masterminds::{
    MAX_MASTERMINDS_BYTES, MAX_MASTERMINDS_GROUPS, MAX_MASTERMINDS_VERSION_BYTES, MastermindsRange,
};

use crate::quote::go_quote;
use crate::version::{Version, VersionError};

/// An error for a text that is not a range. The messages are upstream's, except for
/// [`VersionRangeError::GroupEmpty`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VersionRangeError {
    /// Blang: the range begins with `||`.
    #[error("First element in range is '||'")]
    FirstIsOr,
    /// Blang: the range ends with `||`, or is empty.
    #[error("Last element in range is '||'")]
    LastIsOr,
    /// Blang: a group between two `||` is empty. Upstream accepts it and panics when it evaluates
    /// the range.
    #[error("no element between '||' and '||' in range")]
    GroupEmpty,
    /// Blang: an element has no digit.
    #[error("Could not get version from string: {}", go_quote(.0))]
    VersionMissing(String),
    /// Blang: the text before the version is not a comparator.
    #[error(
        "Could not parse Range {}: Could not parse comparator {} in {}",
        go_quote(.element), go_quote(.comparator), go_quote(.trimmed)
    )]
    Comparator {
        /// The element of the range, without spaces.
        element: String,
        /// Text before the version.
        comparator: String,
        /// Comparator and version.
        trimmed: String,
    },
    /// Blang: the version of an element is invalid.
    #[error(
        "Could not parse Range {}: Could not parse version {} in {}: {fault}",
        go_quote(.element), go_quote(.version), go_quote(.trimmed)
    )]
    Version {
        /// The element of the range, without spaces.
        element: String,
        /// Text from the first digit on.
        version: String,
        /// Comparator and version.
        trimmed: String,
        /// Cause.
        fault: VersionError,
    },
    /// Masterminds: the text has more than [`MAX_MASTERMINDS_BYTES`].
    #[error("constraint string is too long (max {MAX_MASTERMINDS_BYTES} bytes)")]
    TooLong,
    /// Masterminds: there are more than [`MAX_MASTERMINDS_GROUPS`] groups between `||`.
    #[error("too many constraint groups (max {MAX_MASTERMINDS_GROUPS})")]
    TooManyGroups,
    /// Masterminds: a group does not have the form of constraints. Hyphen ranges in it are already
    /// rewritten.
    #[error("improper constraint: {}", go_quote(.0))]
    Improper(String),
    /// Masterminds: a version has the right form but invalid numbers.
    #[error("constraint parser error")]
    Unparsable,
}

/// The version that a comparator compares with. It owns its text because wildcards are rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VersionBound {
    major: u64,
    minor: u64,
    patch: u64,
    /// Prerelease; empty, and without allocation, when absent.
    pre: Box<str>,
}

impl VersionBound {
    fn new(version: &Version<'_>) -> Self {
        let major = version.major();
        let minor = version.minor();
        let patch = version.patch();
        Self {
            major,
            minor,
            patch,
            pre: version.pre().into(),
        }
    }

    /// Compares a version with the bound.
    fn order(&self, version: &Version<'_>) -> Ordering {
        version.precedence(&Version::from_parts(
            self.major, self.minor, self.patch, &self.pre,
        ))
    }
}
