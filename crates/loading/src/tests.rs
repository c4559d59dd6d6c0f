//! One source through all stages: what is served after each thing that can happen to it.

mod changes;
mod damage;
mod images;
mod indexes;
mod kills;
mod refresh_requests;
mod sets;
mod shared;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ::images::{Registries, RegistrySettings};
use http_content::coding::Coding;
use serving::{CatalogMetadata, CatalogName, Catalogs, CatalogsWriter, Content, catalogs};
use store::{DEFAULT_QUOTA_BYTES, Store};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::directory;
use crate::low_priority::LOADING_NICENESS;
use crate::pipeline::LoadPipeline;

const ETCD: &str = "{\"schema\":\"olm.package\",\"name\":\"etcd\",\"defaultChannel\":\"\"}\n";
const ARGO: &str = "{\"schema\":\"olm.package\",\"name\":\"argo\",\"defaultChannel\":\"\"}\n";

/// The canonical line of [`ETCD`].
const ETCD_LINE: &str = "{\"defaultChannel\":\"\",\"name\":\"etcd\",\"schema\":\"olm.package\"}\n";

/// Longer than anything here takes; a test that waits for it fails.
const TOO_LONG: Duration = Duration::from_mins(1);

/// Faster than in real life, where a change need not be seen within a moment.
const PACE: WatchInterval = WatchInterval {
    poll: Duration::from_millis(20),
    retry: Duration::from_millis(100),
};

const REFRESH: RefreshPolicy = RefreshPolicy {
    directories: Some(PACE),
    images: Some(PollPolicy {
        interval: Some(Duration::from_millis(20)),
        retry: Duration::from_millis(20),
    }),
};

/// Folders for sources and a store.
struct Folders(TempDir);

impl Folders {
    fn new(sources: &[(&str, &str)]) -> Self {
        let folders = Self(tempfile::tempdir().unwrap());
        for (source, text) in sources {
            folders.write(source, text);
        }
        folders
    }

    fn write(&self, source: &str, text: &str) {
        let folder = self.0.path().join(source);
        fs::create_dir_all(&folder).unwrap();
        // At once: whoever watches the folder could read a file that is still empty.
        let next = self.0.path().join("next.json");
        fs::write(&next, text).unwrap();
        fs::rename(next, folder.join("catalog.json")).unwrap();
    }

    fn desired(&self, name: &str, source: &str) -> CatalogSpec {
        spec(name, Source::Directory(self.0.path().join(source)))
    }

    fn store(&self) -> Store {
        Store::open(&self.0.path().join("store"), DEFAULT_QUOTA_BYTES, "build").unwrap()
    }

    fn pipeline(&self) -> LoadPipeline {
        LoadPipeline::new(self.store())
    }

    /// Loads each of these once and says how that went, by name.
    async fn load(&self, desired: Vec<CatalogSpec>) -> (Vec<Report>, Catalogs) {
        let (writer, catalogs) = catalogs();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let tried = Arc::clone(&reports);
        let observe = move |event| {
            if let LoaderEvent::Attempted(report) = event {
                tried.lock().unwrap().push(report);
            }
        };
        load_all(self.store(), writer, desired, observe).await;
        let mut reports = std::mem::take(&mut *reports.lock().unwrap());
        reports.sort_by(|one, other| one.name.cmp(&other.name));
        (reports, catalogs)
    }

    fn shown(&self, report: &Report) -> Option<String> {
        let error = report.error()?.chain();
        Some(error.replace(self.0.path().canonicalize().unwrap().to_str().unwrap(), "@"))
    }
}

/// A loader that watches until it is dropped.
struct Watching {
    loader: Loader,
    events: UnboundedReceiver<LoaderEvent>,
    catalogs: Catalogs,
    task: JoinHandle<()>,
}

impl Watching {
    fn start(folders: &Folders, desired: Vec<CatalogSpec>) -> Self {
        let (writer, catalogs) = catalogs();
        let (loader, task) = Loader::new(folders.store(), writer);
        let (sender, events) = unbounded_channel();
        let task = tokio::spawn(
            task.compress_after(Duration::ZERO)
                .run(move |event| drop(sender.send(event))),
        );
        let watching = Self {
            loader,
            events,
            catalogs,
            task,
        };
        watching.set(desired);
        watching
    }

