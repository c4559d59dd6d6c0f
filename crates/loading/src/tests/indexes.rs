//! Indexes of contents: stored after a content is published, read at the next start, and built again
//! where they are damaged.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serving::Snapshot;

use super::*;

/// The stored index of the only content.
fn index(folders: &Folders) -> PathBuf {
    let entries = fs::read_dir(folders.0.path().join("store/content")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut indexes = paths.filter(|path| path.extension().is_some_and(|end| end == "index"));
    indexes.next().unwrap()
}

fn overwrite(path: &Path, bytes: &[u8]) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(path, bytes).unwrap();
}

fn has_stored_index(snapshot: &Snapshot, name: &str) -> bool {
    let served = snapshot.get(name).unwrap();
    served.content.catalog.has_stored_index()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_is_published_again_with_its_stored_index_and_the_same_revision() {
    let folders = Folders::new(&[("a", ETCD), ("b", ETCD)]);
    let desired = vec![folders.desired("a", "a"), folders.desired("b", "b")];
    let mut watching = Watching::start(&folders, desired);
    let first = watching.report().await.content.unwrap();
    assert!(!first.catalog.has_stored_index(), "it is not waited for");
    watching.report().await;
    let before = watching.catalogs.snapshot();
    let stored = async || loop {
        let snapshot = watching.catalogs.snapshot();
        if ["a", "b"]
            .iter()
            .all(|name| has_stored_index(&snapshot, name))
        {
            return snapshot;
        }
        tokio::task::yield_now().await;
    };
    let after = timeout(TOO_LONG, stored()).await.unwrap();
    assert_eq!(after.revision(), before.revision());
    let [one, other] = ["a", "b"].map(|name| after.get(name).unwrap());
    assert!(
        one.content
            .catalog
            .shares_index_with(&other.content.catalog)
    );

    // A content that replaces another one is published with its stored index at once.
    folders.write("a", ARGO);
    let replaced = watching.report().await;
    assert_eq!(packages(&replaced), Some(vec!["argo".to_owned()]));
    assert!(replaced.content.unwrap().catalog.has_stored_index());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_reads_the_stored_index_and_a_damaged_one_is_built_again() {
    let folders = Folders::new(&[("a", ETCD)]);
    // An equal revision of a directory proves an equal content only some time after a change.
    let is_stored = async || {
        let (reports, catalogs) = folders.load(vec![folders.desired("a", "a")]).await;
        assert_eq!(packages(&reports[0]), Some(vec!["etcd".to_owned()]));
        assert!(has_stored_index(&catalogs.snapshot(), "a"), "in the end");
        reports[0]
            .content
            .as_ref()
            .unwrap()
            .catalog
            .has_stored_index()
    };
    let read = async || while !is_stored().await {};
    timeout(TOO_LONG, read()).await.unwrap();
    assert!(is_stored().await);

    let path = index(&folders);
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [
        &whole[..whole.len() / 2],
        &whole[..whole.len() - 1],
        b"".as_slice(),
        flipped.as_slice(),
    ] {
        overwrite(&path, damaged);
        assert!(!is_stored().await, "it is built from the lines");
        assert_eq!(
            fs::read(&path).unwrap().len(),
            whole.len(),
            "and stored again"
        );
        assert!(is_stored().await);
    }
}
