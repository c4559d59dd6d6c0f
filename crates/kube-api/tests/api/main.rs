//! The aggregated Kubernetes API against what OLM v0's packageserver answered, recorded once:
//! `tests/testdata/golden` says how.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod manifests;
mod narrowed;
mod own;
mod pages;
mod requests;
mod rights;
mod watches;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use fbc::Catalog;
use fbc_grammar::Digest;
use fbc_read::Origins;
use flate2::read::GzDecoder;
use kube_api::{Authorize, CreateManifestFile, KubeApi, KubeApiOptions, ManifestFile};
use serde::Deserialize;
use serde_json::{Value, json};
use serving::{CatalogMetadata, Catalogs, CatalogsWriter, Content, Served, catalogs};
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;

/// Folder of what was recorded.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/golden");

/// A `CatalogSource` of the recording.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Source {
    name: String,
    namespace: String,
    display_name: String,
    publisher: String,
    labels: BTreeMap<String, String>,
    creation_timestamp: String,
    file: String,
}

/// An API over catalogs, within a runtime.
struct Api {
    router: Router,
    writer: CatalogsWriter,
}

/// A response that was read to its end.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// A file of cached manifests, in memory.
struct Memory(Vec<u8>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ManifestFile for Memory {
    fn map(self: Box<Self>) -> io::Result<Bytes> {
        Ok(self.0.into())
    }
}

impl Answer {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&self.body)))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

impl Api {
    fn new(served: impl IntoIterator<Item = Served>, authorize: Option<Authorize>) -> Self {
        let (mut writer, readers) = catalogs();
        served.into_iter().for_each(|served| writer.publish(served));
        Self::over((writer, readers), authorize)
    }

    fn over(catalogs: (CatalogsWriter, Catalogs), authorize: Option<Authorize>) -> Self {
        Self::with_files(
            catalogs,
            authorize,
            Some(Arc::new(|| Ok(Box::new(Memory(Vec::new()))))),
        )
    }

    fn with_files(
        (writer, readers): (CatalogsWriter, Catalogs),
        authorize: Option<Authorize>,
        create_manifest_file: Option<CreateManifestFile>,
    ) -> Self {
        Self::with_options((writer, readers), |options| KubeApiOptions {
            authorize,
            create_manifest_file,
            ..options
        })
    }

    fn with_options(
        (writer, readers): (CatalogsWriter, Catalogs),
        change: impl FnOnce(KubeApiOptions) -> KubeApiOptions,
    ) -> Self {
        let version = json!({ "gitVersion": "v1" });
        let bookmark_interval = Duration::from_millis(50);
        let global_namespace = "olm".to_owned();
        let options = KubeApiOptions {
            global_namespace,
            version,
            authorize: None,
            bookmark_interval,
            create_manifest_file: None,
        };
        let (api, task) = KubeApi::new(readers, change(options));
        tokio::spawn(task.run());
        Self {
            router: api.router(),
            writer,
        }
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self
            .router
            .clone()
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        let (head, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Answer {
            status: head.status,
            headers: head.headers,
            body,
        }
    }

    /// Publishes a catalog, and waits until the API shows it.
    async fn publish(&mut self, served: Served) {
        let before = self.version().await;
        self.writer.publish(served);
        self.wait_for_change(before).await;
    }

    /// Withdraws a catalog, if it is there, and waits until the API does not show it.
    async fn withdraw(&mut self, name: &str) {
        if self.writer.snapshot().get(name).is_some() {
            let before = self.version().await;
            self.writer.withdraw(name);
            self.wait_for_change(before).await;
        }
    }

    /// The resource version of what is shown.
    async fn version(&self) -> u64 {
        let list = self
            .get("/apis/packages.operators.coreos.com/v1/packagemanifests?limit=1")
            .await
            .json();
        list["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    }

    async fn wait_for_change(&self, before: u64) {
        let next = format!(
            "/apis/packages.operators.coreos.com/v1/packagemanifests?limit=1&resourceVersion={}",
            ((before >> 21) + 1) << 21
        );
        assert_eq!(self.get(&next).await.status, 200);
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[]).await
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

/// Reads a file of the recording, unpacked.
fn golden(name: &str) -> Vec<u8> {
    let bytes = fs::read(Path::new(GOLDEN).join(name)).unwrap();
    if Path::new(name)
        .extension()
        .is_none_or(|extension| extension != "gz")
    {
        return bytes;
    }
    let mut unpacked = Vec::new();
    GzDecoder::new(&bytes[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    unpacked
}

fn lines(name: &str) -> Vec<Value> {
    golden(name)
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

fn sources() -> Vec<Source> {
    let mut all: Value = serde_json::from_slice(&golden("sources.json")).unwrap();
    serde_json::from_value(all["catalogSources"].take()).unwrap()
}

impl Source {
    /// The catalog that was recorded.
    fn served(&self) -> Served {
        self.served_from(&[golden(&self.file)])
    }

    /// The catalog of these files, with what this source says of it.
    fn served_from(&self, files: &[Vec<u8>]) -> Served {
        let mut lines = Vec::new();
        let mut origins = Origins::default();
        for (at, file) in files.iter().enumerate() {
            origins.files.push(testing::fixture::read_file(
                &at.to_string(),
                file,
                &mut lines,
            ));
        }
        let digest = Digest::new(Sha256::digest(&lines).into());
        let catalog = Catalog::build(lines.into(), &origins).unwrap();
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let metadata = CatalogMetadata {
            display_name: text(&self.display_name),
            publisher: text(&self.publisher),
            labels: self.labels.clone(),
            namespace: Some(self.namespace.clone()),
            created: Some(self.creation_timestamp.parse().unwrap()),
            ..CatalogMetadata::default()
        };
        Served::new(&*self.name, Content::new(catalog, digest), metadata)
    }
}

/// The source of a catalog.
fn source(name: &str) -> Source {
    sources()
        .into_iter()
        .find(|source| source.name == name)
        .unwrap()
}

/// The catalog in a directory of the corpus, as this source.
fn corpus(name: &str, directory: &Path) -> Served {
    let mut folders = vec![directory.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(fs::read(path).unwrap());
            }
        }
    }
    source(name).served_from(&files)
}

/// A catalog of canonical lines.
fn served_fixture(name: &str, lines: &str) -> Served {
    let digest = Digest::new(Sha256::digest(lines).into());
    let content = Content::new(testing::fixture::catalog_of(lines), digest);
    Served::new(name, content, CatalogMetadata::default())
}

/// Path of the packages of a namespace.
fn packages(namespace: &str) -> String {
    format!("/apis/packages.operators.coreos.com/v1/namespaces/{namespace}/packagemanifests")
}
