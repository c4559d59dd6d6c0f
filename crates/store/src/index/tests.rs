//! Indexes: stored beside their content, used only as they were written, and trusted for as long as the
//! file of the content is as it was then.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use testing::eventually;

use super::super::crash_points::{CrashPoint, DIE_AT, DISK_FULL_AT};
use super::super::tests::{keep_text, open, open_with, overwrite};
use super::*;

/// Set in the process that is to die, to the folder of its store.
const DIE_IN: &str = "CATALOGQL_TEST_DIE_IN";

/// Every step of writing an index, in order.
const STEPS: [CrashPoint; 5] = [
    CrashPoint::Created,
    CrashPoint::Written,
    CrashPoint::Synced,
    CrashPoint::Renamed,
    CrashPoint::FolderSynced,
];

fn save(store: &Store, digest: &Digest, index: &str) -> Result<bool, StoreError> {
    store.save_index(digest, |to| to.write_all(index.as_bytes()))
}

fn whole(index: &'static str) -> StoredIndex {
    StoredIndex::Whole(Bytes::from_static(index.as_bytes()))
}

/// The names of all indexes, also of unfinished ones.
fn indexes(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join(CONTENT)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let others = paths.filter(|path| path.extension().is_none_or(|end| end != "jsonl"));
    others
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn an_index_is_given_to_the_next_process_and_goes_with_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let digest = keep_text(&store, "key", "{}\n");
    assert_eq!(
        (store.index(&digest), store.has_index(&digest)),
        (StoredIndex::Absent, false)
    );
    assert!(save(&store, &digest, "first").unwrap());
    assert!(
        save(&store, &digest, "latter").unwrap(),
        "it may be replaced"
    );
    assert_eq!(
        (store.index(&digest), store.has_index(&digest)),
        (whole("latter"), true)
    );
    drop(store);
    let store = open(folder.path());
    assert_eq!(store.get("key").unwrap().index, whole("latter"));
    keep_text(&store, "key", "other\n");
    assert_eq!(indexes(folder.path()), [""; 0]);
    assert!(
        !save(&store, &digest, "late").unwrap(),
        "its content is gone"
    );
    assert_eq!(indexes(folder.path()), [""; 0]);
}

#[test]
fn an_index_of_another_build_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let digest = keep_text(&store, "key", "{}\n");
    save(&store, &digest, "index").unwrap();
    drop(store);
    let store = Store::open(folder.path(), u64::MAX, "next build").unwrap();
    assert_eq!(store.index(&digest), StoredIndex::Absent);
    assert!(!store.has_index(&digest));
    save(&store, &digest, "next").unwrap();
    assert_eq!(store.index(&digest), whole("next"));
}

#[test]
fn an_index_that_is_not_as_it_was_written_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let digest = keep_text(&store, "key", "{}\n");
    let other = keep_text(&store, "other", "other\n");
    save(&store, &digest, "index").unwrap();
    save(&store, &other, "other").unwrap();
    let path = store.index_path(&digest);
    let bytes = fs::read(&path).unwrap();
    let damaged = StoredIndex::Damaged(path.clone());
    for length in 0..bytes.len() {
        overwrite(&path, &bytes[..length]);
        assert_eq!(store.index(&digest), damaged, "{length} bytes");
    }
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        overwrite(&path, &flipped);
        assert_eq!(store.index(&digest), damaged, "byte {at}");
    }
    let other_bytes = fs::read(store.index_path(&other)).unwrap();
    overwrite(&path, &other_bytes);
    assert_eq!(store.index(&digest), damaged, "that of another content");
    overwrite(&path, &bytes);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o602)).unwrap();
    assert_eq!(store.index(&digest), damaged, "others can write to it");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(store.index(&digest), whole("index"));
}

#[test]
fn an_index_counts_towards_the_quota_and_is_not_stored_beyond_it() {
    let folder = tempfile::tempdir().unwrap();
    let digest = keep_text(&open(folder.path()), "key", "{}\n");
    let used = open(folder.path()).usage().unwrap().bytes;
    let index = used + (5 + END_BYTES) as u64;

    let store = open_with(folder.path(), index - 1);
    assert!(!save(&store, &digest, "index").unwrap());
    assert_eq!(
        (indexes(folder.path()), store.has_index(&digest)),
        (Vec::new(), false)
    );
    drop(store);

    let store = open_with(folder.path(), index);
    assert!(save(&store, &digest, "index").unwrap());
    assert_eq!(store.usage().unwrap().bytes, index);
    assert!(
        save(&store, &digest, "other").unwrap(),
        "in place of the former"
    );
}

