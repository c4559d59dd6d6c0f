//! The search index of many catalogs: what a search finds with it, and when there is one.

use std::sync::Arc;
use std::time::Duration;

use fbc::MergedSearchLimits;
use serde_json::{Value, json};
use serving::{CatalogMetadata, CatalogsWriter, Served, Visibility};
use tokio::time::timeout;

use super::{EAGERLY_MERGED_CATALOGS, MERGED_CONTENTS, MERGED_LIMITS, MergedContents};
use crate::limits::Limits;
use crate::tests::fixture::{publish, served};
use crate::{Engine, Request};

const SEARCHES: [&str; 7] = [
    "database",
    "databsae",
    "dtabase",
    "word3 backup",
    "bakcup databas",
    "common",
    "nothing",
];

/// A catalog with words of its own and words that others have.
fn catalog(number: u8) -> Served {
    let words = ["database", "backup", "common", "queue"];
    let lines = [0, 1].map(|package| {
        let own = format!("word{}", number * 2 + package);
        let shared = words[usize::from(number + package) % words.len()];
        json!({"description": format!("{own} {shared} common"), "name": format!("p{package}-{own}"), "schema": "olm.package"})
            .to_string()
    });
    served(&format!("c{number}"), &lines, number)
}

/// The data and the units of work of a connection of packages.
fn packages(engine: &Engine, arguments: &str, fields: &str) -> (Value, u64) {
    let query = format!("{{ packages({arguments}) {{ {fields} }} }}");
    let answer = engine.execute(&Request {
        query: Some(query.into()),
        extensions: json!({"cost": true}).as_object().cloned(),
        ..Request::default()
    });
    let mut body: Value = serde_json::from_slice(&answer.body).unwrap();
    let work = body["extensions"]["cost"]["actualQueryCost"]
        .as_u64()
        .unwrap_or_else(|| panic!("{body}"));
    (body["data"].take(), work)
}

/// The data and the units of work of a search.
fn search(engine: &Engine, text: &str) -> (Value, u64) {
    let arguments = format!("filter: {{search: \"{text}\"}}");
    packages(
        engine,
        &arguments,
        "totalCount edges { cursor matched node { name } }",
    )
}

fn engine(catalogs: impl IntoIterator<Item = Served>) -> (CatalogsWriter, Engine) {
    let (writer, reader) = publish(catalogs);
    (writer, Engine::new(reader, "test", Limits::default()))
}

fn contents() -> u8 {
    u8::try_from(MERGED_CONTENTS).unwrap()
}

fn copies(count: u8) -> impl Iterator<Item = Served> {
    let content = catalog(0).content;
    (0..count).map(move |at| {
        let name = format!("copy{at}");
        Served::new(name, content.clone(), CatalogMetadata::default())
    })
}

#[test]
fn a_search_finds_the_same_with_less_work() {
    let (mut writer, engine) = engine((0..2 * contents()).map(catalog));
    let expected = SEARCHES.map(|text| search(&engine, text));
    engine.merge_search_indexes();
    for (text, (data, work)) in SEARCHES.iter().zip(&expected) {
        let (found, less) = search(&engine, text);
        assert_eq!(&found, data, "{text}");
        assert!(less < *work, "{text}: {less} of {work}");
    }

    // A catalog that is published later has a word that no other catalog has.
    writer.publish(catalog(100));
    writer.withdraw("c0");
    let later = ["word200", "wrod201", "word0", "wodr1"];
    let stale = later.map(|text| search(&engine, text));
    engine.merge_search_indexes();
    let merged = later.map(|text| search(&engine, text));
    let (_, fresh) = self::engine((1..2 * contents()).map(catalog).chain([catalog(100)]));
    let expected = later.map(|text| search(&fresh, text));
    for at in 0..later.len() {
        assert_eq!(merged[at].0, expected[at].0, "{}", later[at]);
        assert_eq!(stale[at].0, expected[at].0, "{}", later[at]);
        assert!(merged[at].1 < stale[at].1, "{}", later[at]);
        assert!(stale[at].1 < expected[at].1, "{}", later[at]);
    }
}

#[test]
fn every_list_is_the_same_with_the_index() {
    let catalogs = || (0..2 * contents()).map(catalog).chain(copies(3));
    let (_writer, each) = engine(catalogs());
    let (_writer, merged) = engine(catalogs());
    merged.merge_search_indexes();
    let few: Vec<_> = (0..contents()).map(|at| format!("\"c{at}\"")).collect();
    let few = few.join(", ");
    for search in SEARCHES {
        for (filter, order, catalogs) in [
            ("", "", ""),
            ("", "orderBy: {field: RELEVANCE, direction: DESC}", ""),
            ("", "orderBy: {field: NAME, direction: DESC}", ""),
            ("deprecated: false", "", ""),
            ("", "", few.as_str()),
        ] {
            let catalogs = if catalogs.is_empty() {
                String::new()
            } else {
                format!("catalogs: [{catalogs}]")
            };
            let list = format!("filter: {{search: \"{search}\", {filter}}} {order} {catalogs}");
            for facets in [
                "",
                "facets { keywords { value count } catalogs { value count } }",
            ] {
                let fields = format!(
                    "totalCount pageInfo {{ hasPreviousPage hasNextPage startCursor endCursor }} {facets} \
                     edges {{ cursor matched node {{ name catalog {{ name }} }} }}"
                );
                let (expected, _) = packages(&each, &list, &fields);
                assert_eq!(packages(&merged, &list, &fields).0, expected, "{list}");

                let page = &expected["packages"]["pageInfo"];
                let [start, end] = ["startCursor", "endCursor"].map(|name| &page[name]);
                for place in [
                    "first: 3",
                    "last: 3",
                    &format!("first: 3 after: {start}"),
                    &format!("last: 3 before: {end}"),
                ] {
                    let list = format!("{list} {place}");
                    let (expected, _) = packages(&each, &list, &fields);
                    assert_eq!(packages(&merged, &list, &fields).0, expected, "{list}");
                }
            }
        }
    }
}

