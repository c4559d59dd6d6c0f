//! "Did you mean": names that are spelled like one that a catalog does not have.

/// Maximum number of names that are suggested.
const SUGGESTIONS: usize = 3;

/// Length in letters from which a name may differ in two letters.
const LONG: usize = 5;

/// Returns what to add to the message about a name that was not found; empty if no candidate is similar. Similar are
/// names that differ in one letter, those of five letters and more in two, and those that begin with the name.
pub(super) fn similar_names<'n>(name: &str, candidates: impl IntoIterator<Item = &'n str>) -> String {
    let most = if name.chars().count() < LONG { 1 } else { 2 };
    let distance = |candidate: &str| {
        let edits = strsim::osa_distance(&name.to_lowercase(), &candidate.to_lowercase());
        // A beginning is a guess that is worse than any mistake in spelling.
        if edits > most && !name.is_empty() && candidate.starts_with(name) { most } else { edits }
    };
    let mut similar: Vec<_> = candidates.into_iter().map(|candidate| (distance(candidate), candidate)).collect();
    similar.retain(|(edits, _)| *edits <= most);
    similar.sort_unstable();
    similar.dedup();
    let names: Vec<_> = similar.into_iter().take(SUGGESTIONS).map(|(_, name)| format!("{name:?}")).collect();
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(" or ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_most_similar_names_are_suggested() {
        let names = ["etcd", "etcd-druid", "quillstore", "argocd", "argo"];
        for (name, expected) in [
            ("ectd", "; did you mean \"etcd\"?"),
            ("Quilstore", "; did you mean \"quillstore\"?"),
            ("argoc", "; did you mean \"argo\" or \"argocd\"?"),
            ("etcd-", "; did you mean \"etcd\" or \"etcd-druid\"?"),
            ("zzz", ""),
            ("", ""),
        ] {
            assert_eq!(similar_names(name, names), expected, "{name}");
        }
        assert_eq!(similar_names("abcde", ["abcd1", "abcd2", "abcd3", "abcd4"]).matches('"').count(), 6);
    }
}
