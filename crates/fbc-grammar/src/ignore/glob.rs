//! Shell patterns for one component of a path, in the dialect of Go's `filepath.Match`: `*`, `?`,
//! `[a-z]`, `[^a-z]` and `\` before a literal character.

use super::MatchSteps;

/// A well-formed pattern.
#[derive(Clone, Debug)]
pub(super) struct Glob(Vec<GlobToken>);

#[derive(Clone, Debug)]
enum GlobToken {
    /// `*`: any characters, or none.
    Star,
    /// `?`: any one character.
    Any,
    Literal(char),
    /// `[…]`: one character in one of the ranges, or in none of them.
    Class {
        negated: bool,
        /// First and last character of each range, in order and apart from each other.
        ranges: Box<[(char, char)]>,
    },
}

impl Glob {
    /// Parses a pattern; `None` when Go calls it malformed.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let mut tokens = Vec::new();
        let mut rest = pattern.chars();
        while let Some(c) = rest.next() {
            tokens.push(match c {
                '*' => GlobToken::Star,
                '?' => GlobToken::Any,
                '\\' => GlobToken::Literal(rest.next()?),
                '[' => parse_class(&mut rest)?,
                _ => GlobToken::Literal(c),
            });
        }
        Some(Self(tokens))
    }

    /// Tells whether the pattern matches the whole name, in time of at most the product of both
    /// lengths.
    pub(super) fn matches(&self, name: &str, steps: &mut MatchSteps) -> bool {
        let mut tokens = self.0.as_slice();
        let mut rest = name.chars();
        // Backtracking: when a later token does not match, the last star takes one more character.
        let mut star = None;
        loop {
            steps.add(1);
            let fits = match tokens.split_first() {
                Some((GlobToken::Star, after)) => {
                    tokens = after;
                    star = Some((after, rest.clone()));
                    continue;
                }
                Some((token, after)) => {
                    let fits = rest.next().is_some_and(|c| token.matches(c));
                    tokens = after;
                    fits
                }
                None if rest.as_str().is_empty() => return true,
                None => false,
            };
            if !fits {
                let Some((after, taken)) = &mut star else {
                    return false;
                };
                if taken.next().is_none() {
                    return false;
                }
                (tokens, rest) = (after, taken.clone());
            }
        }
    }
}

impl GlobToken {
    fn matches(&self, c: char) -> bool {
        match self {
            Self::Star | Self::Any => true,
            Self::Literal(literal) => c == *literal,
            Self::Class { negated, ranges } => {
                let after = ranges.partition_point(|&(low, _)| low <= c);
                let is_within = after > 0 && c <= ranges[after - 1].1;
                is_within != *negated
            }
        }
    }
}

/// Parses a class after its `[`.
fn parse_class(rest: &mut std::str::Chars<'_>) -> Option<GlobToken> {
    let negated = take_if(rest, '^');
    let mut ranges = Vec::new();
    while ranges.is_empty() || !take_if(rest, ']') {
        let low = class_char(rest)?;
        let high = if take_if(rest, '-') {
            class_char(rest)?
        } else {
            low
        };
        ranges.push((low, high));
    }
    Some(GlobToken::Class {
        negated,
        ranges: merge(ranges),
    })
}

/// Sorts ranges and joins those that overlap, so that one of them is found by halves. A range that
/// ends before it begins matches nothing.
fn merge(mut ranges: Vec<(char, char)>) -> Box<[(char, char)]> {
    ranges.retain(|(low, high)| low <= high);
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let overlaps = next.0 <= last.1;
        if overlaps {
            last.1 = last.1.max(next.1);
        }
        overlaps
    });
    ranges.into_boxed_slice()
}

fn class_char(rest: &mut std::str::Chars<'_>) -> Option<char> {
    match rest.next()? {
        '-' | ']' => None,
        '\\' => rest.next(),
        c => Some(c),
    }
}

fn take_if(rest: &mut std::str::Chars<'_>, wanted: char) -> bool {
    let mut ahead = rest.clone();
    let found = ahead.next() == Some(wanted);
    if found {
        *rest = ahead;
    }
    found
}

#[cfg(test)]
mod tests {
    use testing::SeededRandom;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Glob::parse(pattern).is_some_and(|glob| glob.matches(name, &mut MatchSteps::default()))
    }

    /// Tells whether a class of these ranges, without escapes, matches a character.
    fn is_in_class(ranges: &[(char, char)], c: char) -> bool {
        let class: String = ranges
            .iter()
            .flat_map(|&(low, high)| [low, '-', high])
            .collect();
        matches(&format!("[{class}]"), c.encode_utf8(&mut [0; 4]))
    }

    #[test]
    fn a_class_matches_what_one_of_its_ranges_matches_in_whichever_order_they_come() {
        let mut random = SeededRandom::new(7);
        for _ in 0..2_000 {
            let mut letter = || char::from(b'a' + u8::try_from(random.below(26)).unwrap());
            let ranges: Vec<_> = (0..5).map(|_| (letter(), letter())).collect();
            for c in 'a'..='z' {
                let expected = ranges.iter().any(|&(low, high)| low <= c && c <= high);
                assert_eq!(is_in_class(&ranges, c), expected, "{ranges:?} {c}");
            }
        }
    }

    #[test]
    fn a_letter_is_found_in_a_large_class_by_halves() {
        // Every second letter, so that nothing can be joined.
        let letters: Vec<char> = ('\u{4e00}'..'\u{9e00}').step_by(2).collect();
        let class: String = letters.iter().rev().collect();
        let glob = Glob::parse(&format!("[{class}]")).unwrap();
        let mut steps = MatchSteps::default();
        assert!(glob.matches("\u{4e00}", &mut steps) && !glob.matches("\u{4e01}", &mut steps));
        assert_eq!(steps.0, 3);
        let [GlobToken::Class { ranges, .. }] = &glob.0[..] else {
            panic!("{:?}", glob.0.len())
        };
        assert_eq!(ranges.len(), 0x5000 / 2);
    }

    #[test]
    fn names_are_matched_as_go_matches_them() {
        let table = [
            ("abc", "abc", true),
            ("*", "abc", true),
            ("*", "", true),
            ("*c", "abc", true),
            ("a*", "a", true),
            ("a*/b", "a/c/b", true),
            ("a*b*c*d*e*", "axbxcxdxe", true),
            ("a*b*c*d*e*", "axbxcxdxexxf", true),
            ("a*b?c*x", "abxbbxdbxebxczzx", true),
            ("a*b?c*x", "abxbbxdbxebxczzy", false),
            ("ab[c]", "abc", true),
            ("ab[b-d]", "abc", true),
            ("ab[e-g]", "abc", false),
            ("ab[^c]", "abc", false),
            ("ab[^e-g]", "abc", true),
            ("ab[!c]", "abc", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "ab", false),
            ("a?b", "a\u{263a}b", true),
            ("a[^a]b", "a\u{263a}b", true),
            ("[a-ζ]*", "α", true),
            ("*[a-ζ]", "A", false),
            ("[\\]a]", "]", true),
            ("[\\-x]", "-", true),
            ("[x\\-]", "x", true),
            ("", "", true),
            ("", "a", false),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_malformed_pattern_is_refused() {
        for pattern in [
            "[]a]", "[-]", "[x-]", "[-x]", "a[", "[^", "[^bc", "a\\", "[a-b-c]",
        ] {
            assert!(Glob::parse(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = "a*".repeat(200) + "b";
        assert!(!matches(&pattern, &"a".repeat(5_000)));
    }
}
