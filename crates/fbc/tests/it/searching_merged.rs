//! Search over many catalogs at once: it finds what searches of each of them find.

use fbc::work::Work;
use fbc::{
    Catalog, MergedSearchIndex, MergedSearchLimits, PackageFilter, SearchMatch, SearchQuery,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};
use testing::fixture;

const NO_LIMITS: MergedSearchLimits = MergedSearchLimits {
    packages: usize::MAX,
    words: usize::MAX,
    postings: usize::MAX,
};

/// Packages with the texts that they have in some catalogs, and in others.
const PACKAGES: [[&str; 2]; 5] = [
    [
        r#"package kafka default=c
           channel c: kafka.v1
           bundle kafka.v1 version=1.0.0 display="Kafka" keywords=queue describes="Brokers for messages""#,
        r#"package kafka default=c
           channel c: kafka.v2
           bundle kafka.v2 version=2.0.0 display="Kafka" keywords=queue,stream describes="Brokers for messages""#,
    ],
    [
        r#"package strimzi-kafka-operator default=c
           channel c: strimzi.v1
           bundle strimzi.v1 version=1.0.0 display="Strimzi" provider="Strimzi" describes="Apache Kafka brokers""#,
        r#"package strimzi-kafka-operator default=c
           channel c: strimzi.v1
           bundle strimzi.v1 version=1.0.0 display="Strimzi Kafka" provider="Strimzi" describes="Apache Kafka brokers""#,
    ],
    // The same texts under another name.
    [
        r#"package queues default=c
           channel c: queues.v1
           bundle queues.v1 version=1.0.0 display="Message Queues" describes="message brokers""#,
        r#"package queues-operator default=c
           channel c: queues.v1
           bundle queues.v1 version=1.0.0 display="Message Queues" describes="message brokers""#,
    ],
    [
        "package cert-manager",
        r#"package cert-manager description="certificates for brokers""#,
    ],
    ["package plain", "package plains"],
];

const QUERIES: [&str; 14] = [
    "kafka",
    "kafak",
    "kafka brokers",
    "strimzi",
    "message",
    "mesage quues",
    "certmanager",
    "cert manager operator",
    "queues operator",
    "plain",
    "plians",
    "k",
    "absent",
    "operator",
];

fn config() -> Config {
    Config {
        cases: 100,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(0x5ea2),
        ..Config::default()
    }
}

/// Texts of catalogs, each with some of the packages.
fn any_catalogs() -> impl Strategy<Value = Vec<String>> {
    let catalog = prop::collection::vec(prop::option::of(0..2_usize), PACKAGES.len());
    let text = catalog.prop_map(|choices| {
        let chosen = PACKAGES.iter().zip(choices);
        let texts: Vec<_> = chosen
            .filter_map(|(variants, choice)| Some(variants[choice?]))
            .collect();
        texts.join("\n")
    });
    prop::collection::vec(text, 1..8)
}

/// Matches of each catalog: the best rank first, and those of one rank by name.
fn search_each(catalogs: &[Catalog], query: &str) -> Vec<Vec<(u32, SearchMatch)>> {
    let search = |catalog: &Catalog| {
        let filter = PackageFilter {
            search: Some(query.into()),
            ..PackageFilter::default()
        };
        let found = catalog.find_packages(&filter, &Work::unlimited()).unwrap();
        let mut found: Vec<_> = found.matches().collect();
        found.sort_by_key(|(_, found)| found.rank());
        found
    };
    catalogs.iter().map(search).collect()
}

/// The index of one catalog.
fn merged(catalog: &Catalog) -> MergedSearchIndex {
    MergedSearchIndex::default()
        .with([catalog], NO_LIMITS)
        .unwrap()
}

fn search_merged(index: &MergedSearchIndex, query: &SearchQuery) -> Vec<Vec<(u32, SearchMatch)>> {
    let documents = index.search(query, &Work::unlimited()).unwrap().unwrap();
    let mut found = vec![Vec::new(); index.catalogs()];
    for document in documents {
        for package in index.packages_of(document) {
            found[package.catalog as usize].push((package.place, document.found));
        }
    }
    found
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_merged_index_finds_what_each_catalog_finds(
        texts in any_catalogs(),
        steps in prop::collection::vec(1..4_usize, 8),
        queries in subsequence(QUERIES.to_vec(), 5),
        typos in select(vec![false, true]),
    ) {
        let catalogs: Vec<Catalog> = texts.iter().map(|text| fixture::catalog(text)).collect();
        // Catalogs are added some at a time.
        let mut index = MergedSearchIndex::default();
        let mut rest = catalogs.as_slice();
        for step in steps {
            let (added, others) = rest.split_at(step.min(rest.len()));
            index = index.with(added, NO_LIMITS).unwrap();
            rest = others;
        }
        for text in queries {
            let mut query = SearchQuery::new(text);
            if typos {
                query = query.with_typos_of(&index, &Work::unlimited()).unwrap();
            }
            prop_assert_eq!(search_merged(&index, &query), search_each(&catalogs, text), "{}", text);
        }
    }
}

#[test]
fn packages_with_equal_texts_take_no_more_room_than_one() {
    let texts = [
        [PACKAGES[0][0], PACKAGES[1][0]].join("\n"),
        // Another package and another order of bundles do not matter.
        [PACKAGES[3][0], PACKAGES[1][0], PACKAGES[0][0]].join("\n"),
    ];
    let [first, second] = texts.map(|text| fixture::catalog(&text));
    let one = merged(&first);
    let both = one.with([&second], NO_LIMITS).unwrap();
    let alone = fixture::catalog(PACKAGES[3][0]);
    let alone = merged(&alone);
    assert_eq!(both.postings(), one.postings() + alone.postings());
    assert_eq!(
        one.with([&first], NO_LIMITS).unwrap().postings(),
        one.postings()
    );
}

#[test]
fn a_query_without_words_searches_nothing() {
    let catalog = fixture::catalog(PACKAGES[0][0]);
    let index = merged(&catalog);
    assert_eq!(index.search(&"?".into(), &Work::unlimited()).unwrap(), None);
}

#[test]
fn an_index_above_a_limit_is_not_made() {
    let catalog = fixture::catalog(PACKAGES[0][0]);
    let index = merged(&catalog);
    let limits = MergedSearchLimits {
        packages: index.packages(),
        words: index.words(),
        postings: index.postings(),
    };
    let is_made = |limits| {
        MergedSearchIndex::default()
            .with([&catalog], limits)
            .is_some()
    };
    assert!(is_made(limits));
    assert!(!is_made(MergedSearchLimits {
        packages: limits.packages - 1,
        ..limits
    }));
    assert!(!is_made(MergedSearchLimits {
        words: limits.words - 1,
        ..limits
    }));
    assert!(!is_made(MergedSearchLimits {
        postings: limits.postings - 1,
        ..limits
    }));
}
