//! Compressed forms: made once, kept with their content, and only where there is room.

use std::path::Path;

use http_content::coding::Coding;

use super::super::CONTENT;
use super::super::crash_points::{CrashPoint, DISK_FULL_AT, FileKind};
use super::super::tests::{keep_text, open, open_with};
use super::MAX_COMPRESSION;

/// The names of the compressed forms there are.
fn encoded(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join(CONTENT)).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name.split('.').count() > 2);
    names.sort();
    names
}

#[test]
fn a_compressed_form_is_made_once_and_goes_with_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let text = "{}\n".repeat(1000);
    let digest = keep_text(&store, "key", &text);
    for coding in Coding::ALL {
        let made = store
            .load_or_compress(&digest, text.as_bytes(), coding)
            .unwrap()
            .unwrap();
        // What is there is not made again: what it would be made of does not count.
        assert_eq!(
            store
                .load_or_compress(&digest, b"", coding)
                .unwrap()
                .unwrap(),
            made
        );
    }
    let both = [
        format!("{}.jsonl.gz", digest.hex()),
        format!("{}.jsonl.zst", digest.hex()),
    ];
    assert_eq!(encoded(folder.path()), both);
    drop(store);
    let store = open(folder.path());
    assert_eq!(
        encoded(folder.path()),
        both,
        "the next process has them too"
    );
    keep_text(&store, "key", "{}\n");
    assert_eq!(encoded(folder.path()), [""; 0]);
}

#[test]
fn what_is_not_kept_any_more_has_no_compressed_form() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let digest = keep_text(&store, "key", "{}\n");
    keep_text(&store, "key", "{\"a\":1}\n");
    assert_eq!(
        store
            .load_or_compress(&digest, b"{}\n", Coding::Gzip)
            .unwrap(),
        None
    );
    assert_eq!(encoded(folder.path()), [""; 0]);
}

#[test]
fn compressed_forms_take_no_room_from_contents() {
    let folder = tempfile::tempdir().unwrap();
    let text = "{}\n".repeat(1000);
    let store = open_with(folder.path(), 8_000);
    let digest = keep_text(&store, "key", &text);
    assert!(
        store
            .load_or_compress(&digest, text.as_bytes(), Coding::Gzip)
            .unwrap()
            .is_some()
    );
    // One byte more than is left beside that form.
    let second = "x".repeat(usize::try_from(8_000 - store.used_bytes().unwrap()).unwrap());
    keep_text(&store, "other", &format!("{second}y"));
    assert_eq!(encoded(folder.path()), [""; 0]);
    assert_eq!(
        store
            .load_or_compress(&digest, text.as_bytes(), Coding::Gzip)
            .unwrap(),
        None,
        "there is no room for it"
    );
}

#[test]
fn a_content_is_not_compressed_where_no_compressed_form_can_have_room() {
    let folder = tempfile::tempdir().unwrap();
    let text = "{\"schema\":\"x\"}\n".repeat(10_000);
    let digest = keep_text(&open(folder.path()), "a", &text);
    let used = open(folder.path()).used_bytes().unwrap();
    let smallest = text.len() as u64 / MAX_COMPRESSION;
    let attempt = |quota| {
        let store = open_with(folder.path(), quota);
        // An attempt would fail at its first step.
        DISK_FULL_AT.set(Some((FileKind::Encoded, CrashPoint::Created)));
        let attempt = store.load_or_compress(&digest, text.as_bytes(), Coding::Zstd);
        DISK_FULL_AT.set(None);
        attempt
    };
    assert!(matches!(attempt(used + smallest - 1), Ok(None)));
    assert!(attempt(used + smallest).is_err());
}
