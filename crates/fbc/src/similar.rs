//! Names that are spelled like a wanted one that does not exist.

use crate::work::{Step, Work, WorkStopped};

/// Maximum number of names that are suggested.
pub const MAX_SUGGESTIONS: usize = 3;

/// Maximum length of a name that is compared, in letters: comparing takes time in proportion to it,
/// and the names of catalogs have up to 63.
pub const MAX_LETTERS: usize = 64;

/// Length in letters from which a name may differ in two letters.
const LONG: usize = 5;

/// Maximum difference in bytes of two names that differ in two letters: a letter has up to four
/// bytes.
const MAX_BYTES_APART: usize = 8;

/// Number of pairs of letters that are compared in the time of one look-up of a word.
const PAIRS_PER_WORD: usize = 256;

/// Returns the candidates that are spelled like a name, best first, at most [`MAX_SUGGESTIONS`].
/// Similar are names that differ in one letter, those of five letters and more in two, and those
/// that begin with the name; letter case is ignored except in beginnings.
///
/// # Errors
/// If the work was stopped.
pub fn similar_names<'n>(
    name: &str,
    candidates: impl IntoIterator<Item = &'n str>,
    work: &Work<'_>,
) -> Result<Vec<&'n str>, WorkStopped> {
    let letters = name.chars().count();
    if letters == 0 || letters > MAX_LETTERS {
        return Ok(Vec::new());
    }
    let most = if letters < LONG { 1 } else { 2 };
    let lower = name.to_lowercase();
    let mut similar = Vec::new();
    for candidate in candidates {
        work.draw(Step::Comparison, 1)?;
        // A beginning is a guess that is worse than any mistake in spelling.
        let beginning = candidate.starts_with(name).then_some(most);
        let edits = if candidate.len().abs_diff(name.len()) <= MAX_BYTES_APART {
            work.draw(
                Step::Word,
                1 + name.len() * candidate.len() / PAIRS_PER_WORD,
            )?;
            Some(strsim::osa_distance(&lower, &candidate.to_lowercase()))
                .filter(|edits| *edits <= most)
        } else {
            None
        };
        similar.extend(
            edits
                .into_iter()
                .chain(beginning)
                .min()
                .map(|edits| (edits, candidate)),
        );
    }
    similar.sort_unstable();
    similar.dedup();
    Ok(similar
        .into_iter()
        .take(MAX_SUGGESTIONS)
        .map(|(_, name)| name)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar<'n>(name: &str, candidates: &[&'n str]) -> Vec<&'n str> {
        similar_names(name, candidates.iter().copied(), &Work::unlimited()).unwrap()
    }

    #[test]
    fn the_three_most_similar_names_are_suggested() {
        let names = ["etcd", "etcd-druid", "quillstore", "argocd", "argo"];
        for (name, expected) in [
            ("ectd", &["etcd"][..]),
            ("Quilstore", &["quillstore"]),
            ("argoc", &["argo", "argocd"]),
            ("etcd-", &["etcd", "etcd-druid"]),
            ("et", &["etcd", "etcd-druid"]),
            ("etdruid", &[]),
            ("zzz", &[]),
            ("", &[]),
        ] {
            assert_eq!(similar(name, &names), expected, "{name}");
        }
        assert_eq!(
            similar("abcde", &["abcd1", "abcd2", "abcd3", "abcd4"]),
            ["abcd1", "abcd2", "abcd3"]
        );
        assert_eq!(similar("abcde", &["abcd1", "abcd1"]), ["abcd1"]);
    }

    #[test]
    fn a_short_name_may_differ_in_one_letter_and_a_long_one_in_two() {
        assert_eq!(similar("abcd", &["abc", "ab", "abxx"]), ["abc"]);
        assert_eq!(similar("abcde", &["abxxe", "axxxe"]), ["abxxe"]);
        assert_eq!(similar("äöüß1", &["aoüß1"]), ["aoüß1"]);
    }

    #[test]
    fn names_of_more_letters_than_the_limit_are_not_compared() {
        let [longest, too_long] = [MAX_LETTERS, MAX_LETTERS + 1].map(|letters| "a".repeat(letters));
        let more = longest.clone() + "b";
        let most = too_long.clone() + "b";
        assert_eq!(similar(&longest, &[&more]), [more.as_str()]);
        assert_eq!(similar(&too_long, &[&most]), [""; 0]);
    }

    #[test]
    fn the_work_of_comparing_is_drawn() {
        let work = Work::unlimited();
        let drawn = |names: &[&str]| {
            let before = work.units();
            similar_names("abcdefghij", names.iter().copied(), &work).unwrap();
            work.units() - before
        };
        assert!(
            drawn(&["abcdefghi1"; 100]) >= 50,
            "a comparison is half a unit"
        );
        assert!(drawn(&["a name of another length"; 100]) < 10);
    }
}
