//! Real metadata against an oracle: a second reading of the files by `serde_json`, and tables of
//! what the annotations of consoles mean. It shares no code with what it judges.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use fbc::{Bundle, CapabilityLevel, Catalog, Icon};
use fbc_read::ProblemCode;
use serde_json::{Map, Value};
use serving::{Content, Served};
use testing::corpus::find_catalog;

use crate::corpus::{of_whole_or_part, serve, serve_community, sorted};

/// Seconds since 1970 and nanoseconds.
type Moment = (i64, i32);

/// What is judged of a bundle.
#[derive(Debug, PartialEq)]
struct Facts {
    created_at: Option<Moment>,
    categories: Vec<String>,
    capability_level: Option<&'static str>,
    certified: Option<bool>,
    infrastructure_features: Vec<String>,
}

/// What a whole catalog holds, counted.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    bundles: usize,
    created_at: usize,
    /// Values of `createdAt` that are in no known form, the empty ones among them.
    unparsable: usize,
    categories: usize,
    capability_levels: usize,
    certified: usize,
    infrastructure_features: usize,
}

#[test]
fn the_annotations_of_community_mean_what_the_tables_say() {
    let catalog = serve_community().content.catalog;
    let counts = agree(&catalog, &testing::corpus::community());
    let whole = Counts {
        bundles: 6_475,
        created_at: 5_913,
        unparsable: 272,
        categories: 7_753,
        capability_levels: 6_463,
        certified: 5_102,
        infrastructure_features: 2_093,
    };
    let part = Counts {
        bundles: 205,
        created_at: 179,
        unparsable: 7,
        categories: 256,
        capability_levels: 193,
        certified: 67,
        infrastructure_features: 7,
    };
    assert_eq!(counts, of_whole_or_part(&catalog, whole, part));
}

#[test]
fn the_annotations_in_inline_manifests_mean_what_the_tables_say() {
    let Some(Served {
        content: Content { catalog, .. },
        ..
    }) = serve("community-objects")
    else {
        return;
    };
    let counts = agree(
        &catalog,
        &find_catalog("community-objects").expect("it was there before"),
    );
    let expected = Counts {
        bundles: 936,
        created_at: 849,
        unparsable: 35,
        categories: 1_057,
        capability_levels: 936,
        certified: 771,
        infrastructure_features: 431,
    };
    assert_eq!(counts, expected);
}

#[test]
fn just_the_unknown_install_mode_of_community_is_told() {
    let catalog = serve_community().content.catalog;
    let told: Vec<_> = catalog
        .problems()
        .iter()
        .filter(|problem| problem.code == ProblemCode::InstallModeUnknown)
        .collect();
    let messages: Vec<_> = told
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    let unknown: &[&str] = &[
        "bundle \"percona-server-mongodb-operator.v1.18.0\" has the unknown install mode \"OwnNamespacejl\"",
    ];
    assert_eq!(messages, of_whole_or_part(&catalog, unknown, &[]));
}

#[test]
fn the_icons_of_community_are_images_whatever_is_declared() {
    let catalog = serve_community().content.catalog;
    let mut types = BTreeMap::new();
    for package in catalog.packages() {
        let icon = package.icon();
        let declared =
            serde_json::from_slice::<Value>(package.meta().blob().raw()).expect("a blob is JSON");
        let declared = &declared["icon"];
        *types
            .entry((
                declared["mediatype"].as_str().map(str::to_owned),
                icon.map(Icon::media_type),
            ))
            .or_default() += 1;
        let Some(icon) = icon else { continue };
        assert_eq!(
            Some(icon.data().as_ref()),
            declared["base64data"].as_str(),
            "{}",
            package.name()
        );
        let found = catalog
            .icons()
            .find(&icon.digest())
            .expect("an icon is found by its digest");
        assert_eq!(
            BASE64_STANDARD.encode(&found.bytes),
            icon.data(),
            "{}",
            package.name()
        );
    }
    let svg = "image/svg+xml";
    let png = "image/png";
    let jpeg = "image/jpeg";
    let whole = [
        ((None, None), 2),
        ((Some(jpeg), Some(jpeg)), 5),
        ((Some(png), Some("image/x-icon")), 3),
        ((Some(png), Some(jpeg)), 2),
        ((Some(png), Some(png)), 150),
        ((Some(png), Some(svg)), 1),
        ((Some(svg), Some(png)), 1),
        ((Some(svg), Some(svg)), 169),
    ];
    let part = [
        ((None, None), 1),
        ((Some(png), Some(png)), 14),
        ((Some(svg), Some(svg)), 15),
    ];
    let expected = of_whole_or_part(&catalog, &whole[..], &part);
    let expected = expected
        .iter()
        .map(|((declared, found), count)| ((declared.map(str::to_owned), *found), *count));
    assert_eq!(types, expected.collect::<BTreeMap<_, _>>());
}

