//! "Did you mean": names that are spelled like one that a catalog does not have.

use fbc::similar;
use fbc::work::Work;

/// Returns what to add to the message about a name that was not found; empty if no candidate is
/// similar.
pub(super) fn similar_names<'n>(
    name: &str,
    candidates: impl IntoIterator<Item = &'n str>,
) -> String {
    let similar = similar::similar_names(name, candidates, &Work::unlimited()).unwrap_or_default();
    let names: Vec<_> = similar.iter().map(|name| format!("{name:?}")).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", names.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_a_question() {
        for (name, expected) in [
            ("ectd", "; did you mean \"etcd\"?"),
            ("argoc", "; did you mean \"argo\" or \"argocd\"?"),
            ("zzz", ""),
        ] {
            assert_eq!(
                similar_names(name, ["etcd", "argo", "argocd"]),
                expected,
                "{name}"
            );
        }
    }
}
