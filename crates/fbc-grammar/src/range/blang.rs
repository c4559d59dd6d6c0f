//! The grammar of `skipRange`: comparators joined by spaces (and) and by `||` (or).

use std::borrow::Cow;
use std::ops::Range;

use super::{VersionBound, VersionRangeError};
use crate::version::Version;

/// A range as github.com/blang/semver v4 reads it, such as `>=1.0.0 <2.0.0 || 3.1.x`.
///
/// Prereleases take part in the plain order: `2.0.0-rc` is in `<2.0.0`. Build metadata does not
/// count. Reading takes time and memory linear in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlangRange {
    /// Alternatives, of which each requires all its comparators.
    groups: Vec<Vec<BlangComparator>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct BlangComparator {
    operator: BlangOperator,
    bound: VersionBound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlangOperator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl BlangRange {
    /// Parses a range.
    ///
    /// ```
    /// use fbc_grammar::range::BlangRange;
    /// use fbc_grammar::version::Version;
    ///
    /// let range = BlangRange::parse(">=1.0.0 <2.0.0 || 3.1.x")?;
    /// assert!(range.contains(&Version::parse("2.0.0-rc")?));
    /// assert!(!range.contains(&Version::parse("3.2.0")?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, VersionRangeError> {
        let elements = elements(text);
        let groups = split_groups(&elements)?;
        // Upstream rewrites every wildcard before it reads the first comparator, which decides the
        // error.
        let expanded = groups
            .iter()
            .map(|group| expand_group(group))
            .collect::<Result<Vec<_>, _>>()?;
        let groups = expanded
            .iter()
            .map(|group| parse_group(group))
            .collect::<Result<Vec<_>, _>>()?;
        if groups.iter().any(Vec::is_empty) {
            return Err(VersionRangeError::GroupEmpty);
        }
        Ok(Self { groups })
    }

    /// Tells whether a version is in the range.
    pub fn contains(&self, version: &Version<'_>) -> bool {
        self.groups
            .iter()
            .any(|group| group.iter().all(|comparator| comparator.admits(version)))
    }

    /// Returns the number of versions that a version is compared with at most: a wildcard may stand
    /// for two.
    ///
    /// ```
    /// use fbc_grammar::range::BlangRange;
    ///
    /// assert_eq!(BlangRange::parse(">=1.0.0 <2.0.0 || 3.1.x")?.comparators(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn comparators(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// Returns the index ranges of the versions in the range, ascending and not adjacent.
    ///
    /// The versions must be sorted highest first. Each comparator takes time logarithmic in their
    /// number.
    pub fn places(&self, versions: &[Version<'_>]) -> Vec<Range<usize>> {
        let mut places: Vec<_> = self
            .groups
            .iter()
            .flat_map(|group| group_places(group, versions))
            .collect();
        places.sort_unstable_by_key(|range| range.start);
        places.dedup_by(|next, range| {
            let touches = next.start <= range.end;
            if touches {
                range.end = range.end.max(next.end);
            }
            touches
        });
        places
    }
}

/// Returns the index ranges of the versions that every comparator admits: one interval, with gaps
/// for `!=`.
fn group_places(group: &[BlangComparator], versions: &[Version<'_>]) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut end = versions.len();
    let mut gaps = Vec::new();
    for BlangComparator { operator, bound } in group {
        let above = || versions.partition_point(|version| bound.order(version).is_gt());
        let not_below = || versions.partition_point(|version| bound.order(version).is_ge());
        match operator {
            BlangOperator::Greater => end = end.min(above()),
            BlangOperator::GreaterOrEqual => end = end.min(not_below()),
            BlangOperator::Less => start = start.max(not_below()),
            BlangOperator::LessOrEqual => start = start.max(above()),
            BlangOperator::Equal => (start, end) = (start.max(above()), end.min(not_below())),
            BlangOperator::NotEqual => gaps.push(above()..not_below()),
        }
    }
    gaps.sort_unstable_by_key(|gap| gap.start);
    let mut places = Vec::with_capacity(gaps.len() + 1);
    for gap in gaps {
        places.push(start..gap.start.min(end));
        start = start.max(gap.end);
    }
    places.push(start..end);
    places.retain(|range| range.start < range.end);
    places
}

impl BlangComparator {
    fn parse(element: &str) -> Result<Self, VersionRangeError> {
        let (comparator, text) = split_comparator(element)?;
        let Some(operator) = BlangOperator::parse(comparator) else {
            return Err(VersionRangeError::Comparator {
                element: element.to_owned(),
                comparator: comparator.to_owned(),
                trimmed: format!("{comparator}{text}"),
            });
        };
        match Version::parse(text) {
            Ok(version) => Ok(Self {
                operator,
                bound: VersionBound::new(&version),
            }),
            Err(error) => Err(VersionRangeError::Version {
                element: element.to_owned(),
                version: text.to_owned(),
                trimmed: format!("{comparator}{text}"),
                fault: error,
            }),
        }
    }

    fn admits(&self, version: &Version<'_>) -> bool {
        let order = self.bound.order(version);
        match self.operator {
            BlangOperator::Equal => order.is_eq(),
            BlangOperator::NotEqual => order.is_ne(),
            BlangOperator::Greater => order.is_gt(),
            BlangOperator::GreaterOrEqual => order.is_ge(),
            BlangOperator::Less => order.is_lt(),
            BlangOperator::LessOrEqual => order.is_le(),
        }
    }
}

impl BlangOperator {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "" | "=" | "==" => Self::Equal,
            "!" | "!=" => Self::NotEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            _ => return None,
        })
    }
}

