//! Parses and compares versions and releases of bundles.
//!
//! A version is semver 2.0 read strictly, as github.com/blang/semver v4 reads it: no leading `v`,
//! three numbers, no leading zeros, numbers below 2^64. A release is a list of prerelease
//! identifiers that orders equal versions. Error texts equal upstream's.

mod api;
mod identity;
mod tolerant;

use std::cmp::Ordering;
use std::fmt::{self, Display};
use std::num::IntErrorKind;

use thiserror::Error;

pub use api::compare_api_versions;
pub use identity::{VersionRelease, VersionReleaseError};
pub use tolerant::{coerced_version, strict_version, tolerant_version};

use crate::quote::go_quote;

/// Maximum length of a release, in bytes: a constraint of the `ClusterServiceVersion` CRD.
pub const MAX_RELEASE_BYTES: usize = 20;

/// A semantic version, borrowed from its text.
///
/// `==` compares the whole text; [`Version::precedence`] is the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version<'a> {
    major: u64,
    minor: u64,
    patch: u64,
    pre: &'a str,
    build: &'a str,
}

/// A release, which orders bundles of one version: dot-separated identifiers as in a prerelease.
/// Empty means none.
///
/// Its identifiers have no leading zeros, so `==` agrees with [`Release::precedence`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Release<'a>(&'a str);

/// An error for a text that is not a version, with the message of blang/semver v4.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VersionError {
    /// The text is empty.
    #[error("Version string empty")]
    Empty,
    /// There are fewer than three parts.
    #[error("No Major.Minor.Patch elements found")]
    Incomplete,
    /// A prerelease or build metadata follows fewer than three numbers, in a version that is parsed
    /// tolerantly.
    #[error("Short version cannot contain PreRelease/Build meta data")]
    ShortWithMetadata,
    /// A number has characters other than ASCII digits.
    #[error("Invalid character(s) found in {part} number {}", go_quote(.text))]
    NotANumber {
        /// `major`, `minor` or `patch`.
        part: &'static str,
        /// Text of the number.
        text: String,
    },
    /// A number other than `0` begins with `0`.
    #[error("{part} number must not contain leading zeroes {}", go_quote(.text))]
    LeadingZeroes {
        /// `Major`, `Minor` or `Patch`.
        part: &'static str,
        /// Text of the number.
        text: String,
    },
    /// A number is missing.
    #[error("strconv.ParseUint: parsing \"\": invalid syntax")]
    NumberMissing,
    /// A number of the version or of a prerelease is 2^64 or more.
    #[error("strconv.ParseUint: parsing {}: value out of range", go_quote(.0))]
    NumberTooLarge(String),
    /// A prerelease identifier is empty.
    #[error("Prerelease is empty")]
    PrereleaseEmpty,
    /// A numeric prerelease identifier other than `0` begins with `0`.
    #[error("Numeric PreRelease version must not contain leading zeroes {}", go_quote(.0))]
    PrereleaseLeadingZeroes(String),
    /// A prerelease identifier has characters other than ASCII letters, digits and `-`.
    #[error("Invalid character(s) found in prerelease {}", go_quote(.0))]
    PrereleaseInvalid(String),
    /// An identifier of the build metadata is empty.
    #[error("Build meta data is empty")]
    BuildEmpty,
    /// An identifier of the build metadata has characters other than ASCII letters, digits and `-`.
    #[error("Invalid character(s) found in build meta data {}", go_quote(.0))]
    BuildInvalid(String),
}

/// An error for a text that is not a release, with the message of operator-registry.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReleaseError {
    /// The text has more than [`MAX_RELEASE_BYTES`].
    #[error("invalid release {}: exceeds maximum length of {MAX_RELEASE_BYTES} characters", go_quote(.0))]
    TooLong(String),
    /// Some identifiers are wrong.
    #[error("invalid release {}: {}", go_quote(.release), Segments(.segments))]
    Invalid {
        /// The whole text.
        release: String,
        /// Index of each invalid identifier, and its error.
        segments: Vec<(usize, VersionError)>,
    },
}

impl<'a> Version<'a> {
    /// Parses a version strictly.
    ///
    /// ```
    /// use fbc_grammar::version::Version;
    ///
    /// let version = Version::parse("1.2.0-rc.1+build")?;
    /// assert_eq!((version.major(), version.pre(), version.build()), (1, "rc.1", "build"));
    /// assert!(version.precedence(&Version::parse("1.2.0")?).is_lt());
    /// assert!(Version::parse("v1.2.0").is_err());
    /// # Ok::<(), fbc_grammar::version::VersionError>(())
    /// ```
    pub fn parse(text: &'a str) -> Result<Self, VersionError> {
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(VersionError::Incomplete);
        };
        let major = number(major, "major", "Major")?;
        let minor = number(minor, "minor", "Minor")?;
        let (rest, build) = split_off(rest, '+');
        let (patch, pre) = split_off(rest, '-');
        let patch = number(patch, "patch", "Patch")?;
        if let Some(pre) = pre {
            pre.split('.').try_for_each(check_prerelease)?;
        }
        if let Some(build) = build {
            build.split('.').try_for_each(check_build)?;
        }
        Ok(Self {
            major,
            minor,
            patch,
            pre: pre.unwrap_or(""),
            build: build.unwrap_or(""),
        })
    }

    /// Creates a version without build metadata. The prerelease must be well-formed; empty means
    /// none.
    pub(crate) fn from_parts(major: u64, minor: u64, patch: u64, pre: &'a str) -> Self {
        Self {
            major,
            minor,
            patch,
            pre,
            build: "",
        }
    }

    /// Returns the major version.
    pub fn major(&self) -> u64 {
        self.major
    }

    /// Returns the minor version.
    pub fn minor(&self) -> u64 {
        self.minor
    }

    /// Returns the patch version.
    pub fn patch(&self) -> u64 {
        self.patch
    }

    /// Returns the prerelease without its `-`; empty when there is none.
    pub fn pre(&self) -> &'a str {
        self.pre
    }

    /// Returns the build metadata without its `+`; empty when there is none.
    pub fn build(&self) -> &'a str {
        self.build
    }

    /// Compares by the precedence of semver 2.0, which ignores build metadata.
    pub fn precedence(&self, other: &Version<'_>) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
                (false, false) => compare_identifiers(self.pre, other.pre),
                (none, other_none) => none.cmp(&other_none),
            })
    }
}