#[test]
fn a_full_disk_at_any_step_is_an_error_and_leaves_the_former_index_or_the_new_one() {
    for step in STEPS {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let digest = keep_text(&store, "key", "{}\n");
        save(&store, &digest, "former").unwrap();
        DISK_FULL_AT.set(Some((FileKind::Index, step)));
        let error = save(&store, &digest, "latter").unwrap_err();
        DISK_FULL_AT.set(None);
        assert!(error.to_string().contains("cannot"), "{error}");
        let left = store.index(&digest).whole().unwrap();
        assert!(left == "former" || left == "latter", "{step:?}");
        assert_eq!(store.get("key").unwrap().content, "{}\n");
        assert_eq!(indexes(folder.path()).len(), 1, "{step:?}");
    }
}

#[test]
fn a_kill_at_any_step_leaves_the_former_index_or_the_new_one() {
    if let Ok(folder) = std::env::var(DIE_IN) {
        let store = open(Path::new(&folder));
        let digest = store.last_digest("key").unwrap();
        save(&store, &digest, "latter").unwrap();
        return;
    }
    for step in STEPS {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let digest = keep_text(&store, "key", "{}\n");
        save(&store, &digest, "former").unwrap();
        drop(store);
        let status = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "index::tests::a_kill_at_any_step_leaves_the_former_index_or_the_new_one",
            ])
            .env(DIE_AT, format!("{:?} {step:?}", FileKind::Index))
            .env(DIE_IN, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(signal, Some(6), "{step:?} was reached");

        let store = open(folder.path());
        let is_done = matches!(step, CrashPoint::Renamed | CrashPoint::FolderSynced);
        let expected = whole(if is_done { "latter" } else { "former" });
        assert_eq!(store.get("key").unwrap().index, expected, "{step:?}");
        assert_eq!(indexes(folder.path()).len(), 1, "{step:?}");
    }
}

/// Opens the store until the seal of its content is old enough to be relied on, and returns it.
fn open_by_seal(folder: &Path, digest: Digest) -> Store {
    eventually(|| {
        let store = open(folder);
        store.get("key").unwrap();
        (store.unverified() == [digest]).then_some(store)
    })
}

#[test]
fn a_content_that_is_as_its_seal_says_is_hashed_after_it_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let digest = keep_text(&store, "key", "{}\n");
    save(&store, &digest, "index").unwrap();
    drop(store);

    let store = open_by_seal(folder.path(), digest);
    assert!(store.has_index(&digest));
    assert_eq!(store.find_damage(&digest), None);
    assert_eq!(store.unverified(), [], "it was hashed");
    drop(store);

    // As a disk would forget it.
    let store = open_by_seal(folder.path(), digest);
    let path = store.content_path(&digest);
    overwrite(&path, b"[]\n");
    assert_eq!(store.find_damage(&digest), Some(path));
    assert!(
        store.get("key").is_none(),
        "its file is not as the seal says"
    );
}

#[test]
fn a_content_whose_file_is_another_one_is_hashed_and_its_index_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let digest = keep_text(&store, "key", "{}\n");
    save(&store, &digest, "index").unwrap();
    let path = store.content_path(&digest);
    drop(store);
    // As restoring a backup does.
    let copy = path.with_extension("copy");
    fs::copy(&path, &copy).unwrap();
    fs::rename(&copy, &path).unwrap();

    let store = open(folder.path());
    let stored = store.get("key").unwrap();
    assert_eq!(
        (stored.index, store.unverified()),
        (whole("index"), Vec::new())
    );
    assert!(
        !store.has_index(&digest),
        "its seal is that of the former file"
    );
    // What was hashed is sealed once it is old enough.
    eventually(|| {
        store.get("key").unwrap();
        save(&store, &digest, "index").unwrap();
        is_sealed(&store, digest).then_some(())
    });
}

/// Returns whether the seal in the index is that of the file.
fn is_sealed(store: &Store, digest: Digest) -> bool {
    let index = store.read_index(&digest).unwrap().unwrap();
    store.verified.seal(&store.content_path(&digest), digest) == Some(index.seal)
}