/// Splits a range into elements at spaces.
///
/// A space after `<`, `>` or `=` does not separate and is removed. Elements of a single byte are
/// dropped, as upstream does: `5` in `1.0.0 5`, the hyphen of `1.0.0 - 2.0.0`.
fn elements(text: &str) -> Vec<Cow<'_, str>> {
    let mut last = '\0';
    let separates = move |c| {
        if c != ' ' {
            last = c;
        }
        c == ' ' && !matches!(last, '<' | '>' | '=')
    };
    text.split(separates)
        .filter(|raw| raw.len() > 1)
        .map(|raw| {
            if raw.contains(' ') {
                raw.replace(' ', "").into()
            } else {
                raw.into()
            }
        })
        .collect()
}

fn split_groups<'a, 'b>(
    elements: &'b [Cow<'a, str>],
) -> Result<Vec<&'b [Cow<'a, str>]>, VersionRangeError> {
    match elements {
        [first, ..] if first == "||" => Err(VersionRangeError::FirstIsOr),
        [] => Err(VersionRangeError::LastIsOr),
        [.., last] if last == "||" => Err(VersionRangeError::LastIsOr),
        _ => Ok(elements.split(|element| element == "||").collect()),
    }
}

fn expand_group<'a>(group: &'a [Cow<'_, str>]) -> Result<Vec<Cow<'a, str>>, VersionRangeError> {
    let mut expanded = Vec::with_capacity(group.len());
    for element in group {
        expand_wildcard(element, &mut expanded)?;
    }
    Ok(expanded)
}

fn parse_group(group: &[Cow<'_, str>]) -> Result<Vec<BlangComparator>, VersionRangeError> {
    group
        .iter()
        .map(|element| BlangComparator::parse(element))
        .collect()
}

/// Expands an element with a wildcard to comparators; adds any other element unchanged.
///
/// Upstream treats every element with an `x` anywhere as a wildcard, and drops unknown comparators:
/// `~1.2.x` is `1.2.0`. Where no number can be incremented, the version becomes empty, which is an
/// error later.
fn expand_wildcard<'a>(
    element: &'a str,
    expanded: &mut Vec<Cow<'a, str>>,
) -> Result<(), VersionRangeError> {
    let (comparator, version) = split_comparator(element)?;
    if !element.contains('x') {
        expanded.push(element.into());
        return Ok(());
    }
    let floor = replace_wildcards(version);
    let next = next_after_wildcard(version, &floor).unwrap_or_default();
    let mut add =
        |comparator: &str, version: &str| expanded.push((comparator.to_owned() + version).into());
    match comparator {
        ">" => add(">=", &next),
        ">=" => add(">=", &floor),
        "<" => add("<", &floor),
        "<=" => add("<", &next),
        "" | "=" | "==" => {
            add(">=", &floor);
            add("<", &next);
        }
        "!" | "!=" => {
            add("<", &floor);
            add(">=", &next);
        }
        _ => add("", &floor),
    }
    Ok(())
}

/// `1.2.x` → `1.2.0`, `1.x` and `1.x.x` → `1.0.0`.
fn replace_wildcards(version: &str) -> String {
    let mut floor = version.replacen(".x.x", ".x", 1).replacen(".x", ".0", 1);
    if floor.matches('.').count() == 1 {
        floor.push_str(".0");
    }
    floor
}

/// Increments the number before the wildcard in the floor; `None` when there is no wildcard or no
/// such number.
fn next_after_wildcard(version: &str, floor: &str) -> Option<String> {
    let mut parts: Vec<&str> = version.split('.').collect();
    let raised = match (parts.len(), parts.pop()) {
        (2, Some("x")) => 0,
        (3, Some("x")) => 1,
        _ => return None,
    };
    let mut parts: Vec<Cow<'_, str>> = floor.split('.').map(Cow::from).collect();
    let number = parts.get_mut(raised)?;
    // Go's Atoi reads a sign too, and its int wraps.
    *number = number
        .parse::<i64>()
        .ok()?
        .wrapping_add(1)
        .to_string()
        .into();
    Some(parts.join("."))
}

/// Splits an element at its first digit and trims the comparator.
fn split_comparator(element: &str) -> Result<(&str, &str), VersionRangeError> {
    let at = element
        .find(is_digit)
        .ok_or_else(|| VersionRangeError::VersionMissing(element.to_owned()))?;
    let (comparator, version) = element.split_at(at);
    Ok((comparator.trim(), version))
}

/// Tells whether Go's `unicode.IsDigit` accepts a character. A version may only have ASCII digits,
/// but begins at any.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
        || c.is_numeric() && {
            let zeros = DIGIT_ZEROS.partition_point(|&zero| zero <= c);
            zeros > 0 && u32::from(c) - u32::from(DIGIT_ZEROS[zeros - 1]) < 10
        }
}