impl Display for Version<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build)?;
        }
        Ok(())
    }
}

impl<'a> Release<'a> {
    /// Parses a release; an empty text is the absent release.
    pub fn parse(text: &'a str) -> Result<Self, ReleaseError> {
        if text.len() > MAX_RELEASE_BYTES {
            return Err(ReleaseError::TooLong(text.to_owned()));
        }
        if text.is_empty() {
            return Ok(Self(text));
        }
        let segments: Vec<_> = text
            .split('.')
            .enumerate()
            .filter_map(|(at, segment)| Some((at, check_prerelease(segment).err()?)))
            .collect();
        if segments.is_empty() {
            Ok(Self(text))
        } else {
            Err(ReleaseError::Invalid {
                release: text.to_owned(),
                segments,
            })
        }
    }

    /// Returns the text; empty for the absent release.
    pub fn as_str(&self) -> &'a str {
        self.0
    }

    /// Compares by precedence: the absent release is the lowest, others compare as prereleases.
    pub fn precedence(&self, other: &Release<'_>) -> Ordering {
        match (self.0.is_empty(), other.0.is_empty()) {
            (false, false) => compare_identifiers(self.0, other.0),
            (none, other_none) => other_none.cmp(&none),
        }
    }
}

impl Display for Release<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Formats the error of each segment on a line.
struct Segments<'a>(&'a [(usize, VersionError)]);

impl Display for Segments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (at, error)) in self.0.iter().enumerate() {
            let line_feed = if i == 0 { "" } else { "\n" };
            write!(f, "{line_feed}segment {at}: {error}")?;
        }
        Ok(())
    }
}

/// Splits a text at the first separator, if any.
fn split_off(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn number(text: &str, part: &'static str, capital: &'static str) -> Result<u64, VersionError> {
    if !is_digits(text) {
        return Err(VersionError::NotANumber {
            part,
            text: text.to_owned(),
        });
    }
    if has_leading_zeroes(text) {
        return Err(VersionError::LeadingZeroes {
            part: capital,
            text: text.to_owned(),
        });
    }
    text.parse()
        .map_err(|error: std::num::ParseIntError| match error.kind() {
            IntErrorKind::Empty => VersionError::NumberMissing,
            _ => VersionError::NumberTooLarge(text.to_owned()),
        })
}

fn check_prerelease(identifier: &str) -> Result<(), VersionError> {
    if identifier.is_empty() {
        return Err(VersionError::PrereleaseEmpty);
    }
    if !is_digits(identifier) {
        return if is_identifier(identifier) {
            Ok(())
        } else {
            Err(VersionError::PrereleaseInvalid(identifier.to_owned()))
        };
    }
    if has_leading_zeroes(identifier) {
        return Err(VersionError::PrereleaseLeadingZeroes(identifier.to_owned()));
    }
    match identifier.parse::<u64>() {
        Ok(_) => Ok(()),
        Err(_) => Err(VersionError::NumberTooLarge(identifier.to_owned())),
    }
}

fn check_build(identifier: &str) -> Result<(), VersionError> {
    if identifier.is_empty() {
        Err(VersionError::BuildEmpty)
    } else if is_identifier(identifier) {
        Ok(())
    } else {
        Err(VersionError::BuildInvalid(identifier.to_owned()))
    }
}

/// Compares non-empty prereleases.
pub(crate) fn compare_identifiers(a: &str, b: &str) -> Ordering {
    let mut a = a.split('.');
    let mut b = b.split('.');
    loop {
        let order = match (a.next(), b.next()) {
            (Some(a), Some(b)) => compare_identifier(a, b),
            (None, None) => return Ordering::Equal,
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// Compares identifiers: numbers by value and before others, others by their bytes.
///
/// A number that does not fit in 64 bits, which only Masterminds' ranges accept, counts as text
/// there and here.
fn compare_identifier(a: &str, b: &str) -> Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Err(_), Err(_)) => a.cmp(b),
        (a, b) => b.is_ok().cmp(&a.is_ok()),
    }
}

pub(crate) fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(crate) fn has_leading_zeroes(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

fn is_identifier(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests;
