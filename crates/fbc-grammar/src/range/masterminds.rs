//! The grammar of a `ClusterExtension`'s version: constraints joined by spaces or commas (and) and
//! by `||` (or).

mod text;

use std::cmp::Ordering;

use super::{VersionBound, VersionRangeError};
use crate::version::{Version, has_leading_zeroes, is_digits};
use text::{VersionText, rewrite_hyphens, split_constraints};

/// Maximum length of a constraint, in bytes: upstream's limit; it also bounds the work of rewriting
/// hyphen ranges.
pub const MAX_MASTERMINDS_BYTES: usize = 512;

/// Maximum number of groups between `||`: upstream's limit.
pub const MAX_MASTERMINDS_GROUPS: usize = 32;

/// Maximum length of a version in a constraint, in bytes: upstream's limit.
pub const MAX_MASTERMINDS_VERSION_BYTES: usize = 256;

/// A range as github.com/Masterminds/semver 3.5 reads it, such as `>=1.2, <2 || ~3.1 || 4.0.0 -
/// 4.5`.
///
/// A version with a prerelease is only in a group whose constraints name a prerelease somewhere.
/// Build metadata does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MastermindsRange {
    /// Alternatives.
    groups: Vec<ConstraintGroup>,
}

/// Constraints that must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ConstraintGroup {
    constraints: Vec<VersionConstraint>,
    has_prerelease: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct VersionConstraint {
    operator: MastermindsOperator,
    /// First number of the bound that is missing or a wildcard; from there on its numbers are zero.
    wildcard: WildcardStart,
    bound: VersionBound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MastermindsOperator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Tilde,
    Caret,
}

/// First number of a version that is missing or a wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WildcardStart {
    None,
    Major,
    Minor,
    Patch,
}

impl MastermindsRange {
    /// Parses a constraint.
    ///
    /// ```
    /// use fbc_grammar::range::MastermindsRange;
    /// use fbc_grammar::version::Version;
    ///
    /// let range = MastermindsRange::parse(">=1.2, <2 || ~3.1")?;
    /// assert!(range.contains(&Version::parse("3.1.4")?));
    /// assert!(!range.contains(&Version::parse("2.0.0-rc")?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, VersionRangeError> {
        if text.len() > MAX_MASTERMINDS_BYTES {
            return Err(VersionRangeError::TooLong);
        }
        let text = rewrite_hyphens(text);
        if text.matches("||").count() >= MAX_MASTERMINDS_GROUPS {
            return Err(VersionRangeError::TooManyGroups);
        }
        let groups = text
            .split("||")
            .map(ConstraintGroup::parse)
            .collect::<Result<_, _>>()?;
        Ok(Self { groups })
    }

    /// Returns the number of constraints, with each of which [`Self::contains`] may compare a
    /// version.
    pub fn constraints(&self) -> usize {
        self.groups
            .iter()
            .map(|group| group.constraints.len())
            .sum()
    }

    /// Tells whether a version is in the range.
    pub fn contains(&self, version: &Version<'_>) -> bool {
        self.groups.iter().any(|group| {
            (version.pre().is_empty() || group.has_prerelease)
                && group
                    .constraints
                    .iter()
                    .all(|constraint| constraint.admits(version))
        })
    }
}

impl ConstraintGroup {
    fn parse(text: &str) -> Result<Self, VersionRangeError> {
        let parts =
            split_constraints(text).ok_or_else(|| VersionRangeError::Improper(text.to_owned()))?;
        let constraints = parts
            .iter()
            .map(|(operator, version)| VersionConstraint::new(*operator, version))
            .collect::<Result<Vec<_>, _>>()?;
        let has_prerelease = constraints
            .iter()
            .any(|constraint| !constraint.bound.pre.is_empty());
        Ok(Self {
            constraints,
            has_prerelease,
        })
    }
}

impl VersionConstraint {
    fn new(
        operator: MastermindsOperator,
        text: &VersionText<'_>,
    ) -> Result<Self, VersionRangeError> {
        let major = text.major;
        let minor = text.minor.unwrap_or("x");
        let patch = text.patch.unwrap_or("x");
        let (wildcard, [major, minor, patch]) = if is_wildcard(major) {
            (WildcardStart::Major, ["0"; 3])
        } else if is_wildcard(minor) {
            (WildcardStart::Minor, [major, "0", "0"])
        } else if is_wildcard(patch) {
            (WildcardStart::Patch, [major, minor, "0"])
        } else {
            (WildcardStart::None, [major, minor, patch])
        };
        let pre = text.pre.unwrap_or("");
        // Upstream checks the length of the version it puts together, without build metadata where
        // one is open.
        let len = match wildcard {
            WildcardStart::None => text.len,
            _ => {
                major.len()
                    + minor.len()
                    + patch.len()
                    + 2
                    + text.pre.map_or(0, |pre| pre.len() + 1)
            }
        };
        if len > MAX_MASTERMINDS_VERSION_BYTES || pre.split('.').any(is_bad_number) {
            return Err(VersionRangeError::Unparsable);
        }
        let bound = VersionBound {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            pre: pre.into(),
        };
        Ok(Self {
            operator,
            wildcard,
            bound,
        })
    }