#[test]
fn the_indexes_of_few_contents_are_not_merged() {
    for (count, is_merged) in [(contents() - 1, false), (contents(), true)] {
        let (_writer, engine) = engine((0..count).map(catalog).chain(copies(3)));
        let (_, work) = search(&engine, "databsae");
        engine.merge_search_indexes();
        let (_, after) = search(&engine, "databsae");
        assert_eq!(after < work, is_merged, "{count}");
    }
}

#[test]
fn an_index_above_a_limit_is_not_made() {
    let (_writer, reader) = publish((0..contents()).map(catalog));
    let snapshot = reader.snapshot();
    let all = MergedContents::of(&snapshot, None, MERGED_LIMITS).unwrap();
    let limits = size(&all);
    assert!(MergedContents::of(&snapshot, None, limits).is_some());
    let fewer_packages = MergedSearchLimits {
        packages: limits.packages - 1,
        ..limits
    };
    let fewer_words = MergedSearchLimits {
        words: limits.words - 1,
        ..limits
    };
    let fewer_postings = MergedSearchLimits {
        postings: limits.postings - 1,
        ..limits
    };
    for limits in [fewer_packages, fewer_words, fewer_postings] {
        assert!(MergedContents::of(&snapshot, None, limits).is_none());
    }
}

#[test]
fn contents_that_are_gone_leave_room_for_others() {
    let (mut writer, reader) = publish((0..contents()).map(catalog));
    let former = MergedContents::of(&reader.snapshot(), None, MERGED_LIMITS);
    writer.withdraw("c0");
    writer.publish(catalog(contents()));
    let limits = size(former.as_ref().unwrap());
    let merged = MergedContents::of(&reader.snapshot(), former, limits);
    assert_eq!(size(&merged.unwrap()), limits);
}

#[test]
fn contents_that_are_gone_are_dropped_when_they_are_most() {
    let (mut writer, reader) = publish((0..contents()).map(catalog));
    let mut merged = MergedContents::of(&reader.snapshot(), None, MERGED_LIMITS);
    let few = size(merged.as_ref().unwrap()).words;
    for number in 0..4 * contents() {
        writer.withdraw(&format!("c{number}"));
        writer.publish(catalog(number + contents()));
        merged = MergedContents::of(&reader.snapshot(), merged, MERGED_LIMITS);
        let words = size(merged.as_ref().unwrap()).words;
        assert!(words <= 3 * few, "{number}: {words}");
    }
}

#[test]
fn what_is_hidden_changes_no_search() {
    let visible: Vec<String> = (0..contents()).map(|number| format!("c{number}")).collect();
    let works = |all: u8| {
        let (_writer, reader) = publish((0..all).map(catalog));
        let reader = reader.visible(Visibility::only(visible.iter().cloned()));
        let engine = Engine::new(reader, "test", Limits::default());
        // That of every catalog, as the server makes it.
        engine.merge_search_indexes();
        ["databsae", "wrod31"].map(|text| search(&engine, text))
    };
    // The second word is in a hidden catalog.
    assert_eq!(works(2 * contents()), works(2 * contents() - 1));
}

#[tokio::test]
async fn indexes_are_merged_in_the_background_after_a_search_missed_them() {
    let (_writer, engine) = engine((0..contents()).map(catalog));
    let engine = Arc::new(engine);
    let merging = Arc::clone(&engine);
    let task = tokio::spawn(async move { merging.merge_missed_search_indexes().await });
    let (_, work) = search(&engine, "databsae");
    let merged = async {
        while search(&engine, "databsae").1 == work {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), merged)
        .await
        .expect("they are merged");
    task.abort();
}

#[tokio::test]
async fn indexes_of_many_catalogs_are_merged_before_a_search_misses_them() {
    let many = u8::try_from(EAGERLY_MERGED_CATALOGS).unwrap() - contents();
    let (_writer, engine) = engine((0..contents()).map(catalog).chain(copies(many)));
    let engine = Arc::new(engine);
    let merging = Arc::clone(&engine);
    let task = tokio::spawn(async move { merging.merge_missed_search_indexes().await });
    let merged = async {
        while engine.search_index.current.load().is_none() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), merged)
        .await
        .expect("they are merged");
    task.abort();
}

fn size(merged: &MergedContents) -> MergedSearchLimits {
    MergedSearchLimits {
        packages: merged.index.packages(),
        words: merged.index.words(),
        postings: merged.index.postings(),
    }
}
