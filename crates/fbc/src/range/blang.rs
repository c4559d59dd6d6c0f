//! The grammar of `skipRange`: comparators joined by spaces (and) and by `||` (or).

use std::borrow::Cow;
use std::ops::Range;

use super::{Bound, RangeError};
use crate::version::Version;

/// A range as github.com/blang/semver v4 reads it, such as `>=1.0.0 <2.0.0 || 3.1.x`.
///
/// Prereleases take part in the plain order: `2.0.0-rc` is in `<2.0.0`. Build metadata does not count.
/// Reading takes time and memory linear in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlangRange {
    /// One group must hold, and of it every comparator.
    groups: Vec<Vec<Comparator>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparator {
    operator: Operator,
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
}

impl BlangRange {
    /// Reads a range.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let elements = elements(text);
        let groups = split_groups(&elements)?;
        // Upstream rewrites every wildcard before it reads the first comparator, which decides the error.
        let expanded = groups.iter().map(|group| expand_group(group)).collect::<Result<Vec<_>, _>>()?;
        let groups = expanded.iter().map(|group| parse_group(group)).collect::<Result<Vec<_>, _>>()?;
        if groups.iter().any(Vec::is_empty) {
            return Err(RangeError::GroupEmpty);
        }
        Ok(Self { groups })
    }

    /// Whether the version is in the range.
    pub fn contains(&self, version: &Version<'_>) -> bool {
        self.groups.iter().any(|group| group.iter().all(|comparator| comparator.admits(version)))
    }

    /// Which of the versions are in the range, as places in ascending order that do not touch.
    ///
    /// The versions must come highest first. A comparator takes time in the logarithm of their number.
    pub fn places(&self, versions: &[Version<'_>]) -> Vec<Range<usize>> {
        let mut places: Vec<_> = self.groups.iter().flat_map(|group| group_places(group, versions)).collect();
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

/// Which of the versions, highest first, every comparator admits: an interval with gaps where `!=` stands.
fn group_places(group: &[Comparator], versions: &[Version<'_>]) -> Vec<Range<usize>> {
    let (mut start, mut end) = (0, versions.len());
    let mut gaps = Vec::new();
    for Comparator { operator, bound } in group {
        let above = || versions.partition_point(|version| bound.order(version).is_gt());
        let not_below = || versions.partition_point(|version| bound.order(version).is_ge());
        match operator {
            Operator::Greater => end = end.min(above()),
            Operator::GreaterOrEqual => end = end.min(not_below()),
            Operator::Less => start = start.max(not_below()),
            Operator::LessOrEqual => start = start.max(above()),
            Operator::Equal => (start, end) = (start.max(above()), end.min(not_below())),
            Operator::NotEqual => gaps.push(above()..not_below()),
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

impl Comparator {
    fn parse(element: &str) -> Result<Self, RangeError> {
        let (comparator, text) = split_comparator(element)?;
        let Some(operator) = Operator::parse(comparator) else {
            return Err(RangeError::Comparator {
                element: element.to_owned(),
                comparator: comparator.to_owned(),
                trimmed: format!("{comparator}{text}"),
            });
        };
        match Version::parse(text) {
            Ok(version) => Ok(Self { operator, bound: Bound::new(&version) }),
            Err(fault) => Err(RangeError::Version {
                element: element.to_owned(),
                version: text.to_owned(),
                trimmed: format!("{comparator}{text}"),
                fault,
            }),
        }
    }

    fn admits(&self, version: &Version<'_>) -> bool {
        let order = self.bound.order(version);
        match self.operator {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
        }
    }
}

impl Operator {
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

/// The elements between spaces, without the spaces inside them.
///
/// A space after `<`, `>` or `=` does not separate. An element of a single byte is dropped, as upstream does: `5` in
/// `1.0.0 5`, the hyphen of `1.0.0 - 2.0.0`.
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
        .map(|raw| if raw.contains(' ') { raw.replace(' ', "").into() } else { raw.into() })
        .collect()
}

fn split_groups<'a, 'b>(elements: &'b [Cow<'a, str>]) -> Result<Vec<&'b [Cow<'a, str>]>, RangeError> {
    match elements {
        [first, ..] if first == "||" => Err(RangeError::FirstIsOr),
        [] => Err(RangeError::LastIsOr),
        [.., last] if last == "||" => Err(RangeError::LastIsOr),
        _ => Ok(elements.split(|element| element == "||").collect()),
    }
}

fn expand_group<'a>(group: &'a [Cow<'_, str>]) -> Result<Vec<Cow<'a, str>>, RangeError> {
    let mut expanded = Vec::with_capacity(group.len());
    for element in group {
        expand_wildcard(element, &mut expanded)?;
    }
    Ok(expanded)
}

fn parse_group(group: &[Cow<'_, str>]) -> Result<Vec<Comparator>, RangeError> {
    group.iter().map(|element| Comparator::parse(element)).collect()
}

/// Writes an element with a wildcard as the comparators it stands for; adds any other as it is.
///
/// Upstream takes every element with an `x` anywhere for one with a wildcard, and drops a comparator it does not
/// know: `~1.2.x` is `1.2.0`. Where there is nothing to count up, an empty text stands for the version and becomes an
/// error later.
fn expand_wildcard<'a>(element: &'a str, expanded: &mut Vec<Cow<'a, str>>) -> Result<(), RangeError> {
    let (comparator, version) = split_comparator(element)?;
    if !element.contains('x') {
        expanded.push(element.into());
        return Ok(());
    }
    let floor = replace_wildcards(version);
    let next = next_after_wildcard(version, &floor).unwrap_or_default();
    let mut add = |comparator: &str, version: &str| expanded.push((comparator.to_owned() + version).into());
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

/// The floor with the number before the wildcard one higher; none when there is no wildcard or no number to raise.
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
    *number = number.parse::<i64>().ok()?.wrapping_add(1).to_string().into();
    Some(parts.join("."))
}

/// What stands before the first digit, trimmed, and the rest.
fn split_comparator(element: &str) -> Result<(&str, &str), RangeError> {
    let at = element.find(is_digit).ok_or_else(|| RangeError::VersionMissing(element.to_owned()))?;
    let (comparator, version) = element.split_at(at);
    Ok((comparator.trim(), version))
}

/// Whether Go's `unicode.IsDigit` takes it for a digit. A version may only hold ASCII digits, but begins at any.
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
