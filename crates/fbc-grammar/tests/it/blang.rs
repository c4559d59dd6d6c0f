//! Blang ranges by a table: what each comparator means with each form of version, and the errors.

use fbc_grammar::range::BlangRange;
use fbc_grammar::version::Version;

/// A range, versions in it, and versions not in it.
#[rustfmt::skip]
const RANGES: [(&str, &str, &str); 50] = [
    // Comparators with a whole version.
    ("1.2.3", "1.2.3 1.2.3+build", "1.2.2 1.2.4 1.2.3-rc 2.2.3"),
    ("=1.2.3", "1.2.3", "1.2.2 1.2.4"),
    ("==1.2.3", "1.2.3", "1.2.2 1.2.4"),
    ("!1.2.3", "1.2.2 1.2.4 1.2.3-rc", "1.2.3 1.2.3+b"),
    ("!=1.2.3", "1.2.2 1.2.4", "1.2.3"),
    ("<1.2.3", "1.2.2 0.9.9 1.2.3-rc", "1.2.3 1.2.4 1.2.3+b"),
    ("<=1.2.3", "1.2.2 1.2.3 1.2.3-rc", "1.2.4 1.3.0"),
    (">1.2.3", "1.2.4 1.3.0 2.0.0-rc", "1.2.3 1.2.2 1.2.3+b 1.2.3-rc"),
    (">=1.2.3", "1.2.3 1.2.4 1.2.3+b", "1.2.2 1.2.3-rc"),
    // Build metadata does not count, prereleases have their natural place.
    ("1.2.3+build", "1.2.3 1.2.3+other", "1.2.4"),
    (">=1.2.3+build", "1.2.3", "1.2.2"),
    ("<2.0.0", "2.0.0-rc 2.0.0-0 1.9.9", "2.0.0"),
    ("<=2.0.0-rc.1", "2.0.0-rc.1 2.0.0-beta 2.0.0-rc", "2.0.0-rc.2 2.0.0"),
    (">2.0.0-rc.1", "2.0.0-rc.2 2.0.0-rc.10 2.0.0", "2.0.0-rc.1 2.0.0-beta"),
    ("2.0.0-rc.1", "2.0.0-rc.1 2.0.0-rc.1+b", "2.0.0 2.0.0-rc.2"),
    ("!=2.0.0-rc.1", "2.0.0 2.0.0-rc.2", "2.0.0-rc.1"),
    // And, or, and spaces.
    (">=1.0.0 <2.0.0", "1.0.0 1.9.9 2.0.0-rc", "0.9.9 2.0.0 1.0.0-rc"),
    ("> 1.0.0   <  2.0.0", "1.0.1", "1.0.0 2.0.0"),
    ("<1.0.0 || >2.0.0", "0.1.0 2.0.1", "1.0.0 1.5.0 2.0.0"),
    (">1.0.0 <2.0.0 || >3.0.0 !4.2.1", "1.2.3 3.0.1 4.2.2", "2.0.0 3.0.0 4.2.1"),
    ("1.0.0 || 2.0.0 || 3.0.0", "1.0.0 2.0.0 3.0.0", "1.0.1 4.0.0"),
    (">2.0.0 <1.0.0", "", "0.5.0 1.5.0 2.5.0"),
    ("  1.0.0  ", "1.0.0", "1.0.1"),
    // Wildcards in the last places.
    ("1.2.x", "1.2.0 1.2.9 1.3.0-rc", "1.1.9 1.3.0 1.2.0-rc"),
    ("=1.2.x", "1.2.0 1.2.9", "1.1.9 1.3.0"),
    ("==1.2.x", "1.2.0 1.2.9", "1.1.9 1.3.0"),
    (">=1.2.x", "1.2.0 1.2.9 2.0.0", "1.1.9 1.2.0-rc"),
    (">1.2.x", "1.3.0 2.0.0", "1.2.0 1.2.9 1.3.0-rc"),
    ("<=1.2.x", "1.2.9 1.1.0 1.3.0-rc", "1.3.0"),
    ("<1.2.x", "1.1.9 1.2.0-rc", "1.2.0 1.2.9"),
    ("!=1.2.x", "", "1.1.9 1.2.5 1.3.0"),
    ("!1.2.x", "", "1.1.9 1.2.5 1.3.0"),
    ("1.x", "1.0.0 1.9.9 2.0.0-rc", "0.9.9 2.0.0"),
    // Of three places upstream counts the second up, whatever stands there.
    ("1.x.x", "1.0.0 1.0.9 1.1.0-rc", "0.9.9 1.1.0 2.0.0"),
    (">=1.x", "1.0.0 2.0.0", "0.9.9 1.0.0-rc"),
    (">1.x", "2.0.0 2.0.1", "1.0.0 1.9.9"),
    ("<=1.x", "1.9.9 0.1.0", "2.0.0"),
    ("<1.x", "0.9.9", "1.0.0 1.5.0"),
    (">=2.1.x <2.2.1", "2.1.0 2.2.0", "2.0.9 2.2.1"),
    ("<1.2.x || 2.x", "1.1.0 2.5.0", "1.2.0 3.0.0"),
    // Upstream's oddities: a comparator it does not know is dropped beside a wildcard, one byte is
    // no element.
    ("~1.2.x", "1.2.0", "1.2.1 1.3.0"),
    ("^1.2.x", "1.2.0", "1.2.1 1.3.0"),
    ("=>1.2.x", "1.2.0", "1.2.1 1.1.9"),
    ("v1.x", "1.0.0", "1.0.1 1.1.0"),
    ("<1.0.0-x", "0.9.0 1.0.0-a", "1.0.0-x 1.0.0"),
    (">=1.0.0-x", "1.0.0-x 1.0.0", "1.0.0-a 0.9.0"),
    ("1.0.0 5", "1.0.0", "5.0.0 1.0.1"),
    ("! 1.0.0", "1.0.0", "1.0.1 0.9.0"),
    (">=1.0.0 <", "1.0.0 9.0.0", "0.9.0"),
    ("1.0.0 - 1.0.0", "1.0.0", "0.9.0 1.5.0"),
];

