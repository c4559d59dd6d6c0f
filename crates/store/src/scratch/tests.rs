//! Folders that are gone when they are dropped, and at the latest when the store is opened again.

use std::{io, mem};

use super::super::crash_points::DISK_FULL_AT;
use super::super::tests::open;
use super::*;

fn left(folder: &Path) -> usize {
    fs::read_dir(folder.join(SCRATCH)).map_or(0, Iterator::count)
}

#[test]
fn each_is_a_folder_of_its_own_and_gone_when_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let one = store.create_scratch_folder().unwrap();
    let other = store.create_scratch_folder().unwrap();
    for scratch in [&one, &other] {
        fs::write(scratch.create_folder("layers").unwrap().join("1"), "layer").unwrap();
    }
    drop(one);
    assert_eq!(left(folder.path()), 1);
    drop(other);
    assert_eq!(left(folder.path()), 0);
}

#[test]
fn what_a_kill_left_is_swept_when_the_store_is_opened_and_what_others_put_there_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let scratch = store.create_scratch_folder().unwrap();
    fs::write(scratch.create_folder("files").unwrap().join("1"), "file").unwrap();
    mem::forget(scratch);
    fs::create_dir(folder.path().join(SCRATCH).join("a user's")).unwrap();
    drop(store);
    open(folder.path());
    assert_eq!(left(folder.path()), 1);
}

#[test]
fn what_is_in_it_counts_against_no_quota_and_survives_a_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 0, "build").unwrap();
    let path = store
        .create_scratch_folder()
        .unwrap()
        .create_folder("layers")
        .unwrap();
    let scratch = store.create_scratch_folder().unwrap();
    fs::write(scratch.create_folder("layers").unwrap().join("1"), "layer").unwrap();
    store.collect_garbage().unwrap();
    assert_eq!((store.used_bytes().unwrap(), left(folder.path())), (0, 1));
    assert!(!path.exists());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    fs::write(folder.path().join(SCRATCH), "a file").unwrap();
    let error = store.create_scratch_folder().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot create the folder `{}`",
            folder.path().join(SCRATCH).display()
        )
    );
}

#[test]
fn a_full_disk_is_an_error_that_names_a_path_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let scratch = store.create_scratch_folder().unwrap();
    DISK_FULL_AT.set(Some((FileKind::Scratch, CrashPoint::Created)));
    let errors = [
        store.create_scratch_folder().map(drop).unwrap_err(),
        scratch.create_folder("layers").map(drop).unwrap_err(),
    ];
    DISK_FULL_AT.set(None);
    for error in errors {
        let StoreError::Io { path, source, .. } = error else {
            panic!("{error}")
        };
        assert!(
            path.starts_with(folder.path().join(SCRATCH)),
            "{}",
            path.display()
        );
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    }
    drop(scratch);
    assert_eq!(left(folder.path()), 0);
}
