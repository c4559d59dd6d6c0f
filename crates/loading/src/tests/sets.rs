//! Catalogs come, change and go while the loader runs.

use jiff::Timestamp;
use serving::{LoadStatus, Snapshot};
use testing::eventually;

use super::images::desired as image;
use super::*;

impl Watching {
    /// Waits until the served catalogs, each with its packages, are these.
    fn serves(&self, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, package)| (*name).to_owned() + " " + package)
            .collect();
        eventually(|| (served(&self.catalogs) == expected).then_some(()));
    }
}

/// The catalogs that are served, each with its packages.
fn served(catalogs: &Catalogs) -> Vec<String> {
    let snapshot = catalogs.snapshot();
    let packages = |catalog: &fbc::Catalog| {
        catalog
            .packages()
            .map(|package| package.name().to_owned())
            .collect::<String>()
    };
    snapshot
        .by_name()
        .map(|served| format!("{} {}", served.name, packages(&served.content.catalog)))
        .collect()
}

fn described(spec: CatalogSpec, priority: i32) -> CatalogSpec {
    CatalogSpec {
        metadata: CatalogMetadata {
            priority,
            ..CatalogMetadata::default()
        },
        ..spec
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_is_added_changed_and_withdrawn() {
    let folders = Folders::new(&[("a", ETCD), ("b", ARGO)]);
    let watching = Watching::start(&folders, Vec::new());
    watching.serves(&[]);
    watching.set(vec![folders.desired("one", "a")]);
    watching.serves(&[("one", "etcd")]);
    watching.set(vec![
        folders.desired("one", "a"),
        folders.desired("two", "a"),
        folders.desired("three", "b"),
    ]);
    watching.serves(&[("one", "etcd"), ("three", "argo"), ("two", "etcd")]);
    // Another source, for one of the two catalogs that shared one.
    watching.set(vec![
        folders.desired("one", "b"),
        folders.desired("two", "a"),
    ]);
    watching.serves(&[("one", "argo"), ("two", "etcd")]);
    watching.set(Vec::new());
    watching.serves(&[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_metadata_publishes_the_same_content_anew_and_reads_nothing() {
    let folders = Folders::new(&[("a", ETCD)]);
    let mut watching = Watching::start(&folders, vec![folders.desired("one", "a")]);
    watching.report().await;
    let before = watching.catalogs.snapshot();
    fs::remove_dir_all(folders.0.path().join("a")).unwrap();
    watching.set(vec![described(folders.desired("one", "a"), 7)]);
    let priority = || {
        watching
            .catalogs
            .snapshot()
            .get("one")
            .map(|served| served.metadata.priority)
    };
    eventually(|| (priority() == Some(7)).then_some(()));
    let after = watching.catalogs.snapshot();
    // Its stored index may replace the one in memory at any time.
    let content = |snapshot: &Snapshot| snapshot.get("one").unwrap().content.digest;
    assert_eq!(content(&before), content(&after));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_whose_source_changes_keeps_its_content_until_the_new_source_gives_one() {
    let folders = Folders::new(&[("a", ETCD)]);
    let mut watching = Watching::start(&folders, vec![folders.desired("one", "a")]);
    watching.report().await;
    watching.set(vec![folders.desired("one", "missing")]);
    let failed = watching.report().await;
    assert_eq!(
        (packages(&failed), failed.error().map(LoadError::reason)),
        (
            Some(vec!["etcd".to_owned()]),
            Some(FailureReason::SourceUnreadable)
        )
    );
    watching.serves(&[("one", "etcd")]);
    folders.write("missing", ARGO);
    watching.serves(&[("one", "argo")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_source_of_a_catalog_is_reported_although_both_give_the_same_image() {
    let folders = Folders::new(&[]);
    let layout = folders.layout();
    for tag in ["v1", "v2"] {
        layout.image(tag, &[testing::CONFIGS], &[("configs/catalog.json", ETCD)]);
    }
    let [first, second] = ["v1", "v2"].map(|tag| image("one", &layout.source(tag)));
    let mut watching = Watching::start(&folders, vec![first.clone()]);
    for spec in [first, second] {
        watching.set(vec![spec.clone()]);
        let report = watching.report().await;
        assert_eq!(
            (&*report.source, packages(&report)),
            (&spec.source.source, Some(vec!["etcd".to_owned()]))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_catalog_is_not_in_use_any_more() {
    let folders = Folders::new(&[("b", ARGO)]);
    let layout = folders.layout();
    layout.image("v1", &[testing::CONFIGS], &[("configs/catalog.json", ETCD)]);
    let mut watching = Watching::start(&folders, vec![image("one", &layout.source("v1"))]);
    watching.report().await;
    let content = Arc::downgrade(
        &watching
            .catalogs
            .snapshot()
            .get("one")
            .unwrap()
            .content
            .catalog,
    );
    watching.set(vec![folders.desired("two", "b")]);
    watching.serves(&[("two", "argo")]);
    // The task that was serving it lets go of it as well.
    eventually(|| content.upgrade().is_none().then_some(()));
    // It stays on disk by the rules of the quota, and is served from there when it is desired again.
    watching.set(vec![image("one", &layout.source("v1"))]);
    watching.serves(&[("one", "etcd")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_poll_interval_starts_another_task_and_changes_nothing_that_is_served() {
    let folders = Folders::new(&[("a", ETCD)]);
    let mut watching = Watching::start(&folders, vec![folders.desired("one", "a")]);
    watching.report().await;
    let before = watching.catalogs.snapshot();
    watching.loader.set(vec![folders.desired("one", "a")]);
    folders.write("b", ARGO);
    watching.loader.set(vec![
        folders.desired("one", "a"),
        folders.desired("two", "b"),
    ]);
    watching.serves(&[("one", "etcd"), ("two", "argo")]);
    let now = watching.catalogs.snapshot();
    assert_eq!(before.revision_of("one"), now.revision_of("one"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_served_is_what_is_wanted_after_each_of_many_changes() {
    let mut seeded = testing::SeededRandom::new(7);
    let sources: Vec<_> = (0..6).map(|number| format!("source{number}")).collect();
    let folders = Folders::new(&[]);
    for source in &sources {
        folders.write(
            source,
            &format!(
                "{{\"schema\":\"olm.package\",\"name\":\"{source}\",\"defaultChannel\":\"\"}}\n"
            ),
        );
    }
    let watching = Watching::start(&folders, Vec::new());
    for _ in 0..40 {
        let desired: Vec<_> = (0..20)
            .filter_map(|number| {
                let is_wanted = seeded.below(2) == 0;
                let source = seeded.below(sources.len());
                is_wanted.then(|| (format!("catalog{number:02}"), sources[source].as_str()))
            })
            .collect();
        watching.set(
            desired
                .iter()
                .map(|(name, source)| folders.desired(name, source))
                .collect(),
        );
        watching.serves(
            &desired
                .iter()
                .map(|(name, source)| (name.as_str(), *source))
                .collect::<Vec<_>>(),
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_whose_first_attempt_takes_long_is_named_and_does_not_hold_up_the_others() {
    let folders = Folders::new(&[("a", ETCD)]);
    // It accepts connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("{}/catalog:latest", silent.local_addr().unwrap());
    let silent = spec("silent", Source::parse(&silent, Path::new("")).unwrap());
    let (writer, catalogs) = catalogs();
    let (loader, task) = Loader::new(folders.store(), writer);
    let (sender, mut events) = unbounded_channel();
    let task = tokio::spawn(
        task.ready_after(Duration::from_millis(1))
            .run(move |event| drop(sender.send(event))),
    );
    let mut settled = async || {
        loop {
            match timeout(TOO_LONG, events.recv()).await.unwrap().unwrap() {
                LoaderEvent::FirstAttemptsLate(late) => {
                    return late.iter().map(ToString::to_string).collect::<Vec<_>>();
                }
                LoaderEvent::AllAttempted => return Vec::new(),
                LoaderEvent::Attempted(_)
                | LoaderEvent::Indexed(..)
                | LoaderEvent::Progress { .. }
                | LoaderEvent::Withdrawn(_)
                | LoaderEvent::Waiting(_) => {}
            }
        }
    };
    loader.set(vec![silent, folders.desired("one", "a")]);
    assert_eq!(settled().await, ["silent"]);
    assert_eq!(names(&catalogs), ["one"]);
    // The wait begins anew with each change, and ends when nobody is late any more.
    loader.set(vec![folders.desired("one", "a")]);
    assert_eq!(settled().await, [""; 0]);
    task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_a_source_follows_its_attempts_and_is_that_of_each_of_its_catalogs() {
    let folders = Folders::new(&[("a", ETCD)]);
    let watching = Watching::start(&folders, Vec::new());
    let statuses = || watching.catalogs.snapshot().statuses();
    let until = |name: &'static str, is: fn(&LoadStatus) -> bool| {
        eventually(|| statuses().remove(name).filter(is))
    };
    let failed = |status: &LoadStatus| {
        status
            .last_failure
            .as_ref()
            .is_some_and(|failure| failure.attempts > 1)
    };
    watching.set(vec![
        folders.desired("one", "a"),
        folders.desired("two", "missing"),
    ]);
    let first = until("one", |status| status.last_success.is_some());
    assert_eq!(
        (first.last_failure, first.next_check),
        (None, None),
        "a directory is watched"
    );
    let never = until("two", failed);
    let failure = never.last_failure.unwrap();
    assert_eq!(
        (never.last_success, failure.reason),
        (None, FailureReason::SourceUnreadable)
    );
    assert!(
        failure.message.starts_with("cannot read the source: "),
        "{}",
        failure.message
    );
    // What is served is served on while its source fails.
    folders.write("a", "{");
    let broken = until("one", failed);
    assert_eq!(broken.last_success, first.last_success);
    assert_eq!(
        broken.last_failure.unwrap().reason,
        FailureReason::InvalidCatalog
    );
    watching.set(vec![
        folders.desired("one", "a"),
        folders.desired("three", "a"),
    ]);
    until("three", failed);
    assert_eq!(statuses().into_keys().collect::<Vec<_>>(), ["one", "three"]);
    folders.write("a", ARGO);
    for name in ["one", "three"] {
        until(name, |status| {
            status.last_failure.is_none() && status.last_success.is_some()
        });
    }
    // Nothing is known of another source yet.
    folders.write("b", "{");
    watching.set(vec![folders.desired("one", "b")]);
    assert_eq!(until("one", failed).last_success, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_an_image_says_when_it_is_polled_next() {
    let folders = Folders::new(&[]);
    let layout = folders.layout();
    layout.image("v1", &[testing::CONFIGS], &[("configs/catalog.json", ETCD)]);
    let watching = Watching::start(&folders, vec![image("one", &layout.source("v1"))]);
    let polled = |after: Option<Timestamp>| {
        let of = || watching.catalogs.snapshot().status("one");
        eventually(|| {
            Some(of()).filter(|status| status.next_check.is_some() && status.next_check > after)
        })
    };
    let first = polled(None);
    let second = polled(first.next_check);
    assert!(first.last_success < first.next_check, "{first:?}");
    assert!(
        first.last_success < second.last_success,
        "an unchanged image is a success too"
    );
}
