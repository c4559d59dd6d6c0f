//! Change logs: each change of a content is recorded once, whatever happens between two loads.

use std::fmt::Write as _;
use std::fs;

use serving::{Catalogs, ChangeSet};

use super::*;

/// A package with these versions in its channel.
fn etcd(versions: u32) -> String {
    let mut text =
        "{\"schema\":\"olm.package\",\"name\":\"etcd\",\"defaultChannel\":\"stable\"}\n".to_owned();
    let mut entries = Vec::new();
    for version in 1..=versions {
        let name = format!("etcd.v{version}.0.0");
        writeln!(
            text,
            "{{\"schema\":\"olm.bundle\",\"package\":\"etcd\",\"name\":\"{name}\",\"image\":\"i\",\"properties\":[{{\"type\":\"olm.package\",\"value\":{{\"packageName\":\"etcd\",\"version\":\"{version}.0.0\"}}}}]}}"
        )
        .unwrap();
        let replaces = format!("etcd.v{}.0.0", version - 1);
        entries.push(if version == 1 {
            format!("{{\"name\":\"{name}\"}}")
        } else {
            format!("{{\"name\":\"{name}\",\"replaces\":\"{replaces}\"}}")
        });
    }
    writeln!(
        text,
        "{{\"schema\":\"olm.channel\",\"package\":\"etcd\",\"name\":\"stable\",\"entries\":[{}]}}",
        entries.join(",")
    )
    .unwrap();
    text
}

fn sets(catalogs: &Catalogs) -> Vec<ChangeSet> {
    let snapshot = catalogs.snapshot();
    let served = snapshot.get("a").unwrap();
    snapshot.change_log(served).sets().collect()
}

/// Names of the bundles that each set adds, earliest first.
fn added(catalogs: &Catalogs) -> Vec<Vec<String>> {
    let mut all: Vec<_> = sets(catalogs)
        .into_iter()
        .map(|set| set.packages.into_iter().flat_map(|it| it.added).collect())
        .collect();
    all.reverse();
    all
}

fn bundle(version: u32) -> String {
    format!("etcd.v{version}.0.0")
}

/// Loads the directory once, in a process of its own as far as the store knows.
async fn load(folders: &Folders, versions: u32) -> Catalogs {
    folders.write("a", &etcd(versions));
    folders.load(vec![folders.desired("a", "a")]).await.1
}

/// The files of change logs in the store.
fn logs(folders: &Folders) -> Vec<std::path::PathBuf> {
    let folder = folders.0.path().join("store/changes");
    let files = fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_recorded_across_restarts_and_an_unchanged_content_adds_none() {
    let folders = Folders::new(&[]);
    load(&folders, 1).await;
    load(&folders, 2).await;
    load(&folders, 2).await;
    let catalogs = load(&folders, 4).await;
    let expected = [vec![], vec![bundle(2)], vec![bundle(3), bundle(4)]];
    assert_eq!(added(&catalogs), expected);
    let heads: Vec<_> = sets(&catalogs)
        .into_iter()
        .flat_map(|set| set.packages)
        .flat_map(|package| package.heads)
        .map(|head| [head.from.unwrap(), head.to.unwrap()])
        .collect();
    assert_eq!(heads, [[bundle(2), bundle(4)], [bundle(1), bundle(2)]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_was_published_and_not_recorded_is_recorded_after_the_restart() {
    let folders = Folders::new(&[]);
    load(&folders, 1).await;
    let [log] = &logs(&folders)[..] else {
        panic!("one log")
    };
    let before = fs::read(log).unwrap();
    load(&folders, 2).await;
    // As a kill between the publication and the write of the log leaves it.
    fs::remove_file(log).unwrap();
    fs::write(log, before).unwrap();
    fs::set_permissions(log, std::os::unix::fs::PermissionsExt::from_mode(0o400)).unwrap();

    let catalogs = load(&folders, 2).await;
    assert_eq!(added(&catalogs), [vec![], vec![bundle(2)]]);
    let again = load(&folders, 2).await;
    assert_eq!(sets(&again), sets(&catalogs), "it keeps its time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_log_begins_anew_and_harms_no_load() {
    let folders = Folders::new(&[]);
    load(&folders, 1).await;
    let [log] = &logs(&folders)[..] else {
        panic!("one log")
    };
    fs::remove_file(log).unwrap();
    fs::write(log, "catalogql changes 1 damaged\n{}\n").unwrap();
    let catalogs = load(&folders, 2).await;
    assert_eq!(added(&catalogs), [Vec::<String>::new()]);
    let catalogs = load(&folders, 3).await;
    assert_eq!(added(&catalogs), [vec![], vec![bundle(3)]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_whose_outline_is_lost_begins_a_new_sequence() {
    let folders = Folders::new(&[]);
    load(&folders, 1).await;
    fs::remove_dir_all(folders.0.path().join("store/outlines")).unwrap();
    load(&folders, 2).await;
    let catalogs = load(&folders, 3).await;
    let sets = sets(&catalogs);
    assert_eq!(added(&catalogs), [vec![], vec![], vec![bundle(3)]]);
    assert_eq!(sets[1].from, None);
    assert_eq!(sets[0].from.as_ref(), Some(&sets[1].to));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_that_gets_another_source_keeps_its_log() {
    let folders = Folders::new(&[("a", &etcd(1)), ("other", &etcd(2))]);
    folders.load(vec![folders.desired("a", "a")]).await;
    let (_, catalogs) = folders.load(vec![folders.desired("a", "other")]).await;
    assert_eq!(added(&catalogs), [vec![], vec![bundle(2)]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_of_a_watched_directory_is_a_set_of_its_own() {
    let folders = Folders::new(&[("a", &etcd(1))]);
    let mut watching = Watching::start(&folders, vec![folders.desired("a", "a")]);
    watching.report().await;
    for version in 2..=8 {
        folders.write("a", &etcd(version));
        let report = watching.report().await;
        assert!(report.content.is_some(), "{:?}", report.error());
    }
    let catalogs = watching.catalogs.clone();
    // The log is written just after the publication.
    testing::eventually(|| (sets(&catalogs).len() == 8).then_some(()));
    let mut expected: Vec<_> = (2..=8).map(|version| vec![bundle(version)]).collect();
    expected.insert(0, vec![]);
    assert_eq!(added(&catalogs), expected);
}
