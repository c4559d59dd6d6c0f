//! Parses annotation values as authors write them: lists, booleans and platform features.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hashbrown::HashSet;

use fbc_read::json_value;

use super::lists;

/// Prefix of the annotations of platform features; the name of the feature follows.
pub(super) const FEATURE_PREFIX: &str = "features.operators.openshift.io/";

/// Quotation marks that authors put around values, including typographic ones.
const QUOTES: [char; 8] = ['"', '\'', '“', '”', '„', '‟', '‘', '’'];

/// Splits a comma-separated list, without duplicates and blank items.
pub(super) fn categories(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let items = text.split(',').map(str::trim);
    items
        .filter(|item| !item.is_empty() && seen.insert(*item))
        .map(str::to_owned)
        .collect()
}

/// Parses `true` or `false`, in any letter case.
pub(super) fn boolean(text: &str) -> Option<bool> {
    let text = text.trim();
    [("true", true), ("false", false)]
        .iter()
        .find(|(word, _)| text.eq_ignore_ascii_case(word))
        .map(|&(_, is)| is)
}

/// Trims a text; `None` when it is blank.
pub(super) fn trimmed(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let inner = text.trim();
    if inner.is_empty() {
        return None;
    }
    Some(if inner.len() == text.len() {
        text
    } else {
        Cow::Owned(inner.to_owned())
    })
}

/// Returns the supported platform features, sorted by name: those whose own annotation (`newer`:
/// name and value) is true, and those in the older list that have no annotation of their own.
pub(super) fn infrastructure_features<'t>(
    newer: impl Iterator<Item = (Cow<'t, str>, Cow<'t, str>)>,
    older: Option<&str>,
) -> Vec<String> {
    let mut features = BTreeMap::new();
    for (name, value) in newer {
        if let Some(is_there) = boolean(unquoted(&value)) {
            *features.entry(feature(&name)).or_insert(false) |= is_there;
        }
    }
    for name in older.map(feature_list).unwrap_or_default() {
        features.entry(feature(&name)).or_insert(true);
    }
    features
        .into_iter()
        .filter(|(name, is_there)| *is_there && !name.is_empty())
        .map(|(name, _)| name)
        .collect()
}

/// Parses the older list: a JSON array of strings, or else a comma-separated list, with or without
/// brackets.
fn feature_list(text: &str) -> Vec<String> {
    if let Some(names) = json_strings(text) {
        return names;
    }
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    inner
        .split(',')
        .map(|item| unquoted(item).to_owned())
        .collect()
}

/// Parses a JSON array of strings; `None` for any other text.
pub(super) fn json_strings(text: &str) -> Option<Vec<String>> {
    let array = json_value(text, 1)?;
    Some(
        lists::only_strings(&array)?
            .into_iter()
            .map(|item| item.decode().into_owned())
            .collect(),
    )
}

/// Returns the present name of a feature.
fn feature(name: &str) -> String {
    let name = name.trim().to_lowercase();
    match name.as_str() {
        "proxy" => "proxy-aware".to_owned(),
        "fips" | "fipsmode" => "fips-compliant".to_owned(),
        _ => name,
    }
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(QUOTES).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_split_at_commas_and_come_once_in_order() {
        for (text, list) in [
            ("Networking,Security", &["Networking", "Security"][..]),
            (
                " Networking , Security ,Networking",
                &["Networking", "Security"],
            ),
            ("AI/Machine Learning", &["AI/Machine Learning"]),
            ("networking,Networking", &["networking", "Networking"]),
            (" ,, ", &[]),
        ] {
            assert_eq!(categories(text), list, "{text}");
        }
    }

    #[test]
    fn a_boolean_is_true_or_false_in_any_letter_case() {
        for (text, is) in [
            ("true", true),
            ("False", false),
            (" TRUE\n", true),
            ("fALSE", false),
        ] {
            assert_eq!(boolean(text), Some(is), "{text}");
        }
        for text in [
            "",
            "yes",
            "1",
            "Red Hat certified",
            "true,",
            "\u{201c}true\u{201d}",
        ] {
            assert_eq!(boolean(text), None, "{text}");
        }
    }

    #[test]
    fn the_older_list_is_json_or_something_like_it() {
        for (older, features) in [
            (
                r#"["disconnected", "proxy-aware", "fips"]"#,
                &["disconnected", "fips-compliant", "proxy-aware"][..],
            ),
            (
                r#"["Disconnected", "Proxy", "proxy-aware"]"#,
                &["disconnected", "proxy-aware"],
            ),
            ("[fips]", &["fips-compliant"]),
            ("fipsmode, CSI ,", &["csi", "fips-compliant"]),
            ("[\u{201c}cnf\u{201d}, 'cni']", &["cnf", "cni"]),
            (r#"["a", 1]"#, &["1", "a"]),
            (r#"["a,b", " "]"#, &["a,b"]),
            ("[]", &[]),
            (" [ ] ", &[]),
            ("", &[]),
        ] {
            assert_eq!(
                infrastructure_features(std::iter::empty(), Some(older)),
                features,
                "{older}"
            );
        }
    }

    #[test]
    fn features_are_united_and_an_annotation_of_their_own_outweighs_the_list() {
        let features = |newer: &[(&'static str, &'static str)], older: Option<&str>| {
            let newer = newer
                .iter()
                .map(|&(name, value)| (Cow::Borrowed(name), Cow::Borrowed(value)));
            infrastructure_features(newer, older)
        };
        let newer = [
            ("cnf", "\u{201c}true\u{201d}"),
            ("cni", "\u{2018}True\u{2019}"),
            ("csi", "\"TRUE\""),
            ("disconnected", "false"),
            ("fips", "False"),
            ("proxy-aware", "yes"),
            ("tls-profiles", "\u{201d}false\u{201d}"),
            ("", "true"),
        ];
        assert_eq!(features(&newer, None), ["cnf", "cni", "csi"]);
        let older = r#"["disconnected", "fips", "proxy", "cnf", "x"]"#;
        assert_eq!(
            features(&newer, Some(older)),
            ["cnf", "cni", "csi", "proxy-aware", "x"]
        );
        assert_eq!(
            features(&[("proxy", "false"), ("proxy-aware", "true")], None),
            ["proxy-aware"]
        );
    }
}
