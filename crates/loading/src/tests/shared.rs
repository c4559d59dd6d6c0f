//! Images whose contents replicas share: what each of them pulls, and what it serves when objects are
//! damaged or the store is gone.

use std::path::PathBuf;

use ::metrics::Label as _;
use http_content::coding::CompressionLevel;
use shared_store::{SharedLookup, SharedStore};
use testing::{CONFIGS, Layout, eventually};

use super::images::desired;
use super::*;

/// Replicas with a store each, which share contents and read images of one layout.
struct Replicas {
    folder: TempDir,
    layout: Layout,
}

/// Source from which a replica served an image.
#[derive(Debug)]
struct Replica {
    report: Report,
    /// Steps of a pull.
    steps: Vec<LoadStep>,
    lookups: Vec<&'static str>,
    _store: TempDir,
}

const PULLED: [LoadStep; 3] = [LoadStep::Fetch, LoadStep::Unpack, LoadStep::Read];

impl Replicas {
    /// Creates a layout whose image `v1` holds one file with this text.
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("layout"));
        layout.image("v1", &[CONFIGS], &[("configs/etcd/catalog.json", text)]);
        Self { folder, layout }
    }

    fn shared_folder(&self) -> PathBuf {
        self.folder.path().join("shared")
    }

    /// Loads the image with an empty store, and the shared store in this folder.
    async fn start_with(&self, shared: &Path) -> Replica {
        let store_folder = tempfile::tempdir().unwrap();
        let store = Store::open(store_folder.path(), DEFAULT_QUOTA_BYTES, "build").unwrap();
        let url = format!("file://{}", shared.display());
        let shared = SharedStore::open(&url, "build").unwrap();
        let (writer, _catalogs) = catalogs();
        let (loader, task) = Loader::with_shared_store(store, Some(Arc::clone(&shared)), writer);
        let events = Arc::new(Mutex::new((Vec::new(), Vec::new())));
        let seen = Arc::clone(&events);
        let observe = move |event| {
            let mut seen = seen.lock().unwrap();
            match event {
                LoaderEvent::Progress { step, .. } => seen.1.push(step),
                LoaderEvent::Attempted(report) => seen.0.push(report),
                _ => {}
            }
        };
        loader.set(vec![desired("etcd", &self.layout.source("v1"))]);
        drop(loader);
        task.compress_after(Duration::ZERO).run(observe).await;

        let (mut reports, mut steps) = std::mem::take(&mut *events.lock().unwrap());
        steps.dedup();
        let lookups = shared.metrics().lookups.iter();
        Replica {
            report: reports.pop().unwrap(),
            steps,
            lookups: lookups
                .filter(|(_, count)| count.get() > 0)
                .map(|(result, _)| result.as_str())
                .collect(),
            _store: store_folder,
        }
    }

    async fn start(&self) -> Replica {
        self.start_with(&self.shared_folder()).await
    }

    /// Lets a first replica pull the image, and waits until its content is shared.
    async fn share(&self) -> Replica {
        let first = self.start().await;
        assert_eq!(
            (&first.steps[..], &first.lookups[..]),
            (&PULLED[..], &["miss"][..])
        );
        eventually(|| (self.objects("revisions").len() == 1).then_some(()));
        first
    }

    /// Returns the objects in a folder of the shared store.
    fn objects(&self, name: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.shared_folder().join(name));
        let paths = entries
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path());
        // The library writes under a temporary name first.
        paths
            .filter(|path| !path.to_string_lossy().contains('#'))
            .collect()
    }

    /// Replaces the only object in a folder of the shared store.
    fn replace(&self, name: &str, bytes: &[u8]) {
        let [path] = &self.objects(name)[..] else {
            panic!("not one object in {name}");
        };
        fs::write(path, bytes).unwrap();
    }
}

