//! Which words a text folds to.

use proptest::prelude::*;

use super::{MAX_SEARCH_LETTERS, MAX_SEARCH_WORDS, MAX_WORD_LETTERS, fold};

#[test]
fn letter_case_accents_and_spelling_of_one_letter_do_not_count() {
    for (text, words) in [
        ("Argo CD", ["argo", "cd"].as_slice()),
        ("argo-cd_v2.10", &["argo", "cd", "v2", "10"]),
        (
            "Señor Müller à l’été",
            &["senor", "muller", "a", "l", "ete"],
        ),
        ("e\u{301}te\u{301}", &["ete"]),
        ("Größe GRÖSSE", &["grosse", "grosse"]),
        (
            "Łódź Øre Ærø Đuro þorn ŒUVRE",
            &["lodz", "ore", "aero", "duro", "thorn", "oeuvre"],
        ),
        ("ΣΊΣΥΦΟΣ σίσυφος", &["σισυφοσ", "σισυφοσ"]),
        ("İstanbul ısı", &["istanbul", "isi"]),
        ("ﬁle ① Ｄｂ", &["file", "1", "db"]),
        ("Йод", &["иод"]),
        ("データ データ", &["テータ", "テータ"]),
        ("OpenShift™®, 50€", &["openshift", "50"]),
        ("", &[]),
        (" -*🚀\u{301} ", &[]),
    ] {
        assert_eq!(fold(text), words, "{text}");
    }
}

#[test]
fn of_a_long_text_to_search_for_the_beginning_counts() {
    assert_eq!(
        fold(&"word ".repeat(MAX_SEARCH_WORDS)).len(),
        MAX_SEARCH_WORDS
    );
    assert_eq!(
        fold(&"word ".repeat(MAX_SEARCH_WORDS + 1)).len(),
        MAX_SEARCH_WORDS
    );
    assert_eq!(
        fold(&"é".repeat(MAX_WORD_LETTERS)),
        ["e".repeat(MAX_WORD_LETTERS)]
    );
    assert_eq!(
        fold(&"é".repeat(MAX_WORD_LETTERS + 1)),
        ["e".repeat(MAX_WORD_LETTERS)]
    );
    let late = |blanks| format!("é{}late", " ".repeat(blanks));
    assert_eq!(fold(&late(MAX_SEARCH_LETTERS - 5)), ["e", "late"]);
    assert_eq!(fold(&late(MAX_SEARCH_LETTERS - 4)), ["e", "lat"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn what_is_folded_folds_to_itself(text in "[a-zA-Z\u{c0}-\u{24f}\u{370}-\u{52f}\u{1e00}-\u{1fff}\u{fb00}-\u{fb17} ]{0,20}") {
        let words = fold(&text);
        prop_assert_eq!(fold(&words.join(" ")), words);
    }
}