    fn admits(&self, version: &Version<'_>) -> bool {
        let order = self.bound.order(version);
        match self.operator {
            MastermindsOperator::Equal if self.wildcard == WildcardStart::None => order.is_eq(),
            MastermindsOperator::Equal | MastermindsOperator::Tilde => {
                order.is_ge() && self.is_within_tilde(version)
            }
            MastermindsOperator::NotEqual => order.is_ne() && self.is_outside(version),
            MastermindsOperator::Greater => order.is_gt() && self.is_after(version),
            MastermindsOperator::GreaterOrEqual => order.is_ge(),
            MastermindsOperator::Less => order.is_lt(),
            MastermindsOperator::LessOrEqual => self.is_up_to(version, order),
            MastermindsOperator::Caret => order.is_ge() && self.is_within_caret(version),
        }
    }

    /// For a version not below the bound: tells whether it is within the upper limit of `~`.
    fn is_within_tilde(&self, version: &Version<'_>) -> bool {
        let bound = &self.bound;
        let is_zero = (bound.major, bound.minor, bound.patch) == (0, 0, 0);
        match self.wildcard {
            // Upstream's special case: `~0.0.0`, and so `*`, sets no upper limit.
            WildcardStart::None | WildcardStart::Major if is_zero => true,
            WildcardStart::Minor => version.major() == bound.major,
            _ => (version.major(), version.minor()) == (bound.major, bound.minor),
        }
    }

    /// For a version other than the bound: tells whether it is outside the versions that a partial
    /// bound covers.
    fn is_outside(&self, version: &Version<'_>) -> bool {
        let bound = &self.bound;
        match self.wildcard {
            WildcardStart::None | WildcardStart::Major => true,
            WildcardStart::Minor => version.major() != bound.major,
            // Upstream looks at the prereleases where one is given: `!=4.1-alpha` accepts 4.1.0.
            WildcardStart::Patch => {
                (version.major(), version.minor()) != (bound.major, bound.minor)
                    || version.pre() != &*bound.pre
            }
        }
    }

    /// For a version above the bound: tells whether it is above all versions that a partial bound
    /// covers.
    fn is_after(&self, version: &Version<'_>) -> bool {
        let bound = &self.bound;
        match self.wildcard {
            WildcardStart::None | WildcardStart::Major => true,
            WildcardStart::Minor => version.major() > bound.major,
            WildcardStart::Patch => (version.major(), version.minor()) > (bound.major, bound.minor),
        }
    }

    /// Tells whether a version is not above the versions that a partial bound covers.
    fn is_up_to(&self, version: &Version<'_>, order: Ordering) -> bool {
        let bound = &self.bound;
        match self.wildcard {
            WildcardStart::None => order.is_le(),
            WildcardStart::Minor => version.major() <= bound.major,
            // `<=*` is therefore 0.0.Z only.
            WildcardStart::Major | WildcardStart::Patch => {
                (version.major(), version.minor()) <= (bound.major, bound.minor)
            }
        }
    }

    /// For a version not below the bound: tells whether it is within the upper limit of `^`.
    fn is_within_caret(&self, version: &Version<'_>) -> bool {
        let bound = &self.bound;
        if version.major() != bound.major {
            return false;
        }
        if bound.major > 0 || self.wildcard == WildcardStart::Minor {
            return true;
        }
        if version.minor() != bound.minor {
            return false;
        }
        bound.minor > 0 || self.wildcard == WildcardStart::Patch || version.patch() == bound.patch
    }
}

impl MastermindsOperator {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "" | "=" => Self::Equal,
            "!=" => Self::NotEqual,
            ">" => Self::Greater,
            ">=" | "=>" => Self::GreaterOrEqual,
            "<" => Self::Less,
            "<=" | "=<" => Self::LessOrEqual,
            "~" | "~>" => Self::Tilde,
            "^" => Self::Caret,
            _ => return None,
        })
    }
}

fn is_wildcard(number: &str) -> bool {
    matches!(number, "x" | "X" | "*")
}

fn is_bad_number(identifier: &str) -> bool {
    is_digits(identifier) && has_leading_zeroes(identifier)
}

/// Parses a number of a version; leading zeros are allowed, `12x` and `1|2` are not numbers.
fn number(text: &str) -> Result<u64, VersionRangeError> {
    text.parse().map_err(|_| VersionRangeError::Unparsable)
}
