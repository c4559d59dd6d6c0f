//! The words of many catalogs: what a search finds with them, and when there are any.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use serving::{CatalogMetadata, CatalogsWriter, Served, Visibility};
use tokio::time::timeout;

use super::{COLLECTED_CONTENTS, CollectedWords};
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

/// The data and the units of work of a search.
fn search(engine: &Engine, text: &str) -> (Value, u64) {
    let query = format!(
        "{{ packages(filter: {{search: \"{text}\"}}) {{ totalCount edges {{ cursor matched }} }} }}"
    );
    let answer = engine.execute(&Request {
        query: Some(query.into()),
        extensions: json!({"cost": true}).as_object().cloned(),
        ..Request::default()
    });
    let mut body: Value = serde_json::from_slice(&answer.body).unwrap();
    let work = body["extensions"]["cost"]["actualQueryCost"]
        .as_u64()
        .unwrap();
    (body["data"].take(), work)
}

fn engine(catalogs: impl IntoIterator<Item = Served>) -> (CatalogsWriter, Engine) {
    let (writer, reader) = publish(catalogs);
    (writer, Engine::new(reader, "test", Limits::default()))
}

fn contents() -> u8 {
    u8::try_from(COLLECTED_CONTENTS).unwrap()
}

#[test]
fn a_search_finds_the_same_with_less_work() {
    let (mut writer, engine) = engine((0..2 * contents()).map(catalog));
    let expected = SEARCHES.map(|text| search(&engine, text));
    engine.collect_search_words();
    for (text, (data, work)) in SEARCHES.iter().zip(&expected) {
        let (found, less) = search(&engine, text);
        assert_eq!(&found, data, "{text}");
        assert!(
            less <= *work && (less < *work) == (text.len() > 4),
            "{text}: {less} of {work}"
        );
    }

    // A catalog that is published later has a word that no other catalog has.
    writer.publish(catalog(100));
    writer.withdraw("c0");
    let expected = ["word200", "wrod201", "word0", "wodr1"].map(|text| search(&engine, text));
    engine.collect_search_words();
    for (text, (data, work)) in ["word200", "wrod201", "word0", "wodr1"]
        .iter()
        .zip(expected)
    {
        let (found, less) = search(&engine, text);
        assert_eq!(found, data, "{text}");
        assert!(less < work, "{text}: {less} of {work}");
    }
}

#[test]
fn the_words_of_few_contents_are_not_collected() {
    for (count, is_collected) in [(contents() - 1, false), (contents(), true)] {
        let catalogs = (0..count).map(catalog).chain((0..3).map(|at| {
            Served::new(
                format!("copy{at}"),
                catalog(0).content,
                CatalogMetadata::default(),
            )
        }));
        let (_writer, engine) = engine(catalogs);
        let (_, work) = search(&engine, "databsae");
        engine.collect_search_words();
        assert_eq!(
            search(&engine, "databsae").1 < work,
            is_collected,
            "{count}"
        );
    }
}

#[test]
fn more_words_than_the_maximum_are_not_collected() {
    let (_writer, reader) = publish((0..contents()).map(catalog));
    let snapshot = reader.snapshot();
    let all = CollectedWords::collect(&snapshot, None, usize::MAX);
    let count = all.words.as_ref().unwrap().len();
    for (maximum, is_collected) in [(count, true), (count - 1, false)] {
        let collected = CollectedWords::collect(&snapshot, None, maximum);
        assert_eq!(collected.words.is_some(), is_collected, "{maximum}");
    }
}

#[test]
fn words_of_contents_that_are_gone_do_not_exceed_the_maximum() {
    let (mut writer, reader) = publish((0..contents()).map(catalog));
    let former = CollectedWords::collect(&reader.snapshot(), None, usize::MAX);
    writer.withdraw("c0");
    writer.publish(catalog(contents()));
    let snapshot = reader.snapshot();
    let maximum = former.words.as_ref().unwrap().len();
    let collected = CollectedWords::collect(&snapshot, Some(&former), maximum);
    assert_eq!(collected.words.unwrap().len(), maximum);
}

#[test]
fn words_of_contents_that_are_gone_are_dropped_when_they_are_most() {
    let (mut writer, reader) = publish((0..contents()).map(catalog));
    let mut collected = CollectedWords::collect(&reader.snapshot(), None, usize::MAX);
    let count = |collected: &CollectedWords| collected.words.as_ref().unwrap().len();
    let few = count(&collected);
    for number in 0..4 * contents() {
        writer.withdraw(&format!("c{number}"));
        writer.publish(catalog(number + contents()));
        collected = CollectedWords::collect(&reader.snapshot(), Some(&collected), usize::MAX);
        assert!(
            count(&collected) <= 3 * few,
            "{number}: {}",
            count(&collected)
        );
    }
}

#[test]
fn what_is_hidden_changes_no_search() {
    let visible: Vec<String> = (0..contents()).map(|number| format!("c{number}")).collect();
    let works = |all: u8| {
        let (_writer, reader) = publish((0..all).map(catalog));
        let reader = reader.visible(Visibility::only(visible.iter().cloned()));
        let engine = Engine::new(reader, "test", Limits::default());
        // Those of every catalog, as the server collects them.
        engine.collect_search_words();
        ["databsae", "wrod31"].map(|text| search(&engine, text))
    };
    // The second word is in a hidden catalog.
    assert_eq!(works(2 * contents()), works(2 * contents() - 1));
}

#[tokio::test]
async fn words_are_collected_in_the_background_after_a_search_missed_them() {
    let (_writer, engine) = engine((0..contents()).map(catalog));
    let engine = Arc::new(engine);
    let collecting = Arc::clone(&engine);
    let task = tokio::spawn(async move { collecting.collect_missed_search_words().await });
    let (_, work) = search(&engine, "databsae");
    let collected = async {
        while search(&engine, "databsae").1 == work {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), collected)
        .await
        .expect("they are collected");
    task.abort();
}
