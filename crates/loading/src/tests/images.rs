//! Images, from layouts on disk: what is pulled and what is not, and what is served when a source
//! cannot be asked.

use std::collections::BTreeMap;

use fbc::Package;
use store::SourceState;
use testing::{CONFIGS, Layout};

use super::*;

impl Folders {
    pub(super) fn layout(&self) -> Layout {
        Layout::new(self.0.path().join("layout"))
    }

    /// Loads these once and says what happened to which bytes, by catalog.
    async fn steps(&self, desired: Vec<CatalogSpec>) -> BTreeMap<String, Vec<LoadStep>> {
        let (writer, _catalogs) = catalogs();
        let steps = Arc::new(Mutex::new(BTreeMap::<String, Vec<LoadStep>>::new()));
        let seen = Arc::clone(&steps);
        let observe = move |event| match event {
            LoaderEvent::Progress { name, step, .. } => {
                seen.lock()
                    .unwrap()
                    .entry(name.to_string())
                    .or_default()
                    .push(step);
            }
            LoaderEvent::Attempted(report) => assert!(report.error().is_none(), "{report:?}"),
            _ => {}
        };
        load_all(self.store(), writer, desired, observe).await;
        let mut steps = std::mem::take(&mut *steps.lock().unwrap());
        steps.values_mut().for_each(Vec::dedup);
        steps
    }

    /// Returns the remains of pulls.
    pub(super) fn scratch(&self) -> usize {
        fs::read_dir(self.0.path().join("store/scratch")).map_or(0, Iterator::count)
    }
}

/// A catalog from an image.
pub(super) fn desired(name: &str, source: &str) -> CatalogSpec {
    spec(name, Source::parse(source, Path::new("")).unwrap())
}

/// A layout whose only image, `v1`, holds one file with this text.
fn one(folders: &Folders, text: &str) -> (Layout, String) {
    let layout = folders.layout();
    let digest = layout.image("v1", &[CONFIGS], &[("configs/etcd/catalog.json", text)]);
    (layout, digest)
}

const PULLED: [LoadStep; 3] = [LoadStep::Fetch, LoadStep::Unpack, LoadStep::Read];

