//! Full-text search: what is found, and in which order.

use fbc::work::Work;
use fbc::{Catalog, MAX_PACKAGE_WORDS, MAX_SEARCH_WORDS, MAX_WORD_LETTERS, PackageFilter};
use testing::fixture;

const CATALOG: &str = r#"
    package argocd-operator default=c
    channel c: v1
    bundle v1 version=1.0.0 display="Argo CD" keywords=argocd,GitOps,ci-cd provider="Argo CD Community" describes="Deploys *applications*, with Kafka."
    package strimzi-kafka-operator default=c
    channel c: v1
    bundle v1 version=1.0.0 display="Strimzi" keywords=kafka,messaging provider="Strimzi" describes="Apache Kafka® on Kubernetes: brokers, gitops"
    package kafka default=c description="Messages, for Señor Łukasz"
    channel c: v1
    bundle v1 version=1.0.0 display="Kafka" keywords=queue provider="Müller & Söhne" describes="See https://example.com/0123456789012345678901234567890123456789abc"
    package streams default=c
    channel c: v1
    bundle v1 version=1.0.0 display="Kafka Streams" provider="Kafka Inc." describes="x y"
    package console default=c
    channel c: v1
    bundle v1 version=1.0.0 display="Console" provider="Kafka Inc." describes="argo"
    package argo default=c
    channel c: v1
    bundle v1 version=1.0.0 display="Workflows" provider="Argo CD Community"
    package plain default=missing
"#;

/// The packages that match, best first and then by name, each with its distance.
fn search<'c>(catalog: &'c Catalog, text: &str) -> Vec<(&'c str, u32)> {
    let found = catalog
        .find_packages(
            &PackageFilter {
                search: Some(text.into()),
                ..PackageFilter::default()
            },
            &Work::unlimited(),
        )
        .unwrap();
    let mut found: Vec<_> = found
        .matches()
        .map(|(place, found)| (catalog.package_at(place as usize).name(), found))
        .collect();
    found.sort_by_key(|&(_, found)| found.rank());
    found
        .into_iter()
        .map(|(name, found)| (name, found.distance()))
        .collect()
}

#[test]
fn the_best_place_of_a_word_decides_how_well_it_matches() {
    let catalog = fixture::catalog(CATALOG);
    for (text, expected) in [
        (
            "kafka",
            [
                ("kafka", 0),
                ("strimzi-kafka-operator", 1),
                ("streams", 2),
                ("console", 4),
                ("argocd-operator", 5),
            ]
            .as_slice(),
        ),
        (
            "kafk",
            &[
                ("kafka", 1),
                ("strimzi-kafka-operator", 1),
                ("streams", 2),
                ("console", 4),
                ("argocd-operator", 5),
            ],
        ),
        (
            "argo",
            &[("argo", 0), ("argocd-operator", 1), ("console", 5)],
        ),
        (
            "operator",
            &[("argocd-operator", 1), ("strimzi-kafka-operator", 1)],
        ),
        ("queue", &[("kafka", 3)]),
        (
            "gitops",
            &[("argocd-operator", 3), ("strimzi-kafka-operator", 5)],
        ),
        ("plain", &[("plain", 0)]),
        ("brokers", &[("strimzi-kafka-operator", 5)]),
        ("rokers", &[("strimzi-kafka-operator", 10)]),
        ("nothing", &[]),
        ("none", &[]),
    ] {
        assert_eq!(search(&catalog, text), expected, "{text}");
    }
}

#[test]
fn several_words_all_count_and_add_up() {
    let catalog = fixture::catalog(CATALOG);
    for (text, expected) in [
        ("argocd operator", [("argocd-operator", 0)].as_slice()),
        ("argocd-operator", &[("argocd-operator", 0)]),
        ("operator argocd", &[("argocd-operator", 0)]),
        ("Argocd_Op", &[("argocd-operator", 1)]),
        ("argo cd", &[("argocd-operator", 0), ("argo", 4)]),
        (
            "argo argo",
            &[("argo", 0), ("argocd-operator", 1), ("console", 5)],
        ),
        ("kafka inc", &[("streams", 6), ("console", 8)]),
        (
            "kafka gitops",
            &[("strimzi-kafka-operator", 6), ("argocd-operator", 8)],
        ),
        ("kafka queue gitops", &[]),
    ] {
        assert_eq!(search(&catalog, text), expected, "{text}");
    }
}

#[test]
fn a_typo_is_forgiven_in_a_word_of_five_letters_and_ranks_behind_what_is_literal() {
    let catalog = fixture::catalog(CATALOG);
    let kafka = [
        ("kafka", 6),
        ("strimzi-kafka-operator", 6),
        ("streams", 7),
        ("console", 9),
        ("argocd-operator", 10),
    ];
    for typo in [
        "kafkka", "kafkx", "kafxa", "akfka", "kaafka", "kafak", "xafka", "KÁFAK",
    ] {
        assert_eq!(search(&catalog, typo), kafka, "{typo}");
    }
    assert_eq!(search(&catalog, "kfkaa"), [], "two typos");
    assert_eq!(search(&catalog, "kfka"), [], "of four letters");
    assert_eq!(search(&catalog, "argocd-opertor"), [("argocd-operator", 6)]);
    assert_eq!(search(&catalog, "argocd opertro"), [], "two typos");
}

