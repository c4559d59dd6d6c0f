//! A stored file is overwritten while its catalog is served.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;

/// A loader that checks what it serves all the time.
fn start(folders: &Folders, desired: Vec<CatalogSpec>) -> Watching {
    let (writer, catalogs) = catalogs();
    let (loader, task) = Loader::new(folders.store(), writer);
    let (sender, events) = unbounded_channel();
    let task = task
        .compress_after(TOO_LONG)
        .check_interval(Some(Duration::from_millis(10)));
    let task = tokio::spawn(task.run(move |event| drop(sender.send(event))));
    // Not refreshed: it is the damage that has a source read again.
    loader.set(desired);
    Watching {
        loader,
        events,
        catalogs,
        task,
    }
}

/// Overwrites the stored lines of a content in place, as another program with the same rights can
/// do.
fn overwrite(folders: &Folders, content: &Content) -> PathBuf {
    let path = folders
        .0
        .path()
        .join(format!("store/content/{}.jsonl", content.digest.hex()));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let text = fs::read_to_string(&path).unwrap().replace("etcd", "evil");
    // Not truncated: the process would end where it reads what is mapped.
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_that_is_overwritten_while_it_is_served_is_read_again_from_its_source() {
    let folders = Folders::new(&[("a", ETCD), ("b", ARGO)]);
    let mut watching = start(
        &folders,
        vec![folders.desired("a", "a"), folders.desired("b", "b")],
    );
    let mut first = [watching.report().await, watching.report().await];
    first.sort_by(|one, other| one.name.cmp(&other.name));
    let before = first[0].content.clone().unwrap();
    let path = overwrite(&folders, &before);

    let damaged = watching.report().await;
    let expected = format!(
        "the stored file `{}` is damaged: another program has written to it, or the disk is faulty; its source is read again",
        path.display()
    );
    assert_eq!(
        (damaged.name.as_str(), damaged.error().unwrap().chain()),
        ("a", expected)
    );
    assert_eq!(damaged.error().unwrap().reason(), FailureReason::Damaged);
    // It is served until its source was read.
    assert!(damaged.content.is_some());

    let mended = watching.report().await;
    assert_eq!(
        (mended.name.as_str(), packages(&mended)),
        ("a", Some(vec!["etcd".to_owned()]))
    );
    let after = mended.content.unwrap();
    assert_eq!(
        (after.digest, after.last_unpacked),
        (before.digest, before.last_unpacked)
    );
    assert!(after.catalog.content() == ETCD_LINE && before.catalog.content() != ETCD_LINE);
    assert_eq!(names(&watching.catalogs), ["a", "b"]);
    // The status follows the report.
    let recovered = async || loop {
        let status = watching.catalogs.snapshot().status("a");
        if status.last_failure.is_none() {
            return status;
        }
        tokio::task::yield_now().await;
    };
    let status = timeout(TOO_LONG, recovered()).await.unwrap();
    assert!(status.last_success.is_some(), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_content_whose_source_is_gone_is_withdrawn() {
    let folders = Folders::new(&[("a", ETCD)]);
    let mut watching = start(&folders, vec![folders.desired("a", "a")]);
    let content = watching.report().await.content.unwrap();
    fs::remove_dir_all(folders.0.path().join("a")).unwrap();
    overwrite(&folders, &content);
    assert_eq!(
        watching.report().await.error().unwrap().reason(),
        FailureReason::Damaged
    );
    let gone = watching.report().await;
    assert!(
        gone.content.is_none() && gone.error().unwrap().reason() == FailureReason::SourceUnreadable
    );
    assert_eq!(names(&watching.catalogs), Vec::<String>::new());
}
