//! Prefixes and typos in sorted words, against looking at every word.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::Vocabulary;

/// Whether one edit, or none, makes a word of what the other begins with; read off the definition.
fn begins_with_but_for_a_typo(word: &str, wanted: &str) -> bool {
    let (word, wanted): (Vec<char>, Vec<char>) = (word.chars().collect(), wanted.chars().collect());
    (0..=word.len()).any(|end| is_one_edit(&word[..end], &wanted))
}

fn is_one_edit(a: &[char], b: &[char]) -> bool {
    let without = |text: &[char], at: usize| [&text[..at], &text[at + 1..]].concat();
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    match long.len() - short.len() {
        0 => {
            let wrong: Vec<usize> = (0..a.len()).filter(|&at| a[at] != b[at]).collect();
            match wrong[..] {
                [] | [_] => true,
                [one, two] => two == one + 1 && a[one] == b[two] && a[two] == b[one],
                _ => false,
            }
        }
        1 => (0..long.len()).any(|at| without(long, at) == short),
        _ => false,
    }
}

fn with_typo<'a>(words: &'a Vocabulary, wanted: &str) -> BTreeSet<&'a str> {
    let mut found: BTreeSet<_> = words.with_prefix(wanted).map(|at| words.get(at)).collect();
    let nothing_fails: Result<(), std::convert::Infallible> =
        words.for_each_typo(wanted, |places, _| {
            found.extend(places.map(|at| words.get(at)));
            Ok(())
        });
    nothing_fails.unwrap();
    found
}

#[test]
fn each_kind_of_typo_is_forgiven_once_wherever_it_is() {
    let words = Vocabulary::new(
        [
            "kafka",
            "kafkas",
            "operator",
            "prometheus",
            "zookeeper",
            "über",
        ]
        .into_iter(),
    );
    for (wanted, expected) in [
        ("kafka", ["kafka", "kafkas"].as_slice()),
        ("afka", &["kafka", "kafkas"]),
        ("kfka", &["kafka", "kafkas"]),
        ("kafk", &["kafka", "kafkas"]),
        ("xkafka", &["kafka", "kafkas"]),
        ("kaffka", &["kafka", "kafkas"]),
        ("kafkaa", &["kafka", "kafkas"]),
        ("xafka", &["kafka", "kafkas"]),
        ("kaxka", &["kafka", "kafkas"]),
        ("kafkx", &["kafka", "kafkas"]),
        ("akfka", &["kafka", "kafkas"]),
        ("kakfa", &["kafka", "kafkas"]),
        ("kafak", &["kafka", "kafkas"]),
        ("kafkass", &["kafkas"]),
        ("opertaor", &["operator"]),
        ("promethes", &["prometheus"]),
        ("promt", &["prometheus"]),
        ("rpom", &["prometheus"]),
        ("über", &["über"]),
        ("üebr", &["über"]),
        ("übxer", &["über"]),
        ("aber", &["über"]),
        ("kaaafka", &[]),
        ("akkfa", &[]),
        ("fakak", &[]),
    ] {
        assert_eq!(
            with_typo(&words, wanted),
            expected.iter().copied().collect(),
            "{wanted}"
        );
    }
}

#[test]
fn a_vocabulary_may_be_empty() {
    let words = Vocabulary::new(std::iter::empty());
    assert!(words.with_prefix("a").is_empty());
    assert!(with_typo(&words, "abcde").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(11),
        cases: 2_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn prefixes_and_typos_are_found_as_by_looking_at_every_word(
        words in prop::collection::btree_set("[abcé]{1,7}", 0..40),
        wanted in "[abcéx]{1,7}",
    ) {
        let vocabulary = Vocabulary::new(words.iter().map(String::as_str));
        let prefixed: Vec<_> = vocabulary.with_prefix(&wanted).map(|at| vocabulary.get(at)).collect();
        let expected: Vec<_> = words.iter().filter(|word| word.starts_with(&wanted)).collect();
        prop_assert_eq!(prefixed, expected);
        let expected: BTreeSet<_> =
            words.iter().map(String::as_str).filter(|word| begins_with_but_for_a_typo(word, &wanted)).collect();
        prop_assert_eq!(with_typo(&vocabulary, &wanted), expected);
    }
}