#[test]
fn every_package_of_community_has_a_text_for_its_tile() {
    let catalog = serve_community().content.catalog;
    let annotations = annotations(&testing::corpus::community());
    let mut annotated = 0;
    let mut derived = 0;
    for package in catalog.packages() {
        let Some(bundle) = package.metadata_bundle() else {
            continue;
        };
        let annotations = &annotations[&(package.name().to_owned(), bundle.name().to_owned())];
        let given = annotations
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let given = given.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some(summary) = package.summary().summary() else {
            panic!("{} has none", package.name())
        };
        assert!(
            summary.chars().count() <= 300,
            "{}: {summary}",
            package.name()
        );
        if given.is_empty() {
            derived += 1;
            assert!(
                !summary.contains(['#', '*', '`', '\n', '[']),
                "{}: {summary}",
                package.name()
            );
        } else {
            annotated += 1;
            let start = summary.trim_end_matches('…');
            assert!(
                given == summary || given.starts_with(start),
                "{}: {summary}",
                package.name()
            );
        }
    }
    assert_eq!(
        (annotated, derived),
        of_whole_or_part(&catalog, (305, 28), (27, 3))
    );
}

#[test]
fn consoles_find_what_they_show_in_the_heads_of_community() {
    let served = serve_community();
    let catalog = Arc::clone(&served.content.catalog);
    let engine = crate::served::engine([served]);
    let query = "{ packages(first: 500) { nodes { metadata {
        suggestedNamespace architectures validSubscriptions internalObjects initializationResource
        clusterMonitoring consolePlugins maxKubeVersion supportWorkflow isStandalone } } } }";
    let body = engine
        .execute(&graphql::Request {
            query: Some(query.into()),
            ..Default::default()
        })
        .body;
    let body: Value = serde_json::from_slice(&body).expect("an answer is JSON");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in body["data"]["packages"]["nodes"]
        .as_array()
        .expect("a list")
    {
        for (key, value) in node["metadata"]
            .as_object()
            .expect("every package has metadata")
        {
            let is_said = !value.is_null() && *value != Value::Array(Vec::new()) && *value != false;
            *counts.entry(key).or_default() += usize::from(is_said);
        }
    }
    let expected = [
        ("architectures", 333, 30),
        ("clusterMonitoring", 12, 0),
        ("consolePlugins", 6, 1),
        // One more is written in YAML.
        ("initializationResource", 13, 1),
        ("internalObjects", 19, 3),
        ("isStandalone", 333, 30),
        ("maxKubeVersion", 5, 1),
        ("suggestedNamespace", 149, 7),
        ("supportWorkflow", 1, 0),
        ("validSubscriptions", 13, 0),
    ];
    let expected =
        expected.map(|(name, whole, part)| (name, of_whole_or_part(&catalog, whole, part)));
    assert_eq!(counts, BTreeMap::from(expected));
}

/// Compares each bundle of a catalog with what the oracle makes of its files.
#[track_caller]
fn agree(catalog: &Catalog, directory: &Path) -> Counts {
    let expected = annotations(directory);
    assert_eq!(catalog.bundles().len(), expected.len());
    let mut counts = Counts::default();
    for bundle in catalog.bundles() {
        let key = (bundle.package().name().to_owned(), bundle.name().to_owned());
        let annotations = &expected[&key];
        let facts = oracle(annotations);
        assert_eq!(said(bundle), facts, "{key:?}: {annotations:?}");
        counts.bundles += 1;
        counts.created_at += usize::from(facts.created_at.is_some());
        counts.unparsable +=
            usize::from(facts.created_at.is_none() && annotations.contains_key("createdAt"));
        counts.categories += facts.categories.len();
        counts.capability_levels += usize::from(facts.capability_level.is_some());
        counts.certified += usize::from(facts.certified.is_some());
        counts.infrastructure_features += facts.infrastructure_features.len();
    }
    counts
}

fn said(bundle: Bundle<'_>) -> Facts {
    let metadata = bundle.metadata().expect("every bundle has metadata");
    Facts {
        created_at: metadata
            .created_at()
            .map(|at| (at.as_second(), at.subsec_nanosecond())),
        categories: metadata.categories(),
        capability_level: metadata.capability_level().map(CapabilityLevel::as_str),
        certified: metadata.certified(),
        infrastructure_features: metadata.infrastructure_features(),
    }
}

