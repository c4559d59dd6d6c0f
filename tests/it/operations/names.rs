//! Names that were meant and texts that are not finished, against a comparison of every pair of
//! names by the plainest means.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::model::{Bundle, Model, text};
use super::{assert_all_equal, community, display, some};
use crate::served;

const PACKAGE: &str =
    "query($name: String!) { package(catalog: \"community\", name: $name) { name } }";

/// Every name that one edit makes of another: a letter less, more or other, or two exchanged.
fn edits(name: &str) -> BTreeSet<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut all = BTreeSet::new();
    let alphabet: Vec<char> = ('a'..='z').chain('0'..='9').chain(['-', '.']).collect();
    for at in 0..=letters.len() {
        let (before, rest) = letters.split_at(at);
        let mut add = |middle: &[char], skipped: usize| {
            all.insert(
                [before, middle, &rest[skipped..]]
                    .concat()
                    .into_iter()
                    .collect(),
            );
        };
        for letter in &alphabet {
            add(&[*letter], 0);
            if !rest.is_empty() {
                add(&[*letter], 1);
            }
        }
        if !rest.is_empty() {
            add(&[], 1);
        }
        if let [first, second, ..] = rest {
            add(&[*second, *first], 2);
        }
    }
    all
}

#[test]
fn a_misspelled_package_is_suggested_and_only_such_as_are_spelled_like_it() {
    let community = community();
    let names: Vec<&str> = community.model.packages.keys().copied().collect();
    for name in some(&names, 30) {
        for wrong in &some(&edits(name).into_iter().collect::<Vec<_>>(), 3) {
            if names.contains(&wrong.as_str()) || wrong.is_empty() {
                continue;
            }
            let query = Some(PACKAGE.into());
            let variables = json!({ "name": wrong }).as_object().cloned();
            let answer = community.engine.execute(&graphql::Request {
                query,
                variables,
                ..Default::default()
            });
            let answer: Value = serde_json::from_slice(&answer.body).expect("an answer is JSON");
            let told = &answer["extensions"]["suggestions"];
            let similar = told[0]["similar"]
                .as_array()
                .unwrap_or_else(|| panic!("{wrong} of {name}: {answer}"));
            assert_eq!(
                told,
                &json!([{"path": ["package"], "argument": "name", "value": wrong, "similar": similar}])
            );
            let once = edits(wrong);
            let one_edit: BTreeSet<_> = names
                .iter()
                .copied()
                .filter(|name| once.contains(*name))
                .collect();
            let similar: Vec<_> = similar
                .iter()
                .map(|name| name.as_str().expect("a name"))
                .collect();
            let first: BTreeSet<_> = similar.iter().copied().take(one_edit.len()).collect();
            assert_eq!(
                first, one_edit,
                "{wrong}: what differs in one letter comes first"
            );
            for other in similar.iter().skip(one_edit.len()) {
                // What differs in two letters is one edit from something that is one edit from the
                // name.
                let is_near = edits(other).intersection(&once).next().is_some();
                assert!(
                    is_near || other.starts_with(wrong.as_str()),
                    "{wrong}: {other}"
                );
            }
        }
    }
}

const SUGGEST: &str =
    "query($text: String!, $kinds: [SuggestionKind!]) { suggest(text: $text, kinds: $kinds, first: 50) {
    kind text displayName package { name } api { group version kind } } }";

/// What can be suggested, with the folded texts that lead to it: its own, and the display name of a
/// package.
fn suggested(model: &'static Model) -> BTreeMap<(usize, String, String), (Value, [String; 2])> {
    let mut all = BTreeMap::new();
    let mut add = |kind: usize, text: &str, group: &str, value: Value, display_name: &str| {
        all.insert(
            (kind, text.to_owned(), group.to_owned()),
            (value, [folded(text), folded(display_name)]),
        );
    };
    let plain = |kind: &str, text: &str| json!({"kind": kind, "text": text, "displayName": null, "package": null, "api": null});
    for package in model.packages.values() {
        let metadata = package
            .metadata()
            .expect("packages of the corpus have metadata");
        let display_name = text(metadata, "displayName").filter(|name| *name != package.name);
        let mut value = plain("PACKAGE", package.name);
        (value["displayName"], value["package"]) =
            (json!(display_name), json!({"name": package.name}));
        add(
            0,
            package.name,
            "",
            value,
            text(metadata, "displayName").unwrap_or_default(),
        );
        for category in display::categories(metadata) {
            add(1, category, "", plain("CATEGORY", category), "");
        }
        if let Some(provider) = display::provider(metadata).map(display::short_name) {
            add(2, provider, "", plain("PROVIDER", provider), "");
        }
        for keyword in display::keywords(metadata) {
            add(3, keyword, "", plain("KEYWORD", keyword), "");
        }
    }
    let mut newest = BTreeMap::new();
    for (group, version, kind) in model.bundles.iter().flat_map(Bundle::provided) {
        let newest = newest.entry((group, kind)).or_insert(version);
        if precedence(version) > precedence(newest) {
            *newest = version;
        }
    }
    for ((group, kind), version) in newest {
        let mut value = plain("API", kind);
        value["api"] = json!({"group": group, "version": version, "kind": kind});
        add(4, kind, group, value, "");
    }
    all
}

/// Of versions such as `v1`, `v1beta1`: the corpus has no others.
fn precedence(version: &str) -> (u32, u32, u32) {
    let numbers: Vec<u32> = version
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    let stability = if version.contains("alpha") {
        0
    } else if version.contains("beta") {
        1
    } else {
        2
    };
    (
        stability,
        numbers[0],
        numbers.get(1).copied().unwrap_or_default(),
    )
}

fn folded(text: &str) -> String {
    let text = text.to_lowercase();
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// How well a text is a beginning: of the text itself, of the display name, or of a word in them.
fn place(beginning: &str, [text, display_name]: &[String; 2]) -> Option<usize> {
    let within = |name: &String| name.contains(&format!(" {beginning}"));
    let places = [
        text.starts_with(beginning),
        display_name.starts_with(beginning),
        within(text) || within(display_name),
    ];
    places.into_iter().position(|matches| matches)
}

#[test]
fn an_unfinished_text_is_completed_by_all_that_begins_with_it_best_first() {
    let community = community();
    let all = suggested(&community.model);
    let kinds = ["PACKAGE", "CATEGORY", "PROVIDER", "KEYWORD", "API"];
    let mut found = 0;
    for typed in [
        "p",
        "prom",
        "Prometheus Op",
        "argo-cd",
        "red h",
        "database",
        "kafka",
        "AI",
        "data",
        "cert",
        "v",
        "étcd",
        "zzzz",
        "",
        "-",
    ] {
        for kinds in [&kinds[..0], &kinds[..1], &kinds[3..]] {
            let beginning = folded(typed).replace('é', "e");
            let matching = all
                .iter()
                .filter_map(|((kind, text, group), (value, names))| {
                    let is_wanted =
                        kinds.is_empty() || kinds.iter().any(|kind| value["kind"] == *kind);
                    let place =
                        place(&beginning, names).filter(|_| is_wanted && !beginning.is_empty())?;
                    Some(((place, *kind, text.clone(), group.clone()), value.clone()))
                });
            let expected: Vec<_> = matching
                .collect::<BTreeMap<_, _>>()
                .into_values()
                .take(50)
                .collect();
            let variables = json!({ "text": typed, "kinds": kinds });
            let told = served::data(&community.engine, SUGGEST, &variables)["suggest"].take();
            assert_all_equal(told.as_array().expect("a list"), &expected, typed);
            found += expected.len();
        }
    }
    assert!(found > 100, "{found}");
}
