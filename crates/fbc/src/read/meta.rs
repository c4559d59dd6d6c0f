//! The rules for the top-level keys of a blob: no two alike but for their case, and `schema`, `package` and `name` are
//! strings. That a blob has a `schema` at all is no rule of reading.

use std::borrow::Cow;

use super::canonical::{Canonical, Span};
use super::error::{AlikeKeys, ReadErrorKind};

/// The keys that must be strings, in the order in which they are checked.
const STRINGS: [&str; 3] = ["name", "package", "schema"];

/// How much of a wrong value is told, in bytes.
const TOLD: usize = 100;

/// The letter whose upper case is another letter's.
const DOTLESS: char = 'ı';

/// Up to how many keys each is compared with each.
const FEW: usize = 16;

/// Checks the object that is open in `writer` and complete but for its brace.
pub(super) fn check(writer: &Canonical) -> Result<(), ReadErrorKind> {
    let out = writer.written();
    let members = writer.innermost_members();
    check_keys(&members, out)?;
    for wanted in STRINGS {
        // Of equal keys the last counts.
        let found = members
            .iter()
            .rev()
            .find(|member| is_alike(&member.key(out), wanted));
        let Some(value) = found.map(|member| member.value(out)) else {
            continue;
        };
        if value.first() != Some(&b'"') {
            return Err(ReadErrorKind::KeyType {
                key: wanted,
                got: beginning(value),
            });
        }
    }
    Ok(())
}

fn check_keys(members: &[Span], out: &[u8]) -> Result<(), ReadErrorKind> {
    let keys: Vec<_> = members.iter().map(|member| member.key(out)).collect();
    if keys.len() <= FEW && keys.iter().all(|key| key.is_ascii()) {
        let alike = |a: &Cow<'_, [u8]>, b: &Cow<'_, [u8]>| a != b && a.eq_ignore_ascii_case(b);
        let mut rest = keys.as_slice();
        let found = std::iter::from_fn(|| {
            let (key, after) = rest.split_first()?;
            rest = after;
            Some(after.iter().any(|other| alike(key, other)))
        });
        if !{ found }.any(|found| found) {
            return Ok(());
        }
    }
    let mut folded: Vec<(String, String)> = keys
        .iter()
        .map(|key| String::from_utf8_lossy(key))
        .map(|key| (fold(&key), key.into_owned()))
        .collect();
    folded.sort_unstable();
    folded.dedup();
    let alike: Vec<_> = folded
        .chunk_by(|(a, _), (b, _)| a == b)
        .filter(|keys| keys.len() > 1)
        .map(|keys| AlikeKeys {
            folded: keys[0].0.clone(),
            keys: keys.iter().map(|(_, key)| key.clone()).collect(),
        })
        .collect();
    if alike.is_empty() {
        return Ok(());
    }
    Err(ReadErrorKind::DuplicateKeys(alike))
}

fn is_alike(key: &[u8], wanted: &str) -> bool {
    if key.is_ascii() {
        return key.eq_ignore_ascii_case(wanted.as_bytes());
    }
    fold(&String::from_utf8_lossy(key)) == wanted
}

/// The text without regard to case: what is alike by Unicode's full case folding, and nothing else, becomes equal.
///
/// Lower, upper, lower again brings together all spellings (`ß` and `SS`, `ς` and `σ`). Only the dotless i has an upper
/// case that it shares with another letter.
fn fold(text: &str) -> String {
    let upper: String = text
        .chars()
        .flat_map(char::to_lowercase)
        .flat_map(|c| {
            let others = (c != DOTLESS).then(|| c.to_uppercase());
            others.into_iter().flatten().chain((c == DOTLESS).then_some(c))
        })
        .collect();
    // By character: of a whole text, the standard library would make the last sigma another one.
    upper.chars().flat_map(char::to_lowercase).collect()
}

fn beginning(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    match text.char_indices().find(|&(at, _)| at >= TOLD) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_count_in_any_script() {
        let alike = [
            ["SCHEMA", "ſchema"],
            ["straße", "STRASSE"],
            ["ẞ", "ss"],
            ["ΟΔΟΣ", "οδος"],
            ["K", "\u{212a}"],
            ["ŉ", "ʼN"],
            ["İ", "i\u{307}"],
        ];
        for [a, b] in alike {
            assert_eq!(fold(a), fold(b), "{a} {b}");
        }
        for [a, b] in [["ı", "i"], ["ä", "a"], ["n", "ñ"]] {
            assert_ne!(fold(a), fold(b), "{a} {b}");
        }
    }
}
