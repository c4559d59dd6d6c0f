//! Files that other users may write to, or that belong to them.

use std::os::unix::fs::{chown, symlink};

use http_content::coding::Coding;

use super::super::CONTENT;
use super::super::tests::{keep_text, open};
use super::*;

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o777
}

#[test]
fn what_others_could_write_to_is_protected_when_the_store_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let digest = keep_text(&store, "a", "a\n");
    store
        .load_or_compress(&digest, b"a\n", Coding::Gzip)
        .unwrap()
        .unwrap();
    assert_eq!(store.unprotected_files(), UnprotectedFiles::default());
    let content = store.content_path(&digest);
    let record = store.record_path("a");
    drop(store);
    // As the kubelet does for a volume with `fsGroup`.
    for path in [&content, &record] {
        set_mode(path, 0o660).unwrap();
    }
    set_mode(&folder.path().join(CONTENT), 0o770).unwrap();
    let store = open(folder.path());
    assert_eq!(
        store.unprotected_files(),
        UnprotectedFiles {
            repaired: 2,
            removed: 0
        }
    );
    assert_eq!(
        [&content, &record, &folder.path().join(CONTENT)].map(|path| mode(path)),
        [0o400, 0o600, 0o750]
    );
    assert_eq!(store.get("a").unwrap().content, "a\n");

    // What becomes writable for others later is not mapped any more.
    set_mode(&content, 0o620).unwrap();
    assert!(store.get("a").is_none());
    let compressed = store.encoded_path(&digest, Coding::Gzip);
    set_mode(&compressed, 0o602).unwrap();
    assert!(store.compressed(&digest, Coding::Gzip).is_none());
}

#[test]
fn a_file_of_another_user_is_as_if_it_was_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let digest = keep_text(&store, "a", "a\n");
    let path = store.content_path(&digest);
    if chown(&path, Some(65534), None).is_err() {
        testing::report_skipped(
            "the rights of root",
            "a file cannot be given to another user",
            "run the tests as root",
        );
        return;
    }
    assert!(store.get("a").is_none());
    drop(store);
    let store = open(folder.path());
    assert_eq!(
        store.unprotected_files(),
        UnprotectedFiles {
            repaired: 0,
            removed: 1
        }
    );
    assert!(!path.exists());
    keep_text(&store, "a", "a\n");
    assert_eq!(store.get("a").unwrap().content, "a\n");
}

#[test]
fn a_link_in_place_of_a_file_is_removed_and_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    fs::write(&outside, "a\n").unwrap();
    let store = open(&folder.path().join("store"));
    let path = store.content_path(&keep_text(&store, "a", "a\n"));
    fs::remove_file(&path).unwrap();
    symlink(&outside, &path).unwrap();
    drop(store);
    let store = open(&folder.path().join("store"));
    assert_eq!(
        store.unprotected_files(),
        UnprotectedFiles {
            repaired: 0,
            removed: 1
        }
    );
    assert_eq!(mode(&outside) & 0o200, 0o200);
}