/// The zeros of Unicode's decimal digits (category Nd) beyond ASCII; nine more digits follow each.
#[rustfmt::skip]
const DIGIT_ZEROS: [char; 65] = [
    '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}', '\u{be6}',
    '\u{c66}', '\u{ce6}', '\u{d66}', '\u{de6}', '\u{e50}', '\u{ed0}', '\u{f20}', '\u{1040}', '\u{1090}',
    '\u{17e0}', '\u{1810}', '\u{1946}', '\u{19d0}', '\u{1a80}', '\u{1a90}', '\u{1b50}', '\u{1bb0}', '\u{1c40}',
    '\u{1c50}', '\u{a620}', '\u{a8d0}', '\u{a900}', '\u{a9d0}', '\u{a9f0}', '\u{aa50}', '\u{abf0}', '\u{ff10}',
    '\u{104a0}', '\u{10d30}', '\u{11066}', '\u{110f0}', '\u{11136}', '\u{111d0}', '\u{112f0}', '\u{11450}', '\u{114d0}',
    '\u{11650}', '\u{116c0}', '\u{11730}', '\u{118e0}', '\u{11950}', '\u{11c50}', '\u{11d50}', '\u{11da0}', '\u{16a60}',
    '\u{16ac0}', '\u{16b50}', '\u{1d7ce}', '\u{1d7d8}', '\u{1d7e2}', '\u{1d7ec}', '\u{1d7f6}', '\u{1e140}', '\u{1e2f0}',
    '\u{1e950}', '\u{1fbf0}',
];
