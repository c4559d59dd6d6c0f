//! Names that were meant, against a comparison of every pair of names by the plainest means.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{community, some};

const PACKAGE: &str = "query($name: String!) { package(catalog: \"community\", name: $name) { name } }";

/// Every name that one edit makes of another: a letter less, more or other, or two exchanged.
fn edits(name: &str) -> BTreeSet<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut all = BTreeSet::new();
    let alphabet: Vec<char> = ('a'..='z').chain('0'..='9').chain(['-', '.']).collect();
    for at in 0..=letters.len() {
        let (before, rest) = letters.split_at(at);
        let mut add = |middle: &[char], skipped: usize| {
            all.insert([before, middle, &rest[skipped..]].concat().into_iter().collect());
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
    let Some(community) = community() else { return };
    let names: Vec<&str> = community.model.packages.keys().copied().collect();
    for name in some(&names, 30) {
        for wrong in &some(&edits(name).into_iter().collect::<Vec<_>>(), 3) {
            if names.contains(&wrong.as_str()) || wrong.is_empty() {
                continue;
            }
            let query = Some(PACKAGE.into());
            let variables = json!({ "name": wrong }).as_object().cloned();
            let answer = community.engine.execute(&graphql::Request { query, variables, ..Default::default() });
            let answer: Value = serde_json::from_slice(&answer.body).expect("an answer is JSON");
            let told = &answer["extensions"]["suggestions"];
            let similar = told[0]["similar"].as_array().unwrap_or_else(|| panic!("{wrong} of {name}: {answer}"));
            assert_eq!(told, &json!([{"path": ["package"], "argument": "name", "value": wrong, "similar": similar}]));
            let once = edits(wrong);
            let one_edit: BTreeSet<_> = names.iter().copied().filter(|name| once.contains(*name)).collect();
            let similar: Vec<_> = similar.iter().map(|name| name.as_str().expect("a name")).collect();
            let first: BTreeSet<_> = similar.iter().copied().take(one_edit.len()).collect();
            assert_eq!(first, one_edit, "{wrong}: what differs in one letter comes first");
            for other in similar.iter().skip(one_edit.len()) {
                // What differs in two letters is one edit from something that is one edit from the name.
                let is_near = edits(other).intersection(&once).next().is_some();
                assert!(is_near || other.starts_with(wrong.as_str()), "{wrong}: {other}");
            }
        }
    }
}
