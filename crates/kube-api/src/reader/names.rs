//! Names and labels of the objects of the group `catalogd.operatorframework.io`, which begin with
//! their catalog.

use std::collections::{BTreeMap, HashMap};

/// Returns the name of an object: its catalog, a colon, and its name in the catalog.
pub(super) fn object_name(catalog: &str, parts: &[&str]) -> String {
    // In a path, `/` would end the name. The name of a catalog has neither `/` nor `:`.
    let encode = |part: &&str| part.replace('%', "%25").replace('/', "%2F");
    let parts: Vec<_> = parts.iter().map(encode).collect();
    format!("{catalog}:{}", parts.join(":"))
}

/// Numbers the names that several objects have, from the second on.
pub(super) fn number_repeated<'n>(names: impl Iterator<Item = &'n mut String>) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for name in names {
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *name = format!("{name}:{count}");
        }
    }
}

/// Returns labels of these keys and values, without values that are not valid in labels.
pub(super) fn labels<'t>(
    pairs: impl IntoIterator<Item = (&'static str, &'t str)>,
) -> BTreeMap<String, String> {
    let valid = pairs.into_iter().filter(|(_, value)| is_label_value(value));
    valid
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// Returns whether a text is a valid value of a label and not empty: up to 63 letters, digits, `-`, `_`
/// and `.`, with a letter or digit at both ends.
fn is_label_value(text: &str) -> bool {
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= 63
        && is_end(text.bytes().next())
        && is_end(text.bytes().last())
        && text.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_its_catalog_and_fits_into_a_path() {
        assert_eq!(object_name("a.b", &["etcd"]), "a.b:etcd");
        assert_eq!(
            object_name("a", &["olm.channel", "", "x/y%"]),
            "a:olm.channel::x%2Fy%25"
        );
    }

    #[test]
    fn repeated_names_are_numbered() {
        let mut names = ["a", "b", "a", "a"].map(str::to_owned);
        number_repeated(names.iter_mut());
        assert_eq!(names, ["a", "b", "a:2", "a:3"]);
    }

    #[test]
    fn only_values_of_labels_are_labels() {
        let long = "x".repeat(64);
        for text in ["", "-a", "a-", "a b", "é", &long] {
            assert!(!is_label_value(text), "{text}");
        }
        assert_eq!(
            labels([("a", "v1.2_x-3"), ("b", " ")]),
            [("a".to_owned(), "v1.2_x-3".to_owned())].into()
        );
    }
}
