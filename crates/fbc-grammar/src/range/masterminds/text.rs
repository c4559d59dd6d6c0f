//! The syntax of constraints: operators, versions and hyphen ranges.

use std::borrow::Cow;

use super::MastermindsOperator;

/// A version in the right form. Its numbers may be wildcards, or invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VersionText<'a> {
    pub(super) major: &'a str,
    pub(super) minor: Option<&'a str>,
    pub(super) patch: Option<&'a str>,
    /// Prerelease without its `-`.
    pub(super) pre: Option<&'a str>,
    /// Length in bytes, from a leading `v` to the end of the build metadata.
    pub(super) len: usize,
}

/// Splits a group into constraints; `None` when it does not have the right form, for example when
/// it is empty.
pub(super) fn split_constraints(
    group: &str,
) -> Option<Vec<(MastermindsOperator, VersionText<'_>)>> {
    let mut constraints = Vec::new();
    let mut rest = trim_start(group);
    loop {
        let (operator, after) = take_while(rest, is_operator);
        let operator = MastermindsOperator::parse(operator)?;
        let (version, after) = match_version(trim_start(after))?;
        constraints.push((operator, version));
        rest = trim_start(after);
        if rest.is_empty() {
            return Some(constraints);
        }
        if let Some(after_comma) = rest.strip_prefix(',') {
            rest = trim_start(after_comma);
        } else if rest.len() == after.len() {
            return None;
        }
    }
}

/// Rewrites `A - B` with the white space around it as `>= A, <= B `.
///
/// Upstream replaces the first text that is equal to what it matched, which may be an earlier one.
/// The work is quadratic in the text, whose length is limited.
pub(super) fn rewrite_hyphens(text: &str) -> Cow<'_, str> {
    let mut rewritten = Cow::from(text);
    let mut at = 0;
    while let Some((start, hyphen)) = find_hyphen(text, at) {
        at = start + hyphen.whole.len();
        let bounds = format!(">= {}, <= {} ", hyphen.lower, hyphen.upper);
        rewritten = rewritten.replacen(hyphen.whole, &bounds, 1).into();
    }
    rewritten
}

/// A hyphen range with the white space around it, and its versions.
struct HyphenRange<'a> {
    whole: &'a str,
    lower: &'a str,
    upper: &'a str,
}

/// Finds the first hyphen range that begins at or after an offset.
fn find_hyphen(text: &str, from: usize) -> Option<(usize, HyphenRange<'_>)> {
    if !text[from..].contains('-') {
        return None;
    }
    (from..text.len())
        .filter(|&start| text.is_char_boundary(start))
        .find_map(|start| Some((start, match_hyphen(&text[start..])?)))
}

fn match_hyphen(text: &str) -> Option<HyphenRange<'_>> {
    let lower = trim_start(text);
    let (_, after_lower) = match_version(lower)?;
    let hyphen = trim_start(after_lower);
    let after_hyphen = hyphen.strip_prefix('-')?;
    let upper = trim_start(after_hyphen);
    if hyphen.len() == after_lower.len() || upper.len() == after_hyphen.len() {
        return None;
    }
    let (_, after_upper) = match_version(upper)?;
    let rest = trim_start(after_upper);
    Some(HyphenRange {
        whole: &text[..text.len() - rest.len()],
        lower: &lower[..lower.len() - after_lower.len()],
        upper: &upper[..upper.len() - after_upper.len()],
    })
}

/// Matches the longest version at the start of a text and returns it with the rest.
///
/// One, two or three numbers or wildcards after an optional `v`, a prerelease and build metadata. A
/// `|` may stand in a number here, as upstream's pattern has it; it is refused when the number is
/// read.
fn match_version(text: &str) -> Option<(VersionText<'_>, &str)> {
    let (major, mut rest) = take_while(text.strip_prefix('v').unwrap_or(text), is_number);
    if major.is_empty() {
        return None;
    }
    let mut take_number = || {
        let (number, after) = take_while(rest.strip_prefix('.')?, is_number);
        if number.is_empty() {
            return None;
        }
        rest = after;
        Some(number)
    };
    let minor = take_number();
    let patch = if minor.is_some() { take_number() } else { None };
    let pre = take_identifiers(&mut rest, '-');
    take_identifiers(&mut rest, '+');
    Some((
        VersionText {
            major,
            minor,
            patch,
            pre,
            len: text.len() - rest.len(),
        },
        rest,
    ))
}

/// Consumes dot-separated identifiers after a sign.
fn take_identifiers<'a>(rest: &mut &'a str, sign: char) -> Option<&'a str> {
    let text = rest.strip_prefix(sign)?;
    let (first, mut after) = take_while(text, is_identifier);
    if first.is_empty() {
        return None;
    }
    while let Some(dotted) = after.strip_prefix('.') {
        let (identifier, next) = take_while(dotted, is_identifier);
        if identifier.is_empty() {
            break;
        }
        after = next;
    }
    *rest = after;
    Some(&text[..text.len() - after.len()])
}

fn take_while(text: &str, accepts: fn(u8) -> bool) -> (&str, &str) {
    let len = text.bytes().take_while(|&byte| accepts(byte)).count();
    text.split_at(len)
}

/// Trims leading white space as Go's regular expressions define it, which is less than Unicode's.
fn trim_start(text: &str) -> &str {
    text.trim_start_matches(['\t', '\n', '\x0c', '\r', ' '])
}

fn is_operator(byte: u8) -> bool {
    matches!(byte, b'=' | b'!' | b'<' | b'>' | b'~' | b'^')
}

fn is_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'x' | b'X' | b'*' | b'|')
}

fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}