#[test]
fn what_is_between_the_words_of_a_name_does_not_count() {
    let catalog = fixture::catalog(
        r#"
        package jetstack-cert-manager default=c
        channel c: v1
        bundle v1 version=1.0.0 display="Mail Hog"
        package plain default=c description="A certain manager of certificates"
        channel c: v1
        bundle v1 version=1.0.0 display="Plain"
    "#,
    );
    for (text, expected) in [
        ("certmanager", [("jetstack-cert-manager", 1)].as_slice()),
        ("certmanagre", &[("jetstack-cert-manager", 6)]),
        ("jetstackcertmanager", &[("jetstack-cert-manager", 0)]),
        ("jet stack", &[("jetstack-cert-manager", 1)]),
        ("mailhog", &[("jetstack-cert-manager", 0)]),
        ("mail hog", &[("jetstack-cert-manager", 0)]),
        ("stackcert", &[]),
        ("cert man", &[("jetstack-cert-manager", 1), ("plain", 10)]),
    ] {
        assert_eq!(search(&catalog, text), expected, "{text}");
    }
}

#[test]
fn a_name_without_generic_words_comes_before_longer_names_and_those_by_their_length() {
    let catalog = fixture::catalog(
        r#"
        package a-redis-enterprise default=c
        channel c: v1
        bundle v1 version=1.0.0 display="Redis Enterprise"
        package b-redis-ha default=c
        channel c: v1
        bundle v1 version=1.0.0 display="Redis HA"
        package community-redis-operator default=c
        channel c: v1
        bundle v1 version=1.0.0 display="In-memory store"
        package keys default=c
        channel c: v1
        bundle v1 version=1.0.0 display="Redis Operator"
        package redis default=c
        channel c: v1
        bundle v1 version=1.0.0 display="The longest display name of all"
        package operator default=c
        channel c: v1
        bundle v1 version=1.0.0 display="Community"
    "#,
    );
    let redis = [
        ("redis", 0),
        ("keys", 0),
        ("community-redis-operator", 0),
        ("b-redis-ha", 1),
        ("a-redis-enterprise", 1),
    ];
    assert_eq!(search(&catalog, "redis"), redis);
    assert_eq!(
        search(&catalog, "redis operators"),
        [("keys", 0), ("community-redis-operator", 0), ("redis", 0)]
    );
    assert_eq!(search(&catalog, "operator")[0], ("operator", 0));
    assert_eq!(search(&catalog, "community")[0], ("operator", 0));
}

#[test]
fn letter_case_and_accents_do_not_count() {
    let catalog = fixture::catalog(CATALOG);
    for text in [
        "senor",
        "SEÑOR",
        "sen\u{303}or",
        "lukasz",
        "łUKASZ",
        "messages",
    ] {
        assert_eq!(search(&catalog, text), [("kafka", 5)], "{text}");
    }
    for text in ["muller", "Müller", "sohne", "Sohn"] {
        assert_eq!(search(&catalog, text), [("kafka", 4)], "{text}");
    }
}

#[test]
fn a_search_without_a_word_is_no_condition() {
    let catalog = fixture::catalog(CATALOG);
    for text in ["", "  ", "-*-", "\u{301}"] {
        assert_eq!(search(&catalog, text).len(), 7, "{text:?}");
        assert!(search(&catalog, text).iter().all(|&(_, rank)| rank == 0));
    }
}

#[test]
fn words_of_descriptions_count_from_two_letters_to_forty() {
    let catalog = fixture::catalog(CATALOG);
    assert_eq!(search(&catalog, "0123456789"), [], "a part of a URL");
    assert_eq!(search(&catalog, "example"), [("kafka", 5)]);
    let words = [
        "x",
        "yy",
        &"z".repeat(MAX_WORD_LETTERS),
        &"u".repeat(MAX_WORD_LETTERS + 1),
    ]
    .map(str::to_owned);
    let text = format!(
        "package p default=c description=\"{}\"\nchannel c:",
        words.join(" ")
    );
    let catalog = fixture::catalog(&text);
    let is_found = words.map(|word| !search(&catalog, &word).is_empty());
    assert_eq!(is_found, [false, true, true, false]);
}

#[test]
fn limits_bound_what_is_indexed_and_what_is_searched() {
    let described = |count: usize| {
        let words: Vec<_> = (0..count).map(|word| format!("w{word}")).collect();
        fixture::catalog(&format!(
            "package p default=c description=\"{} last\"\nchannel c:",
            words.join(" ")
        ))
    };
    assert_eq!(
        search(&described(MAX_PACKAGE_WORDS - 2), "last"),
        [("p", 5)]
    );
    assert_eq!(search(&described(MAX_PACKAGE_WORDS - 1), "last"), []);
    let catalog = described(2);
    assert_eq!(
        search(&catalog, &format!("{}none", "w0 ".repeat(MAX_SEARCH_WORDS))),
        [("p", 5)]
    );
    assert_eq!(
        search(
            &catalog,
            &format!("{}none", "w0 ".repeat(MAX_SEARCH_WORDS - 1))
        ),
        []
    );
    let long = "n".repeat(MAX_WORD_LETTERS);
    let catalog = fixture::catalog(&format!("package {long}more default=c\nchannel c:"));
    assert_eq!(
        search(&catalog, &format!("{long}less")).len(),
        1,
        "the beginning of a word counts"
    );
}
