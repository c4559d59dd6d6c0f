//! Validates the top-level keys of a blob: no two differ only in letter case, and `schema`,
//! `package` and `name` are strings. A missing `schema` is a validation problem, not an error of
//! reading.

use std::collections::{BTreeMap, BTreeSet};

use super::canonical::CanonicalWriter;
use super::error::{AlikeKeys, ReadErrorKind};

/// Keys whose values must be strings, in the order of the checks.
const STRINGS: [&str; 3] = ["name", "package", "schema"];

/// Maximum number of quoted bytes of an invalid value.
const QUOTED_BYTES: usize = 100;

/// The letter that shares its upper case with another letter.
const DOTLESS_I: char = 'ı';

/// Validates the object that is open in `writer` and complete except for its closing brace.
pub(super) fn check(writer: &CanonicalWriter) -> Result<(), ReadErrorKind> {
    let out = writer.written();
    check_keys(writer)?;
    for wanted in STRINGS {
        // Of equal keys the last counts.
        let found = writer
            .innermost_members()
            .rev()
            .find(|member| is_alike(&member.key(out), wanted));
        let Some(member) = found else { continue };
        let value = member.value(out);
        if value.first() != Some(&b'"') {
            return Err(ReadErrorKind::KeyType {
                key: wanted,
                got: quoted_part(value),
            });
        }
    }
    Ok(())
}

fn check_keys(writer: &CanonicalWriter) -> Result<(), ReadErrorKind> {
    let out = writer.written();
    // By their hashes and places, so that many keys are not held a second time.
    let members = writer.innermost_members().enumerate();
    let mut hashes: Vec<(u64, usize)> = members
        .map(|(place, member)| (hash(&member.key(out)), place))
        .collect();
    hashes.sort_unstable();
    let mut alike = BTreeMap::<String, BTreeSet<String>>::new();
    for group in hashes.chunk_by(|(a, _), (b, _)| a == b) {
        let members = group
            .iter()
            .map(|&(_, place)| writer.innermost_member(place));
        let first = writer.innermost_member(group[0].1);
        if members
            .clone()
            .all(|member| member.key(out) == first.key(out))
        {
            continue;
        }
        for member in members {
            let key = String::from_utf8_lossy(&member.key(out)).into_owned();
            alike.entry(fold(&key)).or_default().insert(key);
        }
    }
    let alike: Vec<_> = alike
        .into_iter()
        .filter(|(_, keys)| keys.len() > 1)
        .map(|(folded, keys)| AlikeKeys {
            folded,
            keys: keys.into_iter().collect(),
        })
        .collect();
    if alike.is_empty() {
        return Ok(());
    }
    Err(ReadErrorKind::DuplicateKeys(alike))
}

/// Hashes a key so that keys which differ only in letter case have the same hash (FNV-1a).
fn hash(key: &[u8]) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let begin = 0xcbf2_9ce4_8422_2325;
    if key.is_ascii() {
        let bytes = key.iter().map(u8::to_ascii_lowercase);
        return bytes.fold(begin, hash);
    }
    fold(&String::from_utf8_lossy(key))
        .bytes()
        .fold(begin, hash)
}

fn is_alike(key: &[u8], wanted: &str) -> bool {
    if key.is_ascii() {
        return key.eq_ignore_ascii_case(wanted.as_bytes());
    }
    fold(&String::from_utf8_lossy(key)) == wanted
}

/// Folds the case of a text: exactly the texts that Unicode's full case folding equates become
/// equal.
///
/// Lower, upper and lower case again unite all spellings (`ß` and `SS`, `ς` and `σ`). Only the
/// dotless i has an upper case that it shares with another letter.
fn fold(text: &str) -> String {
    let upper: String = text
        .chars()
        .flat_map(char::to_lowercase)
        .flat_map(|c| {
            let others = (c != DOTLESS_I).then(|| c.to_uppercase());
            others
                .into_iter()
                .flatten()
                .chain((c == DOTLESS_I).then_some(c))
        })
        .collect();
    // By character: of a whole text, the standard library would make the last sigma another one.
    upper.chars().flat_map(char::to_lowercase).collect()
}

fn quoted_part(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    match text.char_indices().find(|&(at, _)| at >= QUOTED_BYTES) {
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
