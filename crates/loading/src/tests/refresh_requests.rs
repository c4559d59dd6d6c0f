//! Loads that somebody asks for.

use super::*;
use crate::RefreshError;

/// A loader of the catalog `a`, whose directory is looked at once an hour.
async fn start(folders: &Folders) -> Watching {
    let mut watching = Watching::start(folders, Vec::new());
    let hour = Duration::from_hours(1);
    let mut spec = folders.desired("a", "a");
    spec.source.refresh = RefreshPolicy {
        directories: Some(WatchInterval {
            poll: hour,
            retry: hour,
        }),
        images: None,
    };
    watching.loader.set(vec![spec]);
    watching.report().await;
    watching
}

#[tokio::test]
async fn a_load_that_is_asked_for_begins_at_once_and_is_served_when_the_answer_comes() {
    let folders = Folders::new(&[("a", ETCD)]);
    let watching = start(&folders).await;
    let refresher = watching.loader.refresher();
    let name = CatalogName::new("a").unwrap();
    let refresh = || timeout(TOO_LONG, refresher.refresh(&name));
    for round in 0..20 {
        let package = format!("package-{round}");
        folders.write("a", &ETCD.replace("etcd", &package));
        let digest = refresh().await.unwrap().unwrap();
        let snapshot = watching.catalogs.snapshot();
        let content = &snapshot.get("a").unwrap().content;
        let served: Vec<_> = content
            .catalog
            .packages()
            .map(|package| package.name().to_owned())
            .collect();
        assert_eq!((content.digest, served), (digest, vec![package]));
    }
    // What did not change is told as well.
    assert_eq!(
        refresh().await.unwrap().unwrap(),
        watching
            .catalogs
            .snapshot()
            .get("a")
            .unwrap()
            .content
            .digest
    );
}

#[tokio::test]
async fn a_load_that_is_asked_for_and_fails_says_why_and_leaves_the_former_content() {
    let folders = Folders::new(&[("a", ETCD)]);
    let watching = start(&folders).await;
    let refresher = watching.loader.refresher();
    let name = CatalogName::new("a").unwrap();
    let served = || {
        watching
            .catalogs
            .snapshot()
            .get("a")
            .map(|served| served.content.digest)
    };
    let former = served();
    folders.write("a", "{");
    let failed = timeout(TOO_LONG, refresher.refresh(&name))
        .await
        .unwrap()
        .unwrap_err();
    assert!(
        failed.to_string().starts_with("catalog.json:1: "),
        "{failed}"
    );
    assert_eq!(served(), former);
    let unknown = refresher.refresh(&CatalogName::new("b").unwrap()).await;
    assert!(
        matches!(unknown, Err(RefreshError::NotLoaded)),
        "{unknown:?}"
    );
}
