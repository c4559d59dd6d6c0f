//! Both grammars of ranges against the answers of upstream's code: see `testdata/golden/README.md`.

use std::collections::BTreeMap;

use fbc_grammar::range::{
    BlangRange, MAX_MASTERMINDS_BYTES, MAX_MASTERMINDS_GROUPS, MastermindsRange, VersionRangeError,
};
use fbc_grammar::version::Version;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;

/// Ranges with nothing between two `||`. Upstream accepts them and panics when it comes to the gap;
/// ours refuses them, because a range that cannot be evaluated is none.
const EMPTY_GROUP: [&str; 2] = ["1.0.0 || || 2.0.0", "1.0.0 || || || 2.0.0"];

/// What a grammar says to a range: the error, or which of the versions are in it.
type Answer = Result<BTreeMap<String, bool>, String>;

#[test]
fn blang_ranges_answer_as_upstream_does() {
    let mut checked = 0;
    for (range, versions, expected) in vectors(include_str!(
        "../../../fbc/tests/testdata/golden/resolve/ranges-blang.jsonl"
    )) {
        let expected = if EMPTY_GROUP.contains(&range.as_str()) {
            Err(VersionRangeError::GroupEmpty.to_string())
        } else {
            expected
        };
        let parsed = BlangRange::parse(&range);
        assert_eq!(
            answer(parsed, BlangRange::contains, versions),
            expected,
            "{range:?}"
        );
        checked += 1;
    }
    assert_eq!(checked, 1533);
}

#[test]
fn masterminds_ranges_answer_as_upstream_does() {
    let mut checked = 0;
    for (range, versions, expected) in vectors(include_str!(
        "../../../fbc/tests/testdata/golden/resolve/ranges-masterminds.jsonl"
    )) {
        let parsed = MastermindsRange::parse(&range);
        assert_eq!(
            answer(parsed, MastermindsRange::contains, versions),
            expected,
            "{range:?}"
        );
        checked += 1;
    }
    assert_eq!(checked, 1533);
}

/// `npm --prefix tests/js run record` asks npm's semver anew.
#[test]
fn masterminds_ranges_agree_with_npm_where_the_grammars_coincide() {
    let mut checked = 0;
    for line in include_str!("../../../fbc/tests/testdata/npm-semver.txt").lines() {
        let [range, versions, answers] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("no row: {line}")
        };
        let parsed = MastermindsRange::parse(range).unwrap();
        let holds = |version| parsed.contains(&Version::parse(version).unwrap());
        let found: String = versions
            .split(' ')
            .map(|version| if holds(version) { '1' } else { '0' })
            .collect();
        assert_eq!(found, answers, "{range:?} over {versions}");
        checked += answers.len();
    }
    assert_eq!(checked, 10_000);
}

#[test]
fn masterminds_limits_hold_on_each_side() {
    let spaces = |len: usize| format!("1{}", " ".repeat(len - 1));
    assert_eq!(
        MastermindsRange::parse(&spaces(MAX_MASTERMINDS_BYTES)).err(),
        None
    );
    assert_eq!(
        MastermindsRange::parse(&spaces(MAX_MASTERMINDS_BYTES + 1)),
        Err(VersionRangeError::TooLong)
    );
    let groups = |count: usize| vec!["1"; count].join("||");
    assert_eq!(
        MastermindsRange::parse(&groups(MAX_MASTERMINDS_GROUPS)).err(),
        None
    );
    assert_eq!(
        MastermindsRange::parse(&groups(MAX_MASTERMINDS_GROUPS + 1)),
        Err(VersionRangeError::TooManyGroups)
    );
    // 256 bytes: as it is written, or as upstream puts it together where a number is open.
    for (prefix, len) in [("v1.0.0-", 7), ("1-", 6), ("1.2-", 6), ("*-", 6)] {
        let version = |bytes: usize| format!("{prefix}{}", "a".repeat(bytes - len));
        assert_eq!(
            MastermindsRange::parse(&version(256)).err(),
            None,
            "{prefix}"
        );
        assert_eq!(
            MastermindsRange::parse(&version(257)),
            Err(VersionRangeError::Unparsable),
            "{prefix}"
        );
    }
}