    /// Wants these catalogs, refreshed at the pace of tests.
    fn set(&self, mut desired: Vec<CatalogSpec>) {
        for spec in &mut desired {
            spec.source.refresh = REFRESH;
        }
        self.loader.set(desired);
    }

    /// The next report.
    async fn report(&mut self) -> Report {
        loop {
            if let LoaderEvent::Attempted(report) = timeout(TOO_LONG, self.events.recv())
                .await
                .unwrap()
                .unwrap()
            {
                return report;
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn registries() -> Registries {
    Registries::new(RegistrySettings::default()).unwrap()
}

/// A catalog of this source, loaded once.
fn spec(name: &str, source: Source) -> CatalogSpec {
    let source = SourceSpec::once(source, registries());
    CatalogSpec {
        name: CatalogName::new(name).unwrap(),
        source,
        metadata: CatalogMetadata::default(),
        policy_withdraws: false,
    }
}

/// Loads these catalogs until nothing can change any more.
async fn load_all(
    store: Store,
    writer: CatalogsWriter,
    desired: Vec<CatalogSpec>,
    observe: impl Fn(LoaderEvent) + Clone + Send + Sync + 'static,
) {
    let (loader, task) = Loader::new(store, writer);
    loader.set(desired);
    drop(loader);
    task.compress_after(Duration::ZERO).run(observe).await;
}

/// Loads the directory `a` of these folders as the task does that keeps it current.
async fn current(
    pipeline: LoadPipeline,
    folders: &Folders,
    progress: impl Fn(LoadStep, u64, u64) + Clone + Send + Sync + 'static,
) -> Result<Content, LoadError> {
    Arc::new(pipeline)
        .load(&folders.desired("a", "a").source, None, progress)
        .await
        .map(|loaded| loaded.content)
}

fn packages(report: &Report) -> Option<Vec<String>> {
    let content = report.content.as_ref()?;
    Some(
        content
            .catalog
            .packages()
            .map(|package| package.name().to_owned())
            .collect(),
    )
}

fn names(catalogs: &Catalogs) -> Vec<String> {
    catalogs
        .snapshot()
        .by_name()
        .map(|served| served.name.clone())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_catalog_harms_no_other() {
    let folders = Folders::new(&[
        ("good", ETCD),
        ("bad", &format!("{ETCD}{ARGO}{{\"a\":}}\n")),
        ("also-good", ARGO),
    ]);
    let desired = ["good", "bad", "also-good", "missing"].map(|name| folders.desired(name, name));
    let (reports, catalogs) = folders.load(desired.into()).await;
    assert_eq!(names(&catalogs), ["also-good", "good"]);
    let errors: Vec<_> = reports.iter().map(|report| folders.shown(report)).collect();
    assert_eq!(
        reports.iter().map(packages).collect::<Vec<_>>()[0],
        Some(vec!["argo".to_owned()])
    );
    assert_eq!(errors[0], None);
    assert!(
        errors[1].as_ref().unwrap().starts_with("catalog.json:3: "),
        "{errors:?}"
    );
    assert_eq!(errors[2], None);
    let missing =
        "cannot read the source: cannot open `@/missing`: No such file or directory (os error 2)";
    assert_eq!(errors[3].as_deref(), Some(missing));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_of_several_catalogs_is_loaded_once_and_an_equal_content_is_held_once() {
    let folders = Folders::new(&[("a", ETCD), ("same", ETCD), ("other", ARGO)]);
    let desired = [
        ("one", "a"),
        ("two", "a"),
        ("three", "same"),
        ("four", "other"),
    ];
    let desired = desired
        .map(|(name, source)| folders.desired(name, source))
        .to_vec();
    let (_, catalogs) = folders.load(desired).await;
    let snapshot = catalogs.snapshot();
    let catalog = |name| &snapshot.get(name).unwrap().content.catalog;
    assert!(Arc::ptr_eq(catalog("one"), catalog("two")));
    assert!(Arc::ptr_eq(catalog("one"), catalog("three")));
    assert!(!Arc::ptr_eq(catalog("one"), catalog("four")));
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_contents_from_different_files_share_one_index_and_keep_their_files() {
    let folders = Folders::new(&[("a", ETCD), ("b", ETCD)]);
    let b = folders.0.path().join("b");
    fs::rename(b.join("catalog.json"), b.join("renamed.json")).unwrap();
    let (_, catalogs) = folders
        .load(vec![folders.desired("a", "a"), folders.desired("b", "b")])
        .await;
    let snapshot = catalogs.snapshot();
    let [a, b] = ["a", "b"].map(|name| &snapshot.get(name).unwrap().content.catalog);
    assert!(a.shares_index_with(b));
    assert_eq!(
        [a, b].map(|catalog| &**catalog.meta_at(0).file()),
        ["catalog.json", "renamed.json"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_serves_the_stored_content_when_the_source_cannot_be_read() {
    let folders = Folders::new(&[("a", ETCD), ("b", ARGO)]);
    let desired = || vec![folders.desired("a", "a"), folders.desired("b", "b")];
    let (before, _) = folders.load(desired()).await;
    fs::remove_dir_all(folders.0.path().join("a")).unwrap();
    folders.write("b", "{");
    let (after, catalogs) = folders.load(desired()).await;
    assert_eq!(names(&catalogs), ["a", "b"]);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(packages(after), packages(before));
        let before = before.content.as_ref().unwrap();
        let now = after.content.as_ref().unwrap();
        assert_eq!(
            (now.digest, now.last_unpacked),
            (before.digest, before.last_unpacked)
        );
        assert!(now.last_unpacked == before.last_unpacked);
    }
    let missing =
        "cannot read the source: cannot open `@/a`: No such file or directory (os error 2)";
    assert_eq!(folders.shown(&after[0]).as_deref(), Some(missing));
    assert!(
        folders
            .shown(&after[1])
            .unwrap()
            .starts_with("catalog.json:1: ")
    );
}

#[tokio::test]
async fn a_source_that_settled_and_did_not_change_is_not_read_again() {
    let folders = Folders::new(&[("a", ETCD)]);
    let deadline = Instant::now() + TOO_LONG;
    while !directory::list(&folders.0.path().join("a"))
        .unwrap()
        .is_settled()
    {
        assert!(Instant::now() < deadline, "the source never settles");
        std::thread::yield_now();
    }
    let first = current(folders.pipeline(), &folders, |_, _, _| ())
        .await
        .unwrap();
    let unread = |_, _, _| panic!("the source is read again");
    let second = current(folders.pipeline(), &folders, unread).await.unwrap();
    assert_eq!(
        (second.digest, second.last_unpacked),
        (first.digest, first.last_unpacked)
    );
    assert_eq!(second.catalog.problems(), first.catalog.problems());

    // What another build found out is not believed while the source can be read.
    let read = Arc::new(Mutex::new(false));
    let seen = Arc::clone(&read);
    let another = Store::open(
        &folders.0.path().join("store"),
        DEFAULT_QUOTA_BYTES,
        "another build",
    )
    .unwrap();
    current(LoadPipeline::new(another), &folders, move |_, _, _| {
        *seen.lock().unwrap() = true;
    })
    .await
    .unwrap();
    assert!(*read.lock().unwrap());
}

#[tokio::test]
async fn a_server_reads_with_low_priority_and_a_command_with_that_of_its_process() {
    async fn niceness_of_reading(pipeline: LoadPipeline, folders: &Folders) -> i32 {
        let reading = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&reading);
        let progress = move |step, _, _| {
            if step == LoadStep::Read {
                // On Linux, the priority is that of the calling thread.
                let niceness = rustix::process::getpriority_process(None).unwrap();
                *seen.lock().unwrap() = Some(niceness);
            }
        };
        let loaded = Box::pin(current(pipeline, folders, progress)).await;
        loaded.unwrap();
        reading.lock().unwrap().expect("the source is read")
    }

    let folders = Folders::new(&[("a", ETCD)]);
    let own = rustix::process::getpriority_process(None).unwrap();
    let command = LoadPipeline::new(Store::ephemeral(folders.0.path()).unwrap());
    assert_eq!(niceness_of_reading(command, &folders).await, own);
    // 19 is the lowest priority.
    let low = (own + LOADING_NICENESS).min(19);
    assert_eq!(niceness_of_reading(folders.pipeline(), &folders).await, low);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_source_is_loaded_again_and_a_broken_change_leaves_the_former_content() {
    let folders = Folders::new(&[("a", ETCD)]);
    let mut watching = Watching::start(&folders, vec![folders.desired("a", "a")]);
    let first = watching.report().await;
    assert_eq!(
        (packages(&first), folders.shown(&first)),
        (Some(vec!["etcd".to_owned()]), None)
    );

    folders.write("a", "{");
    let broken = watching.report().await;
    assert_eq!(packages(&broken), Some(vec!["etcd".to_owned()]));
    assert!(
        folders
            .shown(&broken)
            .unwrap()
            .starts_with("catalog.json:1: ")
    );
    assert_eq!(names(&watching.catalogs), ["a"]);

    folders.write("a", ARGO);
    let mended = watching.report().await;
    assert_eq!(
        (packages(&mended), folders.shown(&mended)),
        (Some(vec!["argo".to_owned()]), None)
    );

    // A source that is gone, and comes back as it was.
    let here = folders.0.path().join("a");
    let away = folders.0.path().join("away");
    fs::rename(&here, &away).unwrap();
    let gone = watching.report().await;
    assert_eq!(packages(&gone), Some(vec!["argo".to_owned()]));
    assert!(folders.shown(&gone).is_some());
    fs::rename(&away, &here).unwrap();
    let back = watching.report().await;
    assert_eq!(
        (packages(&back), folders.shown(&back)),
        (Some(vec!["argo".to_owned()]), None)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_directory_is_served_with_a_warning_and_one_that_empties_when_it_was_found_so_twice()
 {
    let folders = Folders::new(&[("a", ETCD)]);
    fs::create_dir(folders.0.path().join("empty")).unwrap();
    let mut watching = Watching::start(&folders, vec![folders.desired("empty", "empty")]);
    let empty = watching.report().await;
    let codes = |report: &Report| -> Vec<_> {
        let content = report.content.as_ref().unwrap();
        content
            .catalog
            .problems()
            .iter()
            .map(|problem| problem.code.as_str())
            .collect()
    };
    assert_eq!(
        (packages(&empty), folders.shown(&empty)),
        (Some(vec![]), None)
    );
    assert_eq!(codes(&empty), ["CATALOG_EMPTY"]);

    watching.set(vec![folders.desired("a", "a")]);
    assert_eq!(
        packages(&watching.report().await),
        Some(vec!["etcd".to_owned()])
    );
    fs::remove_file(folders.0.path().join("a/catalog.json")).unwrap();
    let emptied = watching.report().await;
    let expected = "`@/a` has become empty: the empty catalog is served if the next attempt finds the directory as it is now";
    assert_eq!(
        (packages(&emptied), folders.shown(&emptied).as_deref()),
        (Some(vec!["etcd".to_owned()]), Some(expected))
    );
    let confirmed = watching.report().await;
    assert_eq!(
        (packages(&confirmed), folders.shown(&confirmed)),
        (Some(vec![]), None)
    );

    // A file without a blob is no more than no file, and one that is filled in time is never
    // missed.
    folders.write("a", ARGO);
    assert_eq!(
        packages(&watching.report().await),
        Some(vec!["argo".to_owned()])
    );
    folders.write("a", "");
    assert_eq!(
        folders.shown(&watching.report().await).as_deref(),
        Some(expected)
    );
    folders.write("a", ETCD);
    assert_eq!(
        packages(&watching.report().await),
        Some(vec!["etcd".to_owned()])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_is_empty_at_a_restart_does_not_replace_its_stored_content_at_once() {
    let folders = Folders::new(&[("a", ETCD)]);
    folders.load(vec![folders.desired("a", "a")]).await;
    fs::remove_file(folders.0.path().join("a/catalog.json")).unwrap();
    let mut restarted = Watching::start(&folders, Vec::new());
    // It is not watched, and would be read a second time after half a minute.
    restarted.loader.set(vec![folders.desired("a", "a")]);
    let report = restarted.report().await;
    assert_eq!(
        (packages(&report), report.error().is_some()),
        (Some(vec!["etcd".to_owned()]), true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_fails_at_first_is_served_when_it_is_mended() {
    let folders = Folders::new(&[]);
    let mut watching = Watching::start(&folders, vec![folders.desired("a", "a")]);
    let missing = watching.report().await;
    assert!(missing.content.is_none() && missing.error().is_some());
    folders.write("a", ETCD);
    assert_eq!(
        packages(&watching.report().await),
        Some(vec!["etcd".to_owned()])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_failed_for_another_reason_is_tried_again() {
    let folders = Folders::new(&[("a", ETCD)]);
    let mut watching = Watching::start(&folders, vec![folders.desired("a", "a")]);
    let content = folders.0.path().join("store/content");
    watching.report().await;
    // At once: an index may be written into the folder meanwhile.
    fs::rename(&content, folders.0.path().join("gone")).unwrap();
    folders.write("a", ARGO);
    let failed = watching.report().await;
    assert_eq!(packages(&failed), Some(vec!["etcd".to_owned()]));
    assert!(
        folders
            .shown(&failed)
            .unwrap()
            .starts_with("cannot store the content: ")
    );
    fs::create_dir(&content).unwrap();
    assert_eq!(
        packages(&watching.report().await),
        Some(vec!["argo".to_owned()])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_of_the_program_harms_no_other_catalog() {
    let folders = Folders::new(&[("a", ETCD), ("b", ARGO)]);
    let (writer, catalogs) = catalogs();
    let (sender, mut events) = unbounded_channel();
    let observe = move |event| match event {
        LoaderEvent::Progress { name, .. } if name.as_str() == "a" => panic!("a fault"),
        event => drop(sender.send(event)),
    };
    let desired = ["a", "b"].map(|name| folders.desired(name, name)).to_vec();
    load_all(folders.store(), writer, desired, observe).await;
    assert_eq!(names(&catalogs), ["b"]);
    let mut errors = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let LoaderEvent::Attempted(report) = event {
            errors.extend(folders.shown(&report));
        }
    }
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].starts_with("cannot read the content: internal error: ")
            && errors[0].contains("a fault"),
        "{errors:?}"
    );
}

#[tokio::test]
async fn a_source_that_never_stands_still_is_refused() {
    let folders = Arc::new(Folders::new(&[("a", ETCD)]));
    let changing = Arc::clone(&folders);
    let change = move |_, _, _| {
        let length = fs_len(&changing.0.path().join("a/catalog.json"));
        changing.write("a", &ETCD.repeat(length / ETCD.len() + 1));
    };
    let error = current(folders.pipeline(), &folders, change)
        .await
        .unwrap_err();
    let root = folders.0.path().join("a");
    assert_eq!(
        error.to_string(),
        format!(
            "`{}` changed each time it was read, {ATTEMPTS} times",
            root.display()
        )
    );
}

#[tokio::test]
async fn a_source_that_changes_once_while_it_is_read_gives_its_new_content() {
    let folders = Arc::new(Folders::new(&[("a", ETCD)]));
    let changing = Arc::clone(&folders);
    let changed = Arc::new(Mutex::new(false));
    let change = move |_, _, _| {
        if !std::mem::replace(&mut *changed.lock().unwrap(), true) {
            changing.write("a", &format!("{ARGO}{ARGO}"));
        }
    };
    let content = current(folders.pipeline(), &folders, change).await.unwrap();
    let packages: Vec<_> = content
        .catalog
        .packages()
        .map(|package| package.name().to_owned())
        .collect();
    assert_eq!(packages, ["argo"]);
}

#[tokio::test]
async fn a_catalog_of_empty_documents_is_refused_before_all_of_it_is_read() {
    let folders = Folders::new(&[]);
    let root = folders.0.path().join("a");
    fs::create_dir(&root).unwrap();
    // Neither file has too many, but both together have.
    for file in ["a.yaml", "b.yaml"] {
        fs::write(root.join(file), "#\n---\n".repeat(300_000)).unwrap();
    }
    let error = current(folders.pipeline(), &folders, |_, _, _| ())
        .await
        .unwrap_err();
    let max = FREE_DOCUMENTS + 2 * 6 * 300_000 / BYTES_PER_DOCUMENT;
    let expected = format!(
        "cannot read the source: its files have more than {max} documents, which is the most for files of this size: remove \
         empty documents"
    );
    assert_eq!(
        (error.to_string(), error.reason()),
        (expected, FailureReason::InvalidCatalog)
    );
    fs::remove_file(root.join("b.yaml")).unwrap();
    let content = current(folders.pipeline(), &folders, |_, _, _| ())
        .await
        .unwrap();
    assert_eq!(
        content
            .catalog
            .all_problems()
            .counts
            .of_code(fbc_read::ProblemCode::DocumentEmpty),
        300_000
    );
}

#[tokio::test]
async fn files_are_written_in_catalog_order_however_long_each_takes_to_read() {
    let folders = Folders::new(&[]);
    let root = folders.0.path().join("a");
    let mut expected = Vec::new();
    for file in 0..40 {
        // Every third file is large, so that the readers overtake each other.
        let count = if file % 3 == 0 { 2_000 } else { 1 };
        let line = format!(
            "{{\"file\":{file},\"schema\":\"x\",\"text\":\"{}\"}}\n",
            "x".repeat(500)
        );
        fs::create_dir_all(root.join(format!("{file:02}"))).unwrap();
        fs::write(
            root.join(format!("{file:02}/catalog.json")),
            line.repeat(count),
        )
        .unwrap();
        expected.extend(line.repeat(count).into_bytes());
    }
    let content = current(folders.pipeline(), &folders, |_, _, _| ())
        .await
        .unwrap();
    assert!(
        content.catalog.content() == &expected,
        "the lines are in another order"
    );
    let last = content.catalog.meta_at(content.catalog.meta_count() - 1);
    assert_eq!((&**last.file(), last.line()), ("39/catalog.json", 2_000));
}

fn fs_len(path: &Path) -> usize {
    fs::metadata(path).unwrap().len().try_into().unwrap()
}

#[tokio::test]
async fn no_load_waits_for_the_compression_of_a_content_and_no_compression_for_a_load() {
    let large = "{\"schema\":\"x\"}\n".repeat(100);
    let folders = Folders::new(&[("a", &large)]);
    let (writer, catalogs) = catalogs();
    let (loader, task) = Loader::new(folders.store(), writer);
    let pipeline = task.statistics().0;
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let runtime = tokio::runtime::Handle::current();
    let ended = Arc::new(Mutex::new(Some(ended)));
    // The next load begins while the first one still reads, and lasts until the compression is
    // over.
    let observe = move |event| {
        if let LoaderEvent::Progress { .. } = event
            && let Some(ended) = ended.lock().unwrap().take()
        {
            let pipeline = Arc::clone(&pipeline);
            runtime.spawn(async move {
                pipeline
                    .run_serialized(move |_| Ok(ended.recv().is_ok()))
                    .await
            });
        }
    };
    let task = tokio::spawn(task.compress_after(Duration::ZERO).run(observe));
    loader.set(vec![folders.desired("a", "a")]);
    let compressed = async {
        loop {
            let snapshot = catalogs.snapshot();
            if snapshot
                .get("a")
                .is_some_and(|served| served.content.encodings.get(Coding::Zstd).is_some())
            {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(TOO_LONG, compressed).await.unwrap();
    end.send(()).unwrap();
    drop(loader);
    timeout(TOO_LONG, task).await.unwrap().unwrap();
}