/// The annotations of every bundle, by package and name.
fn annotations(directory: &Path) -> BTreeMap<(String, String), Map<String, Value>> {
    let mut found = BTreeMap::new();
    for package in sorted(directory) {
        for file in sorted(&package) {
            let text = fs::read_to_string(&file).expect("a readable file");
            let blobs = text
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
            for blob in blobs.filter(|blob| blob["schema"] == "olm.bundle") {
                let text = |key: &str| blob[key].as_str().expect("a string").to_owned();
                let annotations = of_bundle(&blob).as_object().cloned().unwrap_or_default();
                found.insert((text("package"), text("name")), annotations);
            }
        }
    }
    found
}

fn of_bundle(bundle: &Value) -> Value {
    let properties = bundle["properties"].as_array().expect("a list");
    let of_type = |wanted: &'static str| {
        properties
            .iter()
            .filter(move |it| it["type"] == wanted)
            .map(|it| &it["value"])
    };
    if let Some(metadata) = of_type("olm.csv.metadata").next() {
        return metadata["annotations"].clone();
    }
    let manifests = of_type("olm.bundle.object").map(|value| {
        let manifest = BASE64_STANDARD
            .decode(value["data"].as_str().expect("base64"))
            .expect("base64");
        serde_json::from_slice::<Value>(&manifest).expect("a manifest is JSON here")
    });
    let mut manifests = manifests.filter(|manifest| manifest["kind"] == "ClusterServiceVersion");
    manifests.next().map_or(Value::Null, |manifest| {
        manifest["metadata"]["annotations"].clone()
    })
}

const LEVELS: [&str; 5] = [
    "Basic Install",
    "Seamless Upgrades",
    "Full Lifecycle",
    "Deep Insights",
    "Auto Pilot",
];

const BOOLEANS: [(&str, bool); 2] = [("true", true), ("false", false)];

/// Names of features that have another name now.
const RENAMED: [(&str, &str); 3] = [
    ("proxy", "proxy-aware"),
    ("fips", "fips-compliant"),
    ("fipsmode", "fips-compliant"),
];

