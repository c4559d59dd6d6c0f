//! Names that are spelled like one that does not exist, for hints.

/// Maximum number of names in a hint.
const MAX_SIMILAR: usize = 3;

/// Returns names that are similar to a name, best first. At most two fifths of its letters differ,
/// as in the suggestions of the API, or it is the beginning of the other name.
pub fn similar_names<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let most = name.chars().count() * 2 / 5;
    let lower = name.to_lowercase();
    let distance = |other: &str| {
        let other = other.to_lowercase();
        if !lower.is_empty() && other.starts_with(&lower) {
            0
        } else {
            strsim::osa_distance(&lower, &other)
        }
    };
    let mut found: Vec<_> = names
        .map(|other| (distance(other), other))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .map(|(_, name)| name)
        .take(MAX_SIMILAR)
        .collect()
}

/// Returns the question of a hint; `None` without names.
pub fn question<S: AsRef<str>>(names: &[S]) -> Option<String> {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_typo_and_the_beginning_of_a_name_are_similar() {
        let names = ["stable", "stable-v2", "candidate", "beta", "stable"];
        let similar = |name| similar_names(name, names.into_iter());
        assert_eq!(similar("stabel"), ["stable"]);
        assert_eq!(similar("STABLE"), ["stable", "stable-v2"]);
        assert_eq!(similar("cand"), ["candidate"]);
        assert_eq!(similar("zeta-nine"), [""; 0]);
        assert_eq!(similar(""), [""; 0]);
    }

    #[test]
    fn a_question_names_each() {
        assert_eq!(
            question(&["a", "b"]).as_deref(),
            Some("did you mean a or b?")
        );
        assert_eq!(question::<&str>(&[]), None);
    }
}
