//! The grammar of a `ClusterExtension`'s version: constraints joined by spaces or commas (and) and by `||` (or).

mod text;

use std::cmp::Ordering;

use super::{Bound, RangeError};
use crate::version::{Version, has_leading_zeroes, is_digits};
use text::{VersionText, rewrite_hyphens, split_constraints};

/// The longest constraint, in bytes. Upstream's limit; it also bounds the work of rewriting hyphen ranges.
pub const MAX_MASTERMINDS_BYTES: usize = 512;

/// The most groups between `||`. Upstream's limit.
pub const MAX_MASTERMINDS_GROUPS: usize = 32;

/// The longest version within a constraint, in bytes. Upstream's limit.
pub const MAX_MASTERMINDS_VERSION_BYTES: usize = 256;

/// A range as github.com/Masterminds/semver 3.5 reads it, such as `>=1.2, <2 || ~3.1 || 4.0.0 - 4.5`.
///
/// A version with a prerelease is only in a group whose constraints name a prerelease somewhere. Build metadata does
/// not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MastermindsRange {
    /// One group must hold.
    groups: Vec<Group>,
}

/// Constraints which must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    constraints: Vec<Constraint>,
    has_prerelease: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Constraint {
    operator: Operator,
    /// From which number on the bound was left open; those numbers are zero.
    open: Open,
    bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Tilde,
    Caret,
}

/// From which number on a version is missing or a wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    Major,
    Minor,
    Patch,
}

impl MastermindsRange {
    /// Reads a constraint.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        if text.len() > MAX_MASTERMINDS_BYTES {
            return Err(RangeError::TooLong);
        }
        let text = rewrite_hyphens(text);
        if text.matches("||").count() >= MAX_MASTERMINDS_GROUPS {
            return Err(RangeError::TooManyGroups);
        }
        let groups = text.split("||").map(Group::parse).collect::<Result<_, _>>()?;
        Ok(Self { groups })
    }

    /// Whether the version is in the range.
    pub fn contains(&self, version: &Version<'_>) -> bool {
        self.groups.iter().any(|group| {
            (version.pre().is_empty() || group.has_prerelease)
                && group.constraints.iter().all(|constraint| constraint.admits(version))
        })
    }
}

impl Group {
    fn parse(text: &str) -> Result<Self, RangeError> {
        let parts = split_constraints(text).ok_or_else(|| RangeError::Improper(text.to_owned()))?;
        let constraints = parts
            .iter()
            .map(|(operator, version)| Constraint::new(*operator, version))
            .collect::<Result<Vec<_>, _>>()?;
        let has_prerelease = constraints.iter().any(|constraint| !constraint.bound.pre.is_empty());
        Ok(Self { constraints, has_prerelease })
    }
}

impl Constraint {
    fn new(operator: Operator, text: &VersionText<'_>) -> Result<Self, RangeError> {
        let (major, minor, patch) = (text.major, text.minor.unwrap_or("x"), text.patch.unwrap_or("x"));
        let (open, [major, minor, patch]) = match () {
            () if is_wildcard(major) => (Open::Major, ["0"; 3]),
            () if is_wildcard(minor) => (Open::Minor, [major, "0", "0"]),
            () if is_wildcard(patch) => (Open::Patch, [major, minor, "0"]),
            () => (Open::Nothing, [major, minor, patch]),
        };
        let pre = text.pre.unwrap_or("");
        // Upstream checks the length of the version it puts together, without build metadata where one is open.
        let len = match open {
            Open::Nothing => text.len,
            _ => major.len() + minor.len() + patch.len() + 2 + text.pre.map_or(0, |pre| pre.len() + 1),
        };
        if len > MAX_MASTERMINDS_VERSION_BYTES || pre.split('.').any(is_bad_number) {
            return Err(RangeError::Unparsable);
        }
        let bound = Bound { major: number(major)?, minor: number(minor)?, patch: number(patch)?, pre: pre.into() };
        Ok(Self { operator, open, bound })
    }

    fn admits(&self, version: &Version<'_>) -> bool {
        let order = self.bound.order(version);
        match self.operator {
            Operator::Equal if self.open == Open::Nothing => order.is_eq(),
            Operator::Equal | Operator::Tilde => order.is_ge() && self.is_within_tilde(version),
            Operator::NotEqual => order.is_ne() && self.is_outside(version),
            Operator::Greater => order.is_gt() && self.is_after(version),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => self.is_up_to(version, order),
            Operator::Caret => order.is_ge() && self.is_within_caret(version),
        }
    }

    /// For a version that is not before the bound: whether `~` lets it change so much.
    fn is_within_tilde(&self, version: &Version<'_>) -> bool {
        let bound = &self.bound;
        let is_zero = (bound.major, bound.minor, bound.patch) == (0, 0, 0);
        match self.open {
            // Upstream's special case: `~0.0.0`, and so `*`, sets no upper limit.
            Open::Nothing | Open::Major if is_zero => true,
            Open::Minor => version.major() == bound.major,
            _ => (version.major(), version.minor()) == (bound.major, bound.minor),
        }
    }

    /// For a version that is not the bound: whether it is outside of what a partial bound stands for.
    fn is_outside(&self, version: &Version<'_>) -> bool {
        let bound = &self.bound;
        match self.open {
            Open::Nothing | Open::Major => true,
            Open::Minor => version.major() != bound.major,
            // Upstream looks at the prereleases where one is given: `!=4.1-alpha` accepts 4.1.0.
            Open::Patch => {
                (version.major(), version.minor()) != (bound.major, bound.minor) || version.pre() != &*bound.pre
            }
        }
    }

    /// For a version after the bound: whether it is also after all that a partial bound stands for.
    fn is_after(&self, version: &Version<'_>) -> bool {
        let bound = &self.bound;
        match self.open {
            Open::Nothing | Open::Major => true,
            Open::Minor => version.major() > bound.major,
            Open::Patch => (version.major(), version.minor()) > (bound.major, bound.minor),
        }
    }

    /// Whether a version is at most the last that a partial bound stands for.
    fn is_up_to(&self, version: &Version<'_>, order: Ordering) -> bool {
        let bound = &self.bound;
        match self.open {
            Open::Nothing => order.is_le(),
            Open::Minor => version.major() <= bound.major,
            // `<=*` is therefore 0.0.Z only.
            Open::Major | Open::Patch => (version.major(), version.minor()) <= (bound.major, bound.minor),
        }
    }

    /// For a version that is not before the bound: whether `^` lets it change so much.
    fn is_within_caret(&self, version: &Version<'_>) -> bool {
        let bound = &self.bound;
        if version.major() != bound.major {
            return false;
        }
        if bound.major > 0 || self.open == Open::Minor {
            return true;
        }
        if version.minor() != bound.minor {
            return false;
        }
        bound.minor > 0 || self.open == Open::Patch || version.patch() == bound.patch
    }
}

impl Operator {
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

/// A number of the version; leading zeros are allowed, `12x` and `1|2` are not numbers.
fn number(text: &str) -> Result<u64, RangeError> {
    text.parse().map_err(|_| RangeError::Unparsable)
}