#[tokio::test(flavor = "multi_thread")]
async fn an_image_by_name_and_by_digest_is_what_its_directory_is() {
    let folders = Folders::new(&[("dir/etcd", ETCD)]);
    let (layout, digest) = one(&folders, ETCD);
    let by_name = desired("by-name", &layout.source("v1"));
    let by_digest = desired("by-digest", &layout.pinned(&digest));
    let (reports, catalogs) = folders
        .load(vec![by_name, by_digest, folders.desired("dir", "dir")])
        .await;
    let digests: Vec<_> = reports
        .iter()
        .map(|report| report.content.as_ref().unwrap().digest)
        .collect();
    assert_eq!(digests, [digests[0]; 3]);
    let snapshot = catalogs.snapshot();
    let image = |name| {
        snapshot
            .get(name)
            .unwrap()
            .content
            .image
            .as_deref()
            .map(str::to_owned)
    };
    assert_eq!(
        (image("by-name"), image("by-digest"), image("dir")),
        (
            Some(layout.pinned(&digest)),
            Some(layout.pinned(&digest)),
            None
        )
    );
    assert!(
        snapshot
            .get("by-name")
            .unwrap()
            .content
            .last_unpacked
            .is_some()
    );
    assert_eq!(folders.scratch(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_digest_is_pulled_once_whoever_asks_and_one_that_is_kept_not_at_all() {
    let folders = Folders::new(&[]);
    let (layout, digest) = one(&folders, ETCD);
    layout.image("same", &[CONFIGS], &[("configs/etcd/catalog.json", ETCD)]);
    let all = || {
        let sources = [
            ("a", layout.source("v1")),
            ("b", layout.source("same")),
            ("c", layout.pinned(&digest)),
        ];
        sources
            .map(|(name, source)| desired(name, &source))
            .to_vec()
    };
    let steps: Vec<_> = folders.steps(all()).await.into_values().collect();
    assert_eq!(steps, [PULLED]);
    assert_eq!(folders.steps(all()).await, BTreeMap::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_directory_of_the_same_image_is_another_content() {
    let folders = Folders::new(&[]);
    let layout = folders.layout();
    layout.image(
        "v1",
        &[CONFIGS],
        &[("configs/a.json", ETCD), ("other/a.json", ARGO)],
    );
    let given = |name, configs_dir: &str| {
        let mut given = desired(name, &layout.source("v1"));
        given.source.configs_dir = Some(configs_dir.to_owned());
        given
    };
    let all = vec![
        desired("labelled", &layout.source("v1")),
        given("other", "/other"),
        given("same", "/configs"),
    ];
    let (reports, catalogs) = folders.load(all).await;
    let packages: Vec<_> = reports
        .iter()
        .map(|report| packages(report).unwrap().concat())
        .collect();
    assert_eq!(packages, ["etcd", "argo", "etcd"]);
    // In the end, when the stored index has replaced the one in memory for both.
    let snapshot = catalogs.snapshot();
    let catalog = |name| &snapshot.get(name).unwrap().content.catalog;
    assert!(catalog("labelled").shares_index_with(catalog("same")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_catalog_is_named_with_what_to_do() {
    let folders = Folders::new(&[]);
    let layout = folders.layout();
    layout.image("unlabelled", &[], &[("configs/a.json", ETCD)]);
    layout.image("empty", &[CONFIGS], &[("configs/.indexignore", "")]);
    let names = ["empty", "missing", "unlabelled"];
    let all = names
        .map(|name| desired(name, &layout.source(name)))
        .to_vec();
    let (reports, _) = folders.load(all).await;
    let errors: Vec<_> = reports
        .iter()
        .map(|report| folders.shown(report).unwrap())
        .collect();
    assert!(errors[0].ends_with(
        "has no file to read below `/configs`: name another directory of it with --configs-dir"
    ));
    assert!(
        errors[1].starts_with("cannot read the source: "),
        "{errors:?}"
    );
    let unlabelled = "cannot unpack the image: the image has no label \
                      `operators.operatorframework.io.index.configs.v1`: if it holds a file-based catalog, name its \
                      directory with --configs-dir";
    assert_eq!(errors[2], unlabelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_image_under_a_name_is_served_and_an_unchanged_one_changes_nothing() {
    let folders = Folders::new(&[]);
    let (layout, first) = one(&folders, ETCD);
    let mut watching = Watching::start(&folders, vec![desired("a", &layout.source("v1"))]);
    let before = watching.report().await;
    assert_eq!(packages(&before), Some(vec!["etcd".to_owned()]));

    // The same content in another image: the image changes, the time does not.
    let same = layout.image(
        "v1",
        &[CONFIGS],
        &[("configs/catalog.json", ETCD), ("elsewhere", "")],
    );
    assert_ne!(same, first);
    let same_content = watching.report().await;
    let old = before.content.unwrap();
    let new = same_content.content.unwrap();
    assert_eq!(
        (new.digest, new.last_unpacked, new.image.as_deref()),
        (old.digest, old.last_unpacked, Some(&*layout.pinned(&same)))
    );

    layout.image("v1", &[CONFIGS], &[("configs/catalog.json", ARGO)]);
    // Whatever was asked in between changed nothing: this is the next report.
    let after = watching.report().await;
    assert_eq!(packages(&after), Some(vec!["argo".to_owned()]));
    assert!(after.content.unwrap().last_unpacked > new.last_unpacked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_new_image_leaves_the_former_content_until_it_is_mended() {
    let folders = Folders::new(&[]);
    let (layout, _) = one(&folders, ETCD);
    let mut watching = Watching::start(&folders, vec![desired("a", &layout.source("v1"))]);
    watching.report().await;
    layout.image("v1", &[CONFIGS], &[("configs/catalog.json", "{")]);
    let broken = watching.report().await;
    assert_eq!(packages(&broken), Some(vec!["etcd".to_owned()]));
    assert!(
        folders
            .shown(&broken)
            .unwrap()
            .starts_with("catalog.json:1: "),
        "{broken:?}"
    );
    layout.image("v1", &[CONFIGS], &[("configs/catalog.json", ARGO)]);
    let mended = watching.report().await;
    assert_eq!(
        (packages(&mended), folders.shown(&mended)),
        (Some(vec!["argo".to_owned()]), None)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_serves_what_is_kept_before_the_source_is_asked() {
    let folders = Folders::new(&[]);
    let (layout, _) = one(&folders, ETCD);
    let all = || vec![desired("a", &layout.source("v1"))];
    let (before, _) = folders.load(all()).await;
    let away = folders.0.path().join("away");
    fs::rename(folders.0.path().join("layout"), &away).unwrap();

    let mut watching = Watching::start(&folders, all());
    let at_once = watching.report().await;
    assert!(matches!(at_once.status, SyncStatus::Pending), "{at_once:?}");
    let kept = at_once.content.unwrap();
    let content = before[0].content.as_ref().unwrap();
    assert_eq!(
        (kept.digest, kept.last_unpacked, &kept.image),
        (content.digest, content.last_unpacked, &content.image)
    );
    assert_eq!(names(&watching.catalogs), ["a"]);

    let failed = watching.report().await;
    assert!(
        folders
            .shown(&failed)
            .unwrap()
            .starts_with("cannot read the source: "),
        "{failed:?}"
    );
    assert_eq!(packages(&failed), Some(vec!["etcd".to_owned()]));

    // It goes on trying, and what did not change is not told as new.
    fs::rename(&away, folders.0.path().join("layout")).unwrap();
    let back = watching.report().await;
    assert!(matches!(back.status, SyncStatus::Synced), "{back:?}");
    assert!(Arc::ptr_eq(&back.content.unwrap().catalog, &kept.catalog));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_that_is_kept_is_never_asked_for_again() {
    let folders = Folders::new(&[]);
    let (layout, digest) = one(&folders, ETCD);
    let all = vec![desired("a", &layout.pinned(&digest))];
    folders.load(all.clone()).await;
    fs::remove_dir_all(folders.0.path().join("layout")).unwrap();
    let (writer, catalogs) = catalogs();
    let (sender, mut events) = unbounded_channel();
    // It ends because nothing is left to do, although images are to be asked for at an interval.
    let observe = move |event| drop(sender.send(event));
    let polled = all.into_iter().map(|mut spec| {
        spec.source.refresh = REFRESH;
        spec
    });
    timeout(
        TOO_LONG,
        load_all(folders.store(), writer, polled.collect(), observe),
    )
    .await
    .unwrap();
    let mut reports = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let LoaderEvent::Attempted(report) = event {
            reports.push(report);
        }
    }
    assert!(
        matches!(
            reports[..],
            [Report {
                status: SyncStatus::Synced,
                ..
            }]
        ),
        "{reports:?}"
    );
    assert_eq!(names(&catalogs), ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_build_read_of_a_digest_is_served_and_read_again() {
    let folders = Folders::new(&[]);
    let (layout, digest) = one(&folders, ETCD);
    let all = vec![desired("a", &layout.pinned(&digest))];
    folders.load(all.clone()).await;
    let (writer, catalogs) = catalogs();
    let events = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let seen = Arc::clone(&events);
    let observe = move |event| match event {
        LoaderEvent::Progress { step, .. } => seen.lock().unwrap().0.push(step),
        LoaderEvent::Attempted(report) => seen.lock().unwrap().1.push(report.status.to_string()),
        _ => {}
    };
    let another = Store::open(
        &folders.0.path().join("store"),
        DEFAULT_QUOTA_BYTES,
        "another build",
    )
    .unwrap();
    load_all(another, writer, all, observe).await;
    let (mut steps, statuses) = std::mem::take(&mut *events.lock().unwrap());
    steps.dedup();
    assert_eq!(
        (steps, statuses),
        (
            PULLED.to_vec(),
            vec!["not checked yet".to_owned(), "current".to_owned()]
        )
    );
    assert_eq!(names(&catalogs), ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_loaded_without_a_store_and_leaves_nothing() {
    let folders = Folders::new(&[]);
    let (layout, digest) = one(&folders, ETCD);
    let folder = folders.0.path().join("temporary");
    fs::create_dir(&folder).unwrap();
    let source = desired("a", &layout.source("v1")).source;
    let content = load_once(&source, &folder, |_, _, _| ()).await.unwrap();
    assert_eq!(
        content
            .catalog
            .packages()
            .map(Package::name)
            .collect::<Vec<_>>(),
        ["etcd"]
    );
    assert_eq!(content.image.as_deref(), Some(&*layout.pinned(&digest)));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_does_not_answer_keeps_nothing_waiting() {
    let folders = Folders::new(&[("dir", ARGO)]);
    let (layout, digest) = one(&folders, ETCD);
    folders
        .load(vec![desired("kept", &layout.source("v1"))])
        .await;
    // Connections are accepted by the system, and nobody ever reads from them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let repository = |name: &str| format!("{}/ns/{name}:v1", silent.local_addr().unwrap());
    let kept = desired("kept", &repository("kept"));
    let new = desired("new", &repository("new"));
    let revision = format!("{digest} /configs");
    let state = SourceState {
        revision: Some(revision),
        image: Some("by-digest".to_owned()),
        ..SourceState::default()
    };
    folders
        .store()
        .reuse(&kept.source.key(), &state)
        .unwrap()
        .unwrap();

    let mut watching = Watching::start(&folders, vec![new, kept, folders.desired("dir", "dir")]);
    let mut reports = [watching.report().await, watching.report().await];
    reports.sort_by(|one, other| one.name.cmp(&other.name));
    let [dir, kept] = reports.map(|report| {
        (
            report.name.to_string(),
            report.status.to_string(),
            packages(&report),
        )
    });
    assert_eq!(
        dir,
        (
            "dir".to_owned(),
            "current".to_owned(),
            Some(vec!["argo".to_owned()])
        )
    );
    assert_eq!(
        kept,
        (
            "kept".to_owned(),
            "not checked yet".to_owned(),
            Some(vec!["etcd".to_owned()])
        )
    );
    assert_eq!(names(&watching.catalogs), ["dir", "kept"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_has_one_of_few_places_until_it_is_read() {
    let folders = Folders::new(&[]);
    let (layout, _) = one(&folders, ETCD);
    let pipeline = Arc::new(folders.pipeline());
    let free = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&free);
    let pulling = Arc::clone(&pipeline);
    let source = desired("a", &layout.source("v1")).source;
    let progress = move |_, _, _| {
        seen.lock()
            .unwrap()
            .push(pulling.images.permits.available_permits());
    };
    pipeline.load(&source, None, progress).await.unwrap();
    assert!(
        free.lock()
            .unwrap()
            .iter()
            .all(|free| *free == MAX_CONCURRENT_PULLS - 1)
    );
    assert_eq!(
        pipeline.images.permits.available_permits(),
        MAX_CONCURRENT_PULLS
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_of_the_program_in_a_pull_harms_no_other_catalog() {
    for fault in PULLED {
        let folders = Folders::new(&[("dir", ARGO)]);
        let (layout, _) = one(&folders, ETCD);
        let (writer, catalogs) = catalogs();
        let (sender, mut events) = unbounded_channel();
        let observe = move |event| match event {
            LoaderEvent::Progress { name, step, .. } if name.as_str() == "a" && step == fault => {
                panic!("a fault")
            }
            event => drop(sender.send(event)),
        };
        let all = vec![
            desired("a", &layout.source("v1")),
            folders.desired("dir", "dir"),
        ];
        load_all(folders.store(), writer, all, observe).await;
        assert_eq!(names(&catalogs), ["dir"], "{fault:?}");
        let mut errors = Vec::new();
        while let Ok(event) = events.try_recv() {
            if let LoaderEvent::Attempted(report) = event {
                errors.extend(folders.shown(&report));
            }
        }
        assert!(
            matches!(&errors[..], [error] if error.contains("a fault")),
            "{fault:?}: {errors:?}"
        );
        assert_eq!(folders.scratch(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_another_replica_serves_is_loaded_at_once() {
    let folders = Folders::new(&[]);
    let (layout, _) = one(&folders, ETCD);
    let mut watching = Watching::start(&folders, vec![desired("a", &layout.source("v1"))]);
    watching.report().await;

    let text = ETCD.replace("etcd", "other");
    let digest = layout.image("v1", &[CONFIGS], &[("configs/other/catalog.json", &text)]);
    let image: Arc<str> = layout.pinned(&digest).into();
    let name = CatalogName::new("a").unwrap();
    let expected = watching.loader.expected_images();
    expected.expect(name, Arc::clone(&image)).await;
    let report = watching.report().await;
    assert_eq!(report.content.unwrap().image, Some(image));
    let snapshot = watching.catalogs.snapshot();
    assert!(!snapshot.is_behind(snapshot.get("a").unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_is_behind_while_an_image_that_another_replica_serves_cannot_be_loaded() {
    let folders = Folders::new(&[]);
    let (layout, digest) = one(&folders, ETCD);
    let mut watching = Watching::start(&folders, vec![desired("a", &layout.source("v1"))]);
    watching.report().await;
    let snapshot = watching.catalogs.snapshot();
    let served = snapshot.get("a").unwrap();
    let name = || CatalogName::new("a").unwrap();

    fs::remove_dir_all(folders.0.path().join("layout")).unwrap();
    let other: Arc<str> = layout.pinned(&format!("sha256:{}", "0".repeat(64))).into();
    let expected = watching.loader.expected_images();
    expected.expect(name(), Arc::clone(&other)).await;
    assert!(watching.report().await.error().is_some());
    assert!(snapshot.is_behind(served));

    // The other replica serves this one again.
    let image = layout.pinned(&digest).into();
    expected.expect(name(), image).await;
    assert!(!snapshot.is_behind(served));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_that_was_polled_since_an_image_was_expected_is_not_behind_it() {
    let folders = Folders::new(&[]);
    let (layout, _) = one(&folders, ETCD);
    let mut watching = Watching::start(&folders, vec![desired("a", &layout.source("v1"))]);
    watching.report().await;
    let name = || CatalogName::new("a").unwrap();
    let other: Arc<str> = layout.pinned(&format!("sha256:{}", "0".repeat(64))).into();

    // The other replica has not seen yet that the tag moved.
    let expected = watching.loader.expected_images();
    expected.expect(name(), Arc::clone(&other)).await;
    let snapshot = watching.catalogs.snapshot();
    let served = snapshot.get("a").unwrap();
    let is_current = || (!snapshot.is_behind(served)).then_some(());
    testing::eventually_within(serving::MAX_BEHIND / 2, is_current);
    expected.expect(name(), other).await;
    assert!(!snapshot.is_behind(served));
}
