//! Outlines: kept while a source gave their content among its last ones, across restarts, and
//! believed only when whole.

use std::fs;
use std::path::Path;

use fbc::outline::REMEMBERED;
use fbc::{Catalog, Outline};
use fbc_grammar::Digest;
use fbc_read::Origins;

use super::super::tests::{keep_text, open, open_with};
use super::super::{OUTLINES, PreviousContent, Store};

/// Keeps a content whose text is this, with an outline.
fn keep(store: &Store, key: &str, text: &str) -> Digest {
    let digest = keep_text(store, key, text);
    store.save_outline(&digest, &outline()).unwrap();
    digest
}

/// Some outline: the store does not know what it is of.
fn outline() -> Outline {
    Outline::from_catalog(&Catalog::build(bytes::Bytes::new(), &Origins::default()).unwrap())
}

fn digests(store: &Store, key: &str) -> Vec<Digest> {
    store
        .outlines(key)
        .into_iter()
        .map(|(content, _)| content.digest)
        .collect()
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder.join(OUTLINES)).unwrap().count()
}

#[test]
fn as_many_former_contents_are_remembered_as_the_limit_says_and_across_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut kept: Vec<_> = (0..=REMEMBERED + 1)
        .map(|number| keep(&store, "a", &format!("{number}\n")))
        .collect();
    kept.remove(0);
    kept.reverse();
    assert_eq!(
        (kept.len(), digests(&store, "a")),
        (REMEMBERED + 1, kept.clone())
    );
    drop(store);
    let store = open(folder.path());
    assert_eq!(
        (digests(&store, "a"), files(folder.path())),
        (kept.clone(), REMEMBERED + 1)
    );
    // What comes back was not among the former ones meanwhile.
    let again = keep(&store, "a", &format!("{REMEMBERED}\n"));
    assert_eq!(again, kept[1]);
    kept.swap(0, 1);
    assert_eq!(digests(&store, "a"), kept);
}

#[test]
fn an_outline_goes_with_the_last_source_that_gave_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let both = keep(&store, "a", "1\n");
    assert_eq!(keep(&store, "b", "1\n"), both);
    store.forget("a").unwrap();
    assert_eq!(
        (digests(&store, "a"), digests(&store, "b")),
        (vec![], vec![both])
    );
    store.forget("b").unwrap();
    assert_eq!(files(folder.path()), 0);
}

#[test]
fn an_outline_that_is_damaged_or_of_another_format_is_as_if_not_there_and_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let digest = keep(&store, "a", "1\n");
    let mut former = outline().as_bytes().to_vec();
    former[7] -= 1;
    for unusable in [&b"damaged"[..], &former] {
        fs::write(store.outline_path(&digest), unusable).unwrap();
        assert_eq!(digests(&store, "a"), []);
        store.save_outline(&digest, &outline()).unwrap();
        assert_eq!(digests(&store, "a"), [digest]);
    }
}

#[test]
fn an_outline_is_kept_only_where_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let used = {
        let store = open(folder.path());
        keep(&store, "a", "1\n");
        store.used_bytes().unwrap()
    };
    for (quota, expected) in [(used, 1), (used - 1, 0)] {
        let store = open_with(folder.path(), quota);
        fs::remove_dir_all(folder.path().join(OUTLINES)).unwrap();
        fs::create_dir(folder.path().join(OUTLINES)).unwrap();
        let digest = store.record("a").unwrap().content;
        store.save_outline(&digest, &outline()).unwrap();
        assert_eq!(digests(&store, "a").len(), expected, "{quota}");
    }
}

#[test]
fn image_and_time_of_a_former_content_are_remembered_across_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    keep(&store, "a", "1\n");
    let first = store.record("a").unwrap();
    keep(&store, "a", "2\n");
    drop(store);
    let store = open(folder.path());
    let former = PreviousContent {
        digest: first.content,
        image: None,
        first_read_at: Some(first.first_read_at),
    };
    assert_eq!(store.outlines("a")[1].0, former);
    // An earlier build knew only the digests.
    let path = store.record_path("a");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["former"] = serde_json::json!([first.content.to_string()]);
    fs::write(&path, record.to_string()).unwrap();
    assert_eq!(
        store.outlines("a")[1].0,
        PreviousContent {
            first_read_at: None,
            ..former
        }
    );
}