impl Replica {
    /// Panics unless the image was pulled and its content is served.
    fn assert_pulled(&self, lookup: SharedLookup) {
        assert_eq!(packages(&self.report), Some(vec!["etcd".to_owned()]));
        assert_eq!(self.steps, PULLED);
        assert_eq!(self.lookups, [lookup.as_str()]);
    }
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    Coding::Zstd.compress_to_vec(bytes, CompressionLevel::Fast)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_serves_a_content_that_another_one_pulled_as_if_it_had_pulled_it() {
    // The second package is a problem, with its file and line.
    let replicas = Replicas::new(&[ETCD, ETCD].concat());
    let first = replicas.share().await;
    let second = replicas.start().await;
    assert_eq!(
        (&second.steps[..], &second.lookups[..]),
        (&[][..], &["hit"][..])
    );

    let [first, second] = [&first, &second].map(|it| it.report.content.as_ref().unwrap());
    assert_eq!(first.digest, second.digest);
    assert_eq!(first.image, second.image);
    let [first, second] = [&first.catalog, &second.catalog];
    assert_eq!(first.content(), second.content());
    assert_eq!(first.all_problems(), second.all_problems());
    assert!(!first.all_problems().listed.is_empty());
    assert!(first.has_origins_of(second));
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_contents_are_pulled_and_replaced() {
    let longer = [ETCD_LINE, ETCD_LINE].concat();
    let bomb = vec![0; 64 << 20];
    let compressed = zstd(ETCD_LINE.as_bytes());
    for (case, bytes) in [
        ("truncated", compressed[..compressed.len() - 4].to_vec()),
        ("not compressed", ETCD_LINE.as_bytes().to_vec()),
        (
            "another content",
            zstd(ETCD_LINE.replace("etcd", "evil").as_bytes()),
        ),
        ("shorter", zstd(&ETCD_LINE.as_bytes()[..20])),
        ("longer", zstd(longer.as_bytes())),
        ("a bomb", zstd(&bomb)),
        ("empty", Vec::new()),
    ] {
        let replicas = Replicas::new(ETCD);
        replicas.share().await;
        let right = fs::read(&replicas.objects("contents")[0]).unwrap();
        replicas.replace("contents", &bytes);
        println!("{case}");
        replicas.start().await.assert_pulled(SharedLookup::Corrupt);
        eventually(|| {
            let replaced = fs::read(&replicas.objects("contents")[0]).unwrap();
            (replaced == right).then_some(())
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_catalog_is_not_served_whatever_its_digest() {
    let replicas = Replicas::new(ETCD);
    replicas.share().await;
    // A record, and objects with the digests that it names.
    let lines = b"no JSON at all, and as long as it has to be\n";
    let digest = content_digest::digest(lines);
    let record = fs::read_to_string(&replicas.objects("revisions")[0]).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&record).unwrap();
    record["content"] = digest.to_string().into();
    record["bytes"] = lines.len().into();
    replicas.replace("revisions", record.to_string().as_bytes());
    let contents = replicas.shared_folder().join("contents");
    fs::write(
        contents.join(format!("{}.jsonl.zst", digest.hex())),
        zstd(lines),
    )
    .unwrap();
    replicas.start().await.assert_pulled(SharedLookup::Corrupt);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analysis_that_cannot_be_one_is_refused() {
    let replicas = Replicas::new(ETCD);
    replicas.share().await;
    let analysis = b"{}";
    let digest = content_digest::digest(analysis);
    let record = fs::read_to_string(&replicas.objects("revisions")[0]).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&record).unwrap();
    record["analysis"] = digest.to_string().into();
    replicas.replace("revisions", record.to_string().as_bytes());
    let notes = replicas.shared_folder().join("notes");
    fs::write(notes.join(format!("{}.json", digest.hex())), analysis).unwrap();
    replicas.start().await.assert_pulled(SharedLookup::Corrupt);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_shared_store_images_are_pulled() {
    let replicas = Replicas::new(ETCD);
    // Not a directory: neither reads nor writes succeed.
    let file = replicas.folder.path().join("file");
    fs::write(&file, "").unwrap();
    let replica = replicas.start_with(&file.join("shared")).await;
    replica.assert_pulled(SharedLookup::Error);
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_are_not_shared() {
    let replicas = Replicas::new(ETCD);
    let folders = Folders::new(&[("a", ETCD)]);
    let url = format!("file://{}", replicas.shared_folder().display());
    let shared = SharedStore::open(&url, "build").unwrap();
    let (writer, _catalogs) = catalogs();
    let (loader, task) = Loader::with_shared_store(folders.store(), Some(shared), writer);
    loader.set(vec![folders.desired("a", "a")]);
    drop(loader);
    task.compress_after(Duration::ZERO).run(|_| {}).await;
    assert!(!replicas.shared_folder().exists());
}