fn oracle(annotations: &Map<String, Value>) -> Facts {
    let text = |key: &str| {
        annotations
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let boolean = |text: &str| {
        BOOLEANS
            .iter()
            .find(|(word, _)| *word == text.to_lowercase())
            .map(|&(_, is)| is)
    };
    let mut categories: Vec<String> = Vec::new();
    for category in text("categories").split(',').map(str::trim) {
        if !category.is_empty() && !categories.iter().any(|known| known == category) {
            categories.push(category.to_owned());
        }
    }
    let level = text("capabilities").trim().to_lowercase();
    let feature = |name: &str| {
        let name = name.to_lowercase();
        RENAMED
            .iter()
            .find(|(old, _)| *old == name)
            .map_or(name.clone(), |(_, new)| (*new).to_owned())
    };
    let mut there = BTreeSet::new();
    let mut not_there = BTreeSet::new();
    for (key, value) in annotations {
        if let Some(name) = key.strip_prefix("features.operators.openshift.io/") {
            match boolean(
                value
                    .as_str()
                    .unwrap_or_default()
                    .trim_matches(['\u{201c}', '\u{201d}']),
            ) {
                Some(true) => drop(there.insert(feature(name))),
                Some(false) => drop(not_there.insert(feature(name))),
                None => {}
            }
        }
    }
    let older = text("operators.openshift.io/infrastructure-features");
    let older: Vec<String> = serde_json::from_str(older).unwrap_or_else(|_| {
        let inner = older.trim_start_matches('[').trim_end_matches(']');
        inner
            .split(',')
            .map(|item| item.trim().to_owned())
            .filter(|item| !item.is_empty())
            .collect()
    });
    there.extend(
        older
            .iter()
            .map(|name| feature(name))
            .filter(|name| !not_there.contains(name)),
    );
    Facts {
        created_at: created_at(text("createdAt")),
        categories,
        capability_level: LEVELS
            .into_iter()
            .find(|known| known.to_lowercase() == level),
        certified: boolean(text("certified")),
        infrastructure_features: there.into_iter().collect(),
    }
}

/// What the numbers of a text mean, by its shape: every run of digits as a `9` for each, those of a
/// fraction as one. `Y`ear, `M`onth, `D`ay, `h`our, `m`inute, `s`econd, `f`raction, hours and
/// minutes of the zone (`H`, `I`), or both in one number (`Z`); `A` and `B` are a day and a month
/// in one order or the other.
fn forms() -> BTreeMap<String, String> {
    let mut forms = BTreeMap::new();
    let zones = [
        ("", ""),
        ("Z", ""),
        ("+99:99", "HI"),
        ("-99:99", "HI"),
        ("+9999", "Z"),
        ("-9999", "Z"),
    ];
    for separator in ["T", " "] {
        for (fraction, f) in [("", ""), (".9", "f")] {
            for (zone, z) in zones {
                forms.insert(
                    format!("9999-99-99{separator}99:99:99{fraction}{zone}"),
                    format!("YMDhms{f}{z}"),
                );
            }
        }
    }
    forms.insert("9999-99-99".to_owned(), "YMD".to_owned());
    forms.insert("9999/99/99".to_owned(), "YMD".to_owned());
    forms.insert("9999-99-99 99:99Z".to_owned(), "YMDhm".to_owned());
    for (a, b) in [("9", "9"), ("9", "99"), ("99", "9"), ("99", "99")] {
        forms.insert(format!("{a}/{b}/9999"), "ABY".to_owned());
    }
    for zone in ["UTC", "GMT"] {
        for day in ["9", "99"] {
            forms.insert(
                format!("Www Mmm {day} 99:99:99 {zone} 9999"),
                "DhmsY".to_owned(),
            );
        }
    }
    forms
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

fn created_at(text: &str) -> Option<Moment> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let mut weekday = None;
    let mut month = None;
    if let ([first, second, ..], 6) = (words.as_slice(), words.len()) {
        weekday = WEEKDAYS.iter().position(|name| name == first);
        month = MONTHS.iter().position(|name| name == second);
    }
    let text = match (weekday, month) {
        (Some(_), Some(_)) => {
            (words[0], words[1]) = ("Www", "Mmm");
            words.join(" ")
        }
        _ => text.to_owned(),
    };
    let (mut shape, mut numbers): (String, Vec<String>) = (String::new(), Vec::new());
    let mut before = ' ';
    for letter in text.chars() {
        if !letter.is_ascii_digit() {
            shape.push(letter);
        } else if before.is_ascii_digit() {
            numbers.last_mut()?.push(letter);
            let is_fraction = shape.trim_end_matches('9').ends_with('.');
            shape.push_str(if is_fraction { "" } else { "9" });
        } else {
            numbers.push(letter.to_string());
            shape.push('9');
        }
        before = letter;
    }
    let meaning = forms().remove(&shape)?;
    let said = |what: char| meaning.find(what).map(|at| numbers[at].as_str());
    let number = |what: char| said(what).map_or(0, |text| text.parse::<i64>().expect("a number"));
    let sign = if shape.rfind('-') > shape.find(':') {
        -1
    } else {
        1
    };
    let zone = number('H') * 60 + number('I') + number('Z') / 100 * 60 + number('Z') % 100;
    let days: BTreeSet<i64> = if said('A').is_some() {
        let both = [(number('A'), number('B')), (number('B'), number('A'))];
        both.into_iter()
            .filter_map(|(month, day)| days(number('Y'), month, day))
            .collect()
    } else {
        let month = month
            .filter(|_| weekday.is_some())
            .map_or_else(|| number('M'), |at| i64::try_from(at).unwrap() + 1);
        days(number('Y'), month, number('D')).into_iter().collect()
    };
    let [day] = days.into_iter().collect::<Vec<_>>()[..] else {
        return None;
    };
    let is_clock = number('h') < 24 && number('m') < 60 && number('s') < 60;
    let is_weekday = weekday.is_none_or(|at| i64::try_from(at).unwrap() == day.rem_euclid(7));
    let fraction = format!("{:0<9}", said('f').unwrap_or_default())[..9]
        .parse()
        .expect("nine digits");
    let seconds =
        day * 86_400 + number('h') * 3_600 + number('m') * 60 + number('s') - sign * zone * 60;
    (is_clock && is_weekday).then_some((seconds, fraction))
}

/// Days since 1970 of a day of the calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let last = *months.get(usize::try_from(month - 1).ok()?)?;
    let years: i64 = (1970..year)
        .map(|year| if is_leap(year) { 366 } else { 365 })
        .sum();
    let before: i64 = months[..usize::try_from(month - 1).ok()?].iter().sum();
    (1..=last)
        .contains(&day)
        .then_some(years + before + day - 1)
}