/// What is no range, and upstream's error.
const ERRORS: [(&str, &str); 34] = [
    ("", "Last element in range is '||'"),
    (" ", "Last element in range is '||'"),
    ("1", "Last element in range is '||'"),
    ("||", "First element in range is '||'"),
    ("|| 1.0.0", "First element in range is '||'"),
    ("1.0.0 ||", "Last element in range is '||'"),
    (
        "1.0.0 || || 2.0.0",
        "no element between '||' and '||' in range",
    ),
    ("foo", "Could not get version from string: \"foo\""),
    (">=", "Could not get version from string: \">=\""),
    ("1.0.0 || foo", "Could not get version from string: \"foo\""),
    (
        "~1.0.0",
        "Could not parse Range \"~1.0.0\": Could not parse comparator \"~\" in \"~1.0.0\"",
    ),
    (
        "^1.0.0",
        "Could not parse Range \"^1.0.0\": Could not parse comparator \"^\" in \"^1.0.0\"",
    ),
    (
        ">==1.0.0",
        "Could not parse Range \">==1.0.0\": Could not parse comparator \">==\" in \">==1.0.0\"",
    ),
    (
        "=>1.0.0",
        "Could not parse Range \"=>1.0.0\": Could not parse comparator \"=>\" in \"=>1.0.0\"",
    ),
    (
        "v1.0.0",
        "Could not parse Range \"v1.0.0\": Could not parse comparator \"v\" in \"v1.0.0\"",
    ),
    (
        ">=v1.0.0",
        "Could not parse Range \">=v1.0.0\": Could not parse comparator \">=v\" in \">=v1.0.0\"",
    ),
    (
        "1.0",
        "Could not parse Range \"1.0\": Could not parse version \"1.0\" in \"1.0\": No Major.Minor.Patch elements found",
    ),
    (
        ">=10",
        "Could not parse Range \">=10\": Could not parse version \"10\" in \">=10\": No Major.Minor.Patch elements found",
    ),
    (
        "1.0.*",
        "Could not parse Range \"1.0.*\": Could not parse version \"1.0.*\" in \"1.0.*\": \
         Invalid character(s) found in patch number \"*\"",
    ),
    (
        "1.a.0",
        "Could not parse Range \"1.a.0\": Could not parse version \"1.a.0\" in \"1.a.0\": \
         Invalid character(s) found in minor number \"a\"",
    ),
    (
        "1a.0.0",
        "Could not parse Range \"1a.0.0\": Could not parse version \"1a.0.0\" in \"1a.0.0\": \
         Invalid character(s) found in major number \"1a\"",
    ),
    (
        "01.0.0",
        "Could not parse Range \"01.0.0\": Could not parse version \"01.0.0\" in \"01.0.0\": \
         Major number must not contain leading zeroes \"01\"",
    ),
    (
        "1.01.0",
        "Could not parse Range \"1.01.0\": Could not parse version \"1.01.0\" in \"1.01.0\": \
         Minor number must not contain leading zeroes \"01\"",
    ),
    (
        "1.0.01",
        "Could not parse Range \"1.0.01\": Could not parse version \"1.0.01\" in \"1.0.01\": \
         Patch number must not contain leading zeroes \"01\"",
    ),
    (
        "1.0.0-",
        "Could not parse Range \"1.0.0-\": Could not parse version \"1.0.0-\" in \"1.0.0-\": Prerelease is empty",
    ),
    (
        "1.0.0-01",
        "Could not parse Range \"1.0.0-01\": Could not parse version \"1.0.0-01\" in \"1.0.0-01\": \
         Numeric PreRelease version must not contain leading zeroes \"01\"",
    ),
    (
        "1.0.0-a_b",
        "Could not parse Range \"1.0.0-a_b\": Could not parse version \"1.0.0-a_b\" in \"1.0.0-a_b\": \
         Invalid character(s) found in prerelease \"a_b\"",
    ),
    (
        "1.0.0+",
        "Could not parse Range \"1.0.0+\": Could not parse version \"1.0.0+\" in \"1.0.0+\": Build meta data is empty",
    ),
    (
        "1.0.0+a_b",
        "Could not parse Range \"1.0.0+a_b\": Could not parse version \"1.0.0+a_b\" in \"1.0.0+a_b\": \
         Invalid character(s) found in build meta data \"a_b\"",
    ),
    (
        "18446744073709551616.0.0",
        "Could not parse Range \"18446744073709551616.0.0\": Could not parse version \"18446744073709551616.0.0\" \
         in \"18446744073709551616.0.0\": strconv.ParseUint: parsing \"18446744073709551616\": value out of range",
    ),
    (
        "1..0",
        "Could not parse Range \"1..0\": Could not parse version \"1..0\" in \"1..0\": \
         strconv.ParseUint: parsing \"\": invalid syntax",
    ),
    (
        ">=1.0.0,<2.0.0",
        "Could not parse Range \">=1.0.0,<2.0.0\": Could not parse version \"1.0.0,<2.0.0\" in \">=1.0.0,<2.0.0\": \
         Invalid character(s) found in patch number \"0,<2.0.0\"",
    ),
    (
        "1.0.0||2.0.0",
        "Could not parse Range \"1.0.0||2.0.0\": Could not parse version \"1.0.0||2.0.0\" in \"1.0.0||2.0.0\": \
         Invalid character(s) found in patch number \"0||2.0.0\"",
    ),
    (
        "1.0.0\t2.0.0",
        "Could not parse Range \"1.0.0\\t2.0.0\": Could not parse version \"1.0.0\\t2.0.0\" in \"1.0.0\\t2.0.0\": \
         Invalid character(s) found in patch number \"0\\t2.0.0\"",
    ),
];

#[test]
fn every_comparator_means_what_the_grammar_says() {
    let mut cases = 0;
    for (text, inside, outside) in RANGES {
        let range = BlangRange::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let versions = inside.split_whitespace().map(|version| (version, true));
        for (version, expected) in
            versions.chain(outside.split_whitespace().map(|version| (version, false)))
        {
            assert_eq!(
                range.contains(&Version::parse(version).unwrap()),
                expected,
                "{text:?} and {version}"
            );
            cases += 1;
        }
    }
    assert!(cases + ERRORS.len() >= 200, "{cases} cases");
}

#[test]
fn what_is_no_range_has_upstreams_error() {
    for (text, error) in ERRORS {
        assert_eq!(
            BlangRange::parse(text).map_err(|error| error.to_string()),
            Err(error.to_owned()),
            "{text:?}"
        );
    }
}