#[test]
fn a_blang_range_of_a_megabyte_is_read() {
    let range = vec![">=1.0.x !=1.2.3"; 1 << 16].join(" || ");
    let range = BlangRange::parse(&range).unwrap();
    assert!(!range.contains(&Version::parse("0.9.0").unwrap()));
    assert!(range.contains(&Version::parse("1.0.0").unwrap()));
}

/// The places that [`BlangRange::places`] answers are those of the versions that the range
/// contains.
fn check_places(range: &BlangRange, versions: &[Version<'_>]) {
    let places: Vec<_> = range.places(versions).into_iter().flatten().collect();
    let expected: Vec<_> = (0..versions.len())
        .filter(|&at| range.contains(&versions[at]))
        .collect();
    assert_eq!(places, expected, "{range:?}");
}

#[test]
fn places_are_those_of_the_versions_that_a_range_contains() {
    let texts: Vec<_> = (0..4)
        .flat_map(|major| {
            (0..3).flat_map(move |minor| {
                ["-rc.1", "", "+a"].map(|end| format!("{major}.{minor}.0{end}"))
            })
        })
        .collect();
    let mut versions: Vec<_> = texts
        .iter()
        .map(|text| Version::parse(text).unwrap())
        .collect();
    versions.sort_by(|a, b| b.precedence(a));
    for (range, ..) in vectors(include_str!(
        "../../../fbc/tests/testdata/golden/resolve/ranges-blang.jsonl"
    )) {
        if let Ok(range) = BlangRange::parse(&range) {
            check_places(&range, &versions);
        }
    }
    check_places(
        &BlangRange::parse("!=1.0.0 !=1.1.0 !=1.0.0 >0.1.0 <=3.0.0 || 0.x || =3.2.0").unwrap(),
        &versions,
    );
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn no_text_makes_reading_a_range_panic(text in any::<String>()) {
        let _ = (BlangRange::parse(&text), MastermindsRange::parse(&text));
    }

    #[test]
    fn no_text_like_a_range_makes_reading_or_asking_panic(
        text in "([<>=!~^|, ]{0,3}[vxX*0-9]?[.0-9x*+a-]{0,8}( - )?){0,4}",
        version in "[0-2]\\.[0-3]\\.[0-3](-[a-b0-9])?",
    ) {
        let version = Version::parse(&version).unwrap();
        let _ = BlangRange::parse(&text).map(|range| range.contains(&version));
        let _ = MastermindsRange::parse(&text).map(|range| range.contains(&version));
    }

    #[test]
    fn a_version_is_in_exactly_one_of_a_range_and_its_negation(
        version in "[0-2]\\.[0-2]\\.[0-2](-[a-b])?",
        bound in "[0-2]\\.[0-2]\\.[0-2](-[a-b])?",
    ) {
        let version = Version::parse(&version).unwrap();
        for (operator, negation) in [("=", "!="), ("<", ">="), (">", "<=")] {
            let holds = |operator| BlangRange::parse(&format!("{operator}{bound}")).unwrap().contains(&version);
            prop_assert_ne!(holds(operator), holds(negation));
        }
    }
}

/// Each line's range, the versions asked about, and upstream's answer.
fn vectors(lines: &str) -> impl Iterator<Item = (String, Vec<String>, Answer)> {
    lines.lines().map(|line| {
        let vector: Value = serde_json::from_str(line).unwrap();
        let range = vector["range"].as_str().unwrap().to_owned();
        let matches: BTreeMap<String, bool> =
            serde_json::from_value(vector["matches"].clone()).unwrap();
        let versions = matches.keys().cloned().collect();
        let answer = vector["error"]
            .as_str()
            .map_or(Ok(matches), |error| Err(error.to_owned()));
        (range, versions, answer)
    })
}

fn answer<R>(
    parsed: Result<R, VersionRangeError>,
    contains: impl Fn(&R, &Version<'_>) -> bool,
    versions: Vec<String>,
) -> Answer {
    let range = parsed.map_err(|error| error.to_string())?;
    let is_in = |version: String| {
        let holds = contains(&range, &Version::parse(&version).unwrap());
        (version, holds)
    };
    Ok(versions.into_iter().map(is_in).collect())
}

/// The same cases in every run.
fn seeded() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(0),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
